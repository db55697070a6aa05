package requirement

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/joiner-sh/joiner/shared/model"
)

// universe is small enough to be tried whole: words, integers, an integer in disguise and the empty value.
var universe = []string{"", "a", "b", "c", "0", "1", "2", "3", "4", "5", "03", "x1"}

func requirementOf(keys ...string) *rapid.Generator[model.Requirement] {
	return rapid.Custom(func(t *rapid.T) model.Requirement {
		r := model.Requirement{
			Key: rapid.SampledFrom(keys).Draw(t, "key"),
			Operator: rapid.SampledFrom([]model.Operator{model.In, model.NotIn, model.Exists, model.DoesNotExist, model.Gt,
				model.Lt, model.Gte, model.Lte}).Draw(t, "operator"),
			MinValues: rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "minValues"),
		}
		switch r.Operator {
		case model.In, model.NotIn:
			r.Values = rapid.SliceOfN(rapid.SampledFrom(universe), 1, 5).Draw(t, "values")
		case model.Gt, model.Lt, model.Gte, model.Lte:
			r.Values = []string{rapid.SampledFrom([]string{"-1", "0", "1", "2", "3", "4", "5", "9223372036854775807", "-9223372036854775808"}).Draw(t, "bound")}
		}
		return r
	})
}

// anySet draws the intersection of one to three requirements on one key.
func anySet(t *rapid.T, name string) Set {
	out := Any()
	for _, r := range rapid.SliceOfN(requirementOf("k"), 1, 3).Draw(t, name) {
		set, err := Of(r)
		if err != nil {
			t.Fatalf("Of(%v): %v", r, err)
		}
		out = out.Intersect(set)
	}
	return out
}

func TestIntersectionIsCommutativeAssociativeIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := anySet(t, "a"), anySet(t, "b"), anySet(t, "c")
		if x, y := a.Intersect(b), b.Intersect(a); !x.Equal(y) {
			t.Errorf("a∧b = %s, b∧a = %s", x.Text("k"), y.Text("k"))
		}
		if x, y := a.Intersect(b).Intersect(c), a.Intersect(b.Intersect(c)); !x.Equal(y) {
			t.Errorf("(a∧b)∧c = %s, a∧(b∧c) = %s", x.Text("k"), y.Text("k"))
		}
		if x := a.Intersect(a); !x.Equal(a) {
			t.Errorf("a∧a = %s, a = %s", x.Text("k"), a.Text("k"))
		}
	})
}

func TestMembershipOfTheIntersectionIsMembershipOfBoth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anySet(t, "a"), anySet(t, "b")
		both := a.Intersect(b)
		for _, value := range universe {
			if got, want := both.Has(value), a.Has(value) && b.Has(value); got != want {
				t.Errorf("%q in %s ∧ %s = %v, want %v", value, a.Text("k"), b.Text("k"), got, want)
			}
			if both.Has(value) && !both.Possible() {
				t.Errorf("%s has %q and is not possible", both.Text("k"), value)
			}
		}
		if got, want := both.AllowsAbsent(), a.AllowsAbsent() && b.AllowsAbsent(); got != want {
			t.Errorf("absence in %s ∧ %s = %v, want %v", a.Text("k"), b.Text("k"), got, want)
		}
	})
}

func TestWithinMeansEveryMemberIsAMember(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anySet(t, "a"), anySet(t, "b")
		if !a.Within(b) {
			return
		}
		for _, value := range universe {
			if a.Has(value) && !b.Has(value) {
				t.Errorf("%s is within %s, but only the first has %q", a.Text("k"), b.Text("k"), value)
			}
		}
	})
}

func TestWhatIsWrittenReadsBackTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(requirementOf("k", "example.com/l", model.LabelZone), 0, 8).Draw(t, "list")
		want, err := From(list)
		if err != nil {
			t.Fatal(err)
		}
		got, err := From(want.List())
		if err != nil {
			t.Fatalf("read back %v: %v", want.List(), err)
		}
		if !got.Equal(want) {
			t.Errorf("read back %s, want %s", got, want)
		}
	})
}

func TestCompatibleMeansSomeNodeMeetsBoth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		have := Requirements{"k": anySet(t, "have")}
		incoming := Requirements{"k": anySet(t, "incoming")}
		for _, value := range universe {
			labels := map[string]string{"k": value}
			if have.Matches(labels) && incoming.Matches(labels) && have.Compatible(incoming, nil) != nil {
				t.Errorf("%s and %s are both met by %q", have, incoming, value)
			}
		}
		if have.Matches(nil) && incoming.Matches(nil) && have.Compatible(incoming, nil) != nil {
			t.Errorf("%s and %s are both met by absence", have, incoming)
		}
	})
}
