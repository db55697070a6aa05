// Command run runs Karpenter's own suites against the stack of `make up` and holds what becomes of each spec against specs.csv.
//
//	go run ./run                                            # every spec that is to pass
//	go run ./run -suite core/regression -focus 'NodeClaim'  # some of them, by a regular expression
//	go run ./run -shards 3                                  # on three stacks at once
//	go run ./run -page                                      # nothing; writes docs/upstream.md from specs.csv and performance/results.json
//	go run ./run -performance 1 -focus 'Basic|Drift'        # the suite of performance by Karpenter's controller and by Joiner, in turn
//	go run ./run -differences                               # also those that are to fail, each until its own timeout
//	go run ./run -untried                                   # those that nobody has run to their end
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/joiner-sh/joiner/testenv/bench/upstream/e2e"
)

type options struct {
	suite, focus string
	shards       int
	within, each time.Duration
	differences  bool
	untried      bool
	dir          string
	page         bool
	performance  int
}

func main() {
	var o options
	flag.StringVar(&o.suite, "suite", "", "run these suites alone, such as core/regression,aws/ami")
	flag.StringVar(&o.focus, "focus", "", "run the specs that this regular expression matches, whatever specs.csv says of them, and judge no others")
	flag.IntVar(&o.shards, "shards", 1, "stacks that share the specs")
	flag.DurationVar(&o.within, "within", 6*time.Hour, "stop after this time; what did not run is a fault")
	flag.DurationVar(&o.each, "each", 40*time.Minute, "give up a spec after this time")
	flag.BoolVar(&o.differences, "differences", false, "also run the specs that differ on purpose: a row whose spec passes is a fault")
	flag.BoolVar(&o.untried, "untried", false,
		"run the specs that specs.csv calls untried, and evaluate no others; -focus picks some of them")
	flag.StringVar(&o.dir, "dir", "", "folder for programs, reports and logs (default: .cache/upstream in the project)")
	flag.BoolVar(&o.page, "page", false, "run nothing, and write docs/upstream.md from specs.csv and performance/results.json")
	flag.IntVar(&o.performance, "performance", 0, "run the suite of performance so many times by Karpenter's controller and by Joiner, in turn, and keep what each took (performance/results.json, docs/upstream.md); -focus picks specs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	failed, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "upstream:", err)
		os.Exit(2)
	}
	if failed {
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (failed bool, err error) {
	began := time.Now()
	focus, err := regexp.Compile(o.focus)
	if err != nil {
		return false, fmt.Errorf("-focus %q: %w", o.focus, err)
	}
	rows, err := e2e.Rows()
	if err != nil {
		return false, err
	}
	if o.page {
		return false, writePage(rows)
	}
	if o.performance > 0 {
		return false, compare(ctx, o, focus, rows)
	}
	w, err := e2e.Build(ctx, o.dir, strings.FieldsFunc(o.suite, func(r rune) bool { return r == ',' })...)
	if err != nil {
		return false, err
	}
	fmt.Printf("built after %s\n", time.Since(began).Round(time.Second))

	chosen := func(r e2e.Row) bool { return o.chooses(r, focus) }
	w.Report = report
	outcomes, err := w.Run(ctx, rows, chosen, o.shards, e2e.Limits{All: o.within, Spec: o.each})
	if err != nil {
		return false, err
	}
	listed := w.Listed
	if o.some() {
		rows = slices.DeleteFunc(slices.Clone(rows), func(r e2e.Row) bool { return !chosen(r) })
		listed = o.listed(w.Listed, rows, focus)
	}
	j := e2e.Evaluate(rows, listed, chosen, outcomes)
	for _, fault := range j.Faults {
		fmt.Println("FAULT", fault)
	}
	fmt.Println(j.Summary())
	fmt.Printf("after %s; logs and reports are in %s\n", time.Since(began).Round(time.Second), w.Dir)
	if !o.some() {
		if err := os.WriteFile(filepath.Join(w.Dir, "summary.txt"), []byte(strings.Join(append(j.Faults, j.Summary()), "\n")+"\n"), 0o644); err != nil {
			return false, err
		}
	}
	return len(j.Faults) > 0, nil
}

// listed returns the specs of suites that flags pick: those with the rows, and those that the focus matches where rows
// are picked by nothing else, so that a spec without a row is found.
func (o options) listed(all map[string][]string, rows []e2e.Row, focus *regexp.Regexp) map[string][]string {
	out := map[string][]string{}
	for suite, texts := range all {
		out[suite] = nil // also of a suite that has none, so that a row which no spec needs is found
		for _, text := range texts {
			has := func(r e2e.Row) bool { return r.Suite == suite && r.Spec == text }
			if focus.MatchString(text) && (!o.untried || slices.ContainsFunc(rows, has)) {
				out[suite] = append(out[suite], text)
			}
		}
	}
	return out
}

func report(o e2e.Outcome) {
	line := fmt.Sprintf("ok   %5.0f s  %s: %s", o.Seconds, o.Suite, o.Spec)
	if !o.Passed {
		line = fmt.Sprintf("FAIL %5.0f s  %s: %s\n     %s", o.Seconds, o.Suite, o.Spec, o.Failure)
	}
	fmt.Println(line)
}

// some says that no spec is evaluated but those that flags pick.
func (o options) some() bool { return o.focus != "" || o.untried }

// chooses reports whether a spec is run. A focus picks specs whatever specs.csv says of them, or some of those untried.
func (o options) chooses(r e2e.Row, focus *regexp.Regexp) bool {
	switch {
	case o.untried:
		return r.Verdict == e2e.Untried && focus.MatchString(r.Spec)
	case o.focus != "":
		return focus.MatchString(r.Spec)
	}
	return r.Verdict == e2e.Passes || o.differences && r.Verdict == e2e.Differs
}
