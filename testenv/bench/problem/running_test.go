package problem

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// TestClustersAreNodesWithClaimsWhosePodsMayAllLeave guards what the families of running clusters are for: nothing but
// prices keeps a node.
func TestClustersAreNodesWithClaimsWhosePodsMayAllLeave(t *testing.T) {
	for family, capacityType := range map[string]string{"underused": model.OnDemand, "packed": model.Spot} {
		p, err := New(Spec{Family: family, Nodes: 20})
		if err != nil {
			t.Fatal(err)
		}
		in := p.Running()
		if len(in.Claims) != 20 || len(in.Snapshot.Nodes) != 20 || in.Usage["default"][model.Nodes] != 20 {
			t.Fatalf("%s: %d claims, %d nodes, usage %v", family, len(in.Claims), len(in.Snapshot.Nodes), in.Usage)
		}
		for i := range in.Claims {
			c := &in.Claims[i]
			if c.State != model.Initialized || c.Price <= 0 || c.CapacityType != capacityType || c.NodeName != in.Snapshot.Nodes[i].Name || !in.Snapshot.Nodes[i].Initialized() {
				t.Errorf("%s: claim %+v", family, c)
			}
		}
		d := in.Snapshot.Pools[0].Disruption
		if d.Policy != "WhenEmptyOrUnderutilized" || d.ConsolidateAfterSeconds == nil || *d.ConsolidateAfterSeconds != 0 || len(d.Budgets) != 1 || d.Budgets[0].Nodes != "100%" {
			t.Errorf("%s: the pool's disruption is %+v", family, d)
		}
		for i := range in.Snapshot.Pods {
			if pod := &in.Snapshot.Pods[i]; pod.Phase != model.Running || pod.StartedUnix == 0 || pod.StartedUnix >= in.NowUnix || pod.NodeName == "" {
				t.Fatalf("%s: pod %+v", family, pod)
			}
		}
		if again := p.FromNothing(); len(again.Nodes) != 0 || len(again.Pods) != len(p.Bound)-20*len(daemons) || len(again.Pods) == 0 {
			t.Errorf("%s: from nothing, %d pods of %d bound", family, len(again.Pods), len(p.Bound))
		}
	}
}
