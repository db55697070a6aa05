package bound

import (
	"cmp"
	"math"
	"slices"

	"github.com/joiner-sh/joiner/testenv/bench/problem"
)

// Kept is a node as it was, for [Moves].
type Kept struct {
	Price float64 // per hour
	Pods  int     // on it that would be made anew elsewhere
}

// Moves returns how many pods any way from a cluster to one that costs at most price per hour moves at least. A pod that is
// not moved keeps its node, and that node its price; so the pods that stay are those of nodes whose prices together do not
// exceed the price. The most of them, nodes taken by price for each pod and the last one in part, is what the knapsack
// without whole nodes allows (Dantzig 1957), and no choice of whole nodes keeps more.
func Moves(nodes []Kept, price float64) int {
	byWorth := slices.Clone(nodes)
	slices.SortFunc(byWorth, func(a, b Kept) int {
		return cmp.Or(cmp.Compare(a.Price*float64(b.Pods), b.Price*float64(a.Pods)), cmp.Compare(b.Pods, a.Pods))
	})
	pods, stay := 0, 0.0
	for _, n := range byWorth {
		pods += n.Pods
		switch {
		case n.Pods == 0:
		case n.Price <= price:
			stay += float64(n.Pods)
			price -= n.Price
		case price > 0:
			stay += float64(n.Pods) * price / n.Price
			price = 0
		}
	}
	return max(0, pods-int(math.Floor(stay+1e-9)))
}

// NodesOf returns the nodes of a problem as [Moves] takes them.
func NodesOf(p *problem.Problem) []Kept {
	pods := map[string]int{}
	for _, pod := range p.Displaced() {
		pods[pod.Spec.NodeName]++
	}
	prices := p.NodePrices()
	out := make([]Kept, len(p.Nodes))
	for i, node := range p.Nodes {
		out[i] = Kept{Price: prices[i].USD(), Pods: pods[node.Name]}
	}
	return out
}
