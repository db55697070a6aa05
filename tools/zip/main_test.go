package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// root is the project's folder.
const root = "../.."

// maxZip is what a function's zip may weigh, which Lambda fetches before a cold start: 10 MB as Lambda counts them.
const maxZip = 10 << 20

// The same sources in two folders give the same zip, byte for byte, and a small one. The short form tries one function,
// JOINER_ZIPS=all every one.
func TestZipsAreReproducible(t *testing.T) {
	again := copyOf(t, "go.mod", "go.sum", "shared", "functions")
	functions := []string{"catalog"}
	if os.Getenv("JOINER_ZIPS") == "all" {
		entries, err := os.ReadDir(filepath.Join(root, "functions"))
		if err != nil {
			t.Fatal(err)
		}
		functions = nil
		for _, entry := range entries {
			functions = append(functions, entry.Name())
		}
	}
	for _, function := range functions {
		one, two := zipOf(t, root, function), zipOf(t, again, function)
		if !bytes.Equal(one, two) {
			t.Errorf("%s: two builds of the same sources differ", function)
		}
		if len(one) >= maxZip {
			t.Errorf("%s: the zip has %d bytes, less than %d are wanted; `go list -deps` tells what came in", function, len(one), maxZip)
		}
		t.Logf("%s: %d bytes", function, len(one))
	}
}

// zipOf builds a function as the Makefile does and packs it.
func zipOf(t *testing.T, folder, function string) []byte {
	t.Helper()
	out := t.TempDir()
	bootstrap := filepath.Join(out, "bootstrap")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc", "-ldflags", "-s -w -buildid=", "-o", bootstrap, "./functions/"+function)
	build.Dir = folder
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", function, err, text)
	}
	if err := pack(bootstrap, filepath.Join(out, "zip")); err != nil {
		t.Fatal(err)
	}
	packed, err := os.ReadFile(filepath.Join(out, "zip"))
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

// copyOf copies files and folders of the project into a folder of its own, without tests.
func copyOf(t *testing.T, names ...string) string {
	t.Helper()
	to := t.TempDir()
	for _, name := range names {
		err := filepath.WalkDir(filepath.Join(root, name), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") {
				return err
			}
			relative, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(filepath.Join(to, relative)), 0o755); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(to, relative), content, 0o644)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}
