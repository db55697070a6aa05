package bound

import (
	"fmt"
	"math"
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// divisible returns the bound for pods that may be split, and the worths it comes from where every kind has its own, nil
// otherwise: unit prices by offer from the linear program, made feasible, and then the sum over every kind.
func (r *relaxed) divisible(options Options) (worth []float64, total float64) {
	groups := r.grouped(options.Kinds)
	worth, _ = r.grow(groups, options.Rounds, nil, func(o int, worth []float64, floor float64) (float64, []float64) {
		most, found, _ := r.fillDivisible(groups, o, worth)
		return most, found
	})
	units := make([][]float64, len(r.offerings))
	for o := range r.offerings {
		_, _, prices := r.fillDivisible(groups, o, worth)
		units[o] = r.feasible(o, prices)
	}
	for i := range r.kinds {
		k := &r.kinds[i]
		total += k.count * r.least(k, func(o int) float64 { return dot(units[o], k.request) })
	}
	if len(groups) < len(r.kinds) {
		worth = nil
	}
	return worth, total
}

// feasible scales unit prices so that the offering's whole capacity is worth its price, whatever they were.
func (r *relaxed) feasible(o int, prices []float64) []float64 {
	x := &r.offerings[o]
	worth := dot(prices, x.capacity)
	if worth <= 0 {
		prices = make([]float64, len(x.capacity))
		for d, amount := range x.capacity {
			if amount > 0 {
				prices[d], worth = 1/amount, 1
				break
			}
		}
	}
	if worth <= 0 {
		return prices // it holds nothing, and no kind fits it
	}
	return scaled(prices, x.price/worth*(1-1e-12))
}

// fillDivisible returns the most that pods on a node of the offering can be worth where they may be split, which they are,
// and what a unit of each dimension is worth there.
func (r *relaxed) fillDivisible(kinds []kind, o int, worth []float64) (float64, []float64, []float64) {
	x := &r.offerings[o]
	var in []int
	for i := range kinds {
		if worth[i] > 0 && kinds[i].fits(x) {
			in = append(in, i)
		}
	}
	values := make([]float64, len(in))
	for j, i := range in {
		values[j] = worth[i]
	}
	d := newDictionary(values)
	row := make([]float64, len(in))
	for dim, capacity := range x.capacity {
		for j, i := range in {
			row[j] = kinds[i].request[dim]
		}
		d.add(row, capacity)
	}
	d.solve(50 + 4*len(in))
	filled := make([]float64, len(kinds))
	for j, amount := range d.solution() {
		filled[in[j]] = amount
	}
	prices := d.prices()
	return r.proven(kinds, in, x, worth, prices), filled, prices
}

// proven returns how much the pods on a node of the offering can be worth by these unit prices: what its capacity is, and,
// for each pod there may be, what the prices fall short of the worth of any.
func (r *relaxed) proven(kinds []kind, in []int, x *offering, worth, prices []float64) float64 {
	short := 0.0
	for _, i := range in {
		short = max(short, worth[i]-dot(prices, kinds[i].request))
	}
	if short == 0 {
		return dot(prices, x.capacity)
	}
	d := slices.Index(r.names, model.Pods)
	return dot(prices, x.capacity) + short*x.capacity[d]*r.units[d]
}

// grouped returns some limit kinds at most: the problem's own, or means of similar ones. Kinds that select differently
// stay apart, however many.
func (r *relaxed) grouped(limit int) []kind {
	if len(r.kinds) <= limit {
		return r.kinds
	}
	var groups []kind
	for width := 0.05; len(groups) == 0 || len(groups) > limit && width < 20; width *= 1.3 {
		groups = r.merged(width)
	}
	return groups
}

// merged puts kinds together that select alike and whose requests are within a factor of e^width of each other.
func (r *relaxed) merged(width float64) []kind {
	index := map[string]int{}
	var out []kind
	for _, k := range r.kinds {
		key := fmt.Sprint(k.selection)
		for d, amount := range k.request {
			if amount > 0 && r.units[d] != 1 {
				key += fmt.Sprint(" ", d, math.Round(math.Log(amount)/width))
			} else {
				key += fmt.Sprint(" ", d, amount)
			}
		}
		i, seen := index[key]
		if !seen {
			i = len(out)
			index[key] = i
			out = append(out, kind{request: make([]float64, len(k.request)), selection: k.selection})
		}
		g := &out[i]
		for d, amount := range k.request {
			g.request[d] += (amount - g.request[d]) * k.count / (g.count + k.count)
		}
		g.count += k.count
	}
	return out
}
