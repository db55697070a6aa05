package requirement

import (
	"math"
	"strconv"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// bounded allows integers from lower to upper. It is written out, since Intersect is compared with it.
func bounded(lower, upper int64) Set {
	return Set{complement: true, lower: lower, hasLower: true, upper: upper, hasUpper: true}.canonical()
}

func bound(t *testing.T, operator model.Operator, n int64) Set {
	t.Helper()
	set, err := Of(model.Requirement{Key: "k", Operator: operator, Values: []string{strconv.FormatInt(n, 10)}})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestIntersectKeepsWhatBothAllow(t *testing.T) {
	gt := func(n int64) Set { return bound(t, model.Gt, n) }
	lt := func(n int64) Set { return bound(t, model.Lt, n) }
	tests := []struct {
		name  string
		a, b  Set
		want  Set
		value bool // some value meets both
		meets bool // some value, or absence, does
	}{
		{"set less exclusion", Values("a", "b"), Not("b"), Values("a"), true, true},
		{"disjoint sets", Values("a"), Values("b"), Set{}, false, false},
		{"present and absent", Present(), Absent(), Set{}, false, false},
		{"excluded and absent", Not("a"), Absent(), Absent(), false, true},
		{"absent and absent", Absent(), Absent(), Absent(), false, true},
		{"set and absent", Values("a"), Absent(), Set{}, false, false},
		{"numbers above", Values("1", "5", "9"), gt(4), Values("5", "9"), true, true},
		{"both bounds", AtLeast(3), AtMost(7), bounded(3, 7), true, true},
		{"bounds that exclude each other", gt(5), lt(5), Set{}, false, false},
		{"bounds without an integer between", gt(5), lt(6), Set{}, false, false},
		{"bounds with one integer between", gt(5), lt(7), bounded(6, 6), true, true},
		{"no integer", Values("x"), AtLeast(0), Set{}, false, false},
		{"minValues is the larger", Values("a", "b").WithMinValues(1), Present().WithMinValues(2), Values("a", "b").WithMinValues(2), true, true},
		{"contradiction keeps minValues", gt(5).WithMinValues(3), lt(5), Set{}.WithMinValues(3), false, false},
		{"exclusions add up", Not("a"), Not("b"), Not("a", "b"), true, true},
		{"exclusions outside bounds are dropped", Not("a", "2", "5"), AtLeast(3), AtLeast(3).Intersect(Not("5")), true, true},
		{"anything changes nothing", Any(), Not("a"), Not("a"), true, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, got := range []Set{test.a.Intersect(test.b), test.b.Intersect(test.a)} {
				if !got.Equal(test.want) {
					t.Errorf("intersection = %s, want %s", got.Text("k"), test.want.Text("k"))
				}
				if got.AllowsValue() != test.value {
					t.Errorf("AllowsValue = %v, want %v", got.AllowsValue(), test.value)
				}
			}
			if got := test.a.Meets(test.b); got != test.meets {
				t.Errorf("Meets = %v, want %v", got, test.meets)
			}
		})
	}
}

func TestBoundsBeyondTheLastIntegerAllowNothing(t *testing.T) {
	for _, set := range []Set{bound(t, model.Gt, math.MaxInt64), bound(t, model.Lt, math.MinInt64)} {
		if set.Possible() || set.Operator() != model.DoesNotExist {
			t.Errorf("%s is possible", set.Text("k"))
		}
	}
	if set := bound(t, model.Gte, math.MaxInt64); !set.Has(strconv.Itoa(math.MaxInt64)) {
		t.Error("Gte of the last integer refuses it")
	}
}

func TestHasReadsIntegersWithinBounds(t *testing.T) {
	tests := []struct {
		set   Set
		value string
		want  bool
	}{
		{bounded(3, 7), "3", true},
		{bounded(3, 7), "7", true},
		{bounded(3, 7), "8", false},
		{bounded(3, 7), "007", true}, // kube-scheduler reads it so
		{bounded(3, 7), "", false},
		{bounded(3, 7), "5.0", false},
		{AtLeast(3), "99999999999999999999", false},
		{Not("a"), "a", false},
		{Not("a"), "b", true},
		{Present(), "", true},
		{Values(""), "", true},
		{Absent(), "", false},
	}
	for _, test := range tests {
		if got := test.set.Has(test.value); got != test.want {
			t.Errorf("%s has %q = %v, want %v", test.set.Text("k"), test.value, got, test.want)
		}
	}
}

func TestWithinIsSubset(t *testing.T) {
	tests := []struct {
		s, t Set
		want bool
	}{
		{Values("a"), Values("a", "b"), true},
		{Values("a", "b"), Values("a"), false},
		{Values("a"), Present(), true},
		{Not("a"), Present(), false},
		{Not("a", "b"), Not("a"), true},
		{Not("a"), Not("a", "b"), false},
		{Any(), Not("a"), false},
		{Absent(), Not("a"), true},
		{Values("5"), bounded(3, 7), true},
		{bounded(4, 5), bounded(3, 7), true},
		{Values("a").WithMinValues(3), Values("a"), true},
	}
	for _, test := range tests {
		if got := test.s.Within(test.t); got != test.want {
			t.Errorf("%s within %s = %v, want %v", test.s.Text("k"), test.t.Text("k"), got, test.want)
		}
	}
}

func TestPickAlwaysMeetsTheSet(t *testing.T) {
	tests := []struct {
		set  Set
		want string
		ok   bool
	}{
		{Values("b", "a"), "a", true},
		{Present(), "0", true},
		{Not("0", "1", "x"), "2", true},
		{bounded(6, 9).Intersect(Not("6", "7")), "8", true},
		{AtMost(4), "0", true},
		{AtMost(-1), "", false},
		{bounded(5, 5).Intersect(Not("5")), "", false},
		{Absent(), "", false},
		{Set{}, "", false},
	}
	for _, test := range tests {
		got, ok := test.set.Pick()
		if got != test.want || ok != test.ok {
			t.Errorf("%s picks %q, %v, want %q, %v", test.set.Text("k"), got, ok, test.want, test.ok)
		}
		if ok && !test.set.Has(got) {
			t.Errorf("%s does not have what it picked", test.set.Text("k"))
		}
	}
}
