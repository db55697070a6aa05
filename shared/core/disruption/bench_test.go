package disruption

import (
	"fmt"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// largeWorld is a cluster of so many nodes with thirteen pods each, of two hundred workloads with a PodDisruptionBudget
// each.
func largeWorld(nodes int) *world {
	const workloads = 200
	w := newWorld().pool("general", after(30), budgets(model.Budget{Nodes: "10%"})).pool("other")
	for i := range workloads {
		w.shape(fmt.Sprintf("app%d", i), cpu(250))
		w.pdb(fmt.Sprintf("pdb%d", i), fmt.Sprintf("app%d", i), 1)
	}
	for i := range nodes {
		name := fmt.Sprintf("n%05d", i)
		w.node(name, []string{"general", "other"}[i%2])
		for p := range 13 {
			pod := model.Pod{Namespace: "default", Name: fmt.Sprintf("p-%s-%d", name, p), UID: fmt.Sprintf("uid-%s-%d", name, p), Shape: (i*7 + p) % workloads, NodeName: name, Phase: model.Running,
				Ready: true, CreatedUnix: testNow - 3600, StartedUnix: testNow - 3600}
			w.in.Snapshot.Pods = append(w.in.Snapshot.Pods, pod)
		}
	}
	return w
}

// All that speaks for and against each of 5,000 nodes: 60 ms on one core.
func BenchmarkCandidates5000(b *testing.B) {
	w := largeWorld(5000)
	for b.Loop() {
		if candidates, kept := candidates(&w.in); len(candidates) != 5000 || len(kept) != 0 {
			b.Fatalf("%d, %d", len(candidates), len(kept))
		}
	}
}

// A hundred drifted nodes of 2,000, each with a plan of its own for its pods.
func BenchmarkDrift100Of2000(b *testing.B) {
	w := largeWorld(2000)
	for i := range w.in.Snapshot.Pools {
		w.in.Snapshot.Pools[i].Disruption = model.Disruption{}
	}
	for i := range 100 {
		drifted(testNow-int64(i))(nil, &w.in.Claims[i*20])
	}
	for b.Loop() {
		if plan := Plan(w.in); len(plan.Commands) != 100 {
			b.Fatal(len(plan.Commands))
		}
	}
}

// A command of a cluster of 2,000 nodes revalidated.
func BenchmarkHolds2000(b *testing.B) {
	w := largeWorld(2000)
	drifted(testNow-60)(nil, &w.in.Claims[0])
	v := newPlanner(&w.in, nil)
	node := v.fork.byName["n00000"]
	command := commit(&w.in, v.fork.command(model.ReasonDrifted, []*poolNode{node}, v.fork.without([]*poolNode{node}, v.fork.unready)), "c1")
	for b.Loop() {
		if reasons := Revalidate(w.in, command); len(reasons) != 0 {
			b.Fatalf("%+v", reasons)
		}
	}
}
