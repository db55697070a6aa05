package world

import (
	"sort"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// Watch is one client's view of the cluster: a list, and then each change some time after it was made. When it breaks it
// must list again, and learns then of what it missed, deletions included.
type Watch struct {
	cluster *Cluster
	lag     time.Duration
	at      int64 // version delivered last
	listed  bool
	broken  bool
	seen    map[[2]string]any // kind and key of what was delivered and is there, to tell deletions after a list
	events  map[string]int64  // when pods came to nodes or left them last, as far as this client has seen and told, by node
}

// Watch returns a new client's watch, which has seen nothing. Changes come lag after they were made.
func (c *Cluster) Watch(lag time.Duration) *Watch {
	return &Watch{cluster: c, lag: lag, seen: map[[2]string]any{}, events: map[string]int64{}}
}

// SetLag changes how late later changes come.
func (w *Watch) SetLag(lag time.Duration) { w.lag = lag }

// Break ends the stream: the next Poll fails with Gone, and the one after it lists again.
func (w *Watch) Break() { w.broken = true }

// Version is that of the newest change that was delivered.
func (w *Watch) Version() int64 { return w.at }

// Next returns when there is something to poll; false where nothing is on its way.
func (w *Watch) Next() (time.Time, bool) {
	c := w.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if !w.listed || w.broken || w.at < c.trimmed {
		return c.now(), true
	}
	if i := c.after(w.at); i < len(c.history) {
		return c.history[i].at.Add(w.lag), true
	}
	return time.Time{}, false
}

// after returns the index in history of the first change after a version.
func (c *Cluster) after(version int64) int {
	return sort.Search(len(c.history), func(i int) bool { return c.history[i].version > version })
}

// Poll returns what is due, in order. A broken watch answers 410 Gone once; then everything there is comes as if it were
// new, after what has disappeared since.
func (w *Watch) Poll() ([]wire.Change, error) {
	c := w.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.asked("watch"); err != nil {
		return nil, err
	}
	if w.listed && (w.broken || w.at < c.trimmed) {
		w.broken, w.listed = false, false
		return nil, fault.New(fault.NotFound, "Gone", "too old resource version: %d (%d)", w.at, c.version)
	}
	if !w.listed {
		w.listed, w.broken, w.at = true, false, c.version
		return w.relist(), nil
	}
	var out []wire.Change
	for i := c.after(w.at); i < len(c.history); i++ {
		step := &c.history[i]
		if step.at.Add(w.lag).After(c.now()) {
			break
		}
		w.at = step.version
		if step.kind == KindVolume {
			continue // nobody watches these
		}
		out = append(out, w.deliver(step.kind, step.key, step.before, step.after))
		if c.choices && step.kind == KindPod {
			out = append(out, w.podEvent(step)...)
		}
	}
	return out, nil
}

func (w *Watch) deliver(kind, key string, before, after any) wire.Change {
	if after == nil {
		delete(w.seen, [2]string{kind, key})
		return w.cluster.change(before, true)
	}
	w.seen[[2]string{kind, key}] = after
	return w.addPods(w.cluster.change(after, false))
}

// addPods adds to a node what this client knows of its pods beside what the API server says.
func (w *Watch) addPods(change wire.Change) wire.Change {
	if change.Node == nil {
		return change
	}
	if at := w.events[change.Node.Name]; at != 0 {
		node := *change.Node
		node.PodEventUnix = at
		change.Node = &node
	}
	return change
}

// podEvent is what a change of a pod says of its node: that one came, ended or left. It is told to within ten seconds, of pods
// that belong to no DaemonSet.
func (w *Watch) podEvent(step *change) []wire.Change {
	before, _ := step.before.(*model.Pod)
	after, _ := step.after.(*model.Pod)
	pod := after
	if pod == nil {
		pod = before
	}
	came := before != nil && after != nil && before.NodeName == "" && after.NodeName != "" || before == nil && after.NodeName != ""
	ended := before != nil && before.NodeName != "" && !before.Terminal() && (after == nil || after.Terminal())
	c, at := w.cluster, step.at.Unix()
	if !came && !ended || c.shapes[pod.Shape].OwnerKind == KindDaemons || c.shapes[pod.Shape].OwnerKind == KindNode || at < w.events[pod.NodeName]+10 {
		return nil
	}
	node, there := w.seen[[2]string{KindNode, pod.NodeName}].(*model.Node)
	if !there {
		return nil
	}
	w.events[pod.NodeName] = at
	return []wire.Change{w.addPods(c.change(node, false))}
}

// relist compares what is there with what was delivered.
func (w *Watch) relist() []wire.Change {
	c := w.cluster
	old := w.seen
	w.seen = map[[2]string]any{}
	var out []wire.Change
	add := func(kind string, keys []string, row func(key string) any) {
		for _, key := range keys {
			value := row(key)
			w.seen[[2]string{kind, key}] = value
			if old[[2]string{kind, key}] != value {
				out = append(out, w.addPods(c.change(value, false)))
			}
		}
	}
	add(KindNamespace, c.spaces.keys, func(key string) any { return c.spaces.rows[key] })
	add(KindClass, c.classes.keys, func(key string) any { return c.classes.rows[key] })
	add(KindPool, c.pools.keys, func(key string) any { return c.pools.rows[key] })
	add(KindDaemons, c.daemons.keys, func(key string) any { return c.daemons.rows[key] })
	add(KindBudget, c.budgets.keys, func(key string) any { return c.budgets.rows[key] })
	add(KindBuffer, c.buffers.keys, func(key string) any { return c.buffers.rows[key] })
	add(KindOverlay, c.overlays.keys, func(key string) any { return c.overlays.rows[key] })
	add(KindNodeClaim, c.claims.keys, func(key string) any { return c.claims.rows[key] })
	add(KindNode, c.nodes.keys, func(key string) any { return c.nodes.rows[key] })
	add(KindPod, c.pods.keys, func(key string) any { return c.pods.rows[key] })
	add(KindDeviceClass, c.deviceClasses.keys, func(key string) any { return c.deviceClasses.rows[key] })
	add(KindClaimTemplate, c.claimTemplates.keys, func(key string) any { return c.claimTemplates.rows[key] })
	add(KindResourceClaim, c.deviceClaims.keys, func(key string) any { return c.deviceClaims.rows[key] })
	add(KindResourceSlice, c.slices.keys, func(key string) any { return c.slices.rows[key] })
	var gone [][2]string
	for at := range old {
		if _, there := w.seen[at]; !there {
			gone = append(gone, at)
		}
	}
	sort.Slice(gone, func(i, j int) bool { return gone[i][0]+gone[i][1] < gone[j][0]+gone[j][1] })
	lost := make([]wire.Change, 0, len(gone)+len(out))
	for _, at := range gone {
		lost = append(lost, c.change(old[at], true))
	}
	return append(lost, out...)
}

// change is a stored value as the watcher's flow takes it.
func (c *Cluster) change(value any, deleted bool) wire.Change {
	out := wire.Change{Deleted: deleted}
	switch v := value.(type) {
	case *model.Pod:
		out.Pod, out.Shape = v, &c.shapes[v.Shape]
	case *model.DaemonSet:
		out.DaemonSet, out.Shape = v, &c.shapes[v.Shape]
	case *model.Node:
		out.Node = v
	case *model.Pool:
		out.Pool = v
	case *model.Class:
		out.Class = v
	case *NodeClaim:
		object := c.objectOf(v)
		out.Claim = &object
	case *model.Namespace:
		out.Namespace = v
	case *model.PDB:
		out.Budget = v
	case *model.Buffer:
		if out.Buffer = v; v.Shape >= 0 {
			out.Shape = &c.shapes[v.Shape]
		}
	case *model.Overlay:
		out.Overlay = v
	case *model.DeviceClass:
		out.DeviceClass = v
	case *model.ResourceClaimTemplate:
		out.ResourceClaimTemplate = v
	case *model.ResourceClaim:
		out.ResourceClaim = v
	case *model.ResourceSlice:
		out.ResourceSlice = v
	}
	return out
}

// ListAt returns the cluster as it was some time ago, as an API server that has fallen behind would: with the AtUnix of
// now, because it does not know.
func (c *Cluster) ListAt(ago time.Duration) (*model.Snapshot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.asked("list"); err != nil {
		return nil, err
	}
	rows := c.rowsAt(c.now().Add(-ago))
	return &model.Snapshot{
		Cluster: c.name, AtUnix: c.now().Unix(), Shapes: c.shapes, Pods: sorted[model.Pod](rows[KindPod]), Nodes: sorted[model.Node](rows[KindNode]),
		Pools: sorted[model.Pool](rows[KindPool]), Classes: sorted[model.Class](rows[KindClass]), Budgets: sorted[model.PDB](rows[KindBudget]),
		DaemonSets: sorted[model.DaemonSet](rows[KindDaemons]), Namespaces: sorted[model.Namespace](rows[KindNamespace]),
		Claims: c.objects(sorted[NodeClaim](rows[KindNodeClaim])), Buffers: sorted[model.Buffer](rows[KindBuffer]),
		Overlays:               sorted[model.Overlay](rows[KindOverlay]),
		DeviceClasses:          sorted[model.DeviceClass](rows[KindDeviceClass]),
		ResourceClaimTemplates: sorted[model.ResourceClaimTemplate](rows[KindClaimTemplate]),
		ResourceClaims:         sorted[model.ResourceClaim](rows[KindResourceClaim]),
		ResourceSlices:         sorted[model.ResourceSlice](rows[KindResourceSlice]),
	}, nil
}

// rowsAt returns the objects there were at a time, by kind and key. The caller holds mu.
func (c *Cluster) rowsAt(then time.Time) map[string]map[string]any {
	rows := map[string]map[string]any{}
	load := func(kind string, keys []string, row func(key string) any) {
		rows[kind] = make(map[string]any, len(keys))
		for _, key := range keys {
			rows[kind][key] = row(key)
		}
	}
	load(KindPod, c.pods.keys, func(key string) any { return c.pods.rows[key] })
	load(KindDeviceClass, c.deviceClasses.keys, func(key string) any { return c.deviceClasses.rows[key] })
	load(KindClaimTemplate, c.claimTemplates.keys, func(key string) any { return c.claimTemplates.rows[key] })
	load(KindResourceClaim, c.deviceClaims.keys, func(key string) any { return c.deviceClaims.rows[key] })
	load(KindResourceSlice, c.slices.keys, func(key string) any { return c.slices.rows[key] })
	load(KindNode, c.nodes.keys, func(key string) any { return c.nodes.rows[key] })
	load(KindPool, c.pools.keys, func(key string) any { return c.pools.rows[key] })
	load(KindClass, c.classes.keys, func(key string) any { return c.classes.rows[key] })
	load(KindNodeClaim, c.claims.keys, func(key string) any { return c.claims.rows[key] })
	load(KindBudget, c.budgets.keys, func(key string) any { return c.budgets.rows[key] })
	load(KindBuffer, c.buffers.keys, func(key string) any { return c.buffers.rows[key] })
	load(KindOverlay, c.overlays.keys, func(key string) any { return c.overlays.rows[key] })
	load(KindDaemons, c.daemons.keys, func(key string) any { return c.daemons.rows[key] })
	load(KindNamespace, c.spaces.keys, func(key string) any { return c.spaces.rows[key] })
	for i := len(c.history) - 1; i >= 0 && c.history[i].at.After(then); i-- {
		if step := &c.history[i]; rows[step.kind] == nil {
			continue // of a kind that snapshots do not have
		} else if step.before == nil {
			delete(rows[step.kind], step.key)
		} else {
			rows[step.kind][step.key] = step.before
		}
	}
	return rows
}

// versionAt returns the version of the API server at a time. The caller holds mu.
func (c *Cluster) versionAt(then time.Time) int64 {
	for i := len(c.history) - 1; i >= 0; i-- {
		if !c.history[i].at.After(then) {
			return c.history[i].version
		}
	}
	return min(c.version, max(c.trimmed, 1))
}

func sorted[T any](rows map[string]any) []T {
	var t table[T]
	for key, row := range rows {
		t.put(key, row.(*T))
	}
	return t.all()
}
