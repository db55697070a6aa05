package pack

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// A flexible pod fills the one node a picky one may use, and another node would do for it.
func TestAPickyPodGetsTheNodeItNeeds(t *testing.T) {
	w := newWorld(64).node("all", nil).node("some", func(n *model.Node) {
		n.Taints = []model.Taint{{Key: "dedicated", Value: "x", Effect: model.NoSchedule}}
	})
	w.pods("flexible", 1, asPod(cpu(3500), tolerating("dedicated"))).pods("picky", 2, cpu(500))
	if plan := w.complete(t); nodeOf(plan, "flexible-00000") != "some" {
		t.Errorf("nominations %+v", plan.Nominations)
	}
}

// Of a scarce resource two nodes have one each left, beside little memory, and a third has two.
func TestPodsMoveForWhatIsScarce(t *testing.T) {
	scarce := func(cpu, n int64) func(*model.Node) {
		return func(node *model.Node) { node.Allocatable[model.CPU], node.Allocatable["example.com/fpga"] = cpu, n }
	}
	fpga := func(s *model.PodShape) { s.Requests["example.com/fpga"] = 1 }
	w := newWorld(64).node("a", scarce(4000, 2)).node("b", scarce(2000, 1)).node("c", scarce(2000, 1))
	w.pods("large", 1, asPod(cpu(2000), fpga)).pods("wide", 1, asPod(cpu(2000), fpga)).pods("small", 1, asPod(cpu(1500), fpga, selecting(model.LabelHostname, "a")))
	w.complete(t)
}

// A pod follows others to the zone of its volume: they start there, though another node comes first.
func TestPodsStartWhereThoseThatFollowCanBe(t *testing.T) {
	w := newWorld(64).storage("zonal", zonesAllowed("b")).zoned(4000, "a", "b")
	w.pods("first", 1, appPod("web"))
	w.pods("follower", 1, asPod(appPod("web"), nearApp(model.LabelZone, "web"))).withClaim("follower", func(_ int, v *model.Volume) { v.Class = "zonal" })
	if plan := w.complete(t); nodeOf(plan, "first-00000") != "node-b" {
		t.Errorf("nominations %+v", plan.Nominations)
	}
}

// One spread by host counts pods that must be on one node: it goes to the other.
func TestASpreadPodLeavesTheNodeOthersNeed(t *testing.T) {
	w := newWorld(64).node("large", nil).node("small", func(n *model.Node) { n.Allocatable[model.Memory] = 3 << 30 })
	w.pods("spread", 1, asPod(appPod("web"), spreadBy(model.LabelHostname, 2), func(s *model.PodShape) { s.Priority = 10 }))
	w.pods("big", 2, asPod(appPod("web"), func(s *model.PodShape) { s.Requests[model.Memory] = 4 << 30 }))
	if plan := w.complete(t); nodeOf(plan, "spread-00000") != "small" {
		t.Errorf("nominations %+v", plan.Nominations)
	}
}

// The first of pods that must be in one zone decides for all: it starts where all fit.
func TestPodsOfOneZoneStartWhereAllFit(t *testing.T) {
	w := newWorld(64).pool("general", nil).zoned(500, "a").node("roomy", func(n *model.Node) { n.Labels[model.LabelZone] = "b" })
	w.pods("web", 3, asPod(appPod("web"), nearApp(model.LabelZone, "web")))
	if plan := w.complete(t); len(plan.Claims) > 0 {
		t.Errorf("%d claims, nominations %+v", len(plan.Claims), plan.Nominations)
	}
}

// Each node attaches a few volumes: where a pod with one goes, there is room for one with two.
func TestPodsMoveForWhatANodeAttaches(t *testing.T) {
	w := newWorld(64).storage("standard", nil)
	for name, limit := range map[string]int64{"a": 3, "b": 3, "c": 2, "d": 1} {
		w.node(name, func(n *model.Node) { n.Labels[model.LabelZone] = "a" })
		w.in.Snapshot.CSINodes = append(w.in.Snapshot.CSINodes, model.CSINode{Node: name, Limits: map[string]int64{"ebs.csi.aws.com": limit}})
	}
	w.pods("one", 3, cpu(1000)).withClaim("one", func(int, *model.Volume) {})
	w.pods("two", 3, asPod(cpu(500), func(s *model.PodShape) {
		s.Ephemeral = []model.EphemeralClaim{{Volume: "x", Class: "standard"}, {Volume: "y", Class: "standard"}}
	}))
	w.complete(t)
}

// A zone whose only node is on its way out counts as empty, so that one of the others must stay nearly so.
func TestPodsMoveOutOfTheDomainThatAnotherCounts(t *testing.T) {
	w := newWorld(64).pool("general", nil).zoned(4000, "a", "b", "c")
	w.in.Snapshot.Nodes[0].DeletedUnix = testNow
	w.pods("web", 1, appPod("web"))
	w.pods("a-spread", 1, asPod(appPod("other"), func(s *model.PodShape) {
		s.Spread = []model.Spread{{TopologyKey: model.LabelZone, MaxSkew: 1, Selector: ofApp("web")}}
	}))
	w.pods("b-spread", 3, asPod(appPod("web"), spreadBy(model.LabelZone, 3, func(s *model.Spread) { s.Selector = ofApp("nobody") })))
	if plan := w.complete(t); len(plan.Claims) > 0 {
		t.Errorf("%d claims, nominations %+v", len(plan.Claims), plan.Nominations)
	}
}

// A pod no new node may hold goes first onto what exists: the others can have new nodes.
func TestPodsThatOnlyFitWhatExistsAreNotCrowdedOut(t *testing.T) {
	w := newWorld(64).
		pool("dedicated", func(p *model.Pool) {
			p.Template.Taints = []model.Taint{{Key: "dedicated", Value: "x", Effect: model.NoSchedule}}
		}).
		node("node0", nil).
		pods("bound", 1, cpu(193)).
		pods("free", 2, func(s *model.PodShape) {
			cpu(1904)(s)
			s.Tolerations = []model.Toleration{{Key: "dedicated", Operator: "Exists"}}
		})
	plan := w.plan()
	if len(plan.Unschedulable) > 0 || len(plan.Claims) != 1 {
		t.Errorf("unschedulable %v and %d claims, want none and one", plan.Unschedulable, len(plan.Claims))
	}
}
