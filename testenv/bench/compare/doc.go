// Command compare gives the same problems to our planner and to the peer's scheduler, one after another and each in a
// process of its own, and prints what each took and came to, with ratios.
//
//	compare --peer PATH [--only bench,spread] [--pods 1000] [--runs 3] [--large]
//
//	compare --peer PATH --consolidate [--nodes 100,500] [--seeds 1,2]
//
// With --consolidate the problems are clusters of which nodes are given back, decision after decision, until nothing is left
// to. A line says how many decisions that took, how many pods moved and how few could have, how long one of them took and all
// together, the time of the one that found nothing, and the price over what the cluster's pods would cost at least from nothing.
//
// Times, allocations and memory are medians of the runs; prices are those of the median run, since the peer's vary. Quote
// ratios, not seconds: machines differ and are shared. It exits 1 where our plan breaks a rule, leaves more pods or costs
// more than the peer's.
package main
