// Package converge disrupts everything of a cluster that is to be disrupted: it asks for a plan, has it evaluated, carries
// out all of its commands at once, and asks again, until a plan has no command.
//
// [Run] says how many decisions that took, what they moved and saved, how long each took and how much memory. No plan is
// told what was decided before, so that nothing but prices makes it stop: two decisions that undo each other would go on for
// ever, and Run stops at its limit and says that it did not finish.
//
//	result, err := converge.Run(p, disruption.Plan, converge.Options{})
//	ratio := result.PriceLast / bound.Price(p.FromNothing(), bound.Options{}).PerHour
package converge
