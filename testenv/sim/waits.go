package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/testenv/sim/audit"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// Waits measures how long pods wait from the hint that names them, the first their cluster's watcher sends once
// kube-scheduler has found no place for them, to the call of CreateFleet that gives the instance they were recorded for. Pods that
// came to run without one, or went, do not count. It is a checker without a rule.
type Waits struct {
	pods    map[string]*wait    // that wait, by UID: no UID is given twice
	intents map[string][]string // UIDs of pods launches were recorded for, by intent
	done    map[string][]time.Duration
}

type wait struct {
	cluster string
	hinted  time.Time // zero before the hint
}

// NewWaits returns a measure that has seen nothing.
func NewWaits() *Waits {
	return &Waits{pods: map[string]*wait{}, intents: map[string][]string{}, done: map[string][]time.Duration{}}
}

// Check takes in what happened.
func (w *Waits) Check(entries []world.Entry) []audit.Violation {
	for _, e := range entries {
		switch fact := e.Fact.(type) {
		case world.ObjectWritten:
			if fact.Pod == nil {
				continue
			}
			waits := fact.Verb != "gone" && fact.Pod.Unschedulable && fact.Pod.NodeName == "" && fact.Pod.DeletedUnix == 0
			if waits && w.pods[fact.UID] == nil {
				w.pods[fact.UID] = &wait{cluster: fact.Cluster}
			} else if !waits {
				delete(w.pods, fact.UID)
			}
		case world.MessageMoved:
			if (fact.Queue == "plan" || strings.HasPrefix(fact.Queue, "plan of ")) && fact.Verb == "send" && strings.HasPrefix(e.Actor, "watcher-") {
				for _, pod := range w.pods {
					if pod.cluster == fact.Group && pod.hinted.IsZero() {
						pod.hinted = e.At
					}
				}
			}
		case world.LedgerWritten:
			if fact.Op != "record" {
				continue
			}
			for _, change := range fact.Claims {
				for _, pod := range change.After.Pods {
					w.intents[change.After.Intent] = append(w.intents[change.After.Intent], pod.UID)
				}
			}
		case world.FleetCalled:
			if len(fact.Instances) == 0 {
				continue
			}
			for _, uid := range w.intents[fact.Intent] {
				if pod := w.pods[uid]; pod != nil && !pod.hinted.IsZero() {
					w.done[pod.cluster] = append(w.done[pod.cluster], e.At.Sub(pod.hinted))
					delete(w.pods, uid)
				}
			}
		}
	}
	return nil
}

// Quiet has no rule either.
func (w *Waits) Quiet(time.Time) []audit.Violation { return nil }

// Of returns how long the pods of those clusters waited that want is true of, shortest first, and how many wait still.
func (w *Waits) Of(want func(cluster string) bool) (waited []time.Duration, still int) {
	for cluster, list := range w.done {
		if want(cluster) {
			waited = append(waited, list...)
		}
	}
	for _, pod := range w.pods {
		if want(pod.cluster) {
			still++
		}
	}
	slices.Sort(waited)
	return waited, still
}
