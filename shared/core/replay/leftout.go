package replay

import (
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

const poolPrefix = "NodePool/"

// PlannerInput is the round's input without what the question leaves out, which planning panicked over.
func (p *Provision) PlannerInput() pack.Input {
	input := p.Input
	for _, what := range p.input.LeftOut {
		input = LeaveOut(input, what)
	}
	return input
}

// LeaveOut returns the input without a pool (NodePool/<name>) or the pods of an owner, as OwnerOf names it; "" leaves nothing out.
func LeaveOut(input pack.Input, what string) pack.Input {
	if what == "" {
		return input
	}
	if name, isPool := strings.CutPrefix(what, poolPrefix); isPool {
		input.Snapshot = without(input.Snapshot, []string{name})
		return input
	}
	pods := []int{} // not nil: that would be all of them
	for _, i := range Pending(input) {
		if OwnerOf(input.Snapshot, i) != what {
			pods = append(pods, i)
		}
	}
	input.Pending = pods
	return input
}

// WithPools returns the input with other pools.
func WithPools(input pack.Input, pools []model.Pool) pack.Input {
	input.Snapshot = withPools(input.Snapshot, pools)
	return input
}

// Pending returns the pods the input asks about, as indexes.
func Pending(input pack.Input) []int {
	if input.Pending != nil {
		return input.Pending
	}
	return pack.Pending(input.Snapshot)
}

// OwnerOf names the pods that share a pod's owner: Pods/<namespace>/<owner kind>/<owner>.
func OwnerOf(snapshot *model.Snapshot, i int) string {
	pod := &snapshot.Pods[i]
	if pod.Buffer != "" {
		return "Pods/" + pod.Buffer + "/CapacityBuffer"
	}
	if pod.Shape >= 0 && pod.Shape < len(snapshot.Shapes) {
		if shape := snapshot.ShapeOf(pod); shape.OwnerName != "" {
			return "Pods/" + pod.Namespace + "/" + shape.OwnerKind + "/" + shape.OwnerName
		}
	}
	return "Pods/" + pod.Namespace + "/Pod/" + pod.Name
}

// WithReasons returns a plan of Asked with the reason of the pods that were left out.
func (p *Provision) WithReasons(plan model.Plan) model.Plan {
	asked := p.PlannerInput()
	if len(asked.Pending) == len(p.Input.Pending) {
		return plan
	}
	kept := make(map[int]bool, len(asked.Pending))
	for _, i := range asked.Pending {
		kept[i] = true
	}
	for _, i := range p.Input.Pending {
		pod := &p.Input.Snapshot.Pods[i]
		if kept[i] {
			continue
		}
		plan.Unschedulable = append(plan.Unschedulable, model.Unschedulable{
			Pod: pod.Ref(),
			Reasons: []model.Reason{{
				Code: "Quarantined", Message: "planning failed over " + OwnerOf(p.Input.Snapshot, i) + "; they are left out for now",
				Remedy: "this is a bug in Joiner: please report it with the decision's record",
			}},
		})
	}
	return plan
}
