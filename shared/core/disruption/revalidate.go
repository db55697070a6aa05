package disruption

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// Revalidate evaluates a command that was committed once more, on a later snapshot: its nodes may still be disrupted
// for its reason, its own taint and record aside, budgets have room for it, no pod that waits needs its nodes, and with
// them gone and its replacements there every one of their pods has a place without an instance more, for at least the
// saving a command must bring at today's prices. It returns everything that speaks against it; none where it holds.
// Nodes that are ending by themselves are passed over.
//
// It is evaluated as it was planned: after the commands that were committed before it, as if those after it were not
// there. So the first of a plan holds while nothing changes, and what has room for only some of them keeps the last
// ones: a pod that waits and fits the nodes of many commands undoes one.
//
// Headroom of CapacityBuffers is taken here for pods that wait: a command that was planned while there was more room
// than is left now may be found not to hold although it takes nothing away from them. While nothing changes the first
// of a plan holds, short of room or not.
func Revalidate(in Input, command *model.Command) []model.KeptReason {
	p := newPlanner(&in, command)
	nodes, out := p.fork.targets(command)
	if len(nodes) == 0 {
		return out
	}
	r := revalidation{p, command, nodes}
	out = append(out, r.stillEligible()...)
	if command.Reason != model.ReasonReplicas {
		out = append(out, r.stillBudgeted()...)
		if len(p.fork.claimed) > 0 {
			const message = "without its nodes there is no capacity for %s"
			out = append(out, *because(PodsExpected, message, some("pod", p.fork.claimed)))
		}
	}
	static := func(node *poolNode) bool { return node.Pool == nil || node.Pool.Replicas != nil }
	if command.Reason != model.ReasonEmpty && !slices.ContainsFunc(nodes, static) {
		out = append(out, r.stillPlaced()...)
	}
	if command.Reason == model.ReasonUnderutilized {
		if no := r.stillSaves(); no != nil {
			out = append(out, *no)
		}
	}
	return out
}

// targets returns the nodes of a command that are not ending, and why some are not what they were.
func (c *cluster) targets(command *model.Command) (nodes []*poolNode, out []model.KeptReason) {
	for _, t := range command.Targets {
		if claim := c.claims[t.Claim]; claim == nil || claim.Ending() {
			continue
		}
		node := c.byName[t.Node]
		if node == nil || node.Claim == nil || node.Claim.Name != t.Claim ||
			t.NodeUID != "" && node.Node.UID != t.NodeUID {
			const message = "node %s of claim %s does not exist any more, or is another node"
			out = append(out, *because(Changed, message, t.Node, t.Claim))
			continue
		}
		nodes = append(nodes, node)
	}
	return nodes, out
}

// revalidation is a command that is evaluated once more, with those of its nodes that are what they were.
type revalidation struct {
	*planner
	command *model.Command
	nodes   []*poolNode
}

// stillEligible returns why some of the nodes may not be disrupted for the command's reason any more.
func (r *revalidation) stillEligible() (out []model.KeptReason) {
	by := methodOf(r.command.Reason)
	shrunk := make(map[string]int)
	for _, node := range r.nodes {
		of := by
		if by == consolidating && node.Empty { // all the better
			of = emptying
		}
		switch {
		case node.eligible&of == 0:
			out = append(out, *because(Changed, "node %s is no longer disrupted as %s", node.name(), r.command.Reason))
		case node.permitted&of == 0:
			for _, reason := range reasonsOf(node.blockers, of) {
				out = append(out, *because(reason.Code, "node %s: %s", node.name(), reason.Message))
			}
		}
		if pool := node.Node.Pool(); of == shrinking && node.Pool != nil {
			if shrunk[pool]++; shrunk[pool] == r.surplus[pool]+1 {
				out = append(out, *because(Changed,
					"NodePool %s has no more nodes beyond spec.replicas than those that other commands remove", pool))
			}
		}
	}
	return out
}

// stillBudgeted returns why the budgets have no room for the nodes.
func (r *revalidation) stillBudgeted() []model.KeptReason {
	reason := r.command.Reason
	for _, node := range r.nodes {
		if no := r.otherZone(node); no != nil && methodOf(reason)&eventual != 0 {
			return []model.KeptReason{*no}
		}
	}
	if r.budgets.fits(reason, r.nodes...) {
		return nil
	}
	for _, node := range r.nodes {
		if pool := node.Node.Pool(); r.budgets.left(pool, reason) == 0 || len(r.nodes) > 1 {
			return []model.KeptReason{r.budgets.full(pool, reason, len(r.nodes)-1)}
		}
	}
	return nil
}

// stillPlaced returns which pods of the nodes would not have a place on what exists and on the command's replacements.
// What is renewed is evaluated as it was planned: see renewOne.
func (r *revalidation) stillPlaced() (out []model.KeptReason) {
	if r.command.TerminateFirst {
		return r.unplacedFirst()
	}
	tries := []map[string]bool{r.fork.churning}
	if r.command.Reason != model.ReasonUnderutilized {
		tries = []map[string]bool{r.lasting(), r.fork.unready}
	}
	for _, churning := range tries {
		if out = r.unplaced(churning); len(out) == 0 || r.asPlanned(churning) {
			return nil
		}
	}
	return out
}

// unplaced returns which pods of the nodes would not have a place where some nodes and claims take no pods that are
// moved.
func (r *revalidation) unplaced(churning map[string]bool) (out []model.KeptReason) {
	if len(podsOf(r.nodes)) == 0 {
		return nil
	}
	o := r.planAgain(churning)
	if len(o.homeless) > 0 {
		out = append(out, describe(o.homeless))
	}
	for i := range o.claims {
		var names []string
		for _, ref := range o.claims[i].Pods {
			names = append(names, ref.Key())
		}
		const message = "%s would need one instance more than the command has"
		out = append(out, *because(Unplaceable, message, some("pod", names)))
	}
	return out
}

// planAgain plans the nodes' pods on the fork. Nodes and claims of churning take none of them.
func (r *revalidation) planAgain(churning map[string]bool) outcome {
	pods := podsOf(r.nodes)
	in := r.fork.input(nil, append(slices.Clone(r.fork.waiting), pods...), pods)
	in.Churning = churning
	return r.fork.read(pack.Plan(in), pods)
}

// asPlanned reports whether planning the nodes' pods without the command's replacements asks for just these once more,
// each for the same pods. Otherwise pods may be found to fit the replacements less well than they do: no search for
// places finds them all.
func (r *revalidation) asPlanned(churning map[string]bool) bool {
	coming := r.fork.coming
	defer func() { r.fork.coming = coming }()
	replaces := func(c model.Claim) bool { return r.fork.revalidated.replaces(c.Name) }
	r.fork.coming = slices.DeleteFunc(slices.Clone(coming), replaces)
	o := r.planAgain(churning)
	return len(o.homeless) == 0 && !slices.ContainsFunc(o.claims, func(c model.PlannedClaim) bool {
		return !slices.ContainsFunc(r.command.Replacements, func(p model.PlannedClaim) bool {
			return p.Pool == c.Pool && slices.Equal(p.Pods, c.Pods)
		})
	})
}

// stillSaves returns why the command does not save what one must, or too little for what it disturbs: at today's prices
// of the replacements' instances or, where they have none yet, of the cheapest offerings that can be had.
func (r *revalidation) stillSaves() *model.KeptReason {
	before := priceOf(r.nodes)
	savings := before
	for i := range r.command.Replacements {
		planned := &r.command.Replacements[i]
		if claim := r.fork.claims[planned.Name]; claim != nil && claim.InstanceType != "" {
			savings -= r.fork.prices.of(claim)
			continue
		}
		price, has := r.fork.prices.replacement(planned)
		if !has {
			const message = "nothing that replacement %s may be launched as has capacity now"
			return because(NoReplacement, message, planned.Name)
		}
		savings -= price
	}
	if least := r.fork.leastSaving(before, 0); savings < least {
		const message = "at today's prices it saves $%.4f per hour, and a command has to save $%.4f"
		return because(NoSavings, message, savings.USD(), least.USD())
	}
	return r.balanced.approves(r.nodes, savings)
}
