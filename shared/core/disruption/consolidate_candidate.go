package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// candidate is a candidate for consolidation with what it is worth.
type candidate struct {
	*poolNode
	value       model.MicroUSD // of its pods, per hour, at what is sold now
	spareValue  model.MicroUSD // of the room that is free on it
	unplaceable bool           // some of its pods no new node could hold
	overpriced  bool           // it is not worth keeping, however full
	settled     bool           // it is in a command
	host        bool           // pods of nodes in commands go there
}

const (
	worthwhilePercent = 5  // of what is disrupted, that packing anew must save, and an overpriced node wastes if full
	mayPayPercent     = 10 // of its price, that a node costs beyond what its pods are worth: no plan meets the bound
)

// savings is what packing its pods anew saves at best.
func (a *candidate) savings() model.MicroUSD { return a.Price - a.value }

// savingsIfFilled is what packing its pods anew would save at best, were its free room filled by others.
func (a *candidate) savingsIfFilled() model.MicroUSD { return a.Price - a.value - a.spareValue }

// mayPay reports whether the candidate costs so much beyond what its pods are worth that packing them anew may pay.
func (a *candidate) mayPay() bool { return a.savings() >= a.Price/100*mayPayPercent }

// replaceable reports whether new nodes may take the candidate's place.
func (a *candidate) replaceable(spotToSpot bool) bool {
	return !a.unplaceable && a.mayDisrupt(replacing) && a.Claim.CapacityType != model.Reserved &&
		(a.Claim.CapacityType != model.Spot || spotToSpot)
}

// average is what a pod of the candidate is worth on average.
func (a *candidate) average() float64 {
	if a == nil || len(a.Pods) == 0 {
		return 0
	}
	return float64(max(1, a.value)) / float64(len(a.Pods))
}

// mayReplace reports whether the candidate could as well be kept in place of a claim that is launched as an instance
// type of its own: it is where the claim may be, of its capacity type, and no more expensive than that is planned.
func (a *candidate) mayReplace(claim *model.PlannedClaim) bool {
	return a.Claim.CapacityType == claim.Offering.CapacityType &&
		a.Price <= claim.Price && slices.Contains(claim.Zones, a.Claim.Zone)
}

// rivals reports whether the candidate could as well be kept in place of a claim as that is planned.
func (a *candidate) rivals(claim *model.PlannedClaim) bool {
	return a.Claim.InstanceType == claim.Offering.InstanceType && a.mayReplace(claim)
}

// appraise works out what nodes are worth at a supply.
func appraise(nodes []*poolNode, supply *supply, spotToSpot bool) []*candidate {
	f := supply.fork
	in := f.input(nil, podsOf(nodes), nil)
	in.Catalogs = supply.types.catalogs
	rates := supply.plans().NewRates(in)
	out := make([]*candidate, len(nodes))
	for n, node := range nodes {
		a := &candidate{poolNode: node}
		for _, i := range a.Pods {
			worth, known := rates.Pod(i)
			a.value, a.unplaceable = a.value+worth, a.unplaceable || !known
		}
		pods := f.on(node)
		shapes := make([]int, len(pods))
		for k, i := range pods {
			shapes[k] = f.in.Snapshot.Pods[i].Shape
		}
		a.spareValue = rates.FreeValue(a.Node.Allocatable, shapes)
		a.overpriced = a.replaceable(spotToSpot) && a.mayPay() && a.savingsIfFilled() >= a.Price/100*worthwhilePercent
		out[n] = a
	}
	return out
}

// byMerit orders candidates: those first that save most, at best, for what it disturbs.
func byMerit(list []*candidate, saving func(*candidate) model.MicroUSD) {
	slices.SortStableFunc(list, func(a, b *candidate) int {
		return cmp.Or(
			compareProducts(saving(b), a.CostMilli, saving(a), b.CostMilli), strings.Compare(a.name(), b.name()))
	})
}

func (a *candidate) price() model.MicroUSD { return a.Price }

// compareProducts compares a·b with c·d, which are below 2⁵³.
func compareProducts(a model.MicroUSD, b int64, c model.MicroUSD, d int64) int {
	return cmp.Compare(float64(a)*float64(b), float64(c)*float64(d))
}

func poolNodesOf(group []*candidate) []*poolNode {
	out := make([]*poolNode, len(group))
	for n, a := range group {
		out[n] = a.poolNode
	}
	return out
}

// owners returns the group's nodes by pod.
func owners(snapshot *model.Snapshot, group []*candidate) map[model.PodRef]*candidate {
	count := 0
	for _, a := range group {
		count += len(a.Pods)
	}
	out := make(map[model.PodRef]*candidate, count)
	for _, a := range group {
		for _, i := range a.Pods {
			out[snapshot.Pods[i].Ref()] = a
		}
	}
	return out
}

// notes are why candidates stay, by name.
type notes map[string]model.KeptReason

// note notes why candidates stay of which nothing is noted yet.
func (n notes) note(reason model.KeptReason, group ...*candidate) {
	for _, a := range group {
		if _, known := n[a.name()]; !known {
			n[a.name()] = reason
		}
	}
}

// keep is note in words.
func (n notes) keep(a *candidate, code, format string, values ...any) {
	n.note(model.KeptReason{Code: code, Message: fmt.Sprintf(format, values...)}, a)
}

// allowance is what budgets leave, by pool, while nodes are picked.
type allowance struct {
	budgets *budgetsLeft
	notes   notes
	left    map[string]int
}

// lets reports whether budgets let the candidate go too, and notes it if they do not.
func (l allowance) lets(a *candidate) bool {
	pool := a.Node.Pool()
	n, asked := l.left[pool]
	if !asked {
		n = l.budgets.left(pool, model.ReasonUnderutilized)
	}
	l.left[pool] = n - 1
	if n <= 0 {
		const reason = model.ReasonUnderutilized
		l.notes.note(l.budgets.full(pool, reason, l.budgets.left(pool, reason)), a)
	}
	return n > 0
}
