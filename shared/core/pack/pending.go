package pack

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/topology"
	"github.com/joiner-sh/joiner/shared/model"
)

// Provisionable reports whether pod i of the snapshot asks for capacity; where it does not, why says so in a sentence.
func Provisionable(snapshot *model.Snapshot, i int) (ok bool, why string) {
	return provisionable(snapshot, i, func(pod *model.Pod) bool { return preempting(snapshot, pod, contents(snapshot)) })
}

func provisionable(snapshot *model.Snapshot, i int, preempts func(*model.Pod) bool) (ok bool, why string) {
	if i < 0 || i >= len(snapshot.Pods) {
		return false, "the snapshot has no such pod"
	}
	pod := &snapshot.Pods[i]
	switch {
	case pod.NodeName != "":
		return false, "it is bound to node " + pod.NodeName
	case pod.Terminal():
		return false, "it has ended"
	case pod.DeletedUnix != 0:
		return false, "it is being deleted"
	case pod.NominatedNode != "" && preempts(pod):
		return false, "it waits for preemption on node " + pod.NominatedNode
	case pod.Shape < 0 || pod.Shape >= len(snapshot.Shapes):
		return true, ""
	}
	shape := snapshot.ShapeOf(pod)
	switch {
	case shape.Gated:
		return false, "it has scheduling gates left"
	case shape.OwnerKind == "DaemonSet":
		return false, fmt.Sprintf("it belongs to DaemonSet %s and its node", shape.OwnerName)
	case shape.OwnerKind == "Node":
		return false, "it is a static pod of its node"
	case shape.System:
		return false, "it is a system workload (annotation " + model.AnnotationSystem + "): no node is launched for it"
	case !pod.Unschedulable:
		return false, "kube-scheduler has not found it unschedulable"
	}
	return true, ""
}

// Preempting reports whether pod i waits for pods to leave the node it is nominated to. One that is nominated to a node
// that nobody leaves and nobody of lower priority is on, or that is not there, waits for nothing: kube-scheduler binds
// it, or there is no room.
func Preempting(snapshot *model.Snapshot, i int) bool {
	pod := &snapshot.Pods[i]
	return pod.NominatedNode != "" && preempting(snapshot, pod, contents(snapshot))
}

// content is what is on a node that some pod is nominated to.
type content struct {
	leaving bool  // a pod of it is being deleted
	lowest  int32 // priority of those on it but for daemons' and static pods
}

// contents returns what is on the nodes that pods are nominated to, by name; none for those that are not there.
func contents(snapshot *model.Snapshot) map[string]content {
	out := make(map[string]content)
	for i := range snapshot.Pods {
		if pod := &snapshot.Pods[i]; pod.NominatedNode != "" && pod.NodeName == "" {
			out[pod.NominatedNode] = content{lowest: math.MaxInt32}
		}
	}
	if len(out) == 0 {
		return nil
	}
	there := make(map[string]bool, len(out))
	for i := range snapshot.Nodes {
		if _, asked := out[snapshot.Nodes[i].Name]; asked {
			there[snapshot.Nodes[i].Name] = true
		}
	}
	maps.DeleteFunc(out, func(name string, _ content) bool { return !there[name] })
	for i := range snapshot.Pods {
		pod := &snapshot.Pods[i]
		on, asked := out[pod.NodeName]
		if !asked || pod.Terminal() || pod.Shape < 0 || pod.Shape >= len(snapshot.Shapes) {
			continue
		}
		on.leaving = on.leaving || pod.DeletedUnix != 0
		if shape := snapshot.ShapeOf(pod); shape.OwnerKind != "DaemonSet" && shape.OwnerKind != "Node" {
			on.lowest = min(on.lowest, shape.Priority)
		}
		out[pod.NodeName] = on
	}
	return out
}

func preempting(snapshot *model.Snapshot, pod *model.Pod, on map[string]content) bool {
	there, known := on[pod.NominatedNode]
	return known && (there.leaving || there.lowest < snapshot.PriorityOf(pod))
}

// pendingPods returns the pods to place, each once, and a set of the same.
func pendingPods(in *Input) ([]int, map[int]bool) {
	chosen, list := make(map[int]bool, len(in.Pending)), make([]int, 0, len(in.Pending))
	add := func(i int) {
		if i >= 0 && i < len(in.Snapshot.Pods) && !chosen[i] {
			chosen[i] = true
			list = append(list, i)
		}
	}
	if in.Pending != nil {
		for _, i := range in.Pending {
			add(i)
		}
		return list, chosen
	}
	for _, i := range Pending(in.Snapshot) {
		add(i)
	}
	return list, chosen
}

// Pending returns the pods that ask for capacity, as indexes into the snapshot's pods, ascending: the provisionable
// ones, and those that will have to leave nodes being deleted or drained.
func Pending(snapshot *model.Snapshot) []int { return PendingAt(snapshot, nil, 0) }

// Leaving says of nodes that are to end, by name, by when no pod is left there, in Unix seconds; 0 = there is no such
// time. Stays says of a node that it is not to end, though it is tainted as those are.
type Leaving map[string]int64

// Stays is what Leaving says of a node that is tainted and that nobody has decided to end: it is looked at, or its
// replacement is on its way. Nothing new goes there, and its pods ask for nothing.
const Stays = int64(-1)

// PendingAt is Pending at a time, where of some nodes more is known than they show. A pod that its budget or
// do-not-disrupt keeps where it is asks for no capacity elsewhere, until it is about to be made to leave: an instance
// for it would stand empty.
func PendingAt(snapshot *model.Snapshot, leaving Leaving, nowUnix int64) []int {
	deadlines := make(map[string]int64, len(leaving))
	for i := range snapshot.Nodes {
		node := &snapshot.Nodes[i]
		deadline, known := leaving[node.Name]
		switch {
		case deadline == Stays && node.DeletedUnix == 0:
		case deadline == Stays:
			deadlines[node.Name] = 0
		case known || node.DeletedUnix != 0 || input.Draining(node):
			deadlines[node.Name] = deadline
		}
	}
	var out []int
	var nominated map[string]content // looked up for the first that is
	preempts := func(pod *model.Pod) bool {
		if nominated == nil {
			nominated = contents(snapshot)
		}
		return preempting(snapshot, pod, nominated)
	}
	for i := range snapshot.Pods {
		if node := snapshot.Pods[i].NodeName; node != "" { // most are; saying why not takes longer than looking
			if len(deadlines) == 0 {
				continue
			}
			if deadline, leaves := deadlines[node]; leaves && displaced(snapshot, i, deadline, nowUnix) {
				out = append(out, i)
			}
			continue
		}
		if ok, _ := provisionable(snapshot, i, preempts); ok {
			out = append(out, i)
		}
	}
	return out
}

// aheadSeconds is how long before a pod is made to leave its next place is planned: about what an instance takes to be
// ready, and a minute's resync.
const aheadSeconds = 240

// Displaced reports whether pod i of the snapshot will be made anew elsewhere once its node has gone away, whatever
// forbids that it is evicted.
func Displaced(snapshot *model.Snapshot, i int) bool { return displaced(snapshot, i, 1, 2) }

// displaced reports whether a pod of a node that goes away needs a place elsewhere: it is no daemon's, static or system
// pod, has not ended, and may be evicted or is to go soon whatever forbids it. A StatefulSet's pod on its way
// out comes back under the same name.
func displaced(snapshot *model.Snapshot, i int, deadlineUnix, nowUnix int64) bool {
	pod := &snapshot.Pods[i]
	if pod.Terminal() || pod.Shape < 0 || pod.Shape >= len(snapshot.Shapes) {
		return false
	}
	shape := snapshot.ShapeOf(pod)
	switch {
	case !shape.KeepsNode():
		return false
	case pod.DeletedUnix != 0:
		return shape.OwnerKind == "StatefulSet"
	case deadlineUnix != 0 && deadlineUnix-max(0, shape.GraceSeconds)-aheadSeconds <= nowUnix: // a pod is deleted its own grace before
		return true
	case keeps(pod, shape, nowUnix):
		return false
	}
	return !slices.ContainsFunc(snapshot.Budgets, func(b model.PDB) bool { return blocks(&b, shape) })
}

// keeps reports whether a pod's do-not-disrupt keeps it from being evicted soon: "true" always does, a duration for so
// long after the pod's start. Anything else says nothing.
func keeps(pod *model.Pod, shape *model.PodShape, nowUnix int64) bool {
	shield := model.ReadDoNotDisrupt(shape.DoNotDisrupt, pod.StartedUnix)
	switch {
	case !shield.Says:
		return false
	case shield.UntilUnix == 0:
		return shield.Always || nowUnix != 0
	}
	return nowUnix != 0 && nowUnix+aheadSeconds < shield.UntilUnix
}

// blocks reports whether the budget never lets a pod of the shape be evicted.
func blocks(b *model.PDB, shape *model.PodShape) bool {
	if b.MaxUnavailable != "0" && b.MaxUnavailable != "0%" && b.MinAvailable != "100%" || b.Namespace != shape.Namespace {
		return false
	}
	matched, err := topology.Matches(b.Selector, shape.Labels)
	return err == nil && matched
}
