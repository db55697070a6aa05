package seam

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/onsi/ginkgo/v2"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	scheduler "sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/operator/options"
)

// Disruption is a command of Joiner's plan.
type Disruption struct {
	Nodes        []*state.StateNode
	Pools        []*v1.NodePool // of each node
	Replacements []*scheduler.NodeClaim
	Results      scheduler.Results // where the pods go
}

// Wanted is which of a plan's commands one of Karpenter's methods stands for.
type Wanted struct {
	Reason  string // Empty, Drifted, Underutilized
	Static  bool   // nodes of static NodePools, else of the others
	Several bool   // commands of several nodes, else of one; of the reason Underutilized only
}

// What `joiner plan disrupt --output json` writes, as far as it is used.
type disruptPlan struct {
	Commands []struct {
		Reason       string       `json:"reason"`
		Nodes        []string     `json:"nodes"`
		Replacements []claim      `json:"replacements"`
		Moves        []nomination `json:"moves"`
	} `json:"commands"`
}

// Disrupt says what Joiner would give back, as far as a method is asked.
func Disrupt(ctx context.Context, w World, wanted Wanted) []Disruption {
	g := gather(ctx, w)
	var args []string
	if options.FromContext(ctx).FeatureGates.SpotToSpotConsolidation {
		args = append(args, "--spot-to-spot")
	}
	var p disruptPlan
	must(json.Unmarshal([]byte(toTheirs.Replace(string(g.ask(ctx, w.Clock.Now(), "disrupt", args...)))), &p))
	known := map[string]*state.StateNode{}
	for _, n := range w.Cluster.DeepCopyNodes() {
		known[n.Name()] = n
	}
	var out []Disruption
	for _, c := range p.Commands {
		d := Disruption{}
		static := false
		for _, name := range c.Nodes {
			node := known[name]
			if node == nil {
				ginkgo.Fail("joiner's plan speaks of node " + name + ", which is not there")
			}
			pool := g.pools[node.Labels()[v1.NodePoolLabelKey]]
			static = pool != nil && pool.Spec.Replicas != nil
			d.Nodes, d.Pools = append(d.Nodes, node), append(d.Pools, pool)
		}
		if !strings.EqualFold(c.Reason, wanted.Reason) || static != wanted.Static ||
			strings.EqualFold(c.Reason, string(v1.DisruptionReasonUnderutilized)) && wanted.Several != (len(c.Nodes) > 1) {
			continue
		}
		d.Results = g.results(&plan{Claims: c.Replacements, Nominations: c.Moves}, w.Cluster)
		d.Replacements = d.Results.NewNodeClaims
		admit(ctx, w.Client, d.Replacements)
		out = append(out, d)
	}
	return out
}
