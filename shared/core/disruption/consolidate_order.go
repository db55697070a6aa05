package disruption

import (
	"cmp"
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// kube-scheduler binds moved pods in an order of its own and to whatever new node it likes: where pods just fit several
// new nodes together, one of them may be left over, for which another node is bought. So what a command saves has to be
// more than that costs. Pods that were to go to nodes that exist may be bound to the new ones, too, and take the place
// of pods that fit nowhere else.

// binding is what a part's new nodes have for the pods that are moved, and after them, as more of the same, the nodes
// that exist and are to take some of the pods: of these what was meant for those pods.
type binding struct {
	claims  []model.PlannedClaim
	least   model.MicroUSD // what the cheapest of the claims costs per hour
	dims    int
	cpu     int        // its dimension
	size    []int64    // by place and dimension: what its pods may take, daemons taken off
	allowed [][]int    // by place: the new nodes its pods may be on, ascending
	pods    []boundPod // by node and name as the nodes list them
	free    []int64    // scratch
}

// boundPod is a pod that is moved.
type boundPod struct {
	place int     // it is to run at
	asks  []int64 // by dimension
}

// misfits returns why the part would cost more than it saves if kube-scheduler binds its pods in another way than
// planned; nil where it would not. A few plain ways are tried: in order of name and smallest first, to the first node
// and to the emptiest.
func misfits(s *simulation, p *part, savings model.MicroUSD) *model.KeptReason {
	if len(p.claims) < 2 {
		return nil
	}
	b := bindingOf(s, p)
	smallest := slices.Clone(b.pods)
	slices.SortStableFunc(smallest, func(x, y boundPod) int { return cmp.Compare(x.asks[b.cpu], y.asks[b.cpu]) })
	for _, order := range [][]boundPod{b.pods, smallest} {
		for _, spread := range []bool{false, true} {
			if more := b.leftOver(order, spread); more >= savings {
				return because(NoSavings, "it would save $%.4f per hour, and pods that are bound otherwise than "+
					"planned may need nodes for $%.4f more", savings.USD(), more.USD())
			}
		}
	}
	return nil
}

// bindingOf returns the part's new nodes as they are planned, with all that pods may take of them free, and the room
// that pods are to take of nodes that exist. A pod that is to go to one of these may be bound to any new node of the
// pool it comes from.
func bindingOf(s *simulation, p *part) *binding {
	dims, places := len(s.fit.dims), len(p.claims)+len(p.moves)
	b := &binding{
		claims: p.claims, least: p.claims[0].Price, dims: dims, cpu: slices.Index(s.fit.dims, model.CPU),
		size: make([]int64, places*dims), allowed: make([][]int, places),
	}
	count := 0
	for i := range p.claims {
		count += len(p.claims[i].Pods)
	}
	of := make(map[model.PodRef]int, count)
	b.pods = make([]boundPod, 0, count)
	for i := range p.claims {
		claim := &p.claims[i]
		b.least = min(b.least, claim.Price)
		for _, ref := range claim.Pods {
			of[ref] = i
		}
		t := s.supply.types.of(claim.Class, claim.Pool)[claim.Offering.InstanceType]
		if t == nil {
			continue
		}
		size := t.Allocatable()
		for d, name := range s.fit.dims {
			b.freeAt(b.size, i)[d] = size[name] - claim.Requests[name]
		}
		for n := range p.claims {
			if other := &p.claims[n]; other.Pool == claim.Pool && overlap(claim.Zones, other.Zones) {
				b.allowed[n] = append(b.allowed[n], i)
			}
		}
	}
	for i := range p.moves {
		for _, ref := range p.moves[i].Pods {
			of[ref] = len(p.claims) + i
		}
	}
	for _, a := range p.group {
		b.addPods(s, a, of)
	}
	return b
}

// addPods adds the pods of a node, which are to run at places.
func (b *binding) addPods(s *simulation, a *candidate, places map[model.PodRef]int) {
	for _, i := range a.Pods {
		pod := &s.fork.in.Snapshot.Pods[i]
		place, known := places[pod.Ref()]
		if !known {
			continue
		}
		if place >= len(b.claims) && b.allowed[place] == nil {
			b.allowed[place] = newOf(b.claims, a.Node.Pool())
		}
		asks := s.fit.request(pod.Shape)
		b.pods = append(b.pods, boundPod{place, asks})
		for d, amount := range asks {
			b.freeAt(b.size, place)[d] += amount
		}
	}
}

// newOf returns which of the claims are of a pool.
func newOf(claims []model.PlannedClaim, pool string) (out []int) {
	for i := range claims {
		if claims[i].Pool == pool {
			out = append(out, i)
		}
	}
	return out
}

// freeAt returns what a list by place and dimension says of a place.
func (b *binding) freeAt(list []int64, place int) []int64 {
	return list[place*b.dims : (place+1)*b.dims]
}

func (b *binding) freeCPU(place int) int64 { return b.freeAt(b.free, place)[b.cpu] }

// leftOver binds pods one after another, each to the first new node of its pool, in a zone it may be in, that has room,
// or to the one with most CPU free, and where none has to a node that exists. It returns what nodes like those planned
// for pods that are left over cost per hour.
func (b *binding) leftOver(pods []boundPod, spread bool) model.MicroUSD {
	b.free = append(b.free[:0], b.size...)
	left, more := make([]bool, len(b.claims)), false
	for _, pod := range pods {
		n := b.choose(pod, spread)
		switch {
		case n >= 0:
			for d, amount := range pod.asks {
				b.free[n*b.dims+d] -= amount
			}
		case pod.place < len(left):
			left[pod.place] = true
		default:
			more = true
		}
	}
	sum := model.MicroUSD(0)
	for n, is := range left {
		if is {
			sum += b.claims[n].Price
		}
	}
	if more && sum == 0 {
		sum = b.least
	}
	return sum
}

// choose returns where a pod is bound to: the first new node that has room, or of those the one with most CPU free,
// else the node it was to go to, or another one that exists; −1 where none has room.
func (b *binding) choose(pod boundPod, spread bool) int {
	best := -1
	for _, n := range b.allowed[pod.place] {
		switch {
		case !b.fits(pod, n):
		case !spread:
			return n
		case best < 0 || b.freeCPU(n)*b.freeAt(b.size, best)[b.cpu] > b.freeCPU(best)*b.freeAt(b.size, n)[b.cpu]:
			best = n
		}
	}
	if best >= 0 {
		return best
	}
	if pod.place >= len(b.claims) && b.fits(pod, pod.place) {
		return pod.place
	}
	for n := len(b.claims); n < len(b.allowed); n++ {
		if b.fits(pod, n) {
			return n
		}
	}
	return -1
}

// fits reports whether a place has room for a pod.
func (b *binding) fits(pod boundPod, place int) bool {
	free := b.freeAt(b.free, place)
	for d, amount := range pod.asks {
		if amount > free[d] && amount > 0 {
			return false
		}
	}
	return true
}
