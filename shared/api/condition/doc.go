// Package condition keeps the status conditions of an API object: what each says, when it last changed, for which
// generation, and how they add up to the one root condition people look at first, Ready.
//
// It decides the roll-up and nothing else. Which conditions an object has is declared beside the object ([Types]); what
// is true of them is said by whoever found out. The clock is an argument, so the same calls give the same conditions.
//
//	set := v1.NodeClaimConditions.For(claim, now)
//	set.SetTrue(v1.ConditionLaunched)
//	set.SetUnknown(v1.ConditionRegistered, "NodeNotFound", "node has not joined the cluster")
//	set.IsTrue(condition.Ready) // false, and its message names Registered
//
// A condition that is true stays true only for the generation it was observed at: after a change of the spec the root is
// Unknown until every dependent has been said again. So say what is still true on every pass.
package condition
