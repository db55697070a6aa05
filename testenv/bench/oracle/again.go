package oracle

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// again plans once more while the instances of the plan are on their way. A pod that had a place must not get another new
// node, one that an instance is coming for must not be given up on, and there must not be fewer with a place. On nodes that
// exist, where nothing is promised, one pod may take the place of another.
func (w *world) again(v *Verdict) error {
	broken := slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Check == Holds })
	if len(w.plan.Claims) == 0 || broken {
		return nil
	}
	in := w.problem.Input()
	for i := range w.plan.Claims {
		claim := onItsWay(&w.plan.Claims[i], w.instances[i], i%2 == 0, in.NowUnix)
		in.Claims = append(in.Claims, claim)
		hold(&in, &claim)
	}
	second := pack.Plan(in)
	placed, promised := make(map[string]bool), make(map[string]bool)
	for i, a := range w.planned {
		placed[a.key()] = true
		promised[a.key()] = i >= v.Nominated
	}
	left := v.Pods - len(second.Unschedulable)
	for _, c := range second.Claims {
		for _, ref := range c.Pods {
			if placed[ref.Key()] {
				v.Findings = append(v.Findings, Finding{Check: Again, Kind: "claim", Pod: ref.Key(), Node: c.Name, Message: "another new node, while there is one for it"})
			}
		}
	}
	for _, u := range second.Unschedulable {
		if promised[u.Pod.Key()] || placed[u.Pod.Key()] && left < v.Planned {
			v.Findings = append(v.Findings, Finding{Check: Again, Kind: u.Reasons[0].Code, Pod: u.Pod.Key(), Message: "given up on, while there is a node for it: " + u.Reasons[0].Message})
		}
	}
	return nil
}

// onItsWay returns the claim as the ledger has it: only recorded, or launched as the instance.
func onItsWay(planned *model.PlannedClaim, m instance, launched bool, nowUnix int64) model.Claim {
	claim := model.Claim{
		Name: planned.Name, Pool: planned.Pool, Class: planned.Class, State: model.Intended, Version: 1,
		Requirements: planned.Requirements, Requests: planned.Requests, InstanceTypes: planned.InstanceTypes,
		Labels: planned.Labels, Annotations: planned.Annotations, Taints: planned.Taints, StartupTaints: planned.StartupTaints,
		Pods: planned.Pods, Reserved: planned.Reserve, CreatedUnix: nowUnix,
	}
	if launched {
		claim.State, claim.LaunchedUnix = model.Launched, nowUnix
		claim.InstanceID, claim.ProviderID = "i-"+planned.Name, "aws:///"+m.offering.Zone+"/i-"+planned.Name
		claim.InstanceType, claim.Zone, claim.ZoneID, claim.CapacityType = m.instanceType.Name, m.offering.Zone, m.offering.ZoneID, m.offering.CapacityType
		claim.Capacity, claim.Allocatable, claim.Price = m.instanceType.Capacity, m.instanceType.Allocatable(), m.offering.Price
	}
	return claim
}

// hold adds what the claim holds to the usage of its pool.
func hold(in *pack.Input, claim *model.Claim) {
	used := in.Usage[claim.Pool]
	if used == nil {
		used = make(model.Resources)
		in.Usage[claim.Pool] = used
	}
	for name, amount := range claim.Reserved {
		used[name] += amount
	}
}
