package replay

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/overlay"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// New joins a question with the snapshot as Seen returns it, the pods that ask for capacity in it (pack.PendingAt, by the question's
// Leaving and SeenUnix), and the region's instance types. It reads them and writes to none.
func New(q *model.PlannerInput, seen *model.Snapshot, asking []int, types []model.InstanceTypeInfo) *Provision {
	seen = q.Applied.In(seen)
	p := &Provision{input: q, asking: asking, Usable: make(map[string]model.Class, len(q.Classes))}
	p.Input = pack.Input{
		Snapshot: without(seen, q.ExcludedPools), Catalogs: map[string][]model.InstanceType{}, ClassProblems: map[string]string{}, SuspendedPools: suspended(q.SuspendedPools),
		Claims: q.Claims, Usage: make(map[string]model.Resources, len(q.Usage)), UnavailableOfferings: q.UnavailableOfferings,
		NowUnix: q.NowUnix, Salt: q.Salt, IgnorePreferences: q.IgnorePreferences, BestEffortMinValues: q.BestEffortMinValues,
	}
	p.portion(waiting(seen, asking, q.Bound))
	if len(q.UnavailableOfferings) > 0 {
		p.whole = map[string][]offering.Priced{}
	}
	all := make(map[string][]model.InstanceType, len(q.Classes))
	for i := range q.Classes {
		p.buys(&q.Classes[i], seen, types, all)
	}
	p.overlay(seen, all)
	for _, usage := range q.Usage {
		p.Input.Usage[usage.Pool] = usage.Reserved
	}
	p.reserveCapacity()
	return p
}

// suspended returns why nothing is bought for pools, by their names.
func suspended(pools []model.SuspendedPool) map[string]string {
	out := make(map[string]string, len(pools))
	for _, pool := range pools {
		out[pool.Pool] = pool.Why
	}
	return out
}

// waiting returns those of the pods that ask for capacity that wait still; never nil.
func waiting(snapshot *model.Snapshot, asking []int, bound []string) []int {
	if len(bound) == 0 && asking != nil {
		return asking
	}
	out := make([]int, 0, len(asking))
	for _, i := range asking {
		if _, gone := slices.BinarySearch(bound, snapshot.Pods[i].UID); !gone {
			out = append(out, i)
		}
	}
	return out
}

// buys works out what a class can buy, or why nothing, and notes what there is in all.
func (p *Provision) buys(asked *model.PlannerClass, snapshot *model.Snapshot, types []model.InstanceTypeInfo,
	all map[string][]model.InstanceType) {
	q := p.input
	class, there := classOf(asked, snapshot)
	if !there {
		return
	}
	if why := problem(&class, asked, types, q.Offerings); why != "" {
		p.Input.ClassProblems[class.Name] = why
		return
	}
	p.Usable[class.Name] = class
	all[class.Name] = offering.Catalog(types, class, q.Offerings)
	masked := func(unavailableOfferings []model.UnavailableOffering) []model.InstanceType {
		return offering.Mask(all[class.Name], class.Status.Subnets, offering.UnavailableForClass(unavailableOfferings,
			&class.Status), q.NowUnix)
	}
	if p.whole != nil {
		p.whole[class.Name] = offering.PriceList(masked(lasting(q.UnavailableOfferings)))
	}
	p.Input.Catalogs[class.Name] = masked(q.UnavailableOfferings)
}

// overlay notes what pools can buy by their classes, all there is, where NodeOverlays change that.
func (p *Provision) overlay(snapshot *model.Snapshot, all map[string][]model.InstanceType) {
	mask := func(name string, types []model.InstanceType) []model.InstanceType {
		class := p.Usable[name]
		unavailable := offering.UnavailableForClass(p.input.UnavailableOfferings, &class.Status)
		return offering.Mask(types, class.Status.Subnets, unavailable, p.input.NowUnix)
	}
	overlay.AddTo(p.Input.Catalogs, all, snapshot, mask)
}

// classOf returns the snapshot's class with the status that is asked by.
func classOf(asked *model.PlannerClass, snapshot *model.Snapshot) (model.Class, bool) {
	at := slices.IndexFunc(snapshot.Classes, func(c model.Class) bool { return c.Name == asked.Name })
	if at < 0 {
		return model.Class{}, false
	}
	class := snapshot.Classes[at]
	class.Status = asked.Status
	return class, true
}

// problem says why a class cannot be used; empty where it can.
func problem(class *model.Class, asked *model.PlannerClass, types []model.InstanceTypeInfo, settings model.OfferingSettings) string {
	if why := offering.ClassProblem(*class); why != "" {
		return why
	}
	if asked.Barred != "" {
		return asked.Barred
	}
	if problems := offering.ClassProblems(types, *class, settings); len(problems) > 0 {
		return problems[0].Condition + ": " + problems[0].Message
	}
	return ""
}

// lasting are the unavailable offerings that name more than one offering without capacity: a quota, a subnet, a whole capacity type. Nothing is gained
// by waiting for those.
func lasting(unavailableOfferings []model.UnavailableOffering) []model.UnavailableOffering {
	return slices.DeleteFunc(slices.Clone(unavailableOfferings), func(m model.UnavailableOffering) bool {
		return m.Group == "" && m.SubnetID == "" && m.InstanceType != ""
	})
}

// reserveCapacity takes off instances that replace others what is promised of their room.
func (p *Provision) reserveCapacity() {
	if len(p.input.Promised) == 0 {
		return
	}
	taken := make(map[string]model.Resources, len(p.input.Promised))
	for _, promise := range p.input.Promised {
		taken[promise.Claim] = promise.Takes
	}
	p.Input.Claims = slices.Clone(p.Input.Claims)
	instances := map[string]model.Resources{} // the same by provider id
	for i := range p.Input.Claims {
		claim := &p.Input.Claims[i]
		if takes := taken[claim.Name]; takes != nil {
			claim.Allocatable = Less(claim.Allocatable, takes)
			if claim.ProviderID != "" {
				instances[claim.ProviderID] = takes
			}
		}
	}
	snapshot, cloned := p.Input.Snapshot, false
	for i := range snapshot.Nodes {
		takes := instances[snapshot.Nodes[i].ProviderID]
		if takes == nil {
			continue
		}
		if !cloned {
			own := *snapshot
			own.Nodes, cloned = slices.Clone(own.Nodes), true
			snapshot = &own
		}
		snapshot.Nodes[i].Allocatable = Less(snapshot.Nodes[i].Allocatable, takes)
	}
	p.Input.Snapshot = snapshot
}

// Less returns what is left of amounts, none below zero. What they do not name stays out.
func Less(amounts, taken model.Resources) model.Resources {
	left := make(model.Resources, len(amounts))
	for name, amount := range amounts {
		left[name] = amount
	}
	for name, amount := range taken {
		if have, known := left[name]; known {
			left[name] = max(0, have-amount)
		}
	}
	return left
}

// Round answers a question on the snapshot as it was published, places of CapacityBuffers among its pods.
func Round(q *model.PlannerInput, shown *model.Snapshot, types []model.InstanceTypeInfo) model.Plan {
	seen := Seen(shown, q.Leaving)
	p := New(q, seen, pack.PendingAt(seen, q.Leaving, q.SeenUnix), types)
	plan, _ := p.Affordable(p.Plan())
	plan, _ = p.Complete(plan)
	return plan
}

// Plan answers the question for the pods that wait, with the reason of those that were left out.
func (p *Provision) Plan() model.Plan {
	try := func(input pack.Input) (model.Plan, string) { return Try(pack.Plan, input) }
	input := p.PlannerInput()
	plan, panicked := try(input)
	if panicked != "" {
		return plan
	}
	return p.WithReasons(p.Evened(plan, input, try))
}
