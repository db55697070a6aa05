package pack

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/model"
	"pgregory.net/rapid"
)

// TestSitesMadeInTurnChangeNoPlan plans each world twice: with its nodes as a snapshot has them, so that existing nodes
// are made in turn, and with the same nodes in disorder, so that they are made all at once. Nodes with room are
// scattered among many without, so that pods find it early, late or not at all.
func TestSitesMadeInTurnChangeNoPlan(t *testing.T) {
	inTurn, late, used := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		w := drawSparse(t)
		b := newSolver(question{in: &w.in}, group.NoPreferences)
		if b.existing.Lazily != b.rules.Empty() {
			t.Fatalf("in turn: %v, no rule: %v", b.existing.Lazily, b.rules.Empty())
		}
		got := Plan(w.in)
		snapshot := *w.in.Snapshot
		snapshot.Nodes = slices.Clone(snapshot.Nodes)
		slices.Reverse(snapshot.Nodes)
		w.in.Snapshot = &snapshot
		if newSolver(question{in: &w.in}, group.NoPreferences).existing.Lazily {
			t.Fatal("nodes in disorder have sites made in turn")
		}
		want := Plan(w.in)
		if got, want := encoded(t, got), encoded(t, want); got != want {
			t.Fatalf("in turn\n%s\nwant\n%s", got, want)
		}
		if b.existing.Lazily {
			inTurn++
			used += len(got.Nominations)
			if b.arrange(arrangement{}); b.existing.Lazily { // where the end of the line is not reached, that is the gain
				late++
			}
		}
	})
	if inTurn == 0 || late == 0 || late == inTurn || used == 0 {
		t.Errorf("of %d plans in turn, %d need not look at every node, and %d nodes were used: the test covers too little", inTurn, late, used)
	}
}

// drawSparse draws a world of few pods and many nodes in order: most are leaving, some have room, some are not
// initialized yet, and some claims are on their way, or promised, too.
func drawSparse(t *rapid.T) *world {
	w := drawWorld(t)
	switch pick(t, "pods", "plain", "plain", "ruled", "with ports", "with volumes") {
	case "ruled":
		w = drawRules(t)
	case "with ports":
		for i := range w.in.Snapshot.Shapes {
			if oneIn(t, 2, "port") {
				w.in.Snapshot.Shapes[i].HostPorts = []model.HostPort{{Port: pick(t, "port number", int32(80), 81), Protocol: "TCP"}}
			}
		}
	case "with volumes":
		w.drawVolumes(t)
	}
	s := w.in.Snapshot
	for i := range rapid.IntRange(0, 12).Draw(t, "roomy nodes") {
		w.node(fmt.Sprintf("%s-roomy%02d", pick(t, "where", "a-00040", "a-00300", "node1", "z-00100", "zz"), i), func(n *model.Node) {
			drawNode(t, n)
			n.Allocatable = model.Resources{model.CPU: rapid.Int64Range(1000, 40_000).Draw(t, "room"), model.Memory: 64 << 30, model.Pods: 20}
			if oneIn(t, 3, "not initialised") {
				n.Labels[model.LabelNodePool] = "pool0"
			}
		})
	}
	for i := range len(s.Pods)*16 + 200 {
		name := fmt.Sprintf("%s-%05d", []string{"a", "node1", "z"}[i%3], i)
		s.Nodes = append(s.Nodes, model.Node{Name: name, UID: name, DeletedUnix: testNow})
	}
	slices.SortFunc(s.Nodes, func(a, b model.Node) int { return strings.Compare(a.Name, b.Name) })
	if oneIn(t, 3, "settled") {
		w.in.Churning = make(map[string]bool)
		for i := range s.Nodes {
			w.in.Churning[s.Nodes[i].Name] = s.Nodes[i].DeletedUnix == 0 && rapid.Bool().Draw(t, "restless")
		}
		for i := range s.Pods {
			if rapid.Bool().Draw(t, "settled pod") {
				w.in.Settled = append(w.in.Settled, i)
			}
		}
	}
	if oneIn(t, 2, "claims") {
		for i, planned := range Plan(w.in).Claims {
			claim := asLedger(planned)
			if claim.NodeName = ""; oneIn(t, 3, "joined") {
				claim.NodeName = s.Nodes[(i*97+50)%len(s.Nodes)].Name
			}
			if oneIn(t, 2, "promises nothing") {
				claim.Pods = nil
			}
			w.in.Claims = append(w.in.Claims, claim)
		}
	}
	return w
}

// A promise to a pod that waits is kept wherever in line its node is.
func TestPromiseIsKeptThoughSitesAreMadeInTurn(t *testing.T) {
	w := newWorld(20).pool("p", nil).pods("web", 1, nil)
	for i := range 300 {
		w.node(fmt.Sprintf("node-%05d", i), nil)
	}
	w.in.Claims = []model.Claim{{Name: "c", Pool: "p", Class: "default", State: model.Registered, NodeName: "node-00250",
		Pods: []model.PodRef{{Namespace: "default", Name: "web-00000", UID: "uid-web-00000"}}}}
	if b := newSolver(question{in: &w.in}, group.NoPreferences); !b.existing.Lazily {
		t.Fatal("sites are not made in turn")
	}
	if got := nodeOf(w.plan(), "web-00000"); got != "node-00250" {
		t.Errorf("it goes to %q, want node-00250, which was made for it", got)
	}
	w.in.Claims[0].Pods[0].UID = "of a pod before"
	if got := nodeOf(w.plan(), "web-00000"); got != "node-00000" {
		t.Errorf("it goes to %q, want the first node", got)
	}
}
