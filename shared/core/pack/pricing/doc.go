// Package pricing says what pods cost at best, given what else there is to fill nodes with.
//
// What a pod costs depends on what shares its node. Were pods divisible and nodes sold by the part, the cheapest
// purchase would be a linear program: cover all requests by nodes of every offering, at the lowest price. Its dual says
// what each pod is answerable for of the price: every offering o has rates λ ≥ 0 of its resources with λ·room(o) =
// price(o), a pod costs the least of λ(o)·request over the offerings it accepts, and the rates sought are those at
// which all pods together cost most. By weak duality no purchase costs less. A node is worth its price only where it
// carries what the cheapest purchase would have it carry, so that a greedy search knows which pods belong together, and
// which offerings go with each other, before anything is packed.
//
// Rates are found by adjustment, as subgradient and multiplicative weights methods do, and not by simplex: pods go
// where they cost least, and in part to what is nearly as cheap (gather.go says which pods count as alike). Each
// offering then charges more for the resources that ran short and less for the others, by smaller and smaller steps
// (adjust.go). However good they are, rates only guide.
//
// Sources: Gilmore and Gomory, A Linear Programming Approach to the Cutting-Stock Problem, 1961 (prices of items from
// the dual); Caprara and Toth, Lower Bounds and Algorithms for the 2-Dimensional Vector Packing Problem, 2001; Arora,
// Hazan and Kale, The Multiplicative Weights Update Method, 2012.
//
//	rates := pricing.New(dims, pool, pool.Open, []pricing.Request{{PodGroup: podGroup, Options: options, Count: 40}})
//	nanoUSDPerHour := rates.Value(podGroup, options)
package pricing
