// Package budget reads the disruption budgets of a NodePool: [Bounds] says how many of its nodes each of them lets be
// disrupted at once for a reason, and when that may change; [Tightest] which leaves the least, and how many nodes it
// counts; [Problem] which field of one cannot be read.
//
//	bounds, again, err := budget.Bounds(pool.Disruption.Budgets, model.ReasonDrifted, nodes, nowUnix)
//	bound, busy := budget.Tightest(bounds, counts, budget.ByReason(pool))
//
// [Window] is a time that comes again, of budgets and of pods.
//
// Reference: spec.disruption.budgets of Karpenter's NodePool. Schedules are cron's, in UTC or a time zone of their own.
package budget
