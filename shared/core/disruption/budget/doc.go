// Package budget reads the disruption budgets of a NodePool: [Limit] says how many of its nodes they let be disrupted
// at once for a reason, and when that may change; [Problem] which field of one cannot be read.
//
//	limit, again, err := budget.Limit(pool.Disruption.Budgets, model.ReasonDrifted, nodes, nowUnix)
//
// [Window] is a time that comes again, of budgets and of pods.
//
// Reference: spec.disruption.budgets of Karpenter's NodePool. Schedules are cron's, in UTC or a time zone of their own.
package budget
