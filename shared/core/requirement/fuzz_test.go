package requirement

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/bounds"
)

func FuzzFrom(f *testing.F) {
	f.Add("kubernetes.io/arch", "In", "amd64", "arm64", 0)
	f.Add("a", "Gt", "9223372036854775807", "", 3)
	f.Add("/", "Exists", "", "", -1)
	f.Fuzz(func(t *testing.T, key, operator, first, second string, minValues int) {
		list := []model.Requirement{
			{Key: key, Operator: model.Operator(operator), Values: []string{first, second}, MinValues: minValues},
			{Key: key, Operator: model.Operator(operator), Values: []string{first}},
			{Key: key, Operator: model.Operator(operator)},
		}
		bounds.Check(t, len(key)+len(operator)+len(first)+len(second), func() {
			for i := range list {
				r, err := From(list[i : i+1])
				if err != nil {
					if r != nil {
						t.Errorf("From = %v together with %v", r, err)
					}
					if len(err.Error()) > 1000 {
						t.Errorf("an error of %d bytes", len(err.Error()))
					}
					continue
				}
				back, err := From(r.List())
				if err != nil || !back.Equal(r) {
					t.Errorf("%v reads back as %s, %v", list[i], back, err)
				}
				_ = r.String()
				_ = r.Compatible(Requirements{"a": Values(first)}, WellKnown)
			}
			_ = Hint(key, []string{first, second})
		})
	})
}

// FuzzFromLabels: what a node says of itself is met by itself.
func FuzzFromLabels(f *testing.F) {
	f.Add("kubernetes.io/arch", "amd64", "beta.kubernetes.io/arch", "arm64")
	f.Add("", "", "\xff", "\x00")
	f.Fuzz(func(t *testing.T, key, value, otherKey, otherValue string) {
		labels := map[string]string{key: value, otherKey: otherValue}
		facts := FromLabels(labels)
		normal := make(map[string]string)
		for key, set := range facts {
			one, ok := set.Single()
			if !ok {
				t.Fatalf("%q is not one value", key)
			}
			normal[key] = one
		}
		if !facts.Matches(normal) || facts.Compatible(facts, nil) != nil {
			t.Errorf("%v does not meet itself", labels)
		}
		if asked, err := FromSelector(normal); err == nil && (!asked.Matches(normal) || facts.Compatible(asked, nil) != nil) {
			t.Errorf("%v does not meet its own selector", labels)
		}
	})
}
