package publish

import (
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// state is the cluster as it is now. Rows refer to shapes by their numbers in shapes.
type state struct {
	shapes      *wire.Shapes
	knownShapes int // how many the published chain has

	homed map[string]int // pods that make a node worth keeping, by its name

	pods       table[model.Pod]
	nodes      table[model.Node]
	pools      table[model.Pool]
	classes    table[model.Class]
	claims     table[model.Object]
	daemonSets table[model.DaemonSet]
	namespaces table[model.Namespace]
	budgets    table[model.PDB]
	volumes    table[model.Volume]
	storage    table[model.Storage]
	csiNodes   table[model.CSINode]
	buffers    table[model.Buffer]
	overlays   table[model.Overlay]

	resourceClaims table[model.ResourceClaim]
	claimTemplates table[model.ResourceClaimTemplate]
	deviceClasses  table[model.DeviceClass]
	slices         table[model.ResourceSlice]
}

// ours reports whether there is a node or a NodeClaim of ours.
func (s *state) ours() bool {
	if len(s.claims.rows) > 0 {
		return true
	}
	for i := range s.nodes.rows {
		if node := s.nodes.rows[i]; node.Finalizer || node.Pool() != "" {
			return true
		}
	}
	return false
}

// apply takes a change in and reports whether anything differs.
func (s *state) apply(c wire.Change) bool {
	switch {
	case c.Pod != nil:
		return s.pod(c)
	case c.DaemonSet != nil:
		return s.daemonSet(c)
	case c.Node != nil:
		return s.node(c)
	case c.Pool != nil:
		return change(&s.pools, c.Deleted, c.Pool.Name, c.Pool)
	case c.Class != nil:
		return change(&s.classes, c.Deleted, c.Class.Name, c.Class)
	case c.Claim != nil:
		return change(&s.claims, c.Deleted, c.Claim.Name, c.Claim)
	case c.Namespace != nil:
		return change(&s.namespaces, c.Deleted, c.Namespace.Name, c.Namespace)
	case c.Budget != nil:
		return change(&s.budgets, c.Deleted, c.Budget.Namespace+"/"+c.Budget.Name, c.Budget)
	case c.Volume != nil:
		return change(&s.volumes, c.Deleted, c.Volume.Namespace+"/"+c.Volume.Name, c.Volume)
	case c.Storage != nil:
		return change(&s.storage, c.Deleted, c.Storage.Name, c.Storage)
	case c.CSINode != nil:
		return change(&s.csiNodes, c.Deleted, c.CSINode.Node, c.CSINode)
	case c.Buffer != nil:
		return s.buffer(c)
	case c.Overlay != nil:
		return change(&s.overlays, c.Deleted, c.Overlay.Name, c.Overlay)
	}
	return s.devices(c)
}

// devices is apply for what dynamic resource allocation is about.
func (s *state) devices(c wire.Change) bool {
	switch {
	case c.ResourceClaim != nil:
		return change(&s.resourceClaims, c.Deleted, c.ResourceClaim.Namespace+"/"+c.ResourceClaim.Name, c.ResourceClaim)
	case c.ResourceClaimTemplate != nil:
		t := c.ResourceClaimTemplate
		return change(&s.claimTemplates, c.Deleted, t.Namespace+"/"+t.Name, t)
	case c.DeviceClass != nil:
		return change(&s.deviceClasses, c.Deleted, c.DeviceClass.Name, c.DeviceClass)
	case c.ResourceSlice != nil:
		return change(&s.slices, c.Deleted, c.ResourceSlice.Name, c.ResourceSlice)
	}
	return false
}

func change[T any](t *table[T], deleted bool, key string, row *T) bool {
	if deleted {
		return t.drop(key)
	}
	return t.put(key, *row)
}

func (s *state) pod(c wire.Change) bool {
	if c.Deleted {
		return s.pods.drop(c.Pod.Key())
	}
	row := *c.Pod
	row.Shape, _ = s.shapes.Intern(c.Shape)
	return s.pods.put(row.Key(), row)
}

// node takes in a node. What was seen of its pods stays with it; another node of its name begins anew.
func (s *state) node(c wire.Change) bool {
	if old, known := s.nodes.rows[c.Node.Name]; known && !c.Deleted && old.UID == c.Node.UID {
		c.Node.PodEventUnix = old.PodEventUnix
	}
	return change(&s.nodes, c.Deleted, c.Node.Name, c.Node)
}

func (s *state) daemonSet(c wire.Change) bool {
	key := c.DaemonSet.Namespace + "/" + c.DaemonSet.Name
	if c.Deleted {
		return s.daemonSets.drop(key)
	}
	row := *c.DaemonSet
	row.Shape, _ = s.shapes.Intern(c.Shape)
	return s.daemonSets.put(key, row)
}

func (s *state) buffer(c wire.Change) bool {
	if c.Deleted {
		return s.buffers.drop(c.Buffer.Key())
	}
	row := *c.Buffer
	if row.Shape = -1; row.Replicas > 0 {
		row.Shape, _ = s.shapes.Intern(c.Shape)
	}
	return s.buffers.put(row.Key(), row)
}

// delta takes what changed since the last publication.
func (s *state) delta() *wire.Delta {
	d := &wire.Delta{FirstShape: s.knownShapes, Shapes: s.shapes.From(s.knownShapes)}
	s.knownShapes = s.shapes.Len()
	d.Pods, d.Gone.Pods = s.pods.take()
	d.Nodes, d.Gone.Nodes = s.nodes.take()
	d.Pools, d.Gone.Pools = s.pools.take()
	d.Classes, d.Gone.Classes = s.classes.take()
	d.Claims, d.Gone.Claims = s.claims.take()
	d.DaemonSets, d.Gone.DaemonSets = s.daemonSets.take()
	d.Namespaces, d.Gone.Namespaces = s.namespaces.take()
	d.Budgets, d.Gone.Budgets = s.budgets.take()
	d.Volumes, d.Gone.Volumes = s.volumes.take()
	d.Storage, d.Gone.Storage = s.storage.take()
	d.CSINodes, d.Gone.CSINodes = s.csiNodes.take()
	d.Buffers, d.Gone.Buffers = s.buffers.take()
	d.Overlays, d.Gone.Overlays = s.overlays.take()
	d.ResourceClaims, d.Gone.ResourceClaims = s.resourceClaims.take()
	d.ResourceClaimTemplates, d.Gone.ResourceClaimTemplates = s.claimTemplates.take()
	d.DeviceClasses, d.Gone.DeviceClasses = s.deviceClasses.take()
	d.ResourceSlices, d.Gone.ResourceSlices = s.slices.take()
	return d
}

// snapshot returns everything, over a dictionary that holds only the shapes in use; rows keep to it from now on.
func (s *state) snapshot() *model.Snapshot {
	s.compact()
	return &model.Snapshot{
		Shapes:     s.shapes.From(0),
		Pods:       s.pods.all(),
		Nodes:      s.nodes.all(),
		Pools:      s.pools.all(),
		Classes:    s.classes.all(),
		Claims:     s.claims.all(),
		DaemonSets: s.daemonSets.all(),
		Namespaces: s.namespaces.all(),
		Budgets:    s.budgets.all(),
		Volumes:    s.volumes.all(),
		Storage:    s.storage.all(),
		CSINodes:   s.csiNodes.all(),
		Buffers:    s.buffers.all(),
		Overlays:   s.overlays.all(),

		ResourceClaims:         s.resourceClaims.all(),
		ResourceClaimTemplates: s.claimTemplates.all(),
		DeviceClasses:          s.deviceClasses.all(),
		ResourceSlices:         s.slices.all(),
	}
}

// compact renumbers the shapes that are in use and forgets the others.
func (s *state) compact() {
	old, fresh := s.shapes.From(0), &wire.Shapes{}
	renumbered := make([]int, len(old))
	used := make([]bool, len(old))
	renumber := func(shape int) int {
		if !used[shape] {
			used[shape] = true
			renumbered[shape], _ = fresh.Intern(&old[shape])
		}
		return renumbered[shape]
	}
	for _, key := range slices.Sorted(maps.Keys(s.pods.rows)) {
		row := s.pods.rows[key]
		row.Shape = renumber(row.Shape)
		s.pods.rows[key] = row
	}
	for _, key := range slices.Sorted(maps.Keys(s.daemonSets.rows)) {
		row := s.daemonSets.rows[key]
		row.Shape = renumber(row.Shape)
		s.daemonSets.rows[key] = row
	}
	for _, key := range slices.Sorted(maps.Keys(s.buffers.rows)) {
		row := s.buffers.rows[key]
		if row.Replicas > 0 {
			row.Shape = renumber(row.Shape)
			s.buffers.rows[key] = row
		}
	}
	s.shapes, s.knownShapes = fresh, fresh.Len()
}
