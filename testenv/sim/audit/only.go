package audit

import (
	"strings"
	"time"

	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// All returns a checker of each kind.
func All() []Checker { return For(1) }

// For returns the checkers of a world in which so many functions decide on voluntary disruption at once: each asks for
// its next check.
func For(atOnce int) []Checker {
	rules := DefaultRules
	rules.Messages *= max(1, atOnce)
	return []Checker{New(rules), NewDevices()}
}

// only is a checker that hears of one cluster of several.
type only struct {
	cluster string
	of      Checker
}

// Only returns a checker that holds another's rules over one of several clusters: it hears what is that cluster's, and what is nobody's
// own, such as an instance's end or a queue that all share.
func Only(cluster string, of Checker) Checker { return only{cluster, of} }

// Check passes on what is about the cluster.
func (o only) Check(entries []world.Entry) []Violation {
	var own []world.Entry
	for _, e := range entries {
		if cluster := clusterOf(e); cluster == "" || cluster == o.cluster {
			own = append(own, e)
		}
	}
	return o.of.Check(own)
}

// Quiet is that of the other.
func (o only) Quiet(now time.Time) []Violation { return o.of.Quiet(now) }

// clusterOf returns whose an entry is; empty = nobody's own.
func clusterOf(e world.Entry) string {
	switch fact := e.Fact.(type) {
	case world.FleetCalled:
		return fact.Cluster
	case world.InstanceStarted:
		return fact.Cluster
	case world.LeaseTaken:
		return fact.Fence.Cluster
	case world.LeaseReleased:
		return fact.Fence.Cluster
	case world.LedgerWritten:
		return fact.Cluster
	case world.LedgerMeddled:
		return fact.Cluster
	case world.StopMoved:
		return fact.Cluster
	case world.ManifestMoved:
		return fact.Cluster
	case world.WatchFollowed:
		return fact.Cluster
	case world.ObjectWritten:
		return fact.Cluster
	case world.MessageMoved:
		_, cluster, _ := strings.Cut(fact.Queue, "plan of ")
		return cluster
	case world.TerminateCalled, world.EvictionRequested:
		_, cluster, _ := strings.Cut(e.Actor, "@")
		return cluster
	}
	return ""
}
