package ec2

import (
	"cmp"
	"slices"
)

// Allocation strategies.
const (
	lowestPrice                  = "lowest-price"
	priceCapacityOptimized       = "price-capacity-optimized"
	capacityOptimized            = "capacity-optimized"
	capacityOptimizedPrioritized = "capacity-optimized-prioritized"
	diversified                  = "diversified"
	prioritized                  = "prioritized"
)

// useReservationsFirst is the one usage strategy of capacity reservations.
const useReservationsFirst = "use-capacity-reservations-first"

var (
	spotStrategies     = []string{lowestPrice, priceCapacityOptimized, capacityOptimized, capacityOptimizedPrioritized, diversified}
	onDemandStrategies = []string{lowestPrice, prioritized}
)

// fleetGrant is how many instances to launch from a pool.
type fleetGrant struct {
	pool  *fleetPool
	count int
}

// allocate spreads want instances over pools in the order a strategy tries
// them. Every pool that is tried and does not give all that is asked of it
// leaves an error in out; pools after the last instance are not tried.
func (m *Model) allocate(b *book, out *createFleetOutput, pools []*fleetPool, strategy string, want int) []fleetGrant {
	if want == 0 {
		return nil
	}
	var usable []*fleetPool
	for _, p := range pools {
		if p.refusal != nil {
			out.Errors.Items = append(out.Errors.Items, p.failed(p.refusal))
			continue
		}
		usable = append(usable, p)
	}
	m.rank(usable, strategy, want)
	var grants []fleetGrant
	for i, p := range usable {
		if want == 0 {
			break
		}
		share := want
		if strategy == diversified {
			left := len(usable) - i
			share = (want + left - 1) / left
		}
		n, refusal := m.grant(b, &p.spec, share)
		if refusal != nil {
			out.Errors.Items = append(out.Errors.Items, p.failed(refusal))
		}
		if n > 0 {
			grants = append(grants, fleetGrant{p, n})
			want -= n
		}
	}
	return grants
}

// allocateReserved gives what unused open reservations hold, of pools in the order of the strategy, where the request
// wants them used first. It returns how many instances are left to be allocated otherwise.
func allocateReserved(m *Model, b *book, in *createFleetInput, pools []*fleetPool, want int) ([]fleetGrant, int) {
	var usable []*fleetPool
	for _, p := range pools {
		if in.reservationsFirst() && p.refusal == nil {
			usable = append(usable, p)
		}
	}
	m.rank(usable, in.onDemandStrategy(), want)
	var grants []fleetGrant
	for _, p := range usable {
		share := min(want, m.room(b, &p.spec))
		if share == 0 {
			continue
		}
		if n, _ := m.grant(b, &p.spec, share); n > 0 {
			grants = append(grants, fleetGrant{p, n})
			want -= n
		}
	}
	return grants, want
}

// rank sorts pools by the order in which a strategy tries them; the order of
// the request decides between equals.
//
// price-capacity-optimized puts pools that are known to hold less than is
// wanted behind the others. A pool that is dry counts as full: EC2 learns that a
// pool has run dry by trying it, and that is what callers must survive.
// capacity-optimized takes the deepest pools first, dry ones last.
func (m *Model) rank(pools []*fleetPool, strategy string, want int) {
	slices.SortStableFunc(pools, func(a, b *fleetPool) int {
		var c int
		switch strategy {
		case priceCapacityOptimized:
			c = cmp.Compare(m.shallow(a, want), m.shallow(b, want))
		case capacityOptimized:
			c = cmp.Compare(m.depth(b), m.depth(a))
		case capacityOptimizedPrioritized:
			if c = cmp.Compare(m.shallow(a, want), m.shallow(b, want)); c == 0 {
				c = comparePriority(a, b)
			}
		case prioritized:
			c = comparePriority(a, b)
		}
		if c == 0 && (strategy == lowestPrice || strategy == priceCapacityOptimized) {
			c = cmp.Compare(m.poolPrice(a), m.poolPrice(b))
		}
		if c == 0 {
			c = cmp.Compare(a.order, b.order)
		}
		return c
	})
}

func (m *Model) poolPrice(p *fleetPool) int64 {
	return m.priceOf(p.spec.typ, p.spec.pool.Zone, p.spec.pool.CapacityType)
}

// shallow is 1 for a pool known to hold something, but less than want, else 0.
func (m *Model) shallow(p *fleetPool, want int) int {
	if left, limited := m.stock[p.spec.pool]; limited && left > 0 && left < want {
		return 1
	}
	return 0
}

// depth is what is left in a pool, a great deal when it has plenty.
func (m *Model) depth(p *fleetPool) int {
	if left, limited := m.stock[p.spec.pool]; limited {
		return left
	}
	return 1 << 30
}

// comparePriority puts low numbers first and pools without one last.
func comparePriority(a, b *fleetPool) int {
	x, hasX := a.priority()
	y, hasY := b.priority()
	switch {
	case hasX && hasY:
		return cmp.Compare(x, y)
	case hasX:
		return -1
	case hasY:
		return 1
	}
	return 0
}
