package disruption

import "github.com/joiner-sh/joiner/shared/model"

// Codes of why a node stays. Those of what the search for cheaper nodes found are with it.
const (
	InCommand        = "InCommand"        // a command that is on its way disrupts it
	NoClaim          = "NoClaim"          // the ledger has no claim for it
	NotInitialized   = "NotInitialized"   // it has not joined wholly yet
	Ending           = "Ending"           // it is on its way out
	PoolMissing      = "NodePoolMissing"  // there is no such NodePool, or it is being deleted
	ClassNotReady    = "ClassNotReady"    // nothing can be launched from its class, so that nothing could take its place
	Stopped          = "Stopped"          // people have stopped disruption
	Breaker          = "Breaker"          // replacements of its class failed lately
	PodsExpected     = "PodsExpected"     // pods that wait, or are moved by a command, have their place there
	NodeDoNotDisrupt = "NodeDoNotDisrupt" // the node's annotation says so
	PodDoNotDisrupt  = "PodDoNotDisrupt"  // a pod's annotation says so
	DisruptionBudget = "DisruptionBudget" // a PodDisruptionBudget allows no eviction now
	TooManyBudgets   = "TooManyBudgets"   // several PodDisruptionBudgets are about one pod, which the API never evicts
	InvalidBudget    = "InvalidBudget"    // a budget of its NodePool cannot be read, so that the pool is left alone
	NodeBudget       = "NodeBudget"       // the budgets of its NodePool leave no room now
	Static           = "Static"           // its NodePool has a fixed size
	NoReplacement    = "NoReplacement"    // no instance can be launched in its place
	NeverConsolidate = "NeverConsolidate" // consolidateAfter is Never
	OnlyWhenEmpty    = "WhenEmpty"        // it is not empty, and its NodePool consolidates nothing else
	Young            = "Young"            // it has not been initialized for consolidateAfter
	NotQuiet         = "NotQuiet"         // pods came or went less than consolidateAfter ago
	PoolNotQuiet     = "PoolNotQuiet"     // the same, of other nodes of its NodePool at about the same time
	UnknownInstance  = "UnknownMachine"   // its type, zone, capacity type or price is not known
	Changed          = "Changed"          // what it was to be disrupted for is so no more
	Unplaceable      = "Unplaceable"      // some of its pods would have no place
	TriedLately      = "TriedLately"      // a command for it was undone lately
	RevertsRecent    = "Opposite"         // it would revert what was decided lately
	SavingsTooSmall  = "NotWorthIt"       // Balanced: what it saves is little for what it disturbs
	NoSavings        = "NothingToGain"    // it serves well where it is
	TooManyCommands  = "TooManyCommands"  // a plan has only so many commands; the next has more
)

// method is a way of disrupting nodes. Several of them may be joined.
type method uint8

const (
	emptying      method = 1 << iota // nodes without pods that matter
	shrinking                        // nodes of a static pool beyond its size
	drifting                         // nodes that an instance launched now would differ from
	expiring                         // nodes that are too old, within budgets
	consolidating                    // nodes whose pods fit elsewhere for less
	replacing                        // any of the three before with new nodes in their place; by itself no way
	graceful      = emptying | consolidating
	eventual      = drifting | expiring
	budgeted      = graceful | eventual
	everything    = budgeted | shrinking | replacing
)

// methods are the ways with the reason a command has for each, in the order they are tried.
var methods = []struct {
	method method
	reason string
}{
	{emptying, model.ReasonEmpty}, {shrinking, model.ReasonReplicas}, {drifting, model.ReasonDrifted}, {expiring, model.ReasonExpired},
	{consolidating, model.ReasonUnderutilized},
}

// methodOf returns the method of a command's reason; every one for an unknown reason.
func methodOf(reason string) method {
	for _, m := range methods {
		if m.reason == reason {
			return m.method
		}
	}
	return everything
}

// blocker is one reason why a node stays, with what it forbids.
type blocker struct {
	model.KeptReason
	forbids method
}

// reasonsOf returns the reasons of holds that forbid any of the methods.
func reasonsOf(blockers []blocker, of method) []model.KeptReason {
	var out []model.KeptReason
	for _, h := range blockers {
		if h.forbids&of != 0 {
			out = append(out, h.KeptReason)
		}
	}
	return out
}
