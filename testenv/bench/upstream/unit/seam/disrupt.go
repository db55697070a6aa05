package seam

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	disruptionevents "sigs.k8s.io/karpenter/pkg/controllers/disruption/events"
	scheduler "sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/operator/options"
)

// Disruption is a command of Joiner's plan.
type Disruption struct {
	Reason       string
	Nodes        []*state.StateNode
	Pools        []*v1.NodePool // of each node
	Replacements []*scheduler.NodeClaim
	Results      scheduler.Results // where the pods go
}

// Wanted is which of a plan's commands one of Karpenter's methods stands for.
type Wanted struct {
	Reason  string         // Empty, Drifted, Underutilized
	Static  bool           // nodes of static NodePools, else of the others
	Several bool           // commands of several nodes, else of one; of the reason Underutilized only
	Allowed map[string]int // how many nodes budgets let go now for the reason, by NodePool, as Karpenter counts
}

// disruptPlan is what `joiner plan disrupt --output json` writes, as far as it is used.
type disruptPlan struct {
	Commands []disruptCommand `json:"commands"`
	Kept     []struct {
		Node    string `json:"node"`
		Reasons []struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"reasons"`
	} `json:"kept"`
}

type disruptCommand struct {
	Reason       string       `json:"reason"`
	Nodes        []string     `json:"nodes"`
	Replacements []claim      `json:"replacements"`
	Moves        []nomination `json:"moves"`
}

// Disrupt says what of Joiner's plan a method of Karpenter's does in one round. A plan is a list of commands, each of which holds once those
// before it are done, and a method does one at a time, but for drift of static NodePools. So it is given the first command for its reason; those that
// give back empty nodes, which Joiner has for each NodePool, are one. Eligible is how many nodes Joiner gives back for the reason, or would
// if budgets of NodePools let it.
//
// A spec fails where the plan gives back more nodes of a NodePool for the reason than Karpenter counts that budgets allow, or says that budgets
// hold some back and gives back fewer.
func Disrupt(ctx context.Context, w World, wanted Wanted) (commands []Disruption, eligible int) {
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
	var list []Disruption
	large := map[string]bool{} // static NodePools that are brought to their size first, which another controller of Karpenter's does
	for i := range p.Commands {
		c := &p.Commands[i]
		d := Disruption{Reason: c.Reason}
		for _, name := range c.Nodes {
			node := known[name]
			if node == nil {
				ginkgo.Fail("joiner's plan speaks of node " + name + ", which is not there")
			}
			pool := g.pools[node.Labels()[v1.NodePoolLabelKey]]
			large[pool.Name] = large[pool.Name] || c.Reason == overReplicated
			d.Nodes, d.Pools = append(d.Nodes, node), append(d.Pools, pool)
		}
		static := d.Pools[0].Spec.Replicas != nil
		if !strings.EqualFold(c.Reason, wanted.Reason) || static != wanted.Static || static && large[d.Pools[0].Name] {
			continue
		}
		eligible += len(d.Nodes)
		d.Results = g.results(&plan{Claims: c.Replacements, Nominations: c.Moves}, w.Cluster)
		d.Replacements = d.Results.NewNodeClaims
		list = append(list, d)
	}
	eligible += p.keepToBudgets(known, wanted)
	p.report(w, known, wanted)
	switch {
	case len(list) == 0, wanted.Static:
		return list, eligible
	case strings.EqualFold(wanted.Reason, string(v1.DisruptionReasonEmpty)):
		for _, d := range list[1:] {
			list[0].Nodes, list[0].Pools = append(list[0].Nodes, d.Nodes...), append(list[0].Pools, d.Pools...)
		}
	case strings.EqualFold(wanted.Reason, string(v1.DisruptionReasonUnderutilized)) && wanted.Several != (len(list[0].Nodes) > 1):
		return nil, eligible
	}
	return list[:1], eligible
}

// overReplicated is the reason for which a static NodePool is brought to its size.
const overReplicated = "OverReplicated"

// keepToBudgets fails the spec where the plan gives back more nodes for the reason than budgets allow, or fewer although it says that they hold
// some back. It returns how many they hold back.
func (p *disruptPlan) keepToBudgets(known map[string]*state.StateNode, wanted Wanted) (held int) {
	given, forIt, full := map[string]int{}, map[string]int{}, map[string]bool{} // by NodePool
	for i := range p.Commands {
		c := &p.Commands[i]
		for _, name := range c.Nodes {
			pool := known[name].Labels()[v1.NodePoolLabelKey]
			if c.Reason != overReplicated { // which no budget holds back
				given[pool]++
			}
			if strings.EqualFold(c.Reason, wanted.Reason) {
				forIt[pool]++
			}
		}
	}
	for _, k := range p.Kept {
		for _, r := range k.Reasons {
			if r.Code == "NodeBudget" && strings.Contains(r.Message, "("+wanted.Reason+")") && known[k.Node] != nil {
				full[known[k.Node].Labels()[v1.NodePoolLabelKey]] = true
				held++
			}
		}
	}
	for pool, allowed := range wanted.Allowed {
		if forIt[pool] > allowed || full[pool] && given[pool] < allowed {
			ginkgo.Fail(fmt.Sprintf("joiner's plan gives back %d nodes of NodePool %s, %d of them as %s, for which its budgets allow %d", given[pool], pool, forIt[pool], wanted.Reason, allowed))
		}
	}
	return held
}

// report publishes events about nodes that stay, as far as Karpenter does while it looks for nodes to give back for the reason.
func (p *disruptPlan) report(w World, known map[string]*state.StateNode, wanted Wanted) {
	for _, k := range p.Kept {
		n := known[k.Node]
		if n == nil || n.Node == nil || n.NodeClaim == nil {
			continue
		}
		for _, r := range k.Reasons {
			if reports(r.Code, wanted.Reason) {
				w.Recorder.Publish(disruptionevents.Unconsolidatable(n.Node, n.NodeClaim, r.Code+": "+r.Message)...)
			}
		}
	}
}

// reports reports whether people are told, of a node that stays for what a code says, that it cannot be consolidated, as far as Karpenter tells it
// while it looks for nodes to give back for a reason.
func reports(code, reason string) bool {
	switch code {
	case "NeverConsolidate":
		return !strings.EqualFold(reason, string(v1.DisruptionReasonDrifted))
	case "WhenEmpty", "UnknownMachine", "NothingToGain", "SpotToSpot", "Unplaceable":
		return strings.EqualFold(reason, string(v1.DisruptionReasonUnderutilized))
	}
	return false
}

// Still returns what of commands holds by what Joiner says later: of empty nodes those that are given back in both, else a command with the
// same nodes whose replacements may still be all that they were to be.
func Still(commands, later []Disruption) []Disruption {
	var out []Disruption
	for _, d := range commands {
		for _, l := range later {
			if d.Reason != l.Reason {
				continue
			}
			if strings.EqualFold(d.Reason, string(v1.DisruptionReasonEmpty)) {
				if d = d.both(l); len(d.Nodes) > 0 {
					out = append(out, d)
				}
			} else if len(d.Nodes) == len(l.Nodes) && len(d.both(l).Nodes) == len(d.Nodes) && among(d.Replacements, l.Replacements) {
				out = append(out, d)
			}
		}
	}
	return out
}

// both returns a command without the nodes that another does not give back.
func (d Disruption) both(l Disruption) Disruption {
	var nodes []*state.StateNode
	var pools []*v1.NodePool
	for i, n := range d.Nodes {
		if slices.ContainsFunc(l.Nodes, func(o *state.StateNode) bool { return o.Name() == n.Name() }) {
			nodes, pools = append(nodes, n), append(pools, d.Pools[i])
		}
	}
	d.Nodes, d.Pools = nodes, pools
	return d
}

// among reports whether claims may be launched as nothing but what others may be launched as, one by one.
func among(claims, others []*scheduler.NodeClaim) bool {
	if len(claims) != len(others) {
		return false
	}
	for i, c := range claims {
		for _, t := range c.InstanceTypeOptions {
			if !slices.ContainsFunc(others[i].InstanceTypeOptions, func(o *cloudprovider.InstanceType) bool { return o.Name == t.Name }) {
				return false
			}
		}
	}
	return true
}
