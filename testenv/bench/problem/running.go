package problem

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// Running gives the problem to the disruption function of what may be given back: every node is of the pool and has a claim that came up
// long ago, nothing else is going on.
func (p *Problem) Running() disruption.Input { return settled(p.Input(), p.Types) }

// Running is Problem.Running without the problem's objects ever being held together. The spec must be valid.
func (s Spec) Running() disruption.Input { return settled(s.Input(), s.Catalog()) }

// settled adds to a problem what the ledger knows of a cluster that has been as it is for long.
func settled(in pack.Input, catalog []model.InstanceType) disruption.Input {
	out := disruption.Input{Snapshot: in.Snapshot, Catalogs: in.Catalogs, NowUnix: in.NowUnix, Usage: map[string]model.Resources{}}
	types := make(map[string]*model.InstanceType, len(catalog))
	for i := range catalog {
		types[catalog[i].Name] = &catalog[i]
	}
	for i := range out.Snapshot.Nodes {
		node := &out.Snapshot.Nodes[i]
		claim := claimOf(node, types[node.Labels[model.LabelInstanceType]])
		out.Claims = append(out.Claims, claim)
		out.Snapshot.Claims = append(out.Snapshot.Claims, model.Object{Name: claim.Name, UID: claim.ObjectUID})
		used := out.Usage[claim.Pool]
		if used == nil {
			used = model.Resources{}
			out.Usage[claim.Pool] = used
		}
		for name, amount := range claim.Reserved {
			used[name] += amount
		}
	}
	slices.SortFunc(out.Claims, func(a, b model.Claim) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(out.Snapshot.Claims, func(a, b model.Object) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// claimOf returns the ledger's claim of a node that exists.
func claimOf(node *model.Node, t *model.InstanceType) model.Claim {
	labels := node.Labels
	claim := model.Claim{
		Name: "claim-" + node.Name, Pool: node.Pool(), PoolUID: "pool-" + node.Pool(), Class: className, State: model.Initialized, Version: 5, Intent: "intent-" + node.Name,
		InstanceTypes: []string{labels[model.LabelInstanceType]},
		InstanceID:    "i-" + node.Name, ProviderID: node.ProviderID, InstanceType: labels[model.LabelInstanceType], Zone: labels[model.LabelZone],
		CapacityType: labels[model.LabelCapacityType], Capacity: node.Capacity, Allocatable: node.Allocatable, NodeName: node.Name, NodeUID: node.UID,
		CreatedUnix: node.CreatedUnix, LaunchedUnix: node.CreatedUnix, RegisteredUnix: node.CreatedUnix, InitializedUnix: node.CreatedUnix,
		ObjectUID: "object-" + node.Name,
	}
	for i := range t.Offerings {
		if o := &t.Offerings[i]; o.Zone == claim.Zone && o.CapacityType == claim.CapacityType {
			claim.Price = o.Price
		}
	}
	claim.Reserved = model.Resources{model.Nodes: 1}
	for name, amount := range node.Capacity {
		claim.Reserved[name] = amount
	}
	return claim
}

// PriceOfNodes returns what the nodes there are cost per hour.
func (p *Problem) PriceOfNodes() model.MicroUSD {
	sum := model.MicroUSD(0)
	for _, price := range p.NodePrices() {
		sum += price
	}
	return sum
}

// NodePrices returns what each node costs per hour, 0 where its offer is none of the problem's.
func (p *Problem) NodePrices() []model.MicroUSD {
	offerings := map[model.OfferingKey]model.MicroUSD{}
	for i := range p.Types {
		for _, o := range p.Types[i].Offerings {
			offerings[model.OfferingKey{InstanceType: p.Types[i].Name, Zone: o.Zone, CapacityType: o.CapacityType}] = o.Price
		}
	}
	out := make([]model.MicroUSD, len(p.Nodes))
	for i, node := range p.Nodes {
		out[i] = offerings[model.OfferingKey{InstanceType: node.Labels[model.LabelInstanceType], Zone: node.Labels[model.LabelZone], CapacityType: node.Labels[model.LabelCapacityType]}]
	}
	return out
}

// Displaced returns the running pods that would be made anew elsewhere if every node went away.
func (p *Problem) Displaced() []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(p.Bound), IsDaemon)
}

// IsDaemon reports whether a pod belongs to its node.
func IsDaemon(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "DaemonSet" })
}

// FromNothing returns the problem of finding nodes for everything that runs, were there no node yet: what package bound
// bounds the price of the cluster by.
func (p *Problem) FromNothing() *Problem {
	out := &Problem{Spec: p.Spec, Types: p.Types, Pools: p.Pools, DaemonSets: p.DaemonSets}
	for _, pod := range p.Displaced() {
		waiting := pod.DeepCopy()
		waiting.Spec.NodeName = ""
		waiting.Status = pending()
		out.Pods = append(out.Pods, waiting)
	}
	return out
}
