package replay

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/fairshare"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// Evened returns the plan, or another in its place where limits of pools leave room for some pods and not for all: within a priority
// namespaces take turns at that room, an instance each. try plans; the same way as the plan was made of the input. Instances that run are
// nobody's to take away: where limits leave nothing, the next room is dealt.
//
// A namespace's pods beyond its turns wait, with LimitReached for a reason. Where that helps none of those they wait for, the plan stays as
// it is.
func (p *Provision) Evened(plan model.Plan, input pack.Input, try func(pack.Input) (model.Plan, string)) model.Plan {
	if p.input.Most == nil { // asked before namespaces took turns
		return plan
	}
	e := p.shares(&plan)
	if e == nil {
		return plan
	}
	kept := make([]int, 0, len(input.Pending))
	for _, i := range Pending(input) {
		if _, waits := e.withheld[i]; !waits {
			kept = append(kept, i)
		}
	}
	fair := input
	fair.Pending = kept
	other, panicked := try(fair)
	if panicked != "" || e.helped(&other) == 0 {
		return plan
	}
	for i, why := range e.withheld { // sorted below
		other.Unschedulable = append(other.Unschedulable, model.Unschedulable{Pod: input.Snapshot.Pods[i].Ref(), Reasons: []model.Reason{why}})
	}
	sort.Slice(other.Unschedulable, func(i, j int) bool {
		a, b := other.Unschedulable[i].Pod, other.Unschedulable[j].Pod
		return a.Key() < b.Key() || a.Key() == b.Key() && a.UID < b.UID
	})
	return other
}

// evening is who is to wait so that others have their turn.
type evening struct {
	withheld map[int]model.Reason // pods that wait, as indexes
	refused  map[string]bool      // pods that limits left nothing for and that are to gain, by UID
}

// standing is how a namespace stands at limits within a priority.
type standing struct {
	won     map[int]int64 // its pods on new instances of pools that refuse others: millionths of an instance each, by index
	refused []int         // its pods that limits leave nothing for
}

func (s *standing) instances() int64 {
	sum := int64(0)
	for _, part := range s.won { // a sum does not depend on the order
		sum += part
	}
	return sum
}

const wholeInstance = int64(1_000_000)

// shares deals the instances of a plan that limits cut short out to the namespaces that want them. nil where no namespace has more of
// them than its turns while another has fewer.
func (p *Provision) shares(plan *model.Plan) *evening {
	scarce, reasons := map[string]bool{}, map[int]model.Reason{}
	for i := range plan.Unschedulable {
		u := &plan.Unschedulable[i]
		for _, why := range u.Reasons {
			if why.Code == pack.LimitReached && why.Pool != "" {
				scarce[why.Pool] = true
				if at := p.index(u.Pod); at >= 0 {
					reasons[at] = why
				}
			}
		}
	}
	if len(reasons) == 0 {
		return nil
	}
	levels := map[int32]map[string]*standing{}
	of := func(i int) *standing {
		pod := &p.Input.Snapshot.Pods[i]
		priority := p.Input.Snapshot.PriorityOf(pod)
		if levels[priority] == nil {
			levels[priority] = map[string]*standing{}
		}
		if levels[priority][pod.Namespace] == nil {
			levels[priority][pod.Namespace] = &standing{won: map[int]int64{}}
		}
		return levels[priority][pod.Namespace]
	}
	for i := range plan.Claims {
		if claim := &plan.Claims[i]; scarce[claim.Pool] {
			for _, ref := range claim.Pods {
				if at := p.index(ref); at >= 0 {
					of(at).won[at] = wholeInstance / int64(len(claim.Pods))
				}
			}
		}
	}
	for _, at := range slices.Sorted(maps.Keys(reasons)) {
		s := of(at)
		s.refused = append(s.refused, at)
	}
	e := &evening{withheld: map[int]model.Reason{}, refused: map[string]bool{}}
	for _, level := range levels { // each by itself
		p.deal(level, reasons, e)
	}
	if len(e.withheld) == 0 || len(e.refused) == 0 {
		return nil
	}
	return e
}

// deal says who of one priority waits.
func (p *Provision) deal(level map[string]*standing, reasons map[int]model.Reason, e *evening) {
	total, wants := int64(0), map[string]int{}
	for name, s := range level { // each by itself
		won := s.instances()
		total += won
		each := wholeInstance // of its pods that are refused: as its others, or one each
		if len(s.won) > 0 {
			each = max(1, won/int64(len(s.won)))
		}
		wants[name] = int((won + each*int64(len(s.refused)) + wholeInstance - 1) / wholeInstance)
	}
	if len(level) < 2 || total == 0 {
		return
	}
	instances := int((total + wholeInstance - 1) / wholeInstance)
	share := fairshare.Shares(instances, wants, p.input.Served)
	over := false
	for name, s := range level {
		over = over || s.instances() > int64(share[name])*wholeInstance
	}
	if !over {
		return
	}
	for name, s := range level { // what is noted is sorted where it is used
		won := s.instances()
		if won <= int64(share[name])*wholeInstance {
			for _, i := range s.refused {
				e.refused[p.Input.Snapshot.Pods[i].UID] = true
			}
			continue
		}
		mine := fairshare.ByAge(p.Input.Snapshot, slices.Concat(slices.Collect(maps.Keys(s.won)), s.refused))
		keep := int(int64(len(s.won)) * int64(share[name]) * wholeInstance / won)
		if share[name] > 0 {
			keep = max(keep, 1)
		}
		for _, i := range mine[keep:] {
			why, known := reasons[i]
			if !known {
				why = anyOf(reasons)
			}
			why.Message = fmt.Sprintf("%s; limits allow %d more instances for pending pods, of which namespace %s gets %d in turn with the others", strings.TrimSuffix(why.Message, "."), instances, name, share[name])
			e.withheld[i] = why
		}
	}
}

// anyOf returns the reason of the first pod.
func anyOf(reasons map[int]model.Reason) model.Reason {
	return reasons[slices.Min(slices.Collect(maps.Keys(reasons)))]
}

// helped returns how many of those that were to gain have a place now.
func (e *evening) helped(plan *model.Plan) int {
	n := 0
	count := func(pods []model.PodRef) {
		for _, pod := range pods {
			if e.refused[pod.UID] {
				n++
			}
		}
	}
	for i := range plan.Claims {
		count(plan.Claims[i].Pods)
	}
	for i := range plan.Nominations {
		count(plan.Nominations[i].Pods)
	}
	return n
}
