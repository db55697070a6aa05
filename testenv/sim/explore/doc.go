// Package explore goes through everything a tiny world can do: planners of the production flow, started one after the other
// or side by side, each of whose operations may happen, fail, lose its answer or kill the planner around it, while time
// passes in between. Where package sim draws runs by chance, this one leaves none out, up to its bounds.
//
// It is a search without snapshots: a state is reached by making its choices anew from the beginning. Two states are the
// same, and looked into once, when the world's objects, its clock, and what every planner has heard so far are the same.
// The auditor of package audit evaluates every step; where no choice is left, faults end, resyncs go on, and it must find the
// world at rest in order.
package explore
