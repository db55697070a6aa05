// Package problem makes up scheduling problems: clusters of real Kubernetes objects with pods that wait, and what can be
// bought for them. Every problem is the whole consequence of its seed, so a seed is all it takes to see one again.
//
// Names come from tiny sets (three zones, three racks, two tracks, …), so that rules of different workloads meet all the
// time. Which features a problem uses is drawn first ([Problem.Features]) and only a few at once, so that what goes wrong
// points somewhere. Objects are as an API server would hand them out: defaults filled in, label keys merged into
// selectors, priorities resolved.
//
// It leaves what a right answer is to package oracle.
//
//	p := problem.New(42, problem.Small)
//	plan := pack.Plan(p.Input())
package problem
