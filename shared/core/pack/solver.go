package pack

import (
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/existing"
	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/newnodes"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/pricing"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/core/volume"
	"github.com/joiner-sh/joiner/shared/model"
)

// question is what a plan is to answer.
type question struct {
	in    *Input
	known *knowledge // of the cluster already; nil = nothing
	tries int        // in how many ways nodes are opened at most; 0 = in as many as Plan finds worth it, below 0 = none is opened
}

// knowledge is what all plans of one cluster have in common.
type knowledge struct {
	dims    vector.Dimensions
	facts   *group.ShapeFacts
	markets *offerings.Markets
	daemons []offerings.Daemon
	pools   []*offerings.Pool
	rates   map[string]*pricing.Rates // by pool, the last that were asked for; nil = none were
	nodes   *existing.Memory
}

// solver is one attempt at a plan: what is asked for, what there is, and what came of it.
type solver struct {
	question
	pending    []int
	dims       vector.Dimensions
	rules      *group.PodRules
	classifier *group.Classifier
	podGroups  []*group.PodGroup
	refused    map[int]*model.Reason
	existing   *existing.Nodes
	planner    *newnodes.Planner
	podGroupOf []*group.PodGroup // by pod; only where there are rules between pods, or nodes
	daemons    []*group.PodGroup // of the DaemonSets any rule counts: what their pods add
}

func newSolver(q question, preferences group.Preferences) *solver {
	return prepare(q, preferences, false)
}

// prepare reads the input. asIs leaves nodes as they are now, with no room kept for daemons to come.
func prepare(q question, preferences group.Preferences, asIs bool) *solver {
	in := q.in
	pending, moving := pendingPods(in)
	b := &solver{question: q, pending: input.SortedPods(in.Snapshot, pending), rules: group.NewPodRules(in.Snapshot, preferences)}
	var facts *group.ShapeFacts
	if q.known != nil {
		facts = q.known.facts
	} else {
		facts = group.NewShapeFacts(in.Snapshot.Shapes, in.IgnorePreferences)
	}
	b.classifier = &group.Classifier{Snapshot: in.Snapshot, Facts: facts, Rules: b.rules, Volumes: volume.New(in.Snapshot),
		OnceUsed: group.Holders(in.Snapshot, moving), Devices: group.DevicesOf(in, moving, asIs)}
	if len(in.Settled) > 0 && (len(in.Churning)+len(in.Expected) > 0 || facts.Spreads()) {
		b.classifier.Settle(in.Settled, pending, len(in.Expected) > 0)
	}
	b.podGroups, b.refused = b.classifier.PodGroupsOf(b.pending, group.GuardShapes(in.Snapshot, facts, moving))
	if d := q.known; d != nil {
		b.dims = d.dims
		b.planner = newnodes.NewPlanner(in, d.dims, b.rules, d.markets, d.daemons)
		b.planner.Tries, b.planner.Pristine, b.planner.Rates = q.tries, d.pools, d.rates
		b.existing = existing.New(in, d.dims, d.markets, d.daemons, asIs, d.nodes)
	} else {
		b.dims = group.DimensionsOf(in.Snapshot, b.podGroups)
		for _, c := range b.podGroups {
			c.Request = b.dims.Vector(c.Resources)
		}
		b.planner = newnodes.NewPlanner(in, b.dims, b.rules, offerings.NewMarkets(in, b.dims), offerings.DaemonsOf(in.Snapshot, b.dims))
		b.existing = existing.New(in, b.dims, b.planner.Markets, b.planner.Daemons, asIs, nil)
	}
	b.existing.Rules, b.existing.Classifier, b.planner.Devices = b.rules, b.classifier, b.classifier.Devices
	group.Suit(b.podGroups, b.classifier.Devices)
	for _, c := range b.podGroups {
		b.existing.NeedPorts = b.existing.NeedPorts || len(c.Ports) > 0
		b.existing.NeedDisks = b.existing.NeedDisks || c.Attaches
		b.existing.NeedConflicts = b.existing.NeedConflicts || len(c.Conflicts) > 0
	}
	b.existing.Build(len(b.pending), moving, labelKeys(b.podGroups, b.rules))
	if !b.rules.Empty() {
		b.rules.Baseline()
		b.daemons = b.countedDaemons()
	}
	if !b.rules.Empty() || b.existing.Total > 0 {
		b.podGroupOf = make([]*group.PodGroup, len(in.Snapshot.Pods))
		for _, c := range b.podGroups {
			for _, i := range c.Pods {
				b.podGroupOf[i] = c
			}
		}
	}
	return b
}

// left returns how many pods have no place.
func (b *solver) left() int {
	n := 0
	for _, c := range b.podGroups {
		n += len(c.Pods)
	}
	return n
}

// unplaced returns the pod groups that have pods left, by order.
func (b *solver) unplaced() map[int]bool {
	out := make(map[int]bool)
	for _, c := range b.podGroups {
		if len(c.Pods) > 0 {
			out[c.Order] = true
		}
	}
	return out
}

// forgetUnits takes units that found no node out of the topology groups.
func (b *solver) forgetUnits(podBatch *newnodes.PodBatch, units int32) {
	if units == 0 {
		return
	}
	for _, a := range podBatch.PodGroup.Contributions {
		t := &b.rules.TopologyGroups[a.TopologyGroup]
		if t.Host {
			t.Total -= units * a.Weight
		} else if value := podBatch.Values[slices.Index(podBatch.PodGroup.Keys, t.Key)]; value != "" && b.planner.CountsNew(t, podBatch.Pools) {
			t.Count[value] -= units * a.Weight
			t.Total -= units * a.Weight
		}
	}
}

// labelKeys returns the keys of labels that any pod group, or any rule between pods, asks about, sorted.
func labelKeys(podGroups []*group.PodGroup, rules *group.PodRules) []string {
	seen := make(map[string]bool)
	for _, c := range podGroups {
		for _, list := range [][]requirement.Requirements{c.Own, c.There} {
			for _, term := range list {
				for key := range term { // sorted below
					seen[key] = true
				}
			}
		}
		for _, key := range c.Keys {
			seen[key] = true
		}
	}
	for i := range rules.Filters {
		for _, key := range rules.Filters[i].Keys {
			seen[key] = true
		}
		for _, term := range rules.Filters[i].Terms {
			for key := range term { // sorted below
				seen[key] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// countedDaemons returns what pods of daemons add to topology groups, those that add nothing left out.
func (b *solver) countedDaemons() []*group.PodGroup {
	var out []*group.PodGroup
	for _, d := range b.existing.Daemons {
		shape := &b.in.Snapshot.Shapes[b.in.Snapshot.DaemonSets[d.Set].Shape]
		if contributions := b.rules.Memberships(shape, b.rules.ReadGuards(shape)); len(contributions) > 0 {
			out = append(out, &group.PodGroup{Order: d.Set, Contributions: contributions})
		}
	}
	return out
}
