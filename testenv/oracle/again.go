package oracle

import (
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/oracle/problem"
)

// again plans once more while the machines of the plan are on their way. What has a place must keep one among what
// exists or is coming: a second machine for the same pods is money lost.
func (w *world) again(v *Verdict) error {
	if len(w.plan.Claims) == 0 {
		return nil
	}
	in := w.problem.Input()
	for i := range w.plan.Claims {
		claim := onItsWay(&w.plan.Claims[i], w.machines[i], i%2 == 0)
		in.Claims = append(in.Claims, claim)
		hold(&in, &claim)
	}
	second := pack.Plan(in)
	placed := make(map[string]bool)
	for _, a := range w.planned {
		placed[a.key()] = true
	}
	for _, c := range second.Claims {
		for _, ref := range c.Pods {
			if placed[ref.Key()] {
				v.Findings = append(v.Findings, Finding{Check: Again, Kind: "claim", Pod: ref.Key(), Node: c.Name, Message: "another new node, while the one planned for it is on its way"})
			}
		}
	}
	for _, u := range second.Unschedulable {
		if placed[u.Pod.Key()] {
			v.Findings = append(v.Findings, Finding{Check: Again, Kind: u.Reasons[0].Code, Pod: u.Pod.Key(), Message: "given up on, while the node planned for it is on its way: " + u.Reasons[0].Message})
		}
	}
	return nil
}

// onItsWay returns the claim as the ledger has it: only recorded, or launched as the machine.
func onItsWay(planned *model.PlannedClaim, m machine, launched bool) model.Claim {
	claim := model.Claim{
		Name: planned.Name, Pool: planned.Pool, Class: planned.Class, State: model.Intended, Version: 1,
		Requirements: planned.Requirements, Requests: planned.Requests, InstanceTypes: planned.InstanceTypes,
		Labels: planned.Labels, Annotations: planned.Annotations, Taints: planned.Taints, StartupTaints: planned.StartupTaints,
		Pods: planned.Pods, Held: planned.Hold, CreatedUnix: problem.Now,
	}
	if launched {
		claim.State, claim.LaunchedUnix = model.Launched, problem.Now
		claim.InstanceID, claim.ProviderID = "i-"+planned.Name, "aws:///"+m.offer.Zone+"/i-"+planned.Name
		claim.InstanceType, claim.Zone, claim.ZoneID, claim.CapacityType = m.instanceType.Name, m.offer.Zone, m.offer.ZoneID, m.offer.CapacityType
		claim.Capacity, claim.Allocatable, claim.Price = m.instanceType.Capacity, m.instanceType.Allocatable(), m.offer.Price
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
	for name, amount := range claim.Held {
		used[name] += amount
	}
}
