package headroom

import (
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// MaxPods is for how many pods the buffers of a cluster keep room together: planning takes a place for a pod, and its time and
// memory have their limits.
const MaxPods = 20_000

// LimitBuffers returns the snapshot's buffers with the problem that is nobody's own: those that pass MaxPods, by namespace and name,
// keep no room. It is the snapshot's own list where none does.
func LimitBuffers(snapshot *model.Snapshot) []model.Buffer {
	out, places := snapshot.Buffers, 0
	for i := range out {
		n := int(out[i].Replicas)
		if places+n <= MaxPods {
			places += n
			continue
		}
		if &out[0] == &snapshot.Buffers[0] {
			out = slices.Clone(out)
		}
		out[i].Reason = model.ResolutionFailed
		out[i].Problem = fmt.Sprintf("spec: requests headroom for %d pods, and all buffers of the cluster before it, by namespace and name, for %d of at most %d; request less", n, places, MaxPods)
		out[i].Replicas, out[i].Shape = 0, -1
	}
	return out
}

// WithPlaceholders returns the snapshot with the places of its buffers among its pods; the snapshot itself where there are none. Where a place
// has a pod's name it is the pod that counts. Joining twice changes nothing.
func WithPlaceholders(snapshot *model.Snapshot) *model.Snapshot {
	var places []model.Pod
	for _, buffer := range LimitBuffers(snapshot) {
		for i := range buffer.Replicas {
			places = append(places, place(&buffer, int(i)))
		}
	}
	if len(places) == 0 {
		return snapshot
	}
	compare := func(a, b model.Pod) int { return wire.CompareKeys(a.Namespace, a.Name, b.Namespace, b.Name) }
	slices.SortFunc(places, compare) // 10 comes before 2
	out := *snapshot
	out.Pods = make([]model.Pod, 0, len(snapshot.Pods)+len(places))
	rest := snapshot.Pods
	for _, p := range places {
		n, taken := slices.BinarySearchFunc(rest, p, compare)
		out.Pods, rest = append(out.Pods, rest[:n]...), rest[n:]
		if !taken {
			out.Pods = append(out.Pods, p)
		}
	}
	out.Pods = append(out.Pods, rest...)
	return &out
}

// place returns a buffer's place of a number.
func place(buffer *model.Buffer, number int) model.Pod {
	return model.Pod{
		UID: fmt.Sprintf("%s-%d", buffer.UID, number), Namespace: buffer.Namespace, Name: fmt.Sprintf("capacity-buffer-%s-%d", buffer.Name, number),
		Shape: buffer.Shape, Unschedulable: true, CreatedUnix: buffer.CreatedUnix, Buffer: buffer.Key(),
	}
}
