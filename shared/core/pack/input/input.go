package input

import (
	"cmp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// OnNode reports whether pod i holds something of the node it is on.
func OnNode(snapshot *model.Snapshot, i int, moving map[int]bool) bool {
	pod := &snapshot.Pods[i]
	return pod.NodeName != "" && !pod.Terminal() && pod.Shape >= 0 && pod.Shape < len(snapshot.Shapes) && (len(moving) == 0 || !moving[i])
}

// Draining reports whether the node has the taint of nodes that are being disrupted.
func Draining(node *model.Node) bool {
	return slices.ContainsFunc(node.Taints, func(t model.Taint) bool { return t.Key == model.TaintDisrupted })
}

// Input is everything a plan depends on. Plan reads it and keeps nothing of it.
type Input struct {
	Snapshot *model.Snapshot
	// Catalogs is what each class can buy, by class name, unavailable offerings included; what a pool sees of it by
	// model.CatalogKey, where overlays change that. A pool whose class is absent is reported as ClassNotReady.
	Catalogs map[string][]model.InstanceType
	// ClassProblems says why a class cannot be used now, by class name. Such a class's pools are not used even where
	// Catalogs has it.
	ClassProblems map[string]string
	// SuspendedPools says why no instance is bought for a pool now, by pool name.
	SuspendedPools map[string]string
	// Claims are the ledger's. Live ones are capacity on its way until their node is in the snapshot.
	Claims []model.Claim
	// Usage is what is held against each pool's limits, by pool name, with nodes.
	Usage map[string]model.Resources
	// Taken is, by capacity reservation, how many instances are spoken for of those that Catalogs say are left.
	Taken map[string]int64
	// UnavailableOfferings only serve reasons: until when an unavailable offering is left alone. Catalogs already show
	// their effect.
	UnavailableOfferings []model.UnavailableOffering
	// Pending are the pods to place, as indexes into Snapshot.Pods; nil means what Pending returns. A pod listed here
	// takes nothing of the node it is bound to. Indexes out of range and repeated ones are ignored.
	Pending []int
	// Later are pods that wait too and are planned another time: the plan only counts them.
	Later []int
	// Homed says that some pods of the snapshot are bound to claims on their way, by the claims' names. They hold their
	// room there.
	Homed bool
	// Settled are those of the pods to place, as indexes into Snapshot.Pods, that run well where they are and would be
	// made to leave voluntarily. Nodes and claims of Restless, by name, take none of them. Their spread constraints
	// count every domain their pools can make a node in now, whether one is there or not, and 0 as the emptiest host.
	Settled  []int
	Churning map[string]bool
	// Expected are pods that are not yet on the nodes they are bound to in the snapshot, as indexes into Snapshot.Pods,
	// with the names of those they are on until then; empty = none. They hold their room, and settled pods that have to
	// be near them go only where they are before and after, those that have to be far from them nowhere of both. Pods
	// that are to be placed may be listed with the node they are on.
	Expected map[int]string
	// Going are nodes that are being disrupted voluntarily. They take no pod and hold none, but count as domains of
	// spread constraints: until they are gone kube-scheduler counts them, and settled pods are not to give their
	// domains up.
	Going   []model.Node
	NowUnix int64
	// IgnorePreferences leaves preferred affinity and ScheduleAnyway constraints to kube-scheduler alone.
	IgnorePreferences bool
	// BestEffortMinValues lowers a pool's minValues to what can be had instead of refusing the pod. Such a claim
	// carries the annotation model.AnnotationMinValuesRelaxed.
	BestEffortMinValues bool
	// Salt goes into the claims' names, so that planning the same pods again after a failed launch gives new names.
	Salt string
}

// Refs names pods, by key.
func Refs(snapshot *model.Snapshot, pods []int) []model.PodRef {
	out := make([]model.PodRef, 0, len(pods))
	for _, i := range SortedPods(snapshot, pods) {
		pod := &snapshot.Pods[i]
		out = append(out, pod.Ref())
	}
	return out
}

// SortedPods returns the indexes by pod key, then UID, then index.
func SortedPods(snapshot *model.Snapshot, pods []int) []int {
	compare := func(i, j int) int {
		a, b := &snapshot.Pods[i], &snapshot.Pods[j]
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), strings.Compare(a.UID, b.UID), cmp.Compare(i, j))
	}
	out := slices.Clone(pods)
	if slices.IsSortedFunc(out, compare) {
		return out
	}
	if slices.Sort(out); !slices.IsSortedFunc(out, compare) { // most snapshots list pods in order
		slices.SortFunc(out, compare)
	}
	return out
}
