package topology_test

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/joiner-sh/joiner/shared/core/topology"
	"github.com/joiner-sh/joiner/shared/model"
)

func web() *model.Selector { return &model.Selector{MatchLabels: map[string]string{"app": "web"}} }

func cluster() topology.Namespaces {
	return topology.NamespacesOf([]model.Namespace{
		{Name: "shop", Labels: map[string]string{"team": "a"}},
		{Name: "bank", Labels: map[string]string{"team": "b", "kubernetes.io/metadata.name": "forged"}},
		{Name: "bare"},
	})
}

func TestWhichNamespacesATermIsAbout(t *testing.T) {
	teamA := &model.Selector{MatchLabels: map[string]string{"team": "a"}}
	notA := &model.Selector{Expressions: []model.Requirement{{Key: "team", Operator: model.NotIn, Values: []string{"a"}}}}
	named := func(name string) *model.Selector {
		return &model.Selector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": name}}
	}
	tests := []struct {
		name string
		term model.PodTerm
		want []string // of shop, bank, bare and the unknown gone
	}{
		{"the pod's own by default", model.PodTerm{}, []string{"bare"}},
		{"those named, and then not its own", model.PodTerm{Namespaces: []string{"shop", "gone"}}, []string{"gone", "shop"}},
		{"those selected", model.PodTerm{NamespaceSelector: teamA}, []string{"shop"}},
		{"those named and those selected", model.PodTerm{Namespaces: []string{"bare"}, NamespaceSelector: teamA}, []string{"bare", "shop"}},
		{"all, with an empty selector, whoever is named", model.PodTerm{Namespaces: []string{"shop"}, NamespaceSelector: &model.Selector{}}, []string{"bank", "bare", "gone", "shop"}},
		{"all, with an empty selector", model.PodTerm{NamespaceSelector: &model.Selector{}}, []string{"bank", "bare", "gone", "shop"}},
		{"none, where no namespace is selected", model.PodTerm{NamespaceSelector: named("nowhere")}, nil},
		{"every namespace has its name as a label", model.PodTerm{NamespaceSelector: named("bare")}, []string{"bare"}},
		{"and nobody can forge it", model.PodTerm{NamespaceSelector: named("forged")}, nil},
		{"of one that is not known, the name is known", model.PodTerm{NamespaceSelector: named("gone")}, []string{"gone"}},
		{"and no other label", model.PodTerm{NamespaceSelector: notA}, []string{"bank", "bare", "gone"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.term.Selector = web()
			peers, err := topology.PeersOfTerm(&test.term, &model.PodShape{Namespace: "bare"}, cluster())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, namespace := range []string{"bank", "bare", "gone", "shop"} {
				if peers.Match(namespace, map[string]string{"app": "web"}) {
					got = append(got, namespace)
				}
				if peers.Match(namespace, map[string]string{"app": "db"}) {
					t.Errorf("in %s a pod matches that the label selector does not select", namespace)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("matches in %v, want %v", got, test.want)
			}
		})
	}
}

func TestMatchLabelKeys(t *testing.T) {
	owner := &model.PodShape{Namespace: "shop", Labels: map[string]string{"app": "web", "rev": "2"}}
	pods := map[string]map[string]string{
		"same revision":  {"app": "web", "rev": "2"},
		"older revision": {"app": "web", "rev": "1"},
		"no revision":    {"app": "web"},
		"another app":    {"app": "db", "rev": "2"},
	}
	tests := []struct {
		name string
		term model.PodTerm
		want []string
	}{
		{"the labels must be the owner's", model.PodTerm{Selector: web(), MatchLabelKeys: []string{"rev"}}, []string{"same revision"}},
		{"the labels must not be the owner's", model.PodTerm{Selector: web(), MismatchLabelKeys: []string{"rev"}}, []string{"no revision", "older revision"}},
		{"a label the owner lacks says nothing", model.PodTerm{Selector: web(), MatchLabelKeys: []string{"x"}, MismatchLabelKeys: []string{"y"}},
			[]string{"no revision", "older revision", "same revision"}},
		{"they narrow an empty selector", model.PodTerm{Selector: &model.Selector{}, MatchLabelKeys: []string{"rev"}}, []string{"another app", "same revision"}},
		{"no selector stays without peers", model.PodTerm{MatchLabelKeys: []string{"rev"}}, nil},
		{"a key in both contradicts itself", model.PodTerm{Selector: web(), MatchLabelKeys: []string{"rev"}, MismatchLabelKeys: []string{"rev"}}, nil},
		{"once folded in by the API server they change nothing", model.PodTerm{MatchLabelKeys: []string{"rev"},
			Selector: &model.Selector{MatchLabels: web().MatchLabels, Expressions: []model.Requirement{{Key: "rev", Operator: model.In, Values: []string{"2"}}}}}, []string{"same revision"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			peers, err := topology.PeersOfTerm(&test.term, owner, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for name, pod := range pods {
				if peers.Match("shop", pod) {
					got = append(got, name)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, test.want) {
				t.Errorf("matches %q, want %q", got, test.want)
			}
			if peers.IsEmpty() != (len(test.want) == 0) {
				t.Errorf("None = %v of peers that match %q", peers.IsEmpty(), got)
			}
		})
	}
}

func TestSpreadCountsItsOwnNamespace(t *testing.T) {
	owner := &model.PodShape{Namespace: "shop", Labels: map[string]string{"app": "web", "rev": "2"}}
	tests := []struct {
		name      string
		spread    model.Spread
		namespace string
		labels    map[string]string
		want      bool
	}{
		{"those selected", model.Spread{Selector: web()}, "shop", map[string]string{"app": "web"}, true},
		{"nobody in another namespace", model.Spread{Selector: web()}, "bank", map[string]string{"app": "web"}, false},
		{"its own revision", model.Spread{Selector: web(), MatchLabelKeys: []string{"rev"}}, "shop", map[string]string{"app": "web", "rev": "1"}, false},
		{"nobody without a selector", model.Spread{}, "shop", owner.Labels, false},
		{"nobody without a selector, whatever the keys", model.Spread{MatchLabelKeys: []string{"rev"}}, "shop", owner.Labels, false},
		{"nobody with an empty one", model.Spread{Selector: &model.Selector{}}, "shop", owner.Labels, false},
		{"those with the keys' labels where the selector is empty", model.Spread{Selector: &model.Selector{}, MatchLabelKeys: []string{"rev"}}, "shop", map[string]string{"rev": "2"}, true},
		{"nobody where the owner lacks those too", model.Spread{Selector: &model.Selector{}, MatchLabelKeys: []string{"x"}}, "shop", owner.Labels, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			peers, err := topology.PeersOfSpread(&test.spread, owner)
			if err != nil {
				t.Fatal(err)
			}
			if got := peers.Match(test.namespace, test.labels); got != test.want {
				t.Errorf("Match = %v, want %v", got, test.want)
			}
		})
	}
}

func TestZeroPeersHoldNobody(t *testing.T) {
	var peers topology.Peers
	if peers.Match("", nil) || !peers.IsEmpty() || peers.Key() != "" {
		t.Errorf("the zero Peers match or have the key %q", peers.Key())
	}
}

func anyTerm(t *rapid.T) model.PodTerm {
	return model.PodTerm{
		Selector:          anySelector(t, "labelSelector", false),
		Namespaces:        rapid.SliceOfN(rapid.SampledFrom([]string{"shop", "bank", "gone"}), 0, 3).Draw(t, "namespaces"),
		NamespaceSelector: anySelector(t, "namespaceSelector", false),
		MatchLabelKeys:    rapid.SliceOfN(rapid.SampledFrom(labelKeys), 0, 2).Draw(t, "matchLabelKeys"),
		MismatchLabelKeys: rapid.SliceOfN(rapid.SampledFrom(labelKeys), 0, 1).Draw(t, "mismatchLabelKeys"),
	}
}

func anyNamespaces(t *rapid.T) topology.Namespaces {
	return topology.NamespacesOf([]model.Namespace{
		{Name: "shop", Labels: anyLabels(t, "labels of shop")}, {Name: "bank", Labels: anyLabels(t, "labels of bank")}, {Name: "bare"},
	})
}

// The rules are those of the API server, which appends what the label keys say to the selector, and of kube-scheduler,
// which takes pods of the namespaces named, or of those whose labels the namespace selector matches.
func TestTermsMatchAsInKubernetes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		term, ns := anyTerm(t), anyNamespaces(t)
		owner := &model.PodShape{Namespace: rapid.SampledFrom([]string{"shop", "bare"}).Draw(t, "own namespace"), Labels: anyLabels(t, "own labels")}
		peers, err := topology.PeersOfTerm(&term, owner, ns)
		if err != nil {
			t.Fatalf("OfTerm(%+v): %v", term, err)
		}
		selector := asKubernetes(term.Selector)
		fold := func(keys []string, operator metav1.LabelSelectorOperator) {
			for _, key := range keys {
				if value, has := owner.Labels[key]; has && selector != nil {
					selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: []string{value}})
				}
			}
		}
		fold(term.MatchLabelKeys, metav1.LabelSelectorOpIn)
		fold(term.MismatchLabelKeys, metav1.LabelSelectorOpNotIn)
		pods, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil {
			t.Fatal(err)
		}
		namespaces, err := metav1.LabelSelectorAsSelector(asKubernetes(term.NamespaceSelector))
		if err != nil {
			t.Fatal(err)
		}
		for _, namespace := range []string{"shop", "bank", "bare"} {
			in := slices.Contains(term.Namespaces, namespace) || namespaces.Matches(labels.Set(ns[namespace]))
			if len(term.Namespaces) == 0 && term.NamespaceSelector == nil {
				in = namespace == owner.Namespace
			}
			pod := anyLabels(t, "labels")
			want := in && pods.Matches(labels.Set(pod))
			if got := peers.Match(namespace, pod); got != want {
				t.Fatalf("Match(%s, %v) = %v, want %v; term %+v of %+v, namespaces %v", namespace, pod, got, want, term, owner, ns)
			}
		}
	})
}

// everyPod calls check with every pod of the small world.
func everyPod(check func(namespace string, labels map[string]string)) {
	for _, namespace := range []string{"shop", "bank", "bare", "gone"} {
		for i := range 125 {
			pod := map[string]string{}
			for j, key := range labelKeys {
				if choice := i / []int{1, 5, 25}[j] % 5; choice < len(labelValues) {
					pod[key] = labelValues[choice]
				}
			}
			check(namespace, pod)
		}
	}
}

// R55, S16: two terms share a key only where they are about the same pods.
func TestPeersWithOneKeyAreTheSamePods(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		ns := anyNamespaces(t)
		owner := &model.PodShape{Namespace: "bare", Labels: anyLabels(t, "own labels")}
		a, b := anyTerm(t), anyTerm(t)
		if rapid.Bool().Draw(t, "alike") {
			b.Selector, b.MatchLabelKeys = a.Selector, a.MatchLabelKeys
		}
		first, _ := topology.PeersOfTerm(&a, owner, ns)
		second, _ := topology.PeersOfTerm(&b, owner, ns)
		if first.Key() != second.Key() {
			return
		}
		seen["equal"]++
		everyPod(func(namespace string, pod map[string]string) {
			if first.Match(namespace, pod) != second.Match(namespace, pod) {
				t.Fatalf("%+v and %+v share the key %q and differ on %s %v", a, b, first.Key(), namespace, pod)
			}
		})
	})
	if seen["equal"] == 0 {
		t.Error("no two terms had the same key: the test compares nothing")
	}
}

func TestTheOrderThingsAreWrittenInDoesNotShowInTheKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ns, owner := anyNamespaces(t), &model.PodShape{Namespace: "bare", Labels: anyLabels(t, "own labels")}
		term := anyTerm(t)
		shuffled := model.PodTerm{
			Selector: shuffle(t, term.Selector), NamespaceSelector: shuffle(t, term.NamespaceSelector),
			Namespaces:        rapid.Permutation(term.Namespaces).Draw(t, "namespaces in another order"),
			MatchLabelKeys:    rapid.Permutation(term.MatchLabelKeys).Draw(t, "keys in another order"),
			MismatchLabelKeys: term.MismatchLabelKeys,
		}
		if len(term.Namespaces) > 0 {
			shuffled.Namespaces = append(shuffled.Namespaces, term.Namespaces[0])
		}
		a, _ := topology.PeersOfTerm(&term, owner, ns)
		b, _ := topology.PeersOfTerm(&shuffled, owner, ns)
		if a.Key() != b.Key() {
			t.Errorf("%+v has the key %q, in another order %q", term, a.Key(), b.Key())
		}
	})
}

// shuffle returns the selector in another order, its pairs written as expressions and its first expression twice.
func shuffle(t *rapid.T, s *model.Selector) *model.Selector {
	if s == nil {
		return nil
	}
	list := slices.Clone(s.Expressions)
	for key, value := range s.MatchLabels {
		list = append(list, model.Requirement{Key: key, Operator: model.In, Values: []string{value}})
	}
	if len(list) > 0 {
		list = append(list, list[0])
	}
	for i := range list {
		list[i].Values = rapid.Permutation(list[i].Values).Draw(t, fmt.Sprintf("values %d", i))
	}
	return &model.Selector{Expressions: rapid.Permutation(list).Draw(t, "expressions in another order")}
}

func TestNamespacesBesideAllOfThemDoNotShowInTheKey(t *testing.T) {
	owner := &model.PodShape{Namespace: "shop"}
	a, _ := topology.PeersOfTerm(&model.PodTerm{Selector: web(), NamespaceSelector: &model.Selector{}, Namespaces: []string{"bank"}}, owner, nil)
	b, _ := topology.PeersOfTerm(&model.PodTerm{Selector: web(), NamespaceSelector: &model.Selector{}}, owner, nil)
	if a.Key() != b.Key() || a.IsEmpty() {
		t.Errorf("keys %q and %q of what is the same", a.Key(), b.Key())
	}
}

func TestValuesThatLookLikeSeparatorsDoNotCollide(t *testing.T) {
	selectors := []*model.Selector{
		{Expressions: []model.Requirement{{Key: "a", Operator: model.In, Values: []string{"b", "c"}}}},
		{Expressions: []model.Requirement{{Key: "a", Operator: model.In, Values: []string{"b.c"}}}},
		{Expressions: []model.Requirement{{Key: "a", Operator: model.NotIn, Values: []string{"b", "c"}}}},
		{Expressions: []model.Requirement{{Key: "a", Operator: model.In, Values: []string{"b"}}, {Key: "c", Operator: model.Exists}}},
		{Expressions: []model.Requirement{{Key: "a", Operator: model.In, Values: []string{""}}}},
		{Expressions: []model.Requirement{{Key: "a", Operator: model.Exists}}},
		{Expressions: []model.Requirement{{Key: "a", Operator: model.DoesNotExist}}},
		{},
	}
	keys := map[string]int{}
	for i, selector := range selectors {
		for _, namespaces := range [][]string{{"b"}, {"b", "c"}, {`b"c`}, nil} {
			peers, err := topology.PeersOfTerm(&model.PodTerm{Selector: selector, Namespaces: namespaces}, &model.PodShape{Namespace: "own"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if other, taken := keys[peers.Key()]; taken {
				t.Errorf("selectors %d and %d share the key %q", other, i, peers.Key())
			}
			keys[peers.Key()] = i
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	peers, err := topology.PeersOfTerm(&model.PodTerm{Selector: web()}, &model.PodShape{Namespace: "shop"}, cluster())
	if err != nil {
		b.Fatal(err)
	}
	pod := map[string]string{"app": "web", "rev": "2"}
	b.ReportAllocs()
	for b.Loop() {
		if !peers.Match("shop", pod) {
			b.Fatal("no match")
		}
	}
}
