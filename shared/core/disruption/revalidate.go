package disruption

import (
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// Revalidate evaluates a command that was committed once more, on a later snapshot: its nodes may still be disrupted for its reason, its
// own taint and record aside, budgets have room for it, no pod that waits needs its nodes, and with them gone and its replacements
// there every one of their pods has a place without an instance more, for at least the saving a command must bring at today's prices.
// It returns everything that speaks against it; none where it holds. Nodes that are ending by themselves are passed over.
//
// It is evaluated as it was planned: after the commands that were committed before it, as if those after it were not there. So the
// first of a plan holds while nothing changes, and what has room for only some of them keeps the last ones: a pod that waits and
// fits the nodes of many commands undoes one.
//
// Headroom of CapacityBuffers is taken here for pods that wait: a command that was planned while there was more room than is left now
// may be found not to hold although it takes nothing away from them. While nothing changes the first of a plan holds, short of room or not.
func Revalidate(in Input, command *model.Command) []model.KeptReason {
	v := newPlanner(&in, command)
	nodes, out := v.targets(command)
	if len(nodes) == 0 {
		return out
	}
	out = append(out, v.stillFor(command, nodes)...)
	if command.Reason != model.ReasonReplicas && !v.budgets.fits(command.Reason, nodes...) {
		for _, node := range nodes {
			if v.budgets.left(node.Node.Pool(), command.Reason) == 0 || len(nodes) > 1 {
				out = append(out, v.budgets.full(node.Node.Pool(), command.Reason, len(nodes)-1))
				break
			}
		}
	}
	if command.Reason != model.ReasonReplicas {
		out = append(out, v.needed()...)
	}
	if static := func(node *poolNode) bool { return node.Pool == nil || node.Pool.Replicas != nil }; command.Reason != model.ReasonEmpty && !slices.ContainsFunc(nodes, static) {
		out = append(out, v.stillPlaced(command, nodes)...)
	}
	if command.Reason == model.ReasonUnderutilized {
		out = append(out, v.stillSaves(command, nodes)...)
	}
	return out
}

// targets returns the command's nodes, and why some are not what they were.
func (v *planner) targets(command *model.Command) ([]*poolNode, []model.KeptReason) {
	var nodes []*poolNode
	var out []model.KeptReason
	for _, t := range command.Targets {
		claim := v.claims[t.Claim]
		if claim == nil || claim.Ending() {
			continue
		}
		node := v.byName[t.Node]
		if node == nil || node.Claim == nil || node.Claim.Name != t.Claim || t.NodeUID != "" && node.Node.UID != t.NodeUID {
			out = append(out, model.KeptReason{Code: Changed, Message: fmt.Sprintf("node %s of claim %s does not exist any more, or is another node", t.Node, t.Claim)})
			continue
		}
		nodes = append(nodes, node)
	}
	return nodes, out
}

// stillFor returns why some of the nodes may not be disrupted for the command's reason any more.
func (v *planner) stillFor(command *model.Command, nodes []*poolNode) []model.KeptReason {
	var out []model.KeptReason
	by := methodOf(command.Reason)
	shrunk := make(map[string]int)
	for _, node := range nodes {
		of := by
		if by == consolidating && node.Empty { // all the better
			of = emptying
		}
		switch {
		case node.eligible&of == 0:
			out = append(out, model.KeptReason{Code: Changed, Message: "node " + node.name() + " is no longer disrupted as " + command.Reason})
		case node.permitted&of == 0:
			for _, reason := range reasonsOf(node.blockers, of) {
				reason.Message = "node " + node.name() + ": " + reason.Message
				out = append(out, reason)
			}
		}
		if pool := node.Node.Pool(); of == shrinking && node.Pool != nil {
			if shrunk[pool]++; shrunk[pool] == v.excess(node.Pool)+1 {
				out = append(out, model.KeptReason{Code: Changed, Message: "NodePool " + pool + " has no more nodes beyond spec.replicas than those that other commands remove"})
			}
		}
	}
	return out
}

// needed returns which pods that wait have a place on the nodes and nowhere else.
func (v *planner) needed() []model.KeptReason {
	if len(v.claimed) == 0 {
		return nil
	}
	return []model.KeptReason{{Code: PodsExpected, Message: "without its nodes there is no capacity for " + some("pod", v.claimed)}}
}

// stillPlaced returns which pods of the nodes would not have a place on what exists and on the command's replacements. What is
// renewed is looked at as it was planned: see renewOne.
func (v *planner) stillPlaced(command *model.Command, nodes []*poolNode) []model.KeptReason {
	tries := []map[string]bool{v.churning}
	if command.Reason != model.ReasonUnderutilized {
		tries = []map[string]bool{v.lasting(), v.unready}
	}
	var out []model.KeptReason
	for _, churning := range tries {
		if out = v.stillPlacedBut(churning, nodes); len(out) == 0 || v.asPlanned(command, churning, nodes) {
			return nil
		}
	}
	return out
}

// stillPlacedBut is stillPlaced where some nodes and claims take no pods that are moved.
func (v *planner) stillPlacedBut(churning map[string]bool, nodes []*poolNode) []model.KeptReason {
	pods := podsOf(nodes)
	if len(pods) == 0 {
		return nil
	}
	o := v.replan(pods, churning)
	var out []model.KeptReason
	if len(o.homeless) > 0 {
		out = append(out, describe(o.homeless))
	}
	for i := range o.claims {
		var names []string
		for _, ref := range o.claims[i].Pods {
			names = append(names, ref.Key())
		}
		out = append(out, model.KeptReason{Code: Unplaceable, Message: some("pod", names) + " would need one instance more than the command has"})
	}
	return out
}

// replan plans pods on the fork. Nodes and claims of churning take none of them.
func (v *planner) replan(pods []int, churning map[string]bool) outcome {
	in := v.input(nil, append(slices.Clone(v.waiting), pods...), pods)
	in.Churning = churning
	return v.read(pack.Plan(in), pods)
}

// asPlanned reports whether planning the nodes' pods without the command's replacements asks for just these once more, each for
// the same pods. Otherwise pods may be found to fit the replacements less well than they do: no search for places finds them all.
func (v *planner) asPlanned(command *model.Command, churning map[string]bool, nodes []*poolNode) bool {
	coming := v.coming
	defer func() { v.coming = coming }()
	v.coming = slices.DeleteFunc(slices.Clone(coming), func(c model.Claim) bool { return v.replaces(c.Name) })
	o := v.replan(podsOf(nodes), churning)
	return len(o.homeless) == 0 && !slices.ContainsFunc(o.claims, func(c model.PlannedClaim) bool {
		return !slices.ContainsFunc(command.Replacements, func(p model.PlannedClaim) bool { return p.Pool == c.Pool && slices.Equal(p.Pods, c.Pods) })
	})
}

// stillSaves returns why the command does not save what one must, or too little for what it disturbs.
func (v *planner) stillSaves(command *model.Command, nodes []*poolNode) []model.KeptReason {
	before := model.MicroUSD(0)
	for _, node := range nodes {
		before += node.Price
	}
	savings := before
	for i := range command.Replacements {
		price, has := v.priceNow(&command.Replacements[i])
		if !has {
			return []model.KeptReason{{Code: NoReplacement, Message: "nothing that replacement " + command.Replacements[i].Name + " may be launched as has capacity now"}}
		}
		savings -= price
	}
	if least := v.leastSaving(before); savings < least {
		return []model.KeptReason{{Code: NoSavings, Message: fmt.Sprintf("at today's prices it saves $%.4f per hour, and a command has to save $%.4f", savings.USD(), least.USD())}}
	}
	if reason := v.approves(nodes, savings); reason != nil {
		return []model.KeptReason{*reason}
	}
	return nil
}

// leastSaving returns what a command must save that disrupts nodes of a price, per hour.
func (v *planner) leastSaving(price model.MicroUSD) model.MicroUSD {
	return max(v.set.MinSaving, (price*model.MicroUSD(v.set.MinSavingPercent)+99)/100)
}

// priceNow returns what a replacement costs: its instance's price where it has one, or else the lowest of the offerings that it may be
// bought as and that can be had; false where there is none.
func (v *planner) priceNow(p *model.PlannedClaim) (model.MicroUSD, bool) {
	if claim := v.claims[p.Name]; claim != nil && claim.InstanceType != "" {
		return v.priceOf(claim), true
	}
	best, found := model.MicroUSD(0), false
	for _, name := range p.InstanceTypes {
		t := v.typeOf(p.Class, name)
		if t == nil {
			continue
		}
		for i := range t.Offerings {
			o := &t.Offerings[i]
			if o.Available && slices.Contains(p.Zones, o.Zone) && slices.Contains(p.CapacityTypes, o.CapacityType) && (!found || o.Price < best) {
				best, found = o.Price, true
			}
		}
	}
	return best, found
}
