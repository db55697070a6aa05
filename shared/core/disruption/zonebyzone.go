package disruption

import (
	"cmp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// zoneByZone reports whether nodes of the pool are renewed in one zone at a time.
func zoneByZone(pool *model.Pool) bool {
	return pool != nil && pool.Annotations[model.AnnotationZoneByZone] == "true"
}

func zoneOf(node *poolNode) string { return node.Node.Labels[model.LabelZone] }

// byTurn orders nodes of a pool that are to be renewed: by zone where the pool goes zone by zone, then by age.
func byTurn(a, b *poolNode) int {
	if zoneByZone(a.Pool) {
		return cmp.Or(strings.Compare(zoneOf(a), zoneOf(b)), byAge(a, b))
	}
	return byAge(a, b)
}

// otherZone returns why a node is not renewed now though its budgets let it: its pool goes zone by zone, and nodes of
// another zone are disrupted or not ready. Those that only cannot be disrupted hold up no other zone. Nil where nothing
// is in its way.
func (p *planner) otherZone(node *poolNode) *model.KeptReason {
	if !zoneByZone(node.Pool) {
		return nil
	}
	var zones []string
	for _, other := range p.fork.poolNodes {
		if other.Node.Pool() == node.Pool.Name && p.budgets.counted[other.name()] && zoneOf(other) != zoneOf(node) {
			zones = append(zones, zoneOf(other))
		}
	}
	if len(zones) == 0 {
		return nil
	}
	slices.Sort(zones)
	return because(ZoneWaits, "nodes of NodePool %s are replaced zone by zone (%s), and nodes in %s are disrupted, "+
		"or not ready", node.Pool.Name, model.AnnotationZoneByZone, some("zone", slices.Compact(zones)))
}
