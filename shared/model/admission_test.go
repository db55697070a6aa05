package model

import "testing"

// H8: what is wrong with an object is read back from the sentence it was printed as, whatever stands in value, message and remedy.
func TestH8FindingsAreReadAsTheyWerePrinted(t *testing.T) {
	for _, want := range []Finding{
		{Field: "spec.weight", Message: "must not be below zero"},
		{Field: "spec.limits[cpu]", Value: "ten", Message: "is no quantity", Remedy: "Write a quantity such as 100."},
		{Field: "spec.template.spec.requirements[0].values", Value: `a "b": c`, Message: "must be one word: it has 3", Remedy: "Write one. Or two."},
		{Field: "metadata.labels", Value: ": ", Message: `"quoted": is not allowed`},
		{Message: "the object cannot be read", Remedy: "Apply the definitions again."},
	} {
		if got := ParseFinding(want.String()); got != want {
			t.Errorf("%q is read as %+v, want %+v", want.String(), got, want)
		}
	}
}
