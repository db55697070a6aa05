package audit

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

// withinBudget is B3: when a command is recorded, no more of a pool's nodes are disrupted or not ready than its strictest active
// budget allows. What commands hold counts to the moment, what the snapshot shows that was decided by counts, and what else ends
// by itself counts once whoever decides could know.
func (a *Auditor) withinBudget(k *model.Command, name string) {
	pool := a.accounts.pools[name]
	shown := a.accounts.shown(k.Epoch, k.Seq, a.decidesWithin())
	if pool == nil || k.Reason == model.ReasonReplicas || !a.knowsPool(name, shown) {
		return
	}
	known := a.entry.At.Add(-a.rules.Invocation - a.rules.Fresh)
	total, busy := 0, 0
	for _, n := range a.accounts.nodes {
		c := a.accounts.claimOn(n)
		if n.Labels[model.LabelNodePool] != name || !n.Initialized() || c == nil {
			continue
		}
		if c.State != model.Terminating && c.State != model.Gone || c.at.After(known) {
			total++
		}
		chosen := a.accounts.commandOf(c) != nil
		left := ends(c.State) && (c.Command != "" || c.at.Before(known)) || n.DeletedUnix != 0 && n.deletedAs <= shown
		if c.State != model.Gone && (chosen || left || !n.Ready && n.readyAs <= shown) { // where there is no instance any more nothing is disrupted
			busy++
		}
	}
	for _, at := range a.accounts.goneLately[name] {
		if at.After(known) {
			total++
		}
	}
	limit := 0
	for _, at := range []time.Time{a.entry.At, time.Unix(k.SinceUnix, 0), time.Unix(k.SinceUnix, 0).Add(-a.rules.Fresh)} {
		limit = max(limit, allowed(pool.Disruption.Budgets, k.Reason, total, at))
	}
	if busy > limit {
		a.broken("B3", name, "command %s (%s) makes %d of its %d nodes busy, and its budgets allow %d", k.ID, k.Reason, busy, total, limit)
	}
}

// knowsPool reports whether whoever decides by a snapshot that shows all up to a version knows a pool as it is: it was written long
// enough before, and the watcher had heard of that.
func (a *Auditor) knowsPool(name string, shown int64) bool {
	return a.entry.At.Sub(a.accounts.poolAt[name]) >= a.rules.Invocation+a.rules.Fresh && a.accounts.poolAs[name] <= shown
}

// decidesWithin is how old a word may be that is decided by: that of the watcher, and where something is wrong as long again as an
// invocation or a call may take.
func (a *Auditor) decidesWithin() time.Duration {
	return a.rules.Fresh + a.slowly()
}

// slowly is how much later than usual something may be written that was decided by what was read before: nothing where all is calm, else
// as long as an invocation lives.
func (a *Auditor) slowly() time.Duration {
	if a.calm() {
		return 0
	}
	return a.rules.Invocation
}

// allowed is the auditor's own reading of budgets: the least that one of those that are active, and name the reason, allows.
func allowed(budgets []model.Budget, reason string, nodes int, at time.Time) int {
	if reason == model.ReasonExpired {
		reason = model.ReasonDrifted
	}
	least := math.MaxInt
	for _, b := range budgets {
		if len(b.Reasons) > 0 && !slices.Contains(b.Reasons, reason) || !activeAt(b, at) {
			continue
		}
		most := 0
		if percent, ok := strings.CutSuffix(b.Nodes, "%"); ok {
			n, _ := strconv.ParseFloat(percent, 64)
			most = int(math.Ceil(float64(nodes) * n / 100))
		} else {
			most, _ = strconv.Atoi(b.Nodes)
		}
		least = min(least, most)
	}
	return least
}

// activeAt reports whether one of the minutes of a budget's schedule began within its duration before a time.
func activeAt(b model.Budget, at time.Time) bool {
	if b.Schedule == "" {
		return true
	}
	at = at.UTC()
	for minute := at.Truncate(time.Minute); at.Sub(minute) < time.Duration(b.DurationSeconds)*time.Second; minute = minute.Add(-time.Minute) {
		if hits(b.Schedule, minute) {
			return true
		}
	}
	return false
}

// hits reports whether a minute is one of a schedule's. Fields are *, numbers, or */n: nobody here writes any other.
func hits(schedule string, minute time.Time) bool {
	fields := strings.Fields(schedule)
	if len(fields) != 5 {
		return false
	}
	for i, value := range []int{minute.Minute(), minute.Hour(), minute.Day(), int(minute.Month()), int(minute.Weekday())} {
		step, every := strings.CutPrefix(fields[i], "*/")
		n, err := strconv.Atoi(step)
		switch {
		case fields[i] == "*":
		case err != nil, every && value%n != 0, !every && value != n:
			return false
		}
	}
	return true
}
