package cost

import (
	"fmt"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// Scenario is what a cluster is like.
type Scenario struct {
	Name       string
	Nodes      int           // that its pods need
	ChurnEvery time.Duration // between two nodes that people have replaced; 0 = none ever
	Lead       time.Duration // until it is measured: then every day is like the next
	Span       time.Duration // that is measured
}

// The scenarios of the table. The ledger keeps what has ended for a day.
var (
	// Idle has a NodePool and nothing that needs it.
	Idle = Scenario{Name: "idle cluster", Lead: 2 * time.Hour, Span: 24 * time.Hour}
	// Busy runs 2,000 pods.
	Busy = Scenario{
		Name: "100 nodes, 20 replaced a day", Nodes: 100, ChurnEvery: 24 * time.Hour / 20, Lead: settled + 24*time.Hour, Span: 24 * time.Hour,
	}

	Scenarios = []Scenario{Idle, Busy}
)

// podsPerNode is how many pods of a workload fill a node.
const podsPerNode = 20

// world makes the cluster: one class, one pool of machines of one size, and as many workloads as there are to be nodes.
func (s Scenario) world() *world.World {
	w := world.New(world.Options{
		Types: []string{"m5.xlarge", "m6g.xlarge", "c5.xlarge"}, Scheduler: 50 * time.Millisecond, Boot: 40 * time.Second, Ready: 10 * time.Second,
		Visibility: time.Second, Finalizers: true, Choices: true, Events: world.Span{Min: time.Second, Max: time.Second},
	})
	w.Cluster.AddClass(world.Class("default"))
	pool, after := world.Pool("default", "default", world.Need(model.LabelInstanceType, "m5.xlarge")), int64(60)
	pool.Hash = "1"
	pool.Disruption = model.Disruption{Policy: "WhenEmptyOrUnderutilized", ConsolidateAfterSeconds: &after, Budgets: []model.Budget{{Nodes: "10%"}}}
	w.Cluster.AddPool(pool)
	for i := range s.Nodes {
		shape := world.Shape(180, 650<<20) // of 3.9 CPUs and 15 GiB
		shape.OwnerName = fmt.Sprintf("app-%03d", i)
		w.Workloads.Add(world.Workload{Kind: world.Deployment, Name: shape.OwnerName, Shape: shape, Replicas: podsPerNode})
	}
	return w
}

// due returns when the scenario has something happen next; false where it never does.
func (a *Account) due() (time.Time, bool) {
	if a.scenario.ChurnEvery == 0 {
		return time.Time{}, false
	}
	return world.Start.Add(settled + time.Duration(a.next)*a.scenario.ChurnEvery), true
}

// settled is how long after its start a cluster is measured at the earliest: its machines run, and nothing is given back any more.
const settled = time.Hour

// churn has the node that has run longest deleted, as `kubectl delete node` does: its pods go elsewhere.
func (a *Account) churn() {
	a.next++
	nodes := slices.DeleteFunc(a.world.Cluster.Nodes(), func(n model.Node) bool { return !n.Finalizer || n.DeletedUnix != 0 })
	if len(nodes) == 0 {
		return
	}
	oldest := slices.MinFunc(nodes, func(a, b model.Node) int {
		if a.CreatedUnix != b.CreatedUnix {
			return int(a.CreatedUnix - b.CreatedUnix)
		}
		return len(a.Name) - len(b.Name)
	})
	a.world.Cluster.Delete(world.KindNode, oldest.Name)
}
