package main

import (
	"archive/zip"
	"bytes"
	"io"
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
const maxZip = 11_400_000

// The same sources of the same version in two folders give the same zip, byte for byte, by the Makefile that people build them with, and a
// small one that knows its version. The short form tries the function that weighs most for the architecture it weighs most for,
// JOINER_ZIPS=all every one for both.
func TestZipsAreReproducible(t *testing.T) {
	again := copyOf(t, "Makefile", "go.mod", "go.sum", "shared", "functions", "tools")
	functions, architectures := []string{"provision"}, []string{"amd64"}
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
			if function != "webhook" && !bytes.Contains(bootstrapOf(t, one), []byte(testVersion)) {
				t.Errorf("%s for %s: it does not know its version", function, architecture)
			}
			t.Logf("%s for %s: %d bytes", function, architecture, len(one))
		}
	}
}

const testVersion = "v7.8.9-of-a-test"

// Without git, as in an unpacked archive, the version is one that says so, and not that of another repository around the folder.
func TestATreeWithoutGitHasAVersion(t *testing.T) {
	outer := t.TempDir()
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "--allow-empty", "-m", "other"}} {
		if text, err := exec.Command("git", append([]string{"-C", outer}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, text)
		}
	}
	inner := filepath.Join(outer, "joiner")
	if err := os.Mkdir(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(inner, "Makefile"), makefile, 0o644); err != nil {
		t.Fatal(err)
	}
	version := func(folder string) string {
		t.Helper()
		command := exec.Command("make", "-s", "version")
		command.Dir = folder
		text, err := command.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	if got := version(inner); got != "dev" {
		t.Errorf("within another repository: %q, want dev", got)
	}
	if got := version(root); got == "" {
		t.Error("the project's own is empty")
	}
}

// zipOf makes a function's zip as people do.
func zipOf(t *testing.T, folder, function, architecture string) []byte {
	t.Helper()
	out := t.TempDir()
	path := filepath.Join(out, architecture, function+".zip")
	build := exec.Command("make", "-s", "DIST="+out, "VERSION="+testVersion, path)
	build.Dir = folder
	build.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", function, err, text)
	}
	packed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if version, err := os.ReadFile(filepath.Join(out, architecture, "VERSION")); err != nil || string(version) != testVersion+"\n" {
		t.Errorf("beside the zip of %s: version %q, %v", function, version, err)
	}
	return packed
}

// bootstrapOf is the program in a zip.
func bootstrapOf(t *testing.T, packed []byte) []byte {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		t.Fatal(err)
	}
	file, err := archive.Open("bootstrap")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	content, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
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
