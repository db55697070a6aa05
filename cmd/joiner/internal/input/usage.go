package input

import (
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/model"
)

// Usage returns what nodes and claims hold against the limits of their pool, by pool name: what each has, what it costs
// per hour as far as the catalog knows, and one of "nodes". A claim whose node is there counts once. One that says
// nothing of what it has yet holds the most that any type it accepts would take.
func Usage(
	snapshot *model.Snapshot, claims []model.Claim, catalogs map[string][]model.InstanceType,
) map[string]model.Resources {
	held := map[string]model.Resources{}
	add := func(pool string, has model.Resources) {
		if pool != "" {
			held[pool] = resource.Add(resource.Add(held[pool], has), model.Resources{model.Nodes: 1})
		}
	}
	class := map[string]string{}
	for i := range snapshot.Pools {
		class[snapshot.Pools[i].Name] = snapshot.Pools[i].Template.ClassName
	}
	joined := map[string]bool{} // provider IDs and names of nodes
	for i := range snapshot.Nodes {
		node := &snapshot.Nodes[i]
		joined[node.Name] = true
		if node.ProviderID != "" {
			joined[node.ProviderID] = true
		}
		has := maps.Clone(node.Capacity)
		bought := model.OfferingKey{
			InstanceType: node.Labels[model.LabelInstanceType], Zone: node.Labels[model.LabelZone],
			CapacityType: node.Labels[model.LabelCapacityType],
		}
		types := model.CatalogOf(catalogs, class[node.Pool()], node.Pool())
		if cost := highest(types, bought); cost > 0 && bought.InstanceType != "" {
			has = resource.Add(has, model.Resources{model.Dollars: cost})
		}
		add(node.Pool(), has)
	}
	for i := range claims {
		claim := &claims[i]
		if joined[claim.NodeName] || joined[claim.ProviderID] {
			continue
		}
		types, has := model.CatalogOf(catalogs, claim.Class, claim.Pool), claim.Capacity
		if len(has) == 0 {
			has = most(claim, types)
		}
		add(claim.Pool, resource.Add(has, model.Resources{model.Dollars: Cost(claim, types)}))
	}
	return held
}

// Cost returns what a claim's instance costs per hour, in micro-USD: the most that any offering it accepts does where
// it has none yet.
func Cost(claim *model.Claim, types []model.InstanceType) int64 {
	if claim.Price > 0 {
		return int64(claim.Price)
	}
	if claim.InstanceType != "" {
		return highest(types, model.OfferingKey{InstanceType: claim.InstanceType, Zone: claim.Zone,
			CapacityType: claim.CapacityType})
	}
	cost := int64(0)
	for _, name := range claim.InstanceTypes {
		cost = max(cost, highest(types, model.OfferingKey{InstanceType: name}))
	}
	return cost
}

// highest returns the highest price of an offering, in micro-USD per hour; empty fields match every one, and 0 is none.
func highest(types []model.InstanceType, wanted model.OfferingKey) int64 {
	cost := model.MicroUSD(0)
	for i := range types {
		for _, o := range types[i].Offerings {
			key := model.OfferingKey{InstanceType: types[i].Name, Zone: o.Zone, CapacityType: o.CapacityType}
			if offering.Covers(model.UnavailableOffering{OfferingKey: wanted}, key) {
				cost = max(cost, o.Price)
			}
		}
	}
	return int64(cost)
}

// most returns the most of each resource that a type the claim accepts has.
func most(claim *model.Claim, types []model.InstanceType) model.Resources {
	out := model.Resources{}
	for i := range types {
		if types[i].Name == claim.InstanceType || claim.InstanceType == "" &&
			slices.Contains(claim.InstanceTypes, types[i].Name) {
			out = resource.Max(out, types[i].Capacity)
		}
	}
	return out
}
