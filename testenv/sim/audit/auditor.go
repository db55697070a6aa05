package audit

import (
	"fmt"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// Rules are the auditor's own numbers, from what is promised and not from anybody's settings.
type Rules struct {
	Orphan       time.Duration // A3: from when an instance can be seen until it is adopted or ended: 2 min
	Ghost        time.Duration // A4: from an instance's end until its claim is closed: 2 min
	Messages     int           // C4: that may be in a queue of a world at rest: 10, for each function at work on it at once
	Listed       time.Duration // for how long EC2 shows an instance that has ended: 1 h
	Bound        time.Duration // C3: from when a pod waits, with nothing wrong, until it is bound: 4 min
	Grace        time.Duration // added to all of these for the seconds of a resync and of EC2: 15 s
	Patience     time.Duration // of A9: how old what a planner knows of a pod may be: 90 s
	Settled      time.Duration // what is not disturbed for so long is evaluated by these times: 3 min
	FailedCalls  int           // A7, R46: launches without any capacity in a minute: fewer than 20
	Calls        int           // A7: launches in a minute: 120
	Warned       time.Duration // C1: from a warning that was sent until the node is tainted, at worst: 20 s
	Found        time.Duration // C2: from one that got lost until then: 30 s, and a look
	Evicted      time.Duration // C1: from a warning until pods are asked to leave, at worst
	Stalled      time.Duration // C4: that nothing comes about in a drain that nothing is in the way of: 3 min
	RemovalLimit time.Duration // B8: in so long at most max(5, 10 %) of the nodes are given up for repair: 5 min
	Detach       time.Duration // R31, B13: how long an empty node's volumes are waited for without a deadline: 10 min
	Invocation   time.Duration // how long an invocation lives at most, and goes by what it read first: 35 s
	Fresh        time.Duration // B9: how old the word of the watcher may be that is decided by: 10 s, and clocks
	Untainted    time.Duration // B4: from a replacement's failure until its nodes are free of the taint: 60 s
	Refusals     int           // R26: evictions of one pod that are refused in a minute: 24. Nine by the backoff; a clock that is ahead asks at each check, 12 times, and a message that is handled twice asks twice
	ProbeEvery   time.Duration // A8: an offering without capacity is tried at most once in so long: 110 s
}

// DefaultRules are what is promised.
var DefaultRules = Rules{
	Orphan: 2 * time.Minute, Ghost: 2 * time.Minute, Messages: 10, Listed: time.Hour, Bound: 4 * time.Minute, Grace: 15 * time.Second, Patience: 90 * time.Second,
	Settled: 3 * time.Minute, FailedCalls: 20, Calls: 120, ProbeEvery: 110 * time.Second,
	Warned: 20 * time.Second, Found: 60 * time.Second, Evicted: 30 * time.Second, Stalled: 3 * time.Minute, RemovalLimit: 5 * time.Minute, Detach: 10 * time.Minute,
	Invocation: 35 * time.Second, Fresh: 16 * time.Second, Untainted: time.Minute, Refusals: 24,
}

// Auditor holds every rule over one set of books.
type Auditor struct {
	rules    Rules
	accounts *accounts
	entry    world.Entry // under judgment
	found    []Violation

	calls    []time.Time // launches of the last minute
	failed   []time.Time // those that gave nothing for want of capacity
	due      []deadline  // by time of entry
	dried    map[model.OfferingKey]tried
	reported map[string]bool
	wasted   map[string]wastedLaunches // by pool UID

	repairs  []time.Time            // claims given up for repair lately
	refusals map[string][]time.Time // evictions of a pod that were refused lately, by UID
	open     map[string]time.Time   // since when nothing is in the way of a drain, by claim
	drainsAt time.Time              // when drains were looked at last
}

// deadline is something that must have come about by a time, unless something went wrong meanwhile.
type deadline struct {
	rule, object string
	since        time.Time
	within       time.Duration
	open         func() (text string, open bool)
}

// New returns an auditor that has seen nothing.
func New(rules Rules) *Auditor {
	return &Auditor{rules: rules, accounts: newAccounts(), reported: map[string]bool{}, refusals: map[string][]time.Time{}, wasted: map[string]wastedLaunches{}, dried: map[model.OfferingKey]tried{}, open: map[string]time.Time{}}
}

// Check holds the rules at every fact, and those about time at the time of the last.
func (a *Auditor) Check(entries []world.Entry) []Violation {
	a.found = nil
	for _, e := range entries {
		a.entry = e
		a.before(e)
		a.accounts.enter(e)
		a.after(e)
	}
	// An instance and the answer that tells of it are two facts of one moment: only now is it known what was asked for.
	for _, e := range entries {
		if fact, ok := e.Fact.(world.InstanceStarted); ok {
			a.entry = e
			a.oneInstance(fact.Instance.Tags[tagIntent])
			a.actualNodes(fact.Instance.Tags[tagPool], fact.Instance.Tags[tagIntent])
		}
	}
	a.deadlines()
	a.drains(5 * time.Second)
	return a.found
}

// before looks at a fact while the books still say how things were.
func (a *Auditor) before(e world.Entry) {
	switch fact := e.Fact.(type) {
	case world.LeaseTaken:
		a.leaseGrows(fact)
	case world.LedgerWritten:
		a.fenced(fact)
		for _, change := range fact.Claims {
			a.moves(change)
			a.oneClaim(change.After)
			a.mayAdvance(change)
			a.mayEnd(change, fact.Commands)
			a.failing(change)
		}
		for _, change := range fact.Commands {
			a.stepped(change, fact.Claims)
		}
		for _, i := range fact.Intents {
			a.bytesStay(i)
			a.bounded(i)
		}
	case world.TerminateCalled:
		for _, id := range fact.IDs {
			a.mayTerminate(id)
		}
	case world.EvictionRequested:
		a.mayLeave(fact)
		a.asksSeldom(fact)
	case world.ObjectWritten:
		if a.entry.Actor != "" {
			a.mayChange(fact)
		}
	}
}

// after looks at a fact when the books have it.
func (a *Auditor) after(e world.Entry) {
	switch fact := e.Fact.(type) {
	case world.FleetCalled:
		a.recordedFirst(fact)
		a.rate(fact)
		a.triedAgain(fact)
	case world.LedgerWritten:
		a.useless(fact)
		pools := map[string]bool{}
		for _, change := range fact.Claims {
			if change.After == nil {
				continue
			}
			pools[change.After.Pool] = pools[change.After.Pool] || change.Before == nil && fact.Op == "record"
		}
		for _, pool := range sorted(pools) {
			a.counted(pool)
			if pools[pool] {
				a.withinLimits(pool)
			}
		}
		for _, change := range fact.Commands {
			if change.Before == nil {
				a.committed(change.After)
			}
			if change.Before == nil || change.Before.State != change.After.State {
				a.movesOn(change.After.ID)
			}
		}
		switch fact.Op {
		case "record":
			for _, i := range fact.Intents {
				a.probes(i.ID)
			}
			a.needed(fact)
		case "settle":
			a.dealtInOrder(fact)
			a.noneForgotten(fact)
		}
	case world.LedgerMeddled:
		a.meddledWith(fact)
	case world.EventMoved:
		a.hastened(fact)
	case world.InstanceStarted:
		a.mustBeOwned(fact)
	case world.InstanceEnded:
		a.mustBeClosed(fact.ID)
	}
}

func (a *Auditor) broken(rule, object, format string, args ...any) {
	v := Violation{Rule: rule, Seq: a.entry.Seq, At: a.entry.At, Object: object, Text: fmt.Sprintf(format, args...)}
	if key := rule + "/" + object; !a.reported[key] { // once is enough
		a.reported[key] = true
		a.found = append(a.found, v)
	}
}

// within notes something that must have come about some time from now.
func (a *Auditor) within(rule, object string, since time.Time, limit time.Duration, open func() (string, bool)) {
	a.due = append(a.due, deadline{rule, object, since, limit, open})
}

// deadlines holds the rules about time. Whatever goes wrong gives everything its time anew.
func (a *Auditor) deadlines() {
	kept := a.due[:0]
	for _, d := range a.due {
		since := d.since
		if again := a.accounts.disturbed.Add(a.rules.Settled); again.After(since) {
			since = again
		}
		if d.rule == "A3" && a.accounts.unlistedAt.After(since) { // two whole lists in a row come first
			since = a.accounts.unlistedAt
		}
		if a.accounts.now.Sub(since) <= d.within+a.rules.Grace {
			kept = append(kept, d)
			continue
		}
		if text, open := d.open(); open {
			a.broken(d.rule, d.object, "%s, %s after it should have begun to end", text, a.accounts.now.Sub(since).Round(time.Second))
		}
	}
	a.due = kept
}
