// Package bench measures the planner: how fast it plans, how much memory that takes, and how its prices compare with a
// bound no plan can be below.
//
// Problems come from package problem, verdicts from package check, bounds from package bound; here are the measurements
// themselves, as tests and benchmarks:
//
//	make test            every family at small sizes: no rule broken, no pod left, price close to the bound
//	make bench           BenchmarkProvision/<family>/pods=N at full sizes, and BenchmarkGoal, a case for each figure the
//	                     design promises, each in a process of its own so that its peak memory is its own
//	make bench-peer      the same problems side by side with Karpenter's own scheduler, in a table with ratios
//	make bench-converge  clusters of which nodes are given back, decision after decision (package converge), side by side
//	                     with Karpenter's own consolidation: price in the end, decisions, pods moved, time
//
// A benchmark reports, beside time and allocations, pods/s, USD/h and, where the bound says something, the price over the
// bound; a goal reports its figure and fails where it is missed by more than the noise of a shared machine explains.
package bench
