package disruption

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// headroom adds room for n pods that a CapacityBuffer keeps free.
func (w *world) headroom(n int, changes ...func(*model.PodShape)) *world {
	changes = append(changes, func(s *model.PodShape) { s.OwnerKind, s.OwnerName, s.Priority = "", "", math.MinInt32 })
	shape := w.shape("spare", changes...)
	for i := range n {
		name := fmt.Sprintf("capacity-buffer-spare-%d", i)
		w.in.Snapshot.Pods = append(w.in.Snapshot.Pods, model.Pod{Namespace: "default", Name: name, UID: "uid-" + name, Shape: shape, Unschedulable: true, Buffer: "default/spare"})
	}
	return w
}

// Emptiness: a node that nothing but a buffer needs is not empty, and one that nobody needs is.
func TestF090ANodeWithHeadroomIsNotEmpty(t *testing.T) {
	w := newWorld().pool("general", func(p *model.Pool) { p.Disruption.Policy = "WhenEmpty" }).node("a", "general").node("b", "general").headroom(2)
	plan := Plan(w.in)
	got := given(plan, model.ReasonEmpty)
	if len(got) != 1 || len(plan.Commands) != 1 {
		t.Fatalf("%v, %+v", got, plan)
	}
	other := map[string]string{"a": "b", "b": "a"}[got[0]]
	if codes := kept(plan, other); !slices.Contains(codes, OnlyWhenEmpty) {
		t.Errorf("%s kept for %v", other, codes)
	}
	w.in.Snapshot.Pods = nil
	wantGiven(t, Plan(w.in), model.ReasonEmpty, "a", "b")
}

// Headroom keeps a node where its room is nowhere else for less.
func TestF090ConsolidationKeepsHeadroom(t *testing.T) {
	w := newWorld().pool("general").node("a", "general").running("web", "a", 4).node("b", "general").running("api", "b", 1)
	wantGiven(t, Plan(w.in), model.ReasonUnderutilized, "b")
	w.headroom(6) // of half a CPU: three and a half CPU are taken on each, with it
	plan := Plan(w.in)
	for _, c := range plan.Commands {
		if len(c.Replacements) == 0 {
			t.Errorf("room for six was given back: %+v", c)
		}
	}
}

// It holds no node for ever: where its room is elsewhere, the node it is on goes, and nobody learns of pods that are none.
func TestF090HeadroomMovesAsPodsDo(t *testing.T) {
	w := newWorld().pool("general").node("a", "general").running("web", "a", 2).node("b", "general").headroom(3)
	v := newPlanner(&w.in, nil)
	if n := len(v.fork.byName["a"].headroom) + len(v.fork.byName["b"].headroom); n != 3 {
		t.Fatalf("%d places on nodes, want 3", n)
	}
	plan := Plan(w.in)
	if len(plan.Commands) != 1 || len(plan.Commands[0].Nodes) != 1 || plan.PriceAfter != 200_000 {
		t.Fatalf("%+v", plan)
	}
	if c := plan.Commands[0]; slices.Contains(c.Nodes, "b") && c.PodsMoved != 0 || len(c.Workloads) > 1 {
		t.Errorf("%+v", c)
	}
}

// A node that drifted and has nothing but headroom is replaced, so that the room stays.
func TestF090DriftedNodesWithHeadroomAreReplaced(t *testing.T) {
	w := newWorld().pool("general", never).node("a", "general", drifted(testNow-60)).headroom(2)
	plan := Plan(w.in)
	if len(plan.Commands) != 1 || plan.Commands[0].Reason != model.ReasonDrifted || len(plan.Commands[0].Replacements) != 1 || plan.Commands[0].PodsMoved != 0 {
		t.Fatalf("%+v, kept %+v", plan.Commands, plan.Kept)
	}
	command := commit(&w.in, plan.Commands[0], "c")
	if reasons := Revalidate(w.in, command); len(reasons) > 0 {
		t.Errorf("does not hold: %+v", reasons)
	}
}

// A command that gave headroom a place elsewhere does not hold once that is taken.
func TestF090RevalidateCountsHeadroom(t *testing.T) {
	w := newWorld().pool("general", after(30)).node("a", "general").node("b", "general")
	plan := Plan(w.in)
	if len(plan.Commands) != 1 || len(plan.Commands[0].Nodes) != 2 {
		t.Fatalf("%+v", plan)
	}
	command := commit(&w.in, plan.Commands[0], "c")
	if reasons := Revalidate(w.in, command); len(reasons) > 0 {
		t.Fatalf("does not hold: %+v", reasons)
	}
	w.headroom(1)
	if got := codesOf(Revalidate(w.in, command)); !slices.Contains(got, PodsExpected) {
		t.Errorf("%v, want %s", got, PodsExpected)
	}
}

// Whatever else there is, no node with headroom goes as empty, and such nodes do go for other reasons.
func TestF090NoNodeWithHeadroomGoesAsEmpty(t *testing.T) {
	withRoom := 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 90))
		w := drawWorld(r).headroom(1+r.IntN(12), cpu(100+int64(r.IntN(2000))))
		v, plan := newPlanner(&w.in, nil), Plan(w.in)
		for _, c := range plan.Commands {
			for _, n := range c.Nodes {
				room := len(v.fork.byName[n].headroom)
				if room > 0 && c.Reason == model.ReasonEmpty {
					t.Fatalf("seed %d: node %s with %d places goes as empty", seed, n, room)
				}
				withRoom += min(1, room)
			}
		}
	}
	if withRoom < 10 {
		t.Errorf("only %d nodes with headroom go", withRoom)
	}
}

// Where headroom is short or not, the first command of a plan holds while nothing changes: else it would be planned and undone for ever.
func TestF090TheFirstCommandHoldsWhereHeadroomIsShort(t *testing.T) {
	commands := 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 91))
		w := drawWorld(r).headroom(1+r.IntN(40), cpu(100+int64(r.IntN(4000))))
		plan := Plan(w.in)
		if len(plan.Commands) == 0 {
			continue
		}
		commands++
		if reasons := Revalidate(w.in, commit(&w.in, plan.Commands[0], "c")); len(reasons) > 0 {
			t.Errorf("seed %d: %s of %v does not hold: %+v", seed, plan.Commands[0].Reason, plan.Commands[0].Nodes, reasons)
		}
	}
	if commands < 50 {
		t.Errorf("only %d plans had a command", commands)
	}
}
