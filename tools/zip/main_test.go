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

// maxZip is what a function's zip may weigh, which Lambda fetches before a cold start.
const maxZip = 10_000_000

// The same sources in two folders give the same zip, byte for byte, and a small one. The short form tries the function that weighs
// most, JOINER_ZIPS=all every one, and for amd64, too.
func TestZipsAreReproducible(t *testing.T) {
	again := copyOf(t, "go.mod", "go.sum", "shared", "functions")
	functions, architectures := []string{"provision"}, []string{"arm64"}
	if os.Getenv("JOINER_ZIPS") == "all" {
		entries, err := os.ReadDir(filepath.Join(root, "functions"))
		if err != nil {
			t.Fatal(err)
		}
		functions, architectures = nil, []string{"arm64", "amd64"}
		for _, entry := range entries {
			functions = append(functions, entry.Name())
		}
	}
	for _, architecture := range architectures {
		for _, function := range functions {
			one, two := zipOf(t, root, function, architecture), zipOf(t, again, function, architecture)
			if !bytes.Equal(one, two) {
				t.Errorf("%s for %s: two builds of the same sources differ", function, architecture)
			}
			if len(one) >= maxZip {
				t.Errorf("%s for %s: the zip has %d bytes, less than %d are wanted; `go list -deps` tells what came in", function, architecture, len(one), maxZip)
			}
			t.Logf("%s for %s: %d bytes", function, architecture, len(one))
		}
	}
}

// zipOf builds a function as the Makefile does and packs it.
func zipOf(t *testing.T, folder, function, architecture string) []byte {
	t.Helper()
	out := t.TempDir()
	bootstrap := filepath.Join(out, "bootstrap")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc", "-ldflags", "-s -w -buildid=", "-o", bootstrap, "./functions/"+function)
	build.Dir = folder
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+architecture, "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
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
