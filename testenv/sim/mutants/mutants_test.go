package main

import (
	"go/format"
	"testing"
)

// TestEveryDefectHasItsPlace: each is still where the list says, and what it makes of its file is Go.
func TestEveryDefectHasItsPlace(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	if len(defects) < 30 {
		t.Errorf("%d defects, want 30", len(defects))
	}
	seen := map[string]bool{}
	for _, d := range all() {
		if seen[d.name] {
			t.Errorf("two defects are called %q", d.name)
		}
		seen[d.name] = true
		text, err := d.changed(root)
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := format.Source(text); err != nil {
			t.Errorf("%s: %v", d.name, err)
		}
	}
	for _, tests := range []map[string]unit{units, survivorTests} {
		for name := range tests {
			if !seen[name] {
				t.Errorf("no defect is called %q", name)
			}
		}
	}
}
