package pack

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/volume"
	"github.com/joiner-sh/joiner/shared/model"
)

// question is what a plan is to answer.
type question struct {
	in    *input.Input
	known *knowledge // of the cluster already; nil = nothing
	tries int        // in how many ways nodes are opened at most; 0 = in as many as Plan finds worth it, below 0 = none is opened
}

// knowledge is what all plans of one cluster have in common.
type knowledge struct {
	dims    vector.Dimensions
	facts   *shapeFacts
	markets *offerings.Markets
	daemons []offerings.Daemon
	pools   []*offerings.Pool
	rates   map[string]*pricing // by pool, the last that were asked for; nil = none were
	nodes   *nodeMemory
}

// solver is one attempt at a plan: what is asked for, what there is, and what came of it.
type solver struct {
	question
	pending    []int
	dims       vector.Dimensions
	rules      *podRules
	classifier *classifier
	podGroups  []*podGroup
	refused    map[int]*model.Reason
	existing   *existingNodes
	planner    *planner
	podGroupOf []*podGroup // by pod; only where there are rules between pods, or nodes
	daemons    []*podGroup // of the DaemonSets any rule counts: what their pods add
}

func newSolver(q question, preferences preferences) *solver { return prepare(q, preferences, false) }

// prepare reads the input. asIs leaves nodes as they are now, with no room kept for daemons to come.
func prepare(q question, preferences preferences, asIs bool) *solver {
	in := q.in
	pending, moving := pendingPods(in)
	b := &solver{question: q, pending: input.SortedPods(in.Snapshot, pending), rules: newPodRules(in.Snapshot, preferences)}
	var facts *shapeFacts
	if q.known != nil {
		facts = q.known.facts
	} else {
		facts = newShapeFacts(in.Snapshot.Shapes, in.IgnorePreferences)
	}
	b.classifier = &classifier{snapshot: in.Snapshot, facts: facts, rules: b.rules, volumes: volume.New(in.Snapshot), onceUsed: holders(in.Snapshot, moving)}
	if len(in.Settled) > 0 && (len(in.Churning)+len(in.Expected) > 0 || facts.spreads()) {
		b.classifier.settle(in.Settled, pending, len(in.Expected) > 0)
	}
	b.podGroups, b.refused = b.classifier.podGroupsOf(b.pending, guardShapes(in.Snapshot, facts, moving))
	if d := q.known; d != nil {
		b.dims = d.dims
		b.planner = newPlanner(in, d.dims, b.rules, d.markets, d.daemons)
		b.planner.tries, b.planner.pristine, b.planner.rates = q.tries, d.pools, d.rates
		b.existing = newExistingNodes(in, d.dims, d.markets, d.daemons, asIs, d.nodes)
	} else {
		b.dims = dimensionsOf(in.Snapshot, b.podGroups)
		for _, c := range b.podGroups {
			c.request = b.dims.Vector(c.resources)
		}
		b.planner = newPlanner(in, b.dims, b.rules, offerings.NewMarkets(in, b.dims), offerings.DaemonsOf(in.Snapshot, b.dims))
		b.existing = newExistingNodes(in, b.dims, b.planner.markets, b.planner.daemons, asIs, nil)
	}
	b.existing.rules, b.existing.classifier = b.rules, b.classifier
	for _, c := range b.podGroups {
		b.existing.needPorts = b.existing.needPorts || len(c.ports) > 0
		b.existing.needDisks = b.existing.needDisks || c.attaches
		b.existing.needConflicts = b.existing.needConflicts || len(c.conflicts) > 0
	}
	b.existing.build(len(b.pending), moving, labelKeys(b.podGroups, b.rules))
	if !b.rules.empty() {
		b.rules.baseline()
		b.daemons = b.countedDaemons()
	}
	if !b.rules.empty() || b.existing.total > 0 {
		b.podGroupOf = make([]*podGroup, len(in.Snapshot.Pods))
		for _, c := range b.podGroups {
			for _, i := range c.pods {
				b.podGroupOf[i] = c
			}
		}
	}
	return b
}

// spreads reports whether any pending pod has a hard spread constraint, for which it matters which domains are counted.
func (b *solver) spreads() bool {
	return slices.ContainsFunc(b.rules.topologyGroups, func(t topologyGroup) bool { return t.wanted })
}

// left returns how many pods have no place.
func (b *solver) left() int {
	n := 0
	for _, c := range b.podGroups {
		n += len(c.pods)
	}
	return n
}

// unplaced returns the pod groups that have pods left, by order.
func (b *solver) unplaced() map[int]bool {
	out := make(map[int]bool)
	for _, c := range b.podGroups {
		if len(c.pods) > 0 {
			out[c.order] = true
		}
	}
	return out
}
