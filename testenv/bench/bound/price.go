package bound

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/bench/problem"
)

// Options say how far the search goes and what may be taken for granted. The zero value is the usual.
type Options struct {
	// EmptyHost takes for granted that there is always a host without any pod of a spread group, so that no host has more
	// than maxSkew of it. It holds for planners that count a node which just joined; kube-scheduler allows more once every
	// node has one.
	EmptyHost bool
	// EveryZone takes for granted that every zone a pod's node could be bought in is a domain of its spread constraints, as
	// package check does, so that like pods are spread over all of them. kube-scheduler knows zones by their nodes.
	EveryZone bool
	// Rounds bounds how often fillings are sought for each bound; 0 = 400.
	Rounds int
	// Kinds is how many kinds of pods the programs tell apart; 0 = 200. Beyond it, similar pods share one worth, which
	// costs accuracy and never validity.
	Kinds int
	// Branches bounds the search for fillings with whole pods, all together; 0 = 10,000,000, some ten seconds.
	Branches int
}

// Bound is a lower bound on the price of everything the waiting pods need.
type Bound struct {
	PerHour   float64 // dollars; the higher of the two
	Divisible float64 // pods may be split over nodes
	Whole     float64 // pods are whole; 0 where there were too many kinds to tell
	Lost      int     // pods that nothing can hold and that are not in the bound
	Kinds     int     // of pods
	Offerings int     // undominated
}

// Price bounds what new nodes for all waiting pods of the problem cost. Existing capacity is not modeled: for a problem
// with nodes the bound is 0, which is valid and says nothing.
func Price(p *problem.Problem, options Options) Bound {
	options.Rounds = cmp.Or(options.Rounds, 400)
	options.Kinds = cmp.Or(options.Kinds, 200)
	options.Branches = cmp.Or(options.Branches, 10_000_000)
	if len(p.Nodes) > 0 {
		return Bound{}
	}
	r := relax(p, options.EmptyHost, options.EveryZone)
	b := Bound{Lost: r.lost, Kinds: len(r.kinds), Offerings: len(r.offerings)}
	if len(r.kinds) == 0 {
		return b
	}
	worth, divisible := r.divisible(options)
	b.Divisible = divisible
	// Fillings are found more surely where fewer kinds are told apart: once with every rule, once with hosts of one pod only.
	if len(r.kinds) <= options.Kinds {
		b.Whole = r.whole(options, worth)
	}
	if fewer := r.withoutSpread(); len(fewer.kinds) < len(r.kinds) && len(fewer.kinds) <= options.Kinds {
		b.Whole = max(b.Whole, fewer.whole(options, nil))
	}
	b.PerHour = max(b.Divisible, b.Whole) * (1 - 1e-9)
	return b
}

// withoutSpread returns a relaxation of r without the slots of spread constraints.
func (r *relaxed) withoutSpread() *relaxed {
	var dims []int
	for d, name := range r.names {
		if !strings.HasPrefix(name, spreadSlot) {
			dims = append(dims, d)
		}
	}
	project := func(v []float64) []float64 {
		out := make([]float64, len(dims))
		for i, d := range dims {
			out[i] = v[d]
		}
		return out
	}
	out := &relaxed{lost: r.lost, units: project(r.units)}
	for _, d := range dims {
		out.names = append(out.names, r.names[d])
	}
	for _, o := range r.offerings {
		out.offerings = append(out.offerings, offering{o.price, project(o.capacity), o.admits})
	}
	for _, k := range r.kinds {
		projected := kind{project(k.request), k.selection, k.count}
		at := slices.IndexFunc(out.kinds, func(other kind) bool {
			return other.selection == projected.selection && slices.Equal(other.request, projected.request)
		})
		if at < 0 {
			out.kinds = append(out.kinds, projected)
			continue
		}
		out.kinds[at].count += k.count
	}
	return out
}

// patience is how many rounds may go by without proving more.
const patience = 40

// filling is some of each kind of pod on one node of an offering.
type filling struct {
	offering int
	count    []float64 // by kind
}

// oracle finds fillings of one offering by what each kind is worth: a bound on the worth of any filling, and, where there are
// some worth more than floor, the best found; nil otherwise.
type oracle func(o int, worth []float64, floor float64) (most float64, found []float64)

// grow seeks worths of the kinds that make worth·count as high as it gets while no filling of a node is worth more than
// the node costs. It returns the best of those it has proven, after division by what they were over.
//
// The program knows some fillings; its answer is too good as long as others are worth more than their node. Worths are
// tried half way between that answer and the best proven ones, which finds fillings that matter sooner.
func (r *relaxed) grow(kinds []kind, rounds int, start []float64, find oracle) (best []float64, value float64) {
	counts := make([]float64, len(kinds))
	for i := range kinds {
		counts[i] = kinds[i].count
	}
	programme := newDictionary(counts)
	for i := range kinds {
		r.enter(programme, r.alone(kinds, i))
	}
	programme.solve(10 * len(kinds))
	try := func(worth []float64) (found int) {
		over := 1.0
		for o := range r.offerings {
			price := r.offerings[o].price
			most, filled := find(o, worth, price)
			over = max(over, most/price)
			if filled != nil && dot(filled, worth) > price*(1+1e-7) {
				r.enter(programme, filling{o, filled})
				found++
			}
		}
		if proven := dot(worth, counts) / over; best == nil || proven > value {
			value, best = proven, scaled(worth, 1/over)
		}
		return found
	}
	if start != nil {
		programme.restore(200 + 20*try(start))
	}
	last := 0 // round that proved more by a ten-thousandth
	for round := range rounds {
		before := value
		hopeful := programme.solution()
		found := 0
		if best != nil {
			found = try(between(best, hopeful, 0.5))
		}
		if found == 0 {
			found = try(hopeful)
		}
		if value > before*(1+1e-4) {
			last = round
		}
		if found == 0 || round > last+patience || value > dot(hopeful, counts)*(1-1e-4) {
			break
		}
		programme.restore(200 + 20*found)
		if round%5 == 4 && len(programme.rows) > 3*len(kinds) {
			programme.forget(0.1 * r.offerings[len(r.offerings)-1].price)
		}
	}
	return best, value
}

// enter adds a filling to the program, in units of its node's price.
func (r *relaxed) enter(d *dictionary, f filling) {
	d.add(scaled(f.count, 1/r.offerings[f.offering].price), 1)
}

// alone returns the filling by one kind only that is cheapest by the pod.
func (r *relaxed) alone(kinds []kind, i int) filling {
	best, f := math.Inf(1), filling{count: make([]float64, len(kinds))}
	for o := range r.offerings {
		if !kinds[i].fits(&r.offerings[o]) {
			continue
		}
		room := math.Inf(1)
		for d, amount := range kinds[i].request {
			if amount > 0 {
				room = min(room, math.Floor(r.offerings[o].capacity[d]/amount*(1+1e-12)))
			}
		}
		room = min(room, kinds[i].count)
		if p := r.offerings[o].price / room; p < best {
			best, f.offering, f.count[i] = p, o, room
		}
	}
	if f.count[i] == 0 { // a mean of pods that each fit somewhere fits nowhere: bound its worth by the most expensive node
		f.offering, f.count[i] = len(r.offerings)-1, 1
	}
	return f
}

func between(a, b []float64, share float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] + share*(b[i]-a[i])
	}
	return out
}

func scaled(a []float64, by float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] * by
	}
	return out
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}
