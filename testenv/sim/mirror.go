package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/testenv/sim/audit"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// mirrorWithin is how long what the watcher publishes may lag behind its cluster while nothing goes wrong: its idle window, and what
// its watch and its writes take.
const mirrorWithin = 30 * time.Second

// mirrored holds that what the watchers have published is what is there, which B9 rests on: a snapshot that is fresh by its heartbeat and
// lacks a change is older than it says. What differs twice, mirrorWithin apart, and in the same way, is not on its way.
func (e *engine) mirrored() {
	if len(e.found) > 0 {
		return // nothing goes on after a violation, and what was on its way stays there
	}
	before := make([]map[string]string, len(e.watchers))
	for i, w := range e.watchers {
		before[i] = differences(w.world, w.name)
	}
	if !slices.ContainsFunc(before, func(d map[string]string) bool { return len(d) > 0 }) {
		return
	}
	e.until(e.now().Add(mirrorWithin))
	for i, w := range e.watchers {
		after := differences(w.world, w.name)
		for _, object := range slices.Sorted(maps.Keys(after)) {
			if text := after[object]; text == before[i][object] {
				e.found = append(e.found, audit.Violation{Rule: "B9", At: e.now(), Seq: e.seen, Object: object, Text: text})
			}
		}
	}
}

// differences says of each pod, node and NodeClaim that is otherwise than published what it is and what was published.
func differences(w *world.World, cluster string) map[string]string {
	manifest, _, _, err := w.Ledger.Peek(context.Background(), cluster)
	if err != nil || manifest == nil || manifest.SnapshotKey == "" {
		return map[string]string{"pointer": fmt.Sprintf("nothing is published: %v", err)}
	}
	snapshot, err := w.Store.SnapshotAt(context.Background(), *manifest)
	if err != nil {
		return map[string]string{"pointer": fmt.Sprintf("what is published cannot be read: %v", err)}
	}
	is, published := map[string]string{}, map[string]string{}
	for _, pod := range w.Cluster.Pods() {
		if !pod.Terminal() {
			is[pod.Key()] = fmt.Sprintf("%s on %q, deleted %d", pod.UID, pod.NodeName, pod.DeletedUnix)
		}
	}
	for _, pod := range snapshot.Pods {
		if !pod.Terminal() {
			published[pod.Key()] = fmt.Sprintf("%s on %q, deleted %d", pod.UID, pod.NodeName, pod.DeletedUnix)
		}
	}
	for _, node := range w.Cluster.Nodes() {
		is[node.Name] = fmt.Sprintf("%s, ready %v", node.UID, node.Ready)
	}
	for _, node := range snapshot.Nodes {
		published[node.Name] = fmt.Sprintf("%s, ready %v", node.UID, node.Ready)
	}
	for _, claim := range w.Cluster.Claims() {
		is["nodeclaim "+claim.Claim.Name] = claim.UID
	}
	for _, claim := range snapshot.Claims {
		published["nodeclaim "+claim.Name] = claim.UID
	}
	out := map[string]string{}
	for object := range is {
		if is[object] != published[object] {
			out[object] = fmt.Sprintf("it is %q and published as %q", is[object], published[object])
		}
	}
	for object := range published {
		if is[object] == "" {
			out[object] = fmt.Sprintf("it is gone and published as %q", published[object])
		}
	}
	return out
}
