package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func file(t *testing.T, name string, size int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestListNamesEveryZipThatIsTooLarge(t *testing.T) {
	programs := []string{
		"small=" + file(t, "a", 9_000_000) + "," + file(t, "a.zip", 1000),
		"large=" + file(t, "b", 9_000_000) + "," + file(t, "b.zip", 1001),
		"alone=" + file(t, "c", 2_340_000),
	}
	var out bytes.Buffer
	err := list(&out, programs, 1000)
	if err == nil || !strings.Contains(err.Error(), "large (1001 bytes)") || strings.Contains(err.Error(), "small") {
		t.Errorf("got %v, want large alone to be named", err)
	}
	if lines := strings.Count(out.String(), "\n"); lines != 4 || !strings.Contains(out.String(), "2.34 MB") {
		t.Errorf("got %d lines:\n%s", lines, out.String())
	}
	if err := list(&out, programs, 0); err != nil {
		t.Error(err)
	}
	for _, wrong := range []string{"name", "name=/nowhere"} {
		if err := list(&out, []string{wrong}, 0); err == nil {
			t.Errorf("%q is no error", wrong)
		}
	}
}
