package pack

import (
	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/terms"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// Spreads reads the DoNotSchedule topology spread constraints of a snapshot's pods, for who counts by them without
// planning. It is for one goroutine.
type Spreads struct {
	snapshot *model.Snapshot
	facts    *group.ShapeFacts
	rules    *group.PodRules
	byShape  map[int][]*Spread
	known    map[spreadName]*Spread
}

// HasSpreads reports whether any of the shapes has a topology spread constraint that must hold.
func HasSpreads(shapes []model.PodShape) bool { return group.HasSpreads(shapes) }

type spreadName struct {
	topologyGroup       int
	maxSkew, minDomains int32
}

// Spread is a constraint. Those that count the same pods on the same nodes and allow the same are one.
type Spread struct {
	Key           string // of the node label, by today's name
	MaxSkew       int32
	MinDomains    int32 // 0 = not said
	of            *Spreads
	topologyGroup int
	counts        map[int]bool // by shape
}

// NewSpreads returns the constraints of the snapshot's pods.
func NewSpreads(snapshot *model.Snapshot) *Spreads {
	return &Spreads{snapshot: snapshot, facts: group.NewShapeFacts(snapshot.Shapes, true), rules: group.NewPodRules(snapshot, group.NoPreferences),
		byShape: make(map[int][]*Spread), known: make(map[spreadName]*Spread)}
}

// Of returns the constraints of pods of a shape, in their order; none where they cannot be read.
func (s *Spreads) Of(shape int) []*Spread {
	if out, read := s.byShape[shape]; read {
		return out
	}
	var out []*Spread
	if facts := s.facts.Of(shape); facts.No == nil && facts.Demand != nil && len(s.snapshot.Shapes[shape].Spread) > 0 {
		constraints, _, _ := s.rules.ReadSpreads(&s.snapshot.Shapes[shape], facts.Demand.There)
		for _, u := range constraints {
			name := spreadName{u.TopologyGroup, u.MaxSkew, u.MinDomains}
			if s.known[name] == nil {
				s.known[name] = &Spread{Key: s.rules.TopologyGroups[u.TopologyGroup].Key, MaxSkew: u.MaxSkew, MinDomains: u.MinDomains, of: s, topologyGroup: u.TopologyGroup, counts: make(map[int]bool)}
			}
			out = append(out, s.known[name])
		}
	}
	s.byShape[shape] = out
	return out
}

// Counts reports whether pods of the shape are counted.
func (s *Spread) Counts(shape int) bool {
	counts, known := s.counts[shape]
	if !known && shape >= 0 && shape < len(s.of.snapshot.Shapes) {
		pod := &s.of.snapshot.Shapes[shape]
		counts = s.of.rules.IsMember(s.of.rules.TopologyGroups[s.topologyGroup].Set, pod, nil)
		s.counts[shape] = counts
	}
	return counts
}

// Domain returns the domain of a node, and whether the constraint looks at the node at all, as if it were not being
// disrupted.
func (s *Spread) Domain(node *model.Node) (value string, counts bool) {
	t := &s.of.rules.TopologyGroups[s.topologyGroup]
	label := func(key string) (string, bool) {
		value, has := requirement.Label(node.Labels, key)
		if !has && key == model.LabelHostname {
			return node.Name, true
		}
		return value, has
	}
	value, has := label(t.Key)
	return value, has && value != "" && s.of.rules.Filters[t.Filter].Passes(label, terms.WithoutDisruptionTaint(node.Taints))
}
