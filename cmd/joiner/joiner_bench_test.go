package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/testenv/test/clusterfile"
)

// BenchmarkPlanProvision is what a person waits for: the program starts, reads a cluster of 1,000 nodes and 10,000 pods,
// of which 1,000 wait, plans and prints.
func BenchmarkPlanProvision(b *testing.B) {
	program := filepath.Join(b.TempDir(), "joiner")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
	var text bytes.Buffer
	if err := clusterfile.Write(&text, 1000, 10_000); err != nil {
		b.Fatal(err)
	}
	lines, err := yaml.JSONToYAML(text.Bytes())
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		text []byte
	}{{"json", text.Bytes()}, {"yaml", lines}} {
		b.Run(c.name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "cluster."+c.name)
			if err := os.WriteFile(path, c.text, 0o600); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				command := exec.Command(program, "plan", "provision", "-f", path, "-o", "json")
				command.Stdout, command.Stderr = io.Discard, os.Stderr
				if err := command.Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
