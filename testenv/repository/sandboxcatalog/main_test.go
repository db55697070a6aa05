package main

import (
	"bytes"
	"os"
	"testing"
)

func TestSandboxCatalogOfTheCommandLineIsUpToDate(t *testing.T) {
	want, err := sandbox()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile("../../../cmd/joiner/catalogfile/sandbox.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	if got := unpacked(file); !bytes.Equal(got, want) {
		t.Errorf("the catalogue differs (%d bytes, want %d): run go generate ./cmd/joiner/...", len(got), len(want))
	}
}
