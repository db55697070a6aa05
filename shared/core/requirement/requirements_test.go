package requirement

import (
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

func TestFromRefusesWhatIsNoRequirement(t *testing.T) {
	long := strings.Repeat("x", 254)
	tests := []struct {
		name string
		r    model.Requirement
		part string
	}{
		{"unknown operator", model.Requirement{Key: "a", Operator: "Near"}, `unknown operator "Near"`},
		{"In without values", model.Requirement{Key: "a", Operator: model.In}, "at least one value"},
		{"Exists with values", model.Requirement{Key: "a", Operator: model.Exists, Values: []string{"x"}}, "takes no values"},
		{"bound without integer", model.Requirement{Key: "a", Operator: model.Gt, Values: []string{"3.5"}}, `needs an integer, got "3.5"`},
		{"bound beyond int64", model.Requirement{Key: "a", Operator: model.Lt, Values: []string{"9223372036854775808"}}, "needs an integer"},
		{"two bounds in one", model.Requirement{Key: "a", Operator: model.Gte, Values: []string{"1", "2"}}, "exactly one value"},
		{"value no label can have", model.Requirement{Key: "a", Operator: model.In, Values: []string{"-x"}}, "no label can have"},
		{"long value", model.Requirement{Key: "a", Operator: model.In, Values: []string{long}}, "no label can have"},
		{"minValues too large", model.Requirement{Key: "a", Operator: model.Exists, MinValues: 51}, "minValues 51"},
		{"minValues negative", model.Requirement{Key: "a", Operator: model.Exists, MinValues: -1}, "minValues -1"},
		{"empty key", model.Requirement{Operator: model.Exists}, "not a label key"},
		{"two slashes", model.Requirement{Key: "a/b/c", Operator: model.Exists}, "not a label key"},
		{"upper case domain", model.Requirement{Key: "A.io/b", Operator: model.Exists}, "not a label key"},
		{"endless domain", model.Requirement{Key: long + "/b", Operator: model.Exists}, "not a label key"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := From([]model.Requirement{test.r})
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), test.part) {
				t.Errorf("From = %v, want an Invalid error that says %q", err, test.part)
			}
			if err != nil && len(err.Error()) > 400 {
				t.Errorf("the error repeats %d characters of input", len(err.Error()))
			}
		})
	}
}

func TestFromUsesTodaysNames(t *testing.T) {
	got, err := From([]model.Requirement{
		{Key: "beta.kubernetes.io/arch", Operator: model.In, Values: []string{"arm64", "amd64"}},
		{Key: "kubernetes.io/arch", Operator: model.NotIn, Values: []string{"amd64"}},
		{Key: "topology.ebs.csi.aws.com/zone", Operator: model.In, Values: []string{"a"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := Requirements{model.LabelArch: Values("arm64"), model.LabelZone: Values("a")}
	if !got.Equal(want) {
		t.Errorf("From = %s, want %s", got, want)
	}
}

func TestFromLabelsPrefersTodaysName(t *testing.T) {
	for range 20 { // whatever the order a map is walked in
		got := FromLabels(map[string]string{"beta.kubernetes.io/os": "old", "kubernetes.io/os": "new"})
		if !got.Equal(Requirements{model.LabelOS: Values("new")}) {
			t.Fatalf("FromLabels = %s", got)
		}
	}
}

func TestCompatibleWithUndefinedLabels(t *testing.T) {
	pool := Requirements{"team": Values("a", "b")}
	tests := []struct {
		name      string
		incoming  Requirements
		undefined func(string) bool
		conflict  string // "" = compatible
	}{
		{"custom label unknown", Requirements{"rack": Values("1")}, WellKnown, "rack In [1]: no value of this label is known"},
		{"custom label may be absent", Requirements{"rack": Not("1")}, WellKnown, ""},
		{"custom label must be absent", Requirements{"rack": Absent()}, WellKnown, ""},
		{"excluded, yet present", Requirements{"rack": Not("1").Intersect(Present())}, WellKnown, "rack NotIn [1]: no value of this label is known"},
		{"well-known label open", Requirements{model.LabelZone: Values("z")}, WellKnown, ""},
		{"well-known label, contradiction", Requirements{model.LabelZone: {}}, WellKnown, "no value of this label is known"},
		{"well-known label on a node", Requirements{model.LabelZone: Values("z")}, nil, "no value of this label is known"},
		{"shared key", Requirements{"team": Values("b", "c")}, WellKnown, ""},
		{"shared key without overlap", Requirements{"team": Values("c")}, WellKnown, "team In [c] does not meet team In [a b]"},
		{"typing error", Requirements{"teams": Values("a")}, WellKnown, "teams In [a]: no value of this label is known; did you mean team?"},
		{"other domain", Requirements{"example.com/zone": Values("z")}, WellKnown, "did you mean topology.kubernetes.io/zone?"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			conflict := pool.Compatible(test.incoming, test.undefined)
			switch {
			case test.conflict == "" && conflict != nil:
				t.Errorf("conflict = %v, want none", conflict)
			case test.conflict != "" && (conflict == nil || !strings.Contains(conflict.Error(), test.conflict)):
				t.Errorf("conflict = %v, want %q", conflict, test.conflict)
			}
		})
	}
}

func TestExclusionsAgreeWithAbsence(t *testing.T) {
	for _, have := range []Set{Not("a"), Absent()} {
		for _, wanted := range []Set{Not("b"), Absent()} {
			if conflict := (Requirements{"k": have}).Compatible(Requirements{"k": wanted}, nil); conflict != nil {
				t.Errorf("%v", conflict)
			}
		}
	}
}

func TestMatchesComparesLabelsOfANode(t *testing.T) {
	labels := map[string]string{"team": "a", "size": "8"}
	tests := []struct {
		r    Requirements
		want bool
	}{
		{nil, true},
		{Requirements{"team": Values("a"), "size": AtLeast(4)}, true},
		{Requirements{"team": Not("a")}, false},
		{Requirements{"rack": Not("1")}, true},
		{Requirements{"rack": Present()}, false},
		{Requirements{"rack": Absent()}, true},
		{Requirements{"team": Absent()}, false},
	}
	for _, test := range tests {
		if got := test.r.Matches(labels); got != test.want {
			t.Errorf("%s matches = %v, want %v", test.r, got, test.want)
		}
	}
}

func TestHintNamesTheLikelyKey(t *testing.T) {
	tests := []struct{ key, want string }{
		{"zone", model.LabelZone},
		{"example.com/arch", model.LabelArch},
		{"karpenter.k8s.aws/instance-famly", InstanceFamily},
		{"kubernetes.io/archs", model.LabelArch},
		{"instance-gpu-name", InstanceGPUName},
		{"team.example.com/rack", "example.com/rack"},
		{"something.else/entirely", ""},
		{"x", ""},
		{strings.Repeat("q", 253), ""},
	}
	for _, test := range tests {
		if got := Hint(test.key, []string{"example.com/rack"}); got != test.want {
			t.Errorf("Hint(%q) = %q, want %q", test.key, got, test.want)
		}
	}
}

func TestTextShowsFiveValues(t *testing.T) {
	tests := []struct {
		set  Set
		want string
	}{
		{Values("a", "b"), "key In [a b]"},
		{Values("h", "g", "f", "e", "d", "c", "b", "a"), "key In [a b c d e and 3 others]"},
		{Values("f", "e", "d", "c", "b", "a"), "key In [a b c d e and 1 other]"},
		{Not("a"), "key NotIn [a]"},
		{Present(), "key Exists"},
		{Absent(), "key DoesNotExist"},
		{bounded(3, 7), "key Exists >= 3 <= 7"},
		{Values("a", "b").WithMinValues(2), "key In [a b] minValues 2"},
	}
	for _, test := range tests {
		if got := test.set.Text("key"); got != test.want {
			t.Errorf("Text = %q, want %q", got, test.want)
		}
	}
}

func TestListSaysWhatOneOperatorCannot(t *testing.T) {
	r := Requirements{
		"a": bounded(3, 7).Intersect(Not("5")).WithMinValues(2),
		"b": Not("x").Intersect(Present()),
		"c": Values("p", "q"),
	}
	want := []model.Requirement{
		{Key: "a", Operator: model.NotIn, Values: []string{"5"}, MinValues: 2},
		{Key: "a", Operator: model.Gte, Values: []string{"3"}},
		{Key: "a", Operator: model.Lte, Values: []string{"7"}},
		{Key: "b", Operator: model.NotIn, Values: []string{"x"}},
		{Key: "b", Operator: model.Exists},
		{Key: "c", Operator: model.In, Values: []string{"p", "q"}},
	}
	got := r.List()
	if len(got) != len(want) {
		t.Fatalf("List = %v, want %v", got, want)
	}
	for i := range want {
		if got[i].Key != want[i].Key || got[i].Operator != want[i].Operator || got[i].MinValues != want[i].MinValues ||
			strings.Join(got[i].Values, ",") != strings.Join(want[i].Values, ",") {
			t.Errorf("item %d = %v, want %v", i, got[i], want[i])
		}
	}
}
