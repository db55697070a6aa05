package conform

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"
)

// Case is one rule a service keeps.
type Case struct {
	Name string // the rule in words; unique in its suite, and what KNOWN_DIFFERENCES.md cites
	Run  func(T)
}

// T is the part of *testing.T a case may use.
type T interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
	Context() context.Context
}

// Run runs every case as a parallel subtest and returns when all are done. A
// case on the target's list of known differences must fail; it is reported on
// standard error when it passes, since its row can then go.
func (g Target) Run(t *testing.T, service string, cases []Case) {
	t.Helper()
	names := map[string]bool{}
	for _, c := range cases {
		if names[c.Name] {
			t.Fatalf("conform: two cases of %s are called %q", service, c.Name)
		}
		names[c.Name] = true
	}
	for _, name := range g.Known.Names(service) {
		if !names[name] {
			t.Errorf("KNOWN_DIFFERENCES.md lists %s: %q for %s, which is no case of the suite", service, name, g.Name)
		}
	}
	t.Run(service, func(t *testing.T) {
		for _, c := range cases {
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				g.run(t, service, c)
			})
		}
	})
}

func (g Target) run(t *testing.T, service string, c Case) {
	why, known := g.Known.Why(service, c.Name)
	if !known {
		c.Run(t)
		return
	}
	if failures := try(t, c.Run); len(failures) > 0 {
		t.Logf("known difference: %s\n%s", why, failures)
		return
	}
	fmt.Fprintf(os.Stderr, "conform: %s %s: %q passes although KNOWN_DIFFERENCES.md lists it (%s)\n", g.Name, service, c.Name, why)
}

// try runs f and returns what it would have failed with; none if it passed.
func try(t *testing.T, f func(T)) []string {
	r := &recorder{ctx: t.Context()}
	done := make(chan struct{})
	go func() { // Fatalf ends the goroutine
		defer close(done)
		defer r.cleanup()
		f(r)
	}()
	<-done
	return r.failures
}

// recorder is a T that remembers failures instead of failing a test.
type recorder struct {
	ctx      context.Context
	failures []string
	cleanups []func()
}

func (r *recorder) Helper()                  {}
func (r *recorder) Logf(string, ...any)      {}
func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Cleanup(f func())         { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) cleanup() {
	for _, f := range slices.Backward(r.cleanups) {
		f()
	}
}
