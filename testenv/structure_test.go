package testenv

import (
	"testing"

	"github.com/joiner-sh/joiner/testenv/repository/structure"
)

// H1: methods of a type. H2: files in a circle. H11, H12: doc comments that begin with another name.
// H17: lines over 120 columns. H19: functions over 60 lines.
//
// TestStructureOnlyGetsBetter measures the code of the repository and holds it to the limits of
// testenv/repository/structure/limits.go. What is beyond one stands in structure.csv with its value, which may only fall:
//
//	make structure
//
// writes lower values down.
func TestStructureOnlyGetsBetter(t *testing.T) {
	tree, err := structure.Read("..")
	if err != nil {
		t.Fatal(err)
	}
	if shipped := tree.Under(structure.Shipped...); len(shipped) < 40 {
		t.Fatalf("only %d packages were read", len(shipped))
	}
	allowed, err := structure.ReadExceptions("structure.csv")
	if err != nil {
		t.Fatal(err)
	}
	worse, better := structure.Compare(allowed, tree.Excess())
	for _, sentence := range worse {
		t.Errorf("worse than testenv/structure.csv: %s", sentence)
	}
	for _, sentence := range better {
		t.Errorf("better than testenv/structure.csv (write it down with `make structure`): %s", sentence)
	}
}
