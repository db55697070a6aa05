package reclaim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// kube-scheduler binds moved pods in an order of its own and to whatever new node it likes: where pods just fit several new nodes
// together, one of them may be left over, for which another node is bought. So what a command saves has to be more than that costs.

// slot is what is free on a new node.
type slot struct {
	claim *model.PlannedClaim
	size  model.Resources // for pods, daemons taken off
	free  model.Resources
}

// misfits returns why a command would cost more than it saves if kube-scheduler binds its pods in another way than planned; nil where
// it would not. A few plain ways are tried: in order of name and smallest first, to the first node and to the emptiest.
func (o *optimiser) misfits(p *part, savings model.MicroUSD) *model.KeptReason {
	if len(p.claims) < 2 {
		return nil
	}
	inOrder := o.podsFor(p)
	smallest := slices.Clone(inOrder)
	slices.SortStableFunc(smallest, func(a, b boundPod) int { return cmp.Compare(a.asks[model.CPU], b.asks[model.CPU]) })
	for _, order := range [][]boundPod{inOrder, smallest} {
		for _, spread := range []bool{false, true} {
			if more := o.leftOver(p, order, spread); more >= savings {
				return &model.KeptReason{Code: NothingToGain, Message: fmt.Sprintf("it would save $%.4f per hour, and pods that are bound otherwise than planned may need nodes for $%.4f more", savings.USD(), more.USD())}
			}
		}
	}
	return nil
}

// boundPod is a moved pod that is to run on a new node.
type boundPod struct {
	claim *model.PlannedClaim
	asks  model.Resources
}

// podsFor returns the pods of the part's claims, by node and name as the nodes list them.
func (o *optimiser) podsFor(p *part) []boundPod {
	of := make(map[model.PodRef]*model.PlannedClaim)
	for i := range p.claims {
		for _, ref := range p.claims[i].Pods {
			of[ref] = &p.claims[i]
		}
	}
	var out []boundPod
	for _, a := range p.group {
		for _, i := range a.Pods {
			pod := &o.v.in.Snapshot.Pods[i]
			if claim := of[refOf(pod)]; claim != nil {
				out = append(out, boundPod{claim, o.v.in.Snapshot.ShapeOf(pod).Requests})
			}
		}
	}
	return out
}

// leftOver binds pods one after another, each to the first new node of its pool, in a zone it may be in, that has room, or to the one with most CPU
// free, and returns what nodes like those planned for pods that are left over cost per hour.
func (o *optimiser) leftOver(p *part, pods []boundPod, spread bool) model.MicroUSD {
	slots := o.slots(p)
	left := make(map[*model.PlannedClaim]bool)
	for _, pod := range pods {
		best := -1
		for n := range slots {
			s := &slots[n]
			if s.claim.Pool != pod.claim.Pool || !overlap(s.claim.Zones, pod.claim.Zones) || !fits(pod.asks, s.free) {
				continue
			}
			if best < 0 || spread && s.free[model.CPU]*slots[best].size[model.CPU] > slots[best].free[model.CPU]*s.size[model.CPU] {
				best = n
			}
		}
		if best < 0 {
			left[pod.claim] = true
			continue
		}
		for name, amount := range pod.asks { // each on its own: the order does not matter
			slots[best].free[name] -= amount
		}
	}
	sum := model.MicroUSD(0)
	for claim := range left { // a sum: the order does not matter
		sum += claim.Price
	}
	return sum
}

// slots returns the part's new nodes as they are planned, with all that pods may take of them free.
func (o *optimiser) slots(p *part) []slot {
	var out []slot
	for i := range p.claims {
		claim := &p.claims[i]
		t := o.typesOf(claim.Class)[claim.Offer.InstanceType]
		if t == nil {
			continue
		}
		size := t.Allocatable()
		for name, amount := range claim.Requests {
			size[name] -= amount
		}
		out = append(out, slot{claim: claim, size: size})
	}
	for _, pod := range o.podsFor(p) {
		n := slices.IndexFunc(out, func(s slot) bool { return s.claim == pod.claim })
		for name, amount := range pod.asks {
			if n >= 0 {
				out[n].size[name] += amount
			}
		}
	}
	for n := range out {
		out[n].free = make(model.Resources, len(out[n].size))
		for name, amount := range out[n].size {
			out[n].free[name] = amount
		}
	}
	return out
}

// overlap reports whether two lists have anything in common.
func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// fits reports whether there is as much as is asked for.
func fits(asks, free model.Resources) bool {
	for name, amount := range asks {
		if amount > 0 && amount > free[name] {
			return false
		}
	}
	return true
}
