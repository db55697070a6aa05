package provision

import "github.com/joiner-sh/joiner/shared/work"

// EffectHook sees every effect of the flow.
type EffectHook = work.EffectHook

// Names of the flow's effects, in the order a launch meets them.
const (
	EffectSpend       = "spend"    // calls of EC2's API taken from, or returned to, what all clusters share
	EffectProbe       = "probe"    // probe of a half-open offering taken; only where one is wanted
	EffectRemember    = "remember" // planner's notes written
	EffectPlan        = "plan"     // decision record kept before its launches, beside the calls that are taken
	EffectRecount     = "recount"  // usage of a pool counted anew; only where it is not what claims hold
	EffectRecord      = "record"   // intent and claims written
	EffectCalling     = "calling"  // another attempt of an unfinished launch noted; only where there is one
	EffectLaunch      = "launch"   // CreateFleet
	EffectUnavailable = "mark"     // offerings without capacity written
	EffectClear       = "clear"    // unavailable offering of an offering that gave capacity removed; only after a probe
	EffectSettle      = "settle"   // outcome written
	EffectPutClaim    = "show"     // NodeClaim object made or updated
	EffectNote        = "note"     // object UID written to the ledger
	EffectNominate    = "nominate" // room on a node kept for a pod; only for pods planned ahead of older ones
	EffectNode        = "node"     // node patched
	EffectTag         = "tag"      // instance tagged
	EffectAdvance     = "advance"  // claim moved on in the ledger
	EffectLearn       = "learn"    // memory of an instance type noted; only where a node shows something new
	EffectDisrupt     = "judge"    // notification that a command's replacements came on or failed
	EffectDecision    = "decision" // decision record kept
	EffectReport      = "tell"     // events and conditions
	EffectRequeue     = "again"    // another check asked for; only where EC2's API was used up for now
	EffectCollect     = "collect"  // launch templates nobody uses deleted; once in a while
)

// AllEffects lists the effects of a run that has nothing to recover, in that order.
var AllEffects = []string{
	EffectSpend, EffectRemember, EffectPlan, EffectRecord, EffectLaunch, EffectUnavailable, EffectSettle,
	EffectPutClaim, EffectNote, EffectNode, EffectAdvance, EffectDecision, EffectReport,
}
