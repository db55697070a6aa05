package topology_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/joiner-sh/joiner/shared/core/topology"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

func TestMatches(t *testing.T) {
	in := func(values ...string) model.Requirement {
		return model.Requirement{Key: "app", Operator: model.In, Values: values}
	}
	tests := []struct {
		name     string
		selector *model.Selector
		labels   map[string]string
		want     bool
	}{
		{"no selector matches nothing", nil, nil, false},
		{"an empty selector matches everything", &model.Selector{}, nil, true},
		{"a pair must be there", &model.Selector{MatchLabels: map[string]string{"app": "web"}}, map[string]string{"app": "db"}, false},
		{"an empty value is not an absent one", &model.Selector{MatchLabels: map[string]string{"app": ""}}, nil, false},
		{"pairs and expressions must all hold", &model.Selector{MatchLabels: map[string]string{"app": "web"},
			Expressions: []model.Requirement{in("web", "db"), {Key: "tier", Operator: model.Exists}}}, map[string]string{"app": "web"}, false},
		{"NotIn holds where the label is absent", &model.Selector{Expressions: []model.Requirement{{Key: "app", Operator: model.NotIn, Values: []string{"web"}}}}, nil, true},
		{"what contradicts itself matches nothing", &model.Selector{Expressions: []model.Requirement{in("web"), in("db")}}, map[string]string{"app": "web"}, false},
		{"a pod's label keeps its name even where a node's would be renamed",
			&model.Selector{MatchLabels: map[string]string{"beta.kubernetes.io/arch": "arm64"}}, map[string]string{"kubernetes.io/arch": "arm64"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := topology.Matches(test.selector, test.labels)
			if err != nil || got != test.want {
				t.Errorf("Matches = %v, %v, want %v", got, err, test.want)
			}
		})
	}
}

func TestAnInvalidSelectorIsRefusedWithItsField(t *testing.T) {
	long := strings.Repeat("x", 5000)
	expression := func(key string, operator model.Operator, values ...string) *model.Selector {
		return &model.Selector{Expressions: []model.Requirement{{Key: "app", Operator: model.Exists}, {Key: key, Operator: operator, Values: values}}}
	}
	tests := []struct {
		name     string
		selector *model.Selector
		parts    []string
	}{
		{"unknown operator", expression("app", "Near", "x"), []string{"matchExpressions[1]", "Near"}},
		{"an operator of node selectors", expression("app", model.Gt, "3"), []string{"matchExpressions[1]", "Gt"}},
		{"In without values", expression("app", model.In), []string{"matchExpressions[1]", "at least one value"}},
		{"Exists with values", expression("app", model.Exists, "x"), []string{"matchExpressions[1]", "no values"}},
		{"a value no label can have", expression("app", model.NotIn, "-x"), []string{"matchExpressions[1]", `"-x"`}},
		{"an endless value", expression("app", model.In, long), []string{"matchExpressions[1]"}},
		{"an endless operator", expression("app", model.Operator(long)), []string{"matchExpressions[1]"}},
		{"a key no label can have", expression("a/b/c", model.Exists), []string{"matchExpressions[1]", `"a/b/c"`}},
		{"an empty key", &model.Selector{MatchLabels: map[string]string{"": "x"}}, []string{"matchLabels"}},
		{"a pair with a value no label can have", &model.Selector{MatchLabels: map[string]string{"app": "a b"}}, []string{"matchLabels", `"a b"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ns := topology.Namespaces{}
			owner := &model.PodShape{Namespace: "shop"}
			_, ofTerm := topology.PeersOfTerm(&model.PodTerm{Selector: test.selector}, owner, ns)
			_, ofNamespaces := topology.PeersOfTerm(&model.PodTerm{Selector: &model.Selector{}, NamespaceSelector: test.selector}, owner, ns)
			_, ofSpread := topology.PeersOfSpread(&model.Spread{Selector: test.selector}, owner)
			_, ofSelector := topology.PeersOfSelector("shop", test.selector)
			_, matches := topology.Matches(test.selector, nil)
			for field, err := range map[string]error{"labelSelector": ofTerm, "namespaceSelector": ofNamespaces, "labelSelector.": ofSpread, "selector": ofSelector, "selector.": matches} {
				if !fault.Is(err, fault.Invalid) || !strings.HasPrefix(err.Error(), field) {
					t.Errorf("error %v is not an Invalid one of %s", err, field)
					continue
				}
				for _, part := range test.parts {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("error %q does not say %s", err, part)
					}
				}
				if len(err.Error()) > 600 {
					t.Errorf("the error repeats %d characters of input", len(err.Error()))
				}
			}
		})
	}
}

// The small world in which selectors are compared: every label is absent or one of these.
var (
	labelKeys   = []string{"app", "tier", "example.com/rev"}
	labelValues = []string{"", "a", "b", "c"}
)

func anyLabels(t *rapid.T, name string) map[string]string {
	return rapid.MapOf(rapid.SampledFrom(labelKeys), rapid.SampledFrom(labelValues)).Draw(t, name)
}

// anySelector draws a selector; with wrong it may be one that cannot be read.
func anySelector(t *rapid.T, name string, wrong bool) *model.Selector {
	if rapid.IntRange(0, 9).Draw(t, name+" is there") == 0 {
		return nil
	}
	keys, operators, values := labelKeys, []model.Operator{model.In, model.NotIn, model.Exists, model.DoesNotExist}, labelValues
	if wrong {
		keys = append(slices.Clone(keys), "", "a/b/c", "-x")
		operators = append(operators, model.Gt, "", "in")
		values = append(slices.Clone(values), "-", "a b", strings.Repeat("x", 64))
	}
	out := &model.Selector{MatchLabels: rapid.MapOfN(rapid.SampledFrom(keys), rapid.SampledFrom(values), 0, 2).Draw(t, name+" pairs")}
	for range rapid.IntRange(0, 3).Draw(t, name+" expressions") {
		r := model.Requirement{Key: rapid.SampledFrom(keys).Draw(t, name+" key"), Operator: rapid.SampledFrom(operators).Draw(t, name+" operator")}
		least := 0
		if takesValues := r.Operator == model.In || r.Operator == model.NotIn; takesValues || wrong {
			if takesValues && !wrong {
				least = 1
			}
			r.Values = rapid.SliceOfN(rapid.SampledFrom(values), least, 3).Draw(t, name+" values")
		}
		out.Expressions = append(out.Expressions, r)
	}
	return out
}

func asKubernetes(s *model.Selector) *metav1.LabelSelector {
	if s == nil {
		return nil
	}
	out := &metav1.LabelSelector{MatchLabels: maps.Clone(s.MatchLabels)}
	for _, r := range s.Expressions {
		out.MatchExpressions = append(out.MatchExpressions, metav1.LabelSelectorRequirement{Key: r.Key, Operator: metav1.LabelSelectorOperator(r.Operator), Values: r.Values})
	}
	return out
}

func TestMatchesIsWhatKubernetesMatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		selector := anySelector(t, "selector", true)
		theirs, wrong := metav1.LabelSelectorAsSelector(asKubernetes(selector))
		for range 5 {
			pod := anyLabels(t, "labels")
			got, err := topology.Matches(selector, pod)
			if (err != nil) != (wrong != nil) {
				t.Fatalf("Matches(%+v) errs with %v, Kubernetes with %v", selector, err, wrong)
			}
			if err == nil && got != theirs.Matches(labels.Set(pod)) {
				t.Fatalf("Matches(%+v, %v) = %v, and not so in Kubernetes", selector, pod, got)
			}
		}
	})
}

func FuzzMatches(f *testing.F) {
	f.Add("app", "In", "web", "db", "tier", "x", "app", "web")
	f.Add("beta.kubernetes.io/arch", "NotIn", "", "-", "a/b", "é", "", "")
	f.Add("A.b/c", "Exists", "x", strings.Repeat("y", 64), "a//b", "\x00", "c", "c")
	f.Fuzz(func(t *testing.T, key, operator, first, second, pairKey, pairValue, label, value string) {
		selectors := []*model.Selector{
			{Expressions: []model.Requirement{{Key: key, Operator: model.Operator(operator), Values: []string{first, second}}}},
			{Expressions: []model.Requirement{{Key: key, Operator: model.Operator(operator)}}},
			{MatchLabels: map[string]string{pairKey: pairValue}},
			{MatchLabels: map[string]string{pairKey: pairValue}, Expressions: []model.Requirement{{Key: pairKey, Operator: model.Operator(operator), Values: []string{first}}}},
		}
		pod := map[string]string{label: value}
		for _, selector := range selectors {
			got, err := topology.Matches(selector, pod)
			theirs, wrong := metav1.LabelSelectorAsSelector(asKubernetes(selector))
			if (err != nil) != (wrong != nil) || err == nil && got != theirs.Matches(labels.Set(pod)) {
				t.Errorf("Matches(%+v, %q) = %v, %v; Kubernetes errs with %v", selector, pod, got, err, wrong)
			}
			peers, err := topology.PeersOfSelector("shop", selector)
			if err == nil && peers.Match("shop", pod) != got {
				t.Errorf("peers of %+v disagree with Matches on %q", selector, pod)
			}
		}
	})
}
