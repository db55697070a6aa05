package volume_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/volume"
	"github.com/joiner-sh/joiner/shared/model"
)

func both(list ...model.Requirement) []model.Requirement { return list }

func TestWhereVolumesLetAPodRun(t *testing.T) {
	a, b, ab := in(model.LabelZone, "a"), in(model.LabelZone, "b"), in(model.LabelZone, "a", "b")
	x, y := in("example.com/rack", "x"), in("example.com/rack", "y")
	negative := model.Requirement{Key: "example.com/rack", Operator: model.Gt, Values: []string{"-1"}}
	tests := []struct {
		name  string
		world *world
		want  [][]model.Requirement // of nodes yet to be made and of those that exist alike; none = anywhere
	}{
		{"no claim", newWorld(), nil},
		{"a volume of no place", newWorld().claim("data", bound()), nil},
		{"a volume in a zone", newWorld().claim("data", bound(zone("a"))), [][]model.Requirement{{a}}},
		{"a zone under its oldest name", newWorld().claim("data", bound(term(in("failure-domain.beta.kubernetes.io/zone", "a")))), [][]model.Requirement{{a}}},
		{"a zone under the driver's name", newWorld().claim("data", bound(term(in("topology.ebs.csi.aws.com/zone", "a")))), [][]model.Requirement{{a}}},
		{"a volume of two zones, in one term", newWorld().claim("data", bound(zone("b", "a"))), [][]model.Requirement{{ab}}},
		{"and in two", newWorld().claim("data", bound(zone("b"), zone("a"))), [][]model.Requirement{{ab}}},
		{"terms that differ in more", newWorld().claim("data", bound(term(b, y), term(a, x))), [][]model.Requirement{{x, a}, {y, b}}},
		{"a value, or no such label", newWorld().claim("data", bound(term(x), term(model.Requirement{Key: "example.com/rack", Operator: model.DoesNotExist}))),
			[][]model.Requirement{{{Key: "example.com/rack", Operator: model.DoesNotExist}}, {x}}},
		{"a term that another includes", newWorld().claim("data", bound(term(a, x), zone("a", "b"))), [][]model.Requirement{{ab}}},
		{"a term that asks for nothing matches nothing", newWorld().claim("data", bound(term(), zone("a"))), [][]model.Requirement{{a}}},
		{"nor does one that contradicts itself", newWorld().claim("data", bound(term(a, b), zone("a"))), [][]model.Requirement{{a}}},
		{"nor one that cannot be read", newWorld().claim("data", bound(term(in("a/b/c", "x")), term(negative), zone("a"))), [][]model.Requirement{{a}}},
		{"fields of nodes are not looked at", newWorld().claim("data", bound(model.NodeTerm{Requirements: []model.Requirement{a}, Fields: []model.Requirement{in("metadata.name", "n")}})), [][]model.Requirement{{a}}},
		{"but must be right", newWorld().claim("data", bound(zone("a"), model.NodeTerm{Fields: []model.Requirement{in("metadata.name", "n", "m")}})), [][]model.Requirement{{a}}},
		{"two volumes of one zone", newWorld().claim("data", bound(zone("a"))).claim("logs", bound(zone("a"))), [][]model.Requirement{{a}}},
		{"two that share a zone", newWorld().claim("data", bound(zone("a", "b"))).claim("logs", bound(zone("b", "c"))), [][]model.Requirement{{b}}},
		{"contradictory combinations are left out", newWorld().claim("data", bound(term(a, x), term(b, y))).claim("logs", bound(zone("b"))), [][]model.Requirement{{y, b}}},
		{"two of which one is anywhere", newWorld().claim("data", bound(zone("a"))).claim("logs", bound()), [][]model.Requirement{{a}}},
		{"a claim named twice", newWorld().claim("data", bound(zone("a"))).claim("data", nil), [][]model.Requirement{{a}}},
		{"minValues mean nothing to a volume", newWorld().claim("data", bound(term(model.Requirement{Key: model.LabelZone, Operator: model.In, Values: []string{"a"}, MinValues: 3}))), [][]model.Requirement{{a}}},
		{"unbound, anywhere", newWorld().class("standard", nil).claim("data", unbound("standard")), nil},
		{"unbound, where its class allows", newWorld().class("zonal", topologies(zone("a"), zone("b"))).claim("data", unbound("zonal")), [][]model.Requirement{{ab}}},
		{"a bound claim needs no class", newWorld().claim("data", func(v *model.Volume) { v.Class = "gone" }), nil},
		{"of its own, not there yet", newWorld().class("zonal", topologies(zone("a"))).ephemeral("scratch", "zonal"), [][]model.Requirement{{a}}},
		{"of its own, of the default class", newWorld().class("zonal", func(s *model.Storage) { s.Default = true; s.AllowedTopologies = []model.NodeTerm{zone("b")} }).ephemeral("scratch", ""), [][]model.Requirement{{b}}},
		{"of its own, there already", newWorld().class("zonal", topologies(zone("a", "b"))).ephemeral("scratch", "zonal").claim("db-0-scratch", bound(zone("b"))), [][]model.Requirement{{b}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, problem := test.world.alternatives()
			expect(t, "Alternatives", got, problem, test.want...)
			got, problem = test.world.existing()
			expect(t, "Existing", got, problem, test.want...)
		})
	}
}

// Local volumes are on one instance. While its node exists, kube-scheduler takes no other; once it is gone the name of the
// host says nothing any more.
func TestHostNames(t *testing.T) {
	notOn := model.Requirement{Key: model.LabelHostname, Operator: model.NotIn, Values: []string{"n1"}}
	nameless := model.Requirement{Key: model.LabelHostname, Operator: model.DoesNotExist}
	a := in(model.LabelZone, "a")
	tests := []struct {
		name     string
		world    *world
		made     [][]model.Requirement // Alternatives; nil = anywhere
		refused  string                // what the Problem of Alternatives says instead
		existing [][]model.Requirement
	}{
		{"local, its node is gone", newWorld().node("n2").claim("data", local(term(host("n1"), a))), [][]model.Requirement{{a}}, "", [][]model.Requirement{{a}}},
		{"local, nothing but a node that is gone", newWorld().claim("data", local(term(host("n1")))), nil, "", nil},
		{"local, its node exists", newWorld().node("n1").claim("data", local(term(host("n1"), a))), nil, "n1", [][]model.Requirement{{host("n1"), a}}},
		{"local, one of its nodes exists", newWorld().node("n1").claim("data", local(term(host("n1", "n2")))), nil, "n1", [][]model.Requirement{{host("n1", "n2")}}},
		{"local, not on one node", newWorld().node("n1").claim("data", local(term(notOn))), nil, "", [][]model.Requirement{{notOn}}},
		{"local, on a node without a host name", newWorld().claim("data", local(term(nameless))), nil, "DoesNotExist", [][]model.Requirement{{nameless}}},
		{"not local, its node is gone", newWorld().claim("data", bound(term(host("n1")))), nil, "n1", [][]model.Requirement{{host("n1")}}},
		{"not local, on a node or in a zone", newWorld().claim("data", bound(term(host("n1")), zone("a"))), [][]model.Requirement{{a}}, "", [][]model.Requirement{{host("n1")}, {a}}},
		{"not local, not on one node", newWorld().claim("data", bound(term(notOn, a))), [][]model.Requirement{{a}}, "", [][]model.Requirement{{notOn, a}}},
		{"a class of hosts", newWorld().class("racked", topologies(term(host("n1")))).claim("data", unbound("racked")), nil, "n1", [][]model.Requirement{{host("n1")}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, problem := test.world.alternatives()
			switch {
			case test.refused == "":
				expect(t, "Alternatives", got, problem, test.made...)
			case problem == nil || !strings.Contains(problem.Message, test.refused) || !strings.Contains(problem.Message, "shop/data"):
				t.Errorf("Alternatives = %s, %+v, want a problem that names the claim and %s", volume.AlternativesKey(got), problem, test.refused)
			}
			got, problem = test.world.existing()
			expect(t, "Existing", got, problem, test.existing...)
		})
	}
}

// The API server takes the newest of several default classes. How old they are is not known, so that one of them is taken
// whatever their order.
func TestOneOfSeveralDefaultClasses(t *testing.T) {
	standard := func(s *model.Storage) { s.Default, s.AllowedTopologies = true, []model.NodeTerm{zone("b")} }
	fast := func(s *model.Storage) { s.Default, s.AllowedTopologies = true, []model.NodeTerm{zone("a")} }
	for _, w := range []*world{newWorld().class("fast", fast).class("standard", standard), newWorld().class("standard", standard).class("fast", fast)} {
		got, problem := w.ephemeral("scratch", "").alternatives()
		expect(t, "Alternatives", got, problem, both(in(model.LabelZone, "a")))
	}
}

// A node without the label is found by its name.
func TestANodeWithoutHostNameLabelStillExists(t *testing.T) {
	w := newWorld().claim("data", local(term(host("n1"))))
	w.snapshot.Nodes = []model.Node{{Name: "n1"}}
	if _, problem := w.alternatives(); problem == nil {
		t.Error("a node would be made for a volume that is on n1")
	}
}

// F075, S37: such claims make no node.
func TestClaimsThatLetAPodRunNowhere(t *testing.T) {
	a, b := zone("a"), zone("b")
	tests := []struct {
		name  string
		world *world
		says  []string
	}{
		{"missing", newWorld().claim("data", nil), []string{"shop/data", "does not exist"}},
		{"of another namespace only", func() *world {
			w := newWorld().claim("data", bound())
			w.snapshot.Volumes[0].Namespace = "bank"
			return w
		}(), []string{"shop/data", "does not exist"}},
		{"being deleted", newWorld().claim("data", func(v *model.Volume) { v.DeletedUnix = 1 }), []string{"shop/data", "being deleted"}},
		{"lost", newWorld().claim("data", func(v *model.Volume) { v.Phase = "Lost" }), []string{"shop/data", "lost its volume pv-data"}},
		{"its volume is missing", newWorld().claim("data", func(v *model.Volume) { v.Missing = true }), []string{"shop/data", "pv-data, which does not exist"}},
		{"half bound", newWorld().claim("data", func(v *model.Volume) { v.Unbound = true }), []string{"shop/data", "not bound to it yet"}},
		{"no class", newWorld().claim("data", unbound("")), []string{"shop/data", "no storage class"}},
		{"no class, though there is a default", newWorld().class("standard", func(s *model.Storage) { s.Default = true }).claim("data", unbound("")), []string{"shop/data", "no storage class"}},
		{"class missing", newWorld().class("standard", nil).claim("data", unbound("fast")), []string{"shop/data", "fast, which does not exist"}},
		{"unbound and immediate", newWorld().class("now", func(s *model.Storage) { s.Immediate = true }).claim("data", unbound("now")), []string{"shop/data", "now", "without waiting"}},
		{"of its own, class missing", newWorld().ephemeral("scratch", "fast"), []string{"shop/db-0-scratch", "fast, which does not exist"}},
		{"of its own, and no default class", newWorld().ephemeral("scratch", ""), []string{"shop/db-0-scratch", "no storage class"}},
		{"of its own, being deleted", newWorld().class("standard", nil).ephemeral("scratch", "standard").claim("db-0-scratch", func(v *model.Volume) { v.DeletedUnix = 1 }), []string{"shop/db-0-scratch", "being deleted"}},
		{"a node affinity that nothing matches", newWorld().claim("data", bound(term(), term(in(model.LabelZone)))), []string{"shop/data", "pv-data", "match no node"}},
		{"a class that allows nowhere", newWorld().class("odd", topologies(term())).claim("data", unbound("odd")), []string{"shop/data", "odd", "match no node"}},
		{"two zones at once", newWorld().claim("data", bound(a)).claim("logs", bound(b)), []string{"shop/data requires topology.kubernetes.io/zone In [a]", "shop/logs requires topology.kubernetes.io/zone In [b]"}},
		{"two hosts at once", newWorld().node("n1").node("n2").claim("data", local(term(host("n1")))).claim("logs", local(term(host("n2")))), []string{"shop/data", "n1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			index := volume.New(&test.world.snapshot)
			_, made := index.NewNodeAlternatives(&test.world.pod, &test.world.shape)
			got, existing := index.ExistingNodeAlternatives(&test.world.pod, &test.world.shape)
			if made == nil || existing == nil || got != nil {
				t.Fatalf("Alternatives has the problem %v, Existing %v", made, existing)
			}
			for _, part := range append(test.says, made.Claim) {
				if !strings.Contains(made.Message, part) {
					t.Errorf("message %q does not say %q", made.Message, part)
				}
			}
			if made.Remedy == "" || made.Claim == "" {
				t.Errorf("problem %+v lacks a claim or a remedy", made)
			}
		})
	}
}

// What only nodes of EKS Auto Mode can use lets a pod run on such a node and makes none.
func TestVolumesOfAutoModeMakeNoNode(t *testing.T) {
	worlds := map[string]*world{
		"by driver":     newWorld().claim("data", func(v *model.Volume) { v.Driver = "ebs.csi.eks.amazonaws.com" }),
		"by class":      newWorld().class("auto", func(s *model.Storage) { s.Provisioner = "ebs.csi.eks.amazonaws.com" }).claim("data", unbound("auto")),
		"by topology":   newWorld().claim("data", bound(term(in("topology.ebs.csi.eks.amazonaws.com/zone", "a")))),
		"by topologies": newWorld().class("auto", topologies(term(in("topology.ebs.csi.eks.amazonaws.com/zone", "a")))).claim("data", unbound("auto")),
	}
	for name, w := range worlds {
		t.Run(name, func(t *testing.T) {
			if _, problem := w.alternatives(); problem == nil || !strings.Contains(problem.Message, "Auto Mode") {
				t.Errorf("problem = %+v", problem)
			}
			if _, problem := w.existing(); problem != nil {
				t.Errorf("a node that exists is refused: %s", problem.Message)
			}
		})
	}
}

func TestCombinationsAreBounded(t *testing.T) {
	w := newWorld()
	for i := range 12 {
		var terms []model.NodeTerm
		for j := range 4 { // no two of which can be joined or left out
			terms = append(terms, term(in(fmt.Sprintf("example.com/k%d", i), fmt.Sprint(j)), in(fmt.Sprintf("example.com/l%d", i), fmt.Sprint(j))))
		}
		w.claim(fmt.Sprintf("data-%02d", i), bound(terms...))
	}
	_, problem := w.alternatives()
	if problem == nil || problem.Claim != "shop/data-00" || len(problem.Message) > 2000 {
		t.Errorf("problem = %+v", problem)
	}
	w.pod.Claims = w.pod.Claims[:3]
	if got, problem := w.alternatives(); problem != nil || len(got) != 64 {
		t.Errorf("three volumes of four places have %d alternatives, problem %v", len(got), problem)
	}
	terms := make([]model.NodeTerm, 65)
	for i := range terms {
		terms[i] = zone(fmt.Sprint(i))
	}
	for name, w := range map[string]*world{
		"volume": newWorld().claim("data", bound(terms...)),
		"class":  newWorld().class("wide", topologies(terms...)).claim("data", unbound("wide")),
	} {
		if _, problem := w.alternatives(); problem == nil || !strings.Contains(problem.Message, "65") {
			t.Errorf("%s: problem = %+v", name, problem)
		}
	}
}
