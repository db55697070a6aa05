package disruption

import (
	"fmt"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/core/disruption/spread"
	"github.com/joiner-sh/joiner/shared/model"
)

// Codes of why a node stays. Those of what the search for cheaper nodes found are with it.
const (
	InCommand        = "InCommand"        // a command that is on its way disrupts it
	NoClaim          = "NoClaim"          // the ledger has no claim for it
	NotInitialized   = "NotInitialized"   // it has not joined wholly yet
	Ending           = "Ending"           // it is on its way out
	PoolMissing      = "NodePoolMissing"  // there is no such NodePool, or it is being deleted
	ClassNotReady    = "ClassNotReady"    // nothing can be launched from its class to take its place
	Stopped          = "Stopped"          // people have stopped disruption
	ZoneShifted      = "ZonalShift"       // the cluster is shifted away from its zone
	Breaker          = "Breaker"          // replacements of its class failed lately
	PodsExpected     = "PodsExpected"     // pods that wait, or are moved by a command, have their place there
	NodeDoNotDisrupt = "NodeDoNotDisrupt" // the node's annotation says so
	PodDoNotDisrupt  = "PodDoNotDisrupt"  // a pod's annotation says so
	PodWindow        = "PodWindow"        // a pod's annotations let its node be disrupted at other times
	SingleReplica    = "SingleReplica"    // a pod is alone in its workload, and its NodePool does not move it to save
	DisruptionBudget = "DisruptionBudget" // a PodDisruptionBudget allows no eviction now
	TooManyBudgets   = "TooManyBudgets"   // several PodDisruptionBudgets are about one pod, which the API never evicts
	InvalidBudget    = "InvalidBudget"    // a budget of its NodePool cannot be read, so that the pool is left alone
	NodeBudget       = "NodeBudget"       // the budgets of its NodePool leave no room now
	Static           = "Static"           // its NodePool has a fixed size
	TerminatedFirst  = "TerminatedFirst"  // what was terminated before its replacement is not replaced yet
	ZoneWaits        = "ZoneWaits"        // its NodePool goes zone by zone, and another zone is not done
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

// The codes of nodes whose pods are spread with others that move.
const (
	SpreadBusy  = spread.Busy
	SpreadWaits = spread.Waits
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
	{emptying, model.ReasonEmpty}, {shrinking, model.ReasonReplicas}, {drifting, model.ReasonDrifted},
	{expiring, model.ReasonExpired}, {consolidating, model.ReasonUnderutilized},
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

// reasonsOf returns the reasons of blockers that forbid any of the methods.
func reasonsOf(blockers []blocker, of method) []model.KeptReason {
	var out []model.KeptReason
	for _, h := range blockers {
		if h.forbids&of != 0 {
			out = append(out, h.KeptReason)
		}
	}
	return out
}

// because words why a node stays.
func because(code, format string, values ...any) *model.KeptReason {
	return &model.KeptReason{Code: code, Message: fmt.Sprintf(format, values...)}
}

// tooManyCommands is why a node stays that a plan has no command left for.
var tooManyCommands = model.KeptReason{
	Code: TooManyCommands, Message: "this plan has the most commands a plan may have; the next plan has more",
}

// describe says of pods that have no place, or need something, who they are and why the first of them does.
func describe(pods []model.Unschedulable) model.KeptReason {
	var names []string
	for i := range pods {
		names = append(names, pods[i].Pod.Key())
	}
	out := model.KeptReason{Code: Unplaceable, Message: some("pod", names) + " could not be scheduled"}
	if len(pods) > 0 && len(pods[0].Reasons) > 0 {
		var reasons []string
		for _, r := range pods[0].Reasons[:min(2, len(pods[0].Reasons))] {
			text := r.Message
			if r.Pool != "" {
				text = "NodePool " + r.Pool + ": " + text
			}
			reasons = append(reasons, text)
		}
		out.Message += ": " + strings.Join(reasons, "; ")
	}
	return out
}

// some names things, five at most.
func some(what string, names []string) string {
	const most = 5
	if len(names) != 1 {
		what += "s"
	}
	out := what + " " + strings.Join(names[:min(most, len(names))], ", ")
	if more := len(names) - most; more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}

// clock writes a moment for people, in UTC.
func clock(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }

// later adds seconds to a time, no further than some 34,000 years from now.
func later(unix, seconds int64) int64 {
	const latest = int64(1) << 40
	return max(0, min(unix, latest)) + max(0, min(seconds, latest))
}

// replan is when a plan may be another although nothing has changed.
type replan struct {
	now  int64
	unix int64 // 0 = never
}

// at notes a time; one that is past says nothing.
func (r *replan) at(unix int64) {
	if unix > r.now && (r.unix == 0 || unix < r.unix) {
		r.unix = unix
	}
}

// soonSeconds is how soon a plan that was cut short is made again.
const soonSeconds = 30

// soon has a plan that was cut short made again.
func (r *replan) soon() { r.at(r.now + soonSeconds) }
