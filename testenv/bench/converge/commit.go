package converge

import (
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/model"
)

// laterSeconds is how long after it was committed a command is evaluated once more.
const laterSeconds = 20

// Committed returns the input as it is a little later, when all commands of the plan have been committed and their nodes
// tainted, and nothing else has happened; and the commands, in the plan's order. Each of them should still hold, or nothing
// would ever be given back.
func Committed(in disruption.Input, plan *model.DisruptPlan) (disruption.Input, []model.Command) {
	snapshot := *in.Snapshot
	snapshot.Seq++
	snapshot.AtUnix += laterSeconds
	snapshot.Nodes = slices.Clone(snapshot.Nodes)
	nodes := make(map[string]*model.Node, len(snapshot.Nodes))
	for i := range snapshot.Nodes {
		nodes[snapshot.Nodes[i].Name] = &snapshot.Nodes[i]
	}
	out := in
	out.Snapshot, out.NowUnix, out.Claims = &snapshot, in.NowUnix+laterSeconds, slices.Clone(in.Claims)
	claims := make(map[string]*model.Claim, len(out.Claims))
	for i := range out.Claims {
		claims[out.Claims[i].NodeName] = &out.Claims[i]
	}
	commands := make([]model.Command, 0, len(plan.Commands))
	for i := range plan.Commands {
		p := &plan.Commands[i]
		c := model.Command{ID: fmt.Sprintf("command-%03d", i), Version: 1, State: model.CommandCommitted, Reason: p.Reason, Replacements: p.Replacements, PodsMoved: p.PodsMoved,
			Savings: p.Savings, Epoch: in.Snapshot.Epoch, Seq: in.Snapshot.Seq, Inputs: p.Inputs, Workloads: p.Workloads, SinceUnix: in.NowUnix}
		for _, name := range p.Nodes {
			node, claim := nodes[name], claims[name]
			if node == nil || claim == nil {
				continue
			}
			node.Taints = append(slices.Clone(node.Taints), model.Taint{Key: model.TaintDisrupted, Effect: model.NoSchedule})
			claim.Command = c.ID
			claim.Version++
			c.Targets = append(c.Targets, model.Target{Claim: claim.Name, Pool: claim.Pool, Class: claim.Class, Node: name, NodeUID: node.UID, Price: claim.Price,
				InstanceType: claim.InstanceType, Zone: claim.Zone, CapacityType: claim.CapacityType})
		}
		commands = append(commands, c)
	}
	out.Commands = append(slices.Clone(in.Commands), commands...)
	return out, commands
}
