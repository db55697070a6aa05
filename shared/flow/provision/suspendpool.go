package provision

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/model"
)

// An instance is bought without effect where its node is initialized and none of the pods it was bought for can run
// there, for a reason that no plan knew of: a taint that the NodePool does not declare, a label that did not come, or
// room that is taken by what every node runs. The next instance would be like it. So one more is bought to find that
// out, and then none for a while.
const (
	suspendPoolFor    = int64(60 * 60)      // seconds nothing is bought after the second such instance; doubles
	suspendPoolAtMost = int64(24 * 60 * 60) // and at most
)

// updatePools counts instances bought without effect against their pools. Instances launched before one was noted are
// of the same incident, and count once. An instance of the pool that took one of its pods ends the hold, and so does a
// node that refuses them no more, and another template or class: what is launched from then on counts anew.
func (s *suspensions) updatePools() {
	s.suspects = nil
	before := map[string]*model.PoolSuspension{}
	for i := range s.ledger.Notes.PoolSuspensions {
		before[s.ledger.Notes.PoolSuspensions[i].UID] = &s.ledger.Notes.PoolSuspensions[i]
	}
	waiting := s.unbound()
	if len(waiting) == 0 && len(before) == 0 {
		return
	}
	refusals := s.refusals(waiting)
	if len(refusals) == 0 && len(before) == 0 {
		return
	}
	took := s.took()
	var suspensions []model.PoolSuspension
	for i := range s.snapshot.Pools {
		pool := &s.snapshot.Pools[i]
		if suspension := s.suspendPool(pool, before[pool.UID], refusals, took[pool.UID]); suspension != nil {
			suspensions = append(suspensions, *suspension)
		}
	}
	slices.SortFunc(suspensions, func(a, b model.PoolSuspension) int { return strings.Compare(a.Pool, b.Pool) })
	if !slices.Equal(suspensions, s.ledger.Notes.PoolSuspensions) {
		s.ledger.Notes.PoolSuspensions, s.noted = suspensions, true
	}
}

// suspendPool returns the pool's hold as it is now; nil where there is nothing to remember.
func (s *suspensions) suspendPool(pool *model.Pool, before *model.PoolSuspension, refusals []refusal,
	took int64) *model.PoolSuspension {
	inputs := s.templateOf(pool)
	ended := &model.PoolSuspension{Pool: pool.Name, UID: pool.UID, Inputs: inputs, NotedUnix: s.now()}
	suspension := before
	switch {
	case suspension == nil:
	case suspension.Instances == 0 && s.now()-suspension.NotedUnix > suspensionForgotten:
		suspension = nil
	case suspension.Inputs != inputs:
		suspension = ended
	case suspension.Instances > 0 && (took >= suspension.LastUnix || s.mended(suspension, refusals)):
		suspension = ended
	}
	if before != nil && before.Instances > 0 && suspension != nil && suspension.Instances == 0 {
		s.event(model.Event{
			Kind: kindPool, Name: pool.Name, UID: pool.UID, Reason: "NodesTakePods",
			Message: "instances are launched for the NodePool again: it was changed, " +
				"or one of its nodes takes its pods now",
		})
	}
	for i := range refusals {
		found := &refusals[i]
		switch claim := found.claim; {
		case claim.PoolUID != pool.UID || took >= claim.LaunchedUnix:
		case !found.up:
			s.suspectPool(found, took)
		case suspension != nil && (claim.LaunchedUnix <= suspension.LastUnix ||
			claim.LaunchedUnix < suspension.NotedUnix):
			if suspension.Instances > 0 && claim.LaunchedUnix > suspension.LastUnix {
				longer := *suspension
				longer.LastUnix = claim.LaunchedUnix
				suspension = &longer
			}
		default:
			next := model.PoolSuspension{
				Pool: pool.Name, UID: pool.UID, Inputs: inputs, Instances: 1,
				Claim: claim.Name, Node: found.node, Pod: found.pod.Key(),
				Why: found.why, Taint: found.taint.Key, Effect: found.taint.Effect,
				LastUnix: claim.LaunchedUnix, NotedUnix: s.now(), UntilUnix: s.now(),
			}
			if suspension != nil {
				next.Instances += suspension.Instances
			}
			if next.Instances > 1 {
				next.UntilUnix += min(suspendPoolAtMost, suspendPoolFor<<min(next.Instances-2, 10))
			}
			suspension = &next
			s.warn(kindPool, pool.Name, pool.UID, "NodesDoNotTakePods", next.Text())
		}
	}
	return suspension
}

// suspectPool has nothing bought for a pool none of whose instances has taken a pod so far, while a node of it comes up
// that refuses its pods.
func (s *suspensions) suspectPool(found *refusal, took int64) {
	if took == 0 {
		if s.suspects == nil {
			s.suspects = map[string]string{}
		}
		s.suspects[found.claim.Pool] = fmt.Sprintf(
			"node %s was initialized a moment ago and cannot take pod %s, for which it was launched: %s",
			found.node, found.pod.Key(), found.why)
	}
}

// mended reports whether the instance a hold names last refuses its pods no more.
func (s *suspensions) mended(suspension *model.PoolSuspension, refusals []refusal) bool {
	if slices.ContainsFunc(refusals, func(f refusal) bool { return f.claim.Name == suspension.Claim }) {
		return false
	}
	for i := range s.ledger.Claims {
		claim := &s.ledger.Claims[i]
		nodes := s.nodesByProvider()[claim.ProviderID]
		if claim.Name != suspension.Claim || claim.State != model.Initialized || len(nodes) != 1 {
			continue
		}
		if suspension.Taint != "" {
			return !hasTaint(nodes[0].Taints, suspension.Taint, suspension.Effect)
		}
		waiting := s.unbound()
		return slices.ContainsFunc(claim.Pods, func(ref model.PodRef) bool { return waiting[ref.UID] != nil })
	}
	return false
}

// refusal is an instance that is bought without effect, or seems to be while its node comes up.
type refusal struct {
	claim *model.Claim
	node  string
	pod   *model.Pod
	why   string
	taint model.Taint // that is in the way; empty where it is something else
	up    bool        // its node is as ready as it was to be
}

// refusals returns the instances whose nodes are there and refuse a pod that was planned onto them and waits, by launch
// and name. One that somebody else ends says nothing, nor does one that took another of its pods.
func (s *suspensions) refusals(waiting map[string]*model.Pod) []refusal {
	var out []refusal
	nodes := s.nodesByProvider()
	for i := range s.ledger.Claims {
		claim := &s.ledger.Claims[i]
		chosen := claim.Ending() && (claim.FailureCode == model.ReasonEmpty ||
			claim.FailureCode == model.ReasonUnderutilized)
		if claim.PoolUID == "" || !claim.Live() || claim.Ending() && !chosen || len(nodes[claim.ProviderID]) != 1 {
			continue
		}
		node := nodes[claim.ProviderID][0]
		if node.DeletedUnix != 0 && !chosen {
			continue
		}
		waits, _ := unready(node, claim)
		for _, ref := range claim.Pods {
			pod := waiting[ref.UID]
			if pod == nil {
				continue
			}
			if why, taint := s.refuses(node, claim, s.snapshot.ShapeOf(pod)); why != "" {
				if !s.tookOne(claim, node.Name) {
					out = append(out, refusal{claim, node.Name, pod, why, taint, waits == ""})
				}
				break
			}
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := out[i].claim, out[j].claim
		return a.LaunchedUnix < b.LaunchedUnix || a.LaunchedUnix == b.LaunchedUnix && a.Name < b.Name
	})
	return out
}

// tookOne reports whether a pod that was planned onto the claim is on its node.
func (s *suspensions) tookOne(claim *model.Claim, node string) bool {
	planned := map[string]bool{}
	for _, ref := range claim.Pods {
		planned[ref.UID] = true
	}
	return slices.ContainsFunc(s.snapshot.Pods, func(pod model.Pod) bool {
		return pod.NodeName == node && planned[pod.UID]
	})
}

// took returns by pool UID when the latest of the instances was launched that runs a pod that was planned onto an
// instance of the pool.
func (s *suspensions) took() map[string]int64 {
	planned, at := map[string]string{}, map[string]*model.Claim{} // pools by UIDs of pods; claims by node
	for _, claims := range [][]model.Claim{s.ledger.Ended, s.ledger.Claims} {
		for i := range claims {
			claim := &claims[i]
			for _, ref := range claim.Pods {
				planned[ref.UID] = claim.PoolUID
			}
			if claim.NodeName != "" && claim.Live() {
				at[claim.NodeName] = claim
			}
		}
	}
	took := map[string]int64{}
	for i := range s.snapshot.Pods {
		pod := &s.snapshot.Pods[i]
		if claim := at[pod.NodeName]; claim != nil && claim.PoolUID != "" && planned[pod.UID] == claim.PoolUID {
			took[claim.PoolUID] = max(took[claim.PoolUID], claim.LaunchedUnix)
		}
	}
	return took
}

// refuses says why a pod of the shape cannot run on a claim's node for a reason that lies in what became of the node
// after it was asked for; empty = there is none. What other pods, volumes and topology are in the way of is for the
// planner, which sees it.
func (s *suspensions) refuses(
	node *model.Node, claim *model.Claim, shape *model.PodShape,
) (why string, taint model.Taint) {
	for _, t := range node.Taints {
		declared := func(list []model.Taint) bool { return hasTaint(list, t.Key, t.Effect) }
		if t.Effect == model.PreferNoSchedule || momentary(t) || declared(claim.Taints) ||
			declared(claim.StartupTaints) ||
			pack.Tolerates(shape.Tolerations, t) {
			continue
		}
		return fmt.Sprintf("the node has the taint %s, which the NodePool declares neither under "+
			"spec.template.spec.taints nor under startupTaints", pack.TaintText(t)), t
	}
	if wants, meets := pack.Selected(shape, node.Labels); !meets {
		return fmt.Sprintf("the node's labels do not meet the pod's requirements (%s), though the NodePool's do",
			wants), taint
	}
	if node.Allocatable == nil || !resource.Fits(shape.Requests, node.Allocatable) {
		return "", taint // what instances of the type have is learned, and the next plan knows it
	}
	left, by := maps.Clone(node.Allocatable), ""
	for i := range s.snapshot.Pods {
		pod := &s.snapshot.Pods[i]
		if pod.NodeName != node.Name || pod.Terminal() || pod.Shape < 0 || pod.Shape >= len(s.snapshot.Shapes) {
			continue
		}
		other := s.snapshot.ShapeOf(pod)
		if other.OwnerKind != "DaemonSet" && other.OwnerKind != "Node" {
			continue
		}
		for name, amount := range other.Requests {
			left[name] -= amount
		}
		if by == "" && !resource.Fits(shape.Requests, left) {
			by = pod.Key()
		}
	}
	if by == "" {
		return "", taint
	}
	var short []string
	for _, name := range slices.Sorted(maps.Keys(shape.Requests)) {
		if shape.Requests[name] > max(0, left[name]) {
			short = append(short, name)
		}
	}
	return fmt.Sprintf("pods of DaemonSets and static pods, such as %s, leave the node too little %s", by,
		strings.Join(short, ", ")), taint
}

// momentary reports whether a taint says how the node is at this moment, or who is disrupting it, rather than what it
// is for.
func momentary(t model.Taint) bool {
	switch t.Key {
	case model.TaintDisrupted, "node.kubernetes.io/unschedulable", "node.kubernetes.io/not-ready",
		"node.kubernetes.io/unreachable",
		"node.kubernetes.io/network-unavailable", "node.kubernetes.io/out-of-service":
		return true
	}
	return model.EphemeralTaint(t.Key, t.Effect)
}

// templateOf is a digest of what a pool's instances are made from: its template and its class.
func (s *suspensions) templateOf(pool *model.Pool) string {
	text, err := json.Marshal(pool.Template)
	if err != nil {
		panic(fmt.Sprintf("template of NodePool %s cannot be encoded: %v", pool.Name, err)) // plain data always can
	}
	if class := s.class(pool.Template.ClassName); class != nil {
		text = append(text, offering.Inputs(*class)...)
	}
	return digest(text, 8)
}

// ofPool returns the hold of a pool by name; nil where none of its instances was bought without effect lately.
func (s *suspensions) ofPool(pool string) *model.PoolSuspension {
	return find(s.ledger.Notes.PoolSuspensions,
		func(of *model.PoolSuspension) bool { return of.Pool == pool && of.Instances > 0 })
}

// suspendedPools returns the pools that nothing is bought for now, with why, by name: those that are held, and those
// one of whose instances is just being tried.
func (s *suspensions) suspendedPools() []model.SuspendedPool {
	var out []model.SuspendedPool
	var waiting map[string]*model.Pod
	for i := range s.ledger.Notes.PoolSuspensions {
		suspension := &s.ledger.Notes.PoolSuspensions[i]
		if suspension.Instances == 0 {
			continue
		}
		if waiting == nil {
			waiting = s.unbound()
		}
		if suspension.UntilUnix > s.now() || s.trying(suspension, waiting) {
			out = append(out, model.SuspendedPool{Pool: suspension.Pool, Why: suspension.Text()})
		}
	}
	for _, u := range s.ledger.Unread.Of(model.UnreadUsage) {
		out = slices.DeleteFunc(out, func(p model.SuspendedPool) bool { return p.Pool == u.Name })
		out = append(out, model.SuspendedPool{Pool: u.Name, Why: u.Text()})
	}
	for _, name := range slices.Sorted(maps.Keys(s.suspects)) {
		if !slices.ContainsFunc(out, func(p model.SuspendedPool) bool { return p.Pool == name }) {
			out = append(out, model.SuspendedPool{Pool: name, Why: s.suspects[name]})
		}
	}
	slices.SortFunc(out, func(a, b model.SuspendedPool) int { return strings.Compare(a.Pool, b.Pool) })
	return out
}

// trying reports whether an instance of a held pool is on its way, or is up and its pods wait for it still.
func (s *suspensions) trying(suspension *model.PoolSuspension, waiting map[string]*model.Pod) bool {
	for i := range s.ledger.Claims {
		claim := &s.ledger.Claims[i]
		switch {
		case claim.PoolUID != suspension.UID || !claim.Live() || claim.Ending():
		case claim.State != model.Initialized:
			if s.now()-claim.CreatedUnix <= s.joinWithin(claim) {
				return true
			}
		case claim.LaunchedUnix >= suspension.NotedUnix &&
			slices.ContainsFunc(claim.Pods, func(ref model.PodRef) bool { return waiting[ref.UID] != nil }):
			return true
		}
	}
	return false
}

// conditions shows on pools whether their nodes take the pods they are bought for, where that was ever in doubt.
func (s *suspensions) conditions() {
	for i := range s.ledger.Notes.PoolSuspensions {
		suspension := &s.ledger.Notes.PoolSuspensions[i]
		condition := model.Condition{Object: suspension.Pool, UID: suspension.UID, Type: "NodesTakePods"}
		condition.Status, condition.Reason = "True", condition.Type
		if suspension.Instances > 0 {
			condition.Status, condition.Reason, condition.Message = "False", "NodesDoNotTakePods", suspension.Text()
		}
		s.report.Pools = append(s.report.Pools, condition)
	}
}
