package volume_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storage "k8s.io/component-helpers/storage/volume"
	"pgregory.net/rapid"

	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/core/volume"
	"github.com/joiner-sh/joiner/shared/model"
)

// The small world in which places are compared: each label is absent or one of these.
var (
	nodeKeys   = []string{model.LabelZone, "example.com/rack", model.LabelHostname}
	nodeValues = []string{"a", "2", "7"}
)

// everyNode calls check with the labels of every node of the small world.
func everyNode(check func(labels map[string]string)) {
	n := len(nodeValues) + 1
	for i := range n * n * n {
		labels := map[string]string{}
		for _, key := range nodeKeys {
			if i%n < len(nodeValues) {
				labels[key] = nodeValues[i%n]
			}
			i /= n
		}
		check(labels)
	}
}

func matches(alternatives []requirement.Requirements, problem *volume.Problem, labels map[string]string) bool {
	if problem != nil {
		return false
	}
	return alternatives == nil || slices.ContainsFunc(alternatives, func(r requirement.Requirements) bool { return r.Matches(labels) })
}

// anyTerm draws a term; one in some cannot be read.
func anyTerm(t *rapid.T) model.NodeTerm {
	var out model.NodeTerm
	for range rapid.IntRange(0, 3).Draw(t, "requirements") {
		r := model.Requirement{
			Key:      rapid.SampledFrom(nodeKeys).Draw(t, "key"),
			Operator: rapid.SampledFrom([]model.Operator{model.In, model.In, model.In, model.NotIn, model.Exists, model.DoesNotExist, model.Gt, model.Lt, model.Gte}).Draw(t, "operator"),
		}
		switch r.Operator {
		case model.In, model.NotIn:
			r.Values = rapid.SliceOfN(rapid.SampledFrom(nodeValues), 1, 3).Draw(t, "values")
		case model.Gt, model.Lt, model.Gte:
			r.Values = rapid.SliceOfN(rapid.SampledFrom([]string{"2", "5", "-1", "+3", "x"}), 1, 1).Draw(t, "bound")
		}
		out.Requirements = append(out.Requirements, r)
	}
	if rapid.IntRange(0, 5).Draw(t, "with fields") == 0 {
		out.Fields = append(out.Fields, in("metadata.name", rapid.SliceOfN(rapid.SampledFrom(nodeValues), 0, 2).Draw(t, "names")...))
	}
	return out
}

func anyVolume(t *rapid.T, name string) model.Volume {
	return model.Volume{
		Namespace: "shop", Name: name, Phase: "Bound", VolumeName: "pv-" + name, Driver: "ebs.csi.aws.com",
		Affinity: rapid.SliceOfN(rapid.Custom(anyTerm), 0, 3).Draw(t, "affinity of "+name),
	}
}

// anyWorld draws a pod of up to three claims, bound or not.
func anyWorld(t *rapid.T) *world {
	w := newWorld().node("a")
	for i := range rapid.IntRange(1, 3).Draw(t, "claims") {
		name := fmt.Sprintf("data-%d", i)
		v := anyVolume(t, name)
		if rapid.IntRange(0, 2).Draw(t, "unbound") == 0 {
			terms := v.Affinity
			unbound("class-" + name)(&v)
			v.Affinity = nil
			w.class(v.Class, topologies(terms...))
		}
		v.Local = v.VolumeName != "" && rapid.Bool().Draw(t, "local")
		w.claim(name, func(out *model.Volume) { *out = v })
	}
	return w
}

func asKubernetes(v *model.Volume) *corev1.PersistentVolume {
	out := &corev1.PersistentVolume{}
	if len(v.Affinity) == 0 {
		return out
	}
	list := func(requirements []model.Requirement) []corev1.NodeSelectorRequirement {
		var out []corev1.NodeSelectorRequirement
		for _, r := range requirements {
			out = append(out, corev1.NodeSelectorRequirement{Key: r.Key, Operator: corev1.NodeSelectorOperator(r.Operator), Values: r.Values})
		}
		return out
	}
	required := &corev1.NodeSelector{}
	for _, term := range v.Affinity {
		required.NodeSelectorTerms = append(required.NodeSelectorTerms, corev1.NodeSelectorTerm{MatchExpressions: list(term.Requirements), MatchFields: list(term.Fields)})
	}
	out.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: required}
	return out
}

// Nodes that exist are evaluated as by the function kube-scheduler's VolumeBinding plugin calls for bound volumes.
func TestExistingIsWhatKubernetesAccepts(t *testing.T) {
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		var volumes []model.Volume
		for i := range rapid.IntRange(1, 3).Draw(t, "claims") {
			v := anyVolume(t, fmt.Sprintf("data-%d", i))
			volumes = append(volumes, v)
			w.claim(v.Name, func(out *model.Volume) { *out = v })
		}
		alternatives, problem := w.existing()
		everyNode(func(labels map[string]string) {
			want := true
			for i := range volumes {
				want = want && storage.CheckNodeAffinity(asKubernetes(&volumes[i]), labels) == nil
			}
			if got := matches(alternatives, problem, labels); got != want {
				t.Fatalf("a node with %v: %v, want %v; Existing = %s, %+v of %+v", labels, got, want, volume.AlternativesKey(alternatives), problem, volumes)
			}
			if want {
				accepted++
			}
		})
	})
	if accepted == 0 {
		t.Error("no node was ever accepted: the test compares nothing")
	}
}

func TestWhereAllVolumesMayBeIsWhereEachMayBe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anyWorld(t)
		index := volume.New(&w.snapshot)
		for name, ask := range map[string]func(*model.Pod, *model.PodShape) ([]requirement.Requirements, *volume.Problem){"Alternatives": index.NewNodeAlternatives, "Existing": index.ExistingNodeAlternatives} {
			all, allProblem := ask(&w.pod, &w.shape)
			everyNode(func(labels map[string]string) {
				want := true
				for _, claim := range w.pod.Claims {
					own, problem := ask(&model.Pod{Namespace: "shop", Name: "db-0", Claims: []string{claim}}, &w.shape)
					want = want && matches(own, problem, labels)
				}
				if got := matches(all, allProblem, labels); got != want {
					t.Fatalf("%s: a node with %v: %v, want %v; %s, %+v of %+v", name, labels, got, want, volume.AlternativesKey(all), allProblem, w.snapshot)
				}
			})
		}
	})
}

// A node yet to be made has an unknown host name: what it is accepted for must not hang on the name.
func TestAlternativesNeverSpeakOfHostNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anyWorld(t)
		alternatives, problem := w.alternatives()
		for _, where := range alternatives {
			if where.Has(model.LabelHostname) {
				t.Errorf("alternative %s", volume.AlternativesKey(alternatives))
			}
		}
		if problem != nil && (problem.Claim == "" || problem.Message == "" || problem.Remedy == "") {
			t.Errorf("problem %+v", problem)
		}
	})
}

func TestTheOrderThingsAreListedInDoesNotShow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anyWorld(t)
		other := &world{pod: w.pod, shape: w.shape}
		other.pod.Claims = rapid.Permutation(w.pod.Claims).Draw(t, "claims")
		other.snapshot.Nodes = w.snapshot.Nodes
		other.snapshot.Volumes = rapid.Permutation(w.snapshot.Volumes).Draw(t, "volumes")
		other.snapshot.Storage = rapid.Permutation(w.snapshot.Storage).Draw(t, "classes")
		for i := range other.snapshot.Volumes {
			v := &other.snapshot.Volumes[i]
			v.Affinity = rapid.Permutation(v.Affinity).Draw(t, "terms")
			for j := range v.Affinity {
				v.Affinity[j].Requirements = rapid.Permutation(v.Affinity[j].Requirements).Draw(t, "requirements")
			}
		}
		a, problemA := w.alternatives()
		b, problemB := other.alternatives()
		if volume.AlternativesKey(a) != volume.AlternativesKey(b) || (problemA == nil) != (problemB == nil) || problemA != nil && *problemA != *problemB {
			t.Errorf("%s, %+v in one order and %s, %+v in another", volume.AlternativesKey(a), problemA, volume.AlternativesKey(b), problemB)
		}
	})
}

func TestAlternativesAreOnceEachAndNoneIncludesAnother(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		alternatives, _ := anyWorld(t).existing()
		for i, a := range alternatives {
			if !a.Possible() {
				t.Errorf("nothing meets %s", a)
			}
			for j, b := range alternatives {
				if i != j && a.Equal(b) {
					t.Errorf("%s is there twice", a)
				}
			}
		}
	})
}

func FuzzAlternatives(f *testing.F) {
	f.Add("topology.kubernetes.io/zone", "In", "a", "b", "kubernetes.io/hostname", "n1", "standard", "Bound", 3)
	f.Add("", "Gt", "9223372036854775807", "", "a/b/c", "-", "", "Lost", 70)
	f.Add("x", "NotIn", "é", "\x00", "x", "x", "\xff", "Pending", 9)
	f.Fuzz(func(t *testing.T, key, operator, first, second, otherKey, value, class, phase string, count int) {
		count = min(max(count, 0), 100)
		w := newWorld().node(value).class(class, func(s *model.Storage) {
			s.AllowedTopologies = []model.NodeTerm{term(model.Requirement{Key: key, Operator: model.Operator(operator), Values: []string{first}}), term(in(otherKey, value))}
			s.Default = true
		})
		for i := range 6 {
			w.claim(fmt.Sprint(key, i), func(v *model.Volume) {
				v.Phase, v.Class, v.Local = phase, class, i%2 == 0
				if i%3 == 0 {
					v.VolumeName = ""
				}
				for j := range count {
					v.Affinity = append(v.Affinity, term(model.Requirement{Key: key, Operator: model.Operator(operator), Values: []string{first, second}, MinValues: j}, in(otherKey, fmt.Sprint(value, i, j))))
				}
			})
		}
		w.ephemeral(first, second).ephemeral(first, second)
		index := volume.New(&w.snapshot)
		for _, ask := range []func(*model.Pod, *model.PodShape) ([]requirement.Requirements, *volume.Problem){index.NewNodeAlternatives, index.ExistingNodeAlternatives} {
			alternatives, problem := ask(&w.pod, &w.shape)
			if len(alternatives) > 64 || problem != nil && alternatives != nil || alternatives != nil && len(alternatives) == 0 {
				t.Errorf("%d alternatives, problem %+v", len(alternatives), problem)
			}
		}
		attachments := index.Attachments(&w.pod, &w.shape)
		if len(slices.Compact(slices.Clone(attachments))) != len(attachments) {
			t.Errorf("attachments %v are not once each", attachments)
		}
	})
}

// BenchmarkAlternatives answers for the pods of a StatefulSet of ten thousand, each with two volumes in its zone.
func BenchmarkAlternatives(b *testing.B) {
	const pods = 10_000
	snapshot := &model.Snapshot{}
	shape := &model.PodShape{Namespace: "shop"}
	list := make([]model.Pod, pods)
	for i := range list {
		list[i] = model.Pod{Namespace: "shop", Name: fmt.Sprintf("db-%d", i)}
		for _, volume := range []string{"data", "logs"} {
			name := volume + "-" + list[i].Name
			list[i].Claims = append(list[i].Claims, name)
			snapshot.Volumes = append(snapshot.Volumes, model.Volume{Namespace: "shop", Name: name, Phase: "Bound", VolumeName: "pv-" + name,
				Driver: "ebs.csi.aws.com", Affinity: []model.NodeTerm{zone(string(rune('a' + i%3)))}})
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		index := volume.New(snapshot)
		for i := range list {
			if got, problem := index.NewNodeAlternatives(&list[i], shape); len(got) != 1 || problem != nil {
				b.Fatal(got, problem)
			}
		}
	}
}
