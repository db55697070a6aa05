package converge

import (
	"cmp"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// OneByOne is the plainest way of giving nodes back, to compare others with: the first node, the emptiest by CPU first,
// whose pods have a place elsewhere, or on one cheaper new node. It knows prices and places, and nothing of policies,
// budgets and what keeps pods.
func OneByOne(in disruption.Input) model.DisruptPlan {
	plan := model.DisruptPlan{Commands: []model.PlannedCommand{}}
	price := map[string]model.MicroUSD{}
	for i := range in.Claims {
		price[in.Claims[i].NodeName] = in.Claims[i].Price
		plan.PriceBefore += in.Claims[i].Price
	}
	pods := map[string][]int{}
	used := map[string]int64{}
	for i := range in.Snapshot.Pods {
		pod := &in.Snapshot.Pods[i]
		if shape := in.Snapshot.ShapeOf(pod); shape.OwnerKind != "DaemonSet" {
			pods[pod.NodeName] = append(pods[pod.NodeName], i)
			used[pod.NodeName] += shape.Requests[model.CPU]
		}
	}
	order := make([]*model.Node, 0, len(in.Snapshot.Nodes))
	for i := range in.Snapshot.Nodes {
		order = append(order, &in.Snapshot.Nodes[i])
	}
	slices.SortFunc(order, func(a, b *model.Node) int {
		return cmp.Or(cmp.Compare(used[a.Name], used[b.Name]), cmp.Compare(a.Name, b.Name))
	})
	for _, node := range order {
		if c, ok := without(&in, node.Name, pods[node.Name], price[node.Name]); ok {
			plan.Commands = append(plan.Commands, c)
			break
		}
	}
	plan.PriceAfter = plan.PriceBefore
	for _, c := range plan.Commands {
		plan.PriceAfter -= c.Savings
	}
	for i := range in.Snapshot.Nodes {
		if name := in.Snapshot.Nodes[i].Name; len(plan.Commands) == 0 || plan.Commands[0].Nodes[0] != name {
			plan.Kept = append(plan.Kept, model.KeptNode{Node: name, Reasons: []model.KeptReason{{Code: "Plain", Message: "it is not the first node that can be done without"}}})
		}
	}
	return plan
}

// without plans the pods of a node onto the others and at most one cheaper new one.
func without(in *disruption.Input, name string, pods []int, price model.MicroUSD) (model.PlannedCommand, bool) {
	fork := *in.Snapshot
	fork.Nodes = slices.DeleteFunc(slices.Clone(in.Snapshot.Nodes), func(n model.Node) bool { return n.Name == name })
	claims := slices.DeleteFunc(slices.Clone(in.Claims), func(c model.Claim) bool { return c.NodeName == name })
	c := model.PlannedCommand{Reason: model.ReasonEmpty, Nodes: []string{name}, Replacements: []model.PlannedClaim{}, Moves: []model.Nomination{}, PodsMoved: len(pods), Savings: price}
	if len(pods) == 0 {
		return c, true
	}
	c.Reason = model.ReasonUnderutilized
	plan := pack.Plan(pack.Input{Snapshot: &fork, Catalogs: in.Catalogs, Claims: claims, Usage: in.Usage, Pending: pods, NowUnix: in.NowUnix, Salt: name})
	if len(plan.Unschedulable) > 0 || len(plan.Claims) > 1 {
		return c, false
	}
	c.Replacements, c.Moves, c.Savings = plan.Claims, plan.Nominations, price-plan.Price
	for i := range c.Replacements {
		if !cheaper(&c.Replacements[i], in, price) {
			return c, false
		}
	}
	return c, c.Savings >= max(1000, price/100)
}

// cheaper leaves the replacement only what costs less than what it replaces, wherever it is bought, on demand where what it
// replaces may be spot.
func cheaper(r *model.PlannedClaim, in *disruption.Input, price model.MicroUSD) bool {
	r.CapacityTypes = []string{r.Offering.CapacityType}
	r.InstanceTypes = slices.DeleteFunc(slices.Clone(r.InstanceTypes), func(name string) bool {
		catalog := in.Catalogs[r.Class]
		t := &catalog[slices.IndexFunc(catalog, func(t model.InstanceType) bool { return t.Name == name })]
		sold := false
		for _, o := range t.Offerings {
			if o.Available && o.CapacityType == r.Offering.CapacityType && slices.Contains(r.Zones, o.Zone) {
				if sold = true; o.Price >= price {
					return true
				}
			}
		}
		return !sold
	})
	return slices.Contains(r.InstanceTypes, r.Offering.InstanceType)
}
