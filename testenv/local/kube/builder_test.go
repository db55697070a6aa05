package kube

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const hello = "package main\n\nfunc main() { println(\"hello\") }\n"

func TestFindBuildsOnceAndKeepsIt(t *testing.T) {
	f := tinyFinder(t, hello)
	var progress bytes.Buffer
	f.progress = &progress
	first, err := find(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(first.Etcd).CombinedOutput(); err != nil || string(out) != "hello\n" {
		t.Fatalf("the program built says %q, %v", out, err)
	}
	for _, want := range []string{"building tiny v1 (1 of 1)", "built tiny in"} {
		if !strings.Contains(progress.String(), want) {
			t.Errorf("progress lacks %q:\n%s", want, &progress)
		}
	}

	progress.Reset()
	second, err := find(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	if second != first || progress.Len() > 0 {
		t.Errorf("second call: %v with progress %q, want %v and none", second, &progress, first)
	}
}

func TestFindBuildsAgainWhenThePinsChange(t *testing.T) {
	f := tinyFinder(t, hello)
	first, err := find(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	root, _ := f.moduleRoot(t.Context())
	write(t, filepath.Join(root, "mod", "go.mod"), "module example.com/tiny\n\ngo 1.26\n\n// changed\n")
	second, err := find(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	if second.Etcd == first.Etcd {
		t.Errorf("both are %s", first.Etcd)
	}
}

func TestFindOfBrokenSourceShowsTheCompilersWords(t *testing.T) {
	f := tinyFinder(t, "package main\n\nfunc main() { undefinedThing() }\n")
	_, err := find(t.Context(), f)
	if err == nil || !strings.Contains(err.Error(), "build tiny") || !strings.Contains(err.Error(), "undefinedThing") {
		t.Errorf("got %v", err)
	}
	left, err := filepath.Glob(filepath.Join(f.cacheDir, "*", "tiny*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind %v, %v", left, err)
	}
}

// U85: binaries that KUBEBUILDER_ASSETS names are used, and nothing is built.
func TestFindPrefersWhatIsGiven(t *testing.T) {
	f := tinyFinder(t, "not Go at all")
	f.given = t.TempDir()
	given := filepath.Join(f.given, "tiny")
	write(t, given, "#!/bin/sh\n")
	if err := os.Chmod(given, 0o755); err != nil {
		t.Fatal(err)
	}
	assets, err := find(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	if assets.Etcd != given {
		t.Errorf("got %s, want %s", assets.Etcd, given)
	}
}

func TestFindBuildsOnceForConcurrentCallers(t *testing.T) {
	f := tinyFinder(t, hello)
	var progress syncBuffer
	f.progress = &progress
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wg.Go(func() { _, errs[i] = find(t.Context(), f) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	if n := strings.Count(progress.String(), "built tiny in"); n != 1 {
		t.Errorf("built %d times:\n%s", n, progress.String())
	}
}

func TestFindStopsWaitingWhenItsContextEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lockFile(t.Context(), path, func() { t.Error("waited for a free lock") })
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	_, err = lockFile(ctx, path, cancel) // canceled as soon as it waits
	if err != context.Canceled {
		t.Errorf("got %v, want context canceled", err)
	}
}

func TestBuildOutputCountsPackagesAndKeepsErrors(t *testing.T) {
	var o buildOutput
	io.WriteString(&o, "go: downloading example.com/a v1.0.0\n")
	if got := o.summary(); got != "1 modules fetched" {
		t.Errorf("summary is %q", got)
	}
	io.WriteString(&o, "internal/abi\nexample.com/a/b\n# example.com/a/b\nb.go:3:1: un")
	io.WriteString(&o, "defined: x")
	if got := o.summary(); got != "2 packages compiled" {
		t.Errorf("summary is %q", got)
	}
	if got, want := o.tail(), "# example.com/a/b\nb.go:3:1: undefined: x"; got != want {
		t.Errorf("tail is %q, want %q", got, want)
	}
}

// tinyFinder finds one program, "tiny", in a module without requirements.
func tinyFinder(t *testing.T, source string) finder {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "mod", "go.mod"), "module example.com/tiny\n\ngo 1.26\n")
	write(t, filepath.Join(root, "mod", "main.go"), source)
	return finder{
		cacheDir: t.TempDir(),
		progress: io.Discard,
		programs: []program{{
			name: "tiny", pkg: "example.com/tiny", build: buildModule{dir: "mod", version: "v1"},
			path: func(a *Assets) *string { return &a.Etcd },
		}},
		moduleRoot: func(context.Context) (string, error) { return root, nil },
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
