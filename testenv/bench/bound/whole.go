package bound

import (
	"cmp"
	"math"
	"slices"
)

const (
	// tolerated is how much more than its price a filling may be worth before it is looked for; the bound is too low by
	// that at most.
	tolerated = 0.001
	// branchesEach bounds the search for one filling.
	branchesEach = 20_000
)

// whole returns the bound for whole pods, from worths to start with or nil.
func (r *relaxed) whole(options Options, start []float64) float64 {
	branches := options.Branches
	_, value := r.grow(r.kinds, options.Rounds, start, func(o int, worth []float64, floor float64) (float64, []float64) {
		most, _, prices := r.fillDivisible(r.kinds, o, worth)
		if most <= floor*(1+tolerated) || branches <= 0 {
			return most, nil
		}
		s := search{kinds: r.kinds, offering: &r.offerings[o], worth: worth, prices: prices, best: floor * (1 + tolerated), most: most, steps: branchesEach}
		most, found := s.run()
		branches -= branchesEach - s.steps
		return most, found
	})
	return value
}

// search looks depth first for the worthiest filling of an offering with whole pods.
type search struct {
	kinds    []kind
	offering *offering
	worth    []float64
	prices   []float64 // of a unit of each dimension: what is left of the node is worth no more than this
	items    []item
	left     []float64
	chosen   []float64
	best     float64 // worth of found, or of what is not worth finding
	found    []float64
	steps    int     // that may still be taken
	most     float64 // that any filling can be worth, from above
	open     float64 // that fillings never looked at can be worth
}

// item is a kind that may be on the node, with what the place it takes is worth.
type item struct {
	kind  int
	worth float64
	place float64
}

func (s *search) run() (most float64, found []float64) {
	for i := range s.kinds {
		if s.worth[i] > 0 && s.kinds[i].fits(s.offering) {
			s.items = append(s.items, item{i, s.worth[i], dot(s.prices, s.kinds[i].request)})
		}
	}
	// The worthiest for its place first, of those the largest.
	slices.SortFunc(s.items, func(a, b item) int {
		return cmp.Or(cmp.Compare(b.worth*a.place, a.worth*b.place), cmp.Compare(b.place, a.place), cmp.Compare(a.kind, b.kind))
	})
	s.left = slices.Clone(s.offering.capacity)
	s.chosen = make([]float64, len(s.kinds))
	s.descend(0, 0)
	return min(s.most, max(s.best, s.open)), s.found
}

// descend chooses how many of item i and those after it join a filling worth value so far.
func (s *search) descend(i int, value float64) {
	if value > s.best {
		s.best, s.found = value, slices.Clone(s.chosen)
	}
	if i == len(s.items) {
		return
	}
	rest := s.rest(i)
	if value+rest <= s.best*(1+1e-9) {
		return
	}
	if s.steps == 0 {
		s.open = max(s.open, value+rest)
		return
	}
	s.steps--
	it := s.items[i]
	request := s.kinds[it.kind].request
	room := min(s.room(request), s.kinds[it.kind].count)
	s.take(request, -room)
	for ; room >= 0; room-- {
		s.chosen[it.kind] = room
		s.descend(i+1, value+room*it.worth)
		if room > 0 {
			s.take(request, 1)
		}
	}
	s.chosen[it.kind] = 0
}

// rest bounds from above what items from i on can add in the place that is left.
func (s *search) rest(i int) float64 {
	place := dot(s.prices, s.left)
	it := s.items[i]
	if it.place <= 0 {
		return s.most
	}
	return max(0, place) * it.worth / it.place * (1 + 1e-12)
}

// room returns how many pods of a request fit what is left.
func (s *search) room(request []float64) float64 {
	n := math.Inf(1)
	for d, amount := range request {
		if amount > 0 {
			n = min(n, math.Floor(s.left[d]/amount*(1+1e-12)+1e-9))
		}
	}
	return max(0, n)
}

func (s *search) take(request []float64, times float64) {
	for d, amount := range request {
		s.left[d] += times * amount
	}
}
