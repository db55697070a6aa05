package replay

import (
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/fairshare"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// Provision is one round of provisioning: a question with what it is asked of.
type Provision struct {
	Input  pack.Input
	Usable map[string]model.Class // classes that may be launched from, by name, with the question's status

	input  *model.PlannerInput
	whole  map[string][]offering.Priced // what a class could buy but for offerings that had no capacity, by class; nil while nothing is marked
	podAt  map[string]int               // where the snapshot has pods that ask for capacity, by UID; nil = not looked up
	taken  fairshare.Selection          // what of the pods that wait is planned
	asking []int                        // they themselves, those that wait no more included
}

// pod returns the snapshot's pod where it asks for capacity; nil where none of that UID does.
func (p *Provision) pod(ref model.PodRef) *model.Pod {
	if p.podAt == nil { // of those only: in a large cluster most run
		p.podAt = make(map[string]int, len(p.asking))
		for _, i := range p.asking {
			p.podAt[p.Input.Snapshot.Pods[i].UID] = i
		}
	}
	if i, known := p.podAt[ref.UID]; known {
		return &p.Input.Snapshot.Pods[i]
	}
	return nil
}

// index returns where the snapshot has a pod that asks for capacity; −1 where none of that UID does.
func (p *Provision) index(ref model.PodRef) int {
	if p.pod(ref) == nil {
		return -1
	}
	return p.podAt[ref.UID]
}

// Seen returns the snapshot with the taint of nodes that leave on each that is known to, as the question's Leaving says; the snapshot
// itself where they all show it.
func Seen(shown *model.Snapshot, leaving pack.Leaving) *model.Snapshot {
	if len(leaving) == 0 {
		return shown
	}
	out := shown
	for i := range shown.Nodes {
		node := &shown.Nodes[i]
		if _, leaves := leaving[node.Name]; !leaves || IsDisrupted(node) {
			continue
		}
		if out == shown {
			snapshot := *shown
			snapshot.Nodes = slices.Clone(shown.Nodes)
			out = &snapshot
		}
		out.Nodes[i].Taints = append(slices.Clone(node.Taints), model.Taint{Key: model.TaintDisrupted, Effect: model.NoSchedule})
	}
	return out
}

// IsDisrupted reports whether a node carries the taint of nodes that are disrupted.
func IsDisrupted(node *model.Node) bool {
	return slices.ContainsFunc(node.Taints, func(t model.Taint) bool { return t.Key == model.TaintDisrupted && t.Effect == model.NoSchedule })
}

// without returns the snapshot without pools.
func without(snapshot *model.Snapshot, pools []string) *model.Snapshot {
	if len(pools) == 0 {
		return snapshot
	}
	return withPools(snapshot, slices.DeleteFunc(slices.Clone(snapshot.Pools), func(p model.Pool) bool { return slices.Contains(pools, p.Name) }))
}

func withPools(snapshot *model.Snapshot, pools []model.Pool) *model.Snapshot {
	out := *snapshot
	out.Pools = pools
	return &out
}

// Try plans, and returns what planning panicked with, "" where it did not.
func Try(planner func(pack.Input) model.Plan, input pack.Input) (plan model.Plan, panicked string) {
	defer func() {
		if thrown := recover(); thrown != nil {
			plan, panicked = model.Plan{}, fmt.Sprint(thrown)
		}
	}()
	return planner(input), ""
}
