package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/joiner-sh/joiner/testenv/bench/upstream/e2e"
	"github.com/joiner-sh/joiner/testenv/bench/upstream/e2e/performance"
)

// TestThePageSaysWhatIsKept: `go run ./run -page` writes it.
func TestThePageSaysWhatIsKept(t *testing.T) {
	rows, err := e2e.Rows()
	if err != nil {
		t.Fatal(err)
	}
	runs, err := performance.Kept()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join("..", pagePath))
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != page(rows, runs) {
		t.Error("docs/upstream.md is not what specs.csv and performance/results.json say: write it with `go run ./run -page`")
	}
}
