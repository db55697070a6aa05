package reclaim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// kube-scheduler binds moved pods in an order of its own and to whatever new node it likes: where pods just fit several new nodes
// together, one of them may be left over, for which another node is bought. So what a command saves has to be more than that costs.

// binding is what a part's new nodes have for the pods that are to run there.
type binding struct {
	claims []model.PlannedClaim
	dims   int
	cpu    int        // its dimension
	size   []int64    // by claim and dimension: what its pods may take, daemons taken off
	may    [][]int    // by claim: those whose nodes its pods may be on, ascending
	pods   []boundPod // by node and name as the nodes list them
	free   []int64    // scratch
}

// boundPod is a moved pod that is to run on a new node.
type boundPod struct {
	claim int
	asks  []int64 // by dimension
}

// misfits returns why a command would cost more than it saves if kube-scheduler binds its pods in another way than planned; nil where
// it would not. A few plain ways are tried: in order of name and smallest first, to the first node and to the emptiest.
func (o *optimiser) misfits(p *part, savings model.MicroUSD) *model.KeptReason {
	if len(p.claims) < 2 {
		return nil
	}
	b := o.bindingOf(p)
	smallest := slices.Clone(b.pods)
	slices.SortStableFunc(smallest, func(x, y boundPod) int { return cmp.Compare(x.asks[b.cpu], y.asks[b.cpu]) })
	for _, order := range [][]boundPod{b.pods, smallest} {
		for _, spread := range []bool{false, true} {
			if more := b.leftOver(order, spread); more >= savings {
				return &model.KeptReason{Code: NothingToGain, Message: fmt.Sprintf("it would save $%.4f per hour, and pods that are bound otherwise than planned may need nodes for $%.4f more", savings.USD(), more.USD())}
			}
		}
	}
	return nil
}

// bindingOf returns the part's new nodes as they are planned, with all that pods may take of them free.
func (o *optimiser) bindingOf(p *part) *binding {
	fit := &o.scene.fit
	b := &binding{claims: p.claims, dims: len(fit.dims), cpu: slices.Index(fit.dims, model.CPU), size: make([]int64, len(p.claims)*len(fit.dims)), may: make([][]int, len(p.claims))}
	count := 0
	for i := range p.claims {
		count += len(p.claims[i].Pods)
	}
	of := make(map[model.PodRef]int, count)
	b.pods = make([]boundPod, 0, count)
	for i := range p.claims {
		claim := &p.claims[i]
		for _, ref := range claim.Pods {
			of[ref] = i
		}
		t := o.typesOf(claim.Class)[claim.Offer.InstanceType]
		if t == nil {
			continue
		}
		size := t.Allocatable()
		for d, name := range fit.dims {
			b.room(b.size, i)[d] = size[name] - claim.Requests[name]
		}
		for n := range p.claims {
			if other := &p.claims[n]; other.Pool == claim.Pool && overlap(claim.Zones, other.Zones) {
				b.may[n] = append(b.may[n], i)
			}
		}
	}
	for _, a := range p.group {
		for _, i := range a.Pods {
			pod := &o.v.in.Snapshot.Pods[i]
			claim, known := of[refOf(pod)]
			if !known {
				continue
			}
			asks := fit.request(pod.Shape)
			b.pods = append(b.pods, boundPod{claim, asks})
			for d, amount := range asks {
				b.room(b.size, claim)[d] += amount
			}
		}
	}
	return b
}

// room returns what a list by claim and dimension says of a claim.
func (b *binding) room(list []int64, claim int) []int64 {
	return list[claim*b.dims : (claim+1)*b.dims]
}

// leftOver binds pods one after another, each to the first new node of its pool, in a zone it may be in, that has room, or to the one with most CPU
// free, and returns what nodes like those planned for pods that are left over cost per hour.
func (b *binding) leftOver(pods []boundPod, spread bool) model.MicroUSD {
	b.free = append(b.free[:0], b.size...)
	left := make([]bool, len(b.claims))
	for _, pod := range pods {
		if n := b.choose(pod, spread); n >= 0 {
			for d, amount := range pod.asks {
				b.free[n*b.dims+d] -= amount
			}
		} else {
			left[pod.claim] = true
		}
	}
	sum := model.MicroUSD(0)
	for n, is := range left {
		if is {
			sum += b.claims[n].Price
		}
	}
	return sum
}

// choose returns the new node a pod is bound to: the first that has room, or of those the one with most CPU free; −1 where none has.
func (b *binding) choose(pod boundPod, spread bool) int {
	best := -1
nodes:
	for _, n := range b.may[pod.claim] {
		free := b.room(b.free, n)
		for d, amount := range pod.asks {
			if amount > free[d] && amount > 0 {
				continue nodes
			}
		}
		switch {
		case !spread:
			return n
		case best < 0 || free[b.cpu]*b.room(b.size, best)[b.cpu] > b.room(b.free, best)[b.cpu]*b.room(b.size, n)[b.cpu]:
			best = n
		}
	}
	return best
}

// overlap reports whether two lists have anything in common.
func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}
