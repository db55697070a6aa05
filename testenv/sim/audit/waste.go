package audit

import (
	"slices"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// wastedLaunches is how many instances of a pool came up without effect one after the other since the pool was written last or one of its instances took a
// pod it was made for.
type wastedLaunches struct {
	first, last time.Time // when the latest of them was known to be, and when it was launched
	instances   int
}

// spoilt reports whether a claim's node has a taint that keeps pods off and that the claim says nothing of.
func (b *accounts) spoilt(c *claim, n *node) bool {
	return slices.ContainsFunc(n.Taints, func(t model.Taint) bool {
		said := func(list []model.Taint) bool {
			return slices.ContainsFunc(list, func(d model.Taint) bool { return d.Key == t.Key && d.Effect == t.Effect })
		}
		return t.Effect != model.PreferNoSchedule && t.Key != model.TaintDisrupted && t.Key != unschedulable && t.Key != outOfService &&
			t.Key != unreachable && !model.EphemeralTaint(t.Key, t.Effect) && !said(c.Taints) && !said(c.StartupTaints)
	})
}

const (
	unschedulable = "node.kubernetes.io/unschedulable"
	outOfService  = "node.kubernetes.io/out-of-service"
	unreachable   = "node.kubernetes.io/unreachable"
)

// useless is R12: of a pool whose instances come up with a taint that nobody declared, so that the pods they were made for still wait, one
// more is bought, and then none for an hour unless the pool is changed.
func (a *Auditor) useless(fact world.LedgerWritten) {
	for _, change := range fact.Claims {
		c := change.After
		if c == nil || c.Pool == "" || len(c.Pods) == 0 {
			continue
		}
		v := a.wasted[c.PoolUID]
		switch {
		case change.Before == nil && v.instances > 1 && a.calm() && !a.accounts.poolAt[c.Pool].After(v.first) && !a.took(c.PoolUID, v.last) &&
			a.accounts.now.Sub(v.first) > a.rules.Patience && a.accounts.now.Sub(v.first) < time.Hour:
			a.broken("R12", c.Name, "%d machines of pool %s came up in vain one after the other, the last %s ago", v.instances, c.Pool, a.accounts.now.Sub(v.first).Round(time.Second))
		case c.State == model.Initialized && change.Before != nil && change.Before.State != model.Initialized:
			known := a.accounts.claims[c.Name]
			n := a.accounts.nodes[c.NodeName]
			if known == nil || n == nil || !a.accounts.spoilt(known, n) || !slices.ContainsFunc(c.Pods, func(ref model.PodRef) bool {
				p := a.accounts.pods[ref.UID]
				return p != nil && p.needs()
			}) {
				continue
			}
			launched := time.Unix(c.LaunchedUnix, 0)
			if v.instances > 0 && (a.accounts.poolAt[c.Pool].After(v.first) || a.took(c.PoolUID, v.last)) {
				v = wastedLaunches{}
			}
			if v.instances > 0 && launched.Before(v.first) {
				continue // of the same incident
			}
			a.wasted[c.PoolUID] = wastedLaunches{a.entry.At, launched, v.instances + 1}
		}
	}
}

// took reports whether an instance of the pool that was launched since then has a pod that was planned onto one of its instances.
func (a *Auditor) took(pool string, since time.Time) bool {
	for _, c := range a.accounts.claims {
		if c.PoolUID != pool || c.LaunchedUnix < since.Unix() {
			continue
		}
		for _, p := range a.accounts.onNode[c.NodeName] {
			if p.shape.OwnerKind != "Node" && p.shape.OwnerKind != world.KindDaemons {
				return true
			}
		}
	}
	return false
}
