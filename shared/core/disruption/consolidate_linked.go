package disruption

import (
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/topology"
	"github.com/joiner-sh/joiner/shared/model"
)

// rule is a set of pods that some moved pods have a binding rule about.
type rule struct {
	peers  topology.Peers
	shapes []int // of moved pods with the rule
}

// linkedShapes returns sets of the shapes whose pods may depend on where the others go: those with a required term of
// affinity or anti-affinity, or a constraint of spread that is not ScheduleAnyway, together with those it is about.
// Rules that are about none of the shapes tie nothing together: what they are about stays where it is. A rule that
// cannot be read binds nothing, as no new pod with it is placed.
func linkedShapes(snapshot *model.Snapshot, shapes []int) [][]int {
	rules, namespaces := make(map[string]*rule), topology.NamespacesOf(snapshot.Namespaces)
	for _, n := range shapes {
		for _, peers := range bindingRules(&snapshot.Shapes[n], namespaces) {
			r := rules[peers.Key()]
			if r == nil {
				r = &rule{peers: peers}
				rules[peers.Key()] = r
			}
			r.shapes = append(r.shapes, n)
		}
	}
	var out [][]int
	for _, key := range slices.Sorted(maps.Keys(rules)) {
		r, about := rules[key], []int(nil)
		for _, n := range shapes {
			if shape := &snapshot.Shapes[n]; r.peers.Match(shape.Namespace, shape.Labels) {
				about = append(about, n)
			}
		}
		if len(about) > 0 {
			out = append(out, append(about, r.shapes...))
		}
	}
	return out
}

// bindingRules returns the sets of pods that the shape's binding rules are about.
func bindingRules(shape *model.PodShape, namespaces topology.Namespaces) []topology.Peers {
	var out []topology.Peers
	add := func(peers topology.Peers, err error) {
		if err == nil && !peers.IsEmpty() {
			out = append(out, peers)
		}
	}
	for _, terms := range [][]model.PodTerm{shape.PodAffinity, shape.PodAntiAffinity} {
		for i := range terms {
			add(topology.PeersOfTerm(&terms[i], shape, namespaces))
		}
	}
	for i := range shape.Spread {
		if !shape.Spread[i].Anyway {
			add(topology.PeersOfSpread(&shape.Spread[i], shape))
		}
	}
	return out
}
