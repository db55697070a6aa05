package group

import (
	"cmp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/core/topology"
	"github.com/joiner-sh/joiner/shared/model"
)

// conflictsOf returns the DaemonSets, by index, whose pods cannot be on one node with a pod of the shape: required
// anti-affinity of either is about the other, in a domain every node is in. Of daemons that run already the counts of
// rules tell; this is for those of nodes to come.
func (c *Classifier) conflictsOf(shape *model.PodShape) []int {
	var out []int
	for i := range c.Snapshot.DaemonSets {
		set := &c.Snapshot.DaemonSets[i]
		if set.Shape < 0 || set.Shape >= len(c.Snapshot.Shapes) {
			continue
		}
		if daemon := &c.Snapshot.Shapes[set.Shape]; c.shuns(shape, daemon) || c.shuns(daemon, shape) {
			out = append(out, i)
		}
	}
	slices.SortFunc(out, func(a, b int) int { // by name: the order in the snapshot never shows
		x, y := &c.Snapshot.DaemonSets[a], &c.Snapshot.DaemonSets[b]
		return cmp.Or(strings.Compare(x.Namespace, y.Namespace), strings.Compare(x.Name, y.Name))
	})
	return out
}

// shuns reports whether required anti-affinity of one is about the other, wherever both are on one node.
func (c *Classifier) shuns(one, other *model.PodShape) bool {
	for i := range one.PodAntiAffinity {
		term := &one.PodAntiAffinity[i]
		key := requirement.Normalize(term.TopologyKey)
		if key != model.LabelHostname && !offerings.Decided(key) {
			continue
		}
		if peers, err := topology.PeersOfTerm(term, one, c.Rules.namespaces); err == nil && peers.Match(other.Namespace, other.Labels) {
			return true
		}
	}
	return false
}
