package pack

import (
	"fmt"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/pack/existing"
	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/model"
	"pgregory.net/rapid"
)

// TestNodesReadWhenSearchedChangeNoPlan plans each world twice: as it is, and beside so many nodes being deleted that
// its pods are few and existing nodes are read one by one.
func TestNodesReadWhenSearchedChangeNoPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		want := Plan(w.in)
		snapshot := *w.in.Snapshot
		for i := range len(snapshot.Pods) * 16 {
			name := fmt.Sprintf("leaving%05d", i)
			snapshot.Nodes = append(snapshot.Nodes[:len(snapshot.Nodes):len(snapshot.Nodes)], model.Node{Name: name, UID: name, DeletedUnix: testNow})
		}
		w.in.Snapshot = &snapshot
		if b := newSolver(question{in: &w.in}, group.NoPreferences); !b.existing.Few {
			t.Fatalf("%d pods are not few beside %d nodes", len(b.pending), len(snapshot.Nodes))
		}
		if got, want := encoded(t, Plan(w.in)), encoded(t, want); got != want {
			t.Fatalf("read one by one\n%s\nwant\n%s", got, want)
		}
	})
}

// TestNodesReadWhenSearchedHaveTheCapacityTheyHave guards that whoever looks at an existing node gets all that runs on
// it taken off.
func TestNodesReadWhenSearchedHaveTheCapacityTheyHave(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawRules(t)
		read := func(waiting int) *existing.Nodes {
			b := newSolver(question{in: &w.in}, group.NoPreferences)
			p := existing.New(&w.in, b.dims, b.planner.Markets, b.planner.Daemons, false, nil)
			p.Rules, p.Classifier, p.NeedPorts, p.NeedDisks = group.NewPodRules(w.in.Snapshot, group.NoPreferences), b.classifier, true, true
			p.Build(waiting, nil, nil)
			return p
		}
		all, few := read(1<<40), read(0)
		few.All()
		for n, want := range all.List {
			got := few.Node(n)
			if got.Name != want.Name || fmt.Sprint(got.Free, got.Ports, got.Attached) != fmt.Sprint(want.Free, want.Ports, want.Attached) {
				t.Fatalf("%s has %v free, ports %v and volumes %v, want %v, %v and %v", want.Name, got.Free, got.Ports, got.Attached, want.Free, want.Ports, want.Attached)
			}
		}
	})
}
