package main

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/model"
)

// usage returns what nodes and claims hold against the limits of their pool, by pool name: what each has, and one of
// "nodes". A claim whose node is there counts once. One that says nothing of what it has yet holds the most that any type
// it accepts would take.
func usage(snapshot *model.Snapshot, claims []model.Claim, catalogs map[string][]model.InstanceType) map[string]model.Resources {
	held := map[string]model.Resources{}
	add := func(pool string, has model.Resources) {
		if pool != "" {
			held[pool] = resource.Add(resource.Add(held[pool], has), model.Resources{model.Nodes: 1})
		}
	}
	joined := map[string]bool{} // provider IDs and names of nodes
	for i := range snapshot.Nodes {
		node := &snapshot.Nodes[i]
		joined[node.Name] = true
		if node.ProviderID != "" {
			joined[node.ProviderID] = true
		}
		add(node.Pool(), node.Capacity)
	}
	for i := range claims {
		claim := &claims[i]
		if joined[claim.NodeName] || joined[claim.ProviderID] {
			continue
		}
		has := claim.Capacity
		if len(has) == 0 {
			has = most(claim, catalogs[claim.Class])
		}
		add(claim.Pool, has)
	}
	return held
}

// most returns the most of each resource that a type the claim accepts has.
func most(claim *model.Claim, types []model.InstanceType) model.Resources {
	out := model.Resources{}
	for i := range types {
		if types[i].Name == claim.InstanceType || claim.InstanceType == "" && slices.Contains(claim.InstanceTypes, types[i].Name) {
			out = resource.Max(out, types[i].Capacity)
		}
	}
	return out
}
