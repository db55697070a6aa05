package pack

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/terms"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// Spreads reads the DoNotSchedule topology spread constraints of a snapshot's pods, for who counts by them without planning. It is for
// one goroutine.
type Spreads struct {
	snapshot *model.Snapshot
	facts    *shapeFacts
	rules    *podRules
	byShape  map[int][]*Spread
	known    map[spreadName]*Spread
}

// HasSpreads reports whether any of the shapes has a topology spread constraint that must hold.
func HasSpreads(shapes []model.PodShape) bool {
	return slices.ContainsFunc(shapes, func(s model.PodShape) bool {
		return slices.ContainsFunc(s.Spread, func(c model.Spread) bool { return !c.Anyway })
	})
}

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
	return &Spreads{snapshot: snapshot, facts: newShapeFacts(snapshot.Shapes, true), rules: newPodRules(snapshot, noPreferences),
		byShape: make(map[int][]*Spread), known: make(map[spreadName]*Spread)}
}

// Of returns the constraints of pods of a shape, in their order; none where they cannot be read.
func (s *Spreads) Of(shape int) []*Spread {
	if out, read := s.byShape[shape]; read {
		return out
	}
	var out []*Spread
	if facts := s.facts.of(shape); facts.no == nil && facts.demand != nil && len(s.snapshot.Shapes[shape].Spread) > 0 {
		constraints, _, _ := s.rules.readSpreads(&s.snapshot.Shapes[shape], facts.demand.there)
		for _, u := range constraints {
			name := spreadName{u.topologyGroup, u.maxSkew, u.minDomains}
			if s.known[name] == nil {
				s.known[name] = &Spread{Key: s.rules.topologyGroups[u.topologyGroup].key, MaxSkew: u.maxSkew, MinDomains: u.minDomains, of: s, topologyGroup: u.topologyGroup, counts: make(map[int]bool)}
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
		counts = s.of.rules.isMember(s.of.rules.topologyGroups[s.topologyGroup].set, pod, nil)
		s.counts[shape] = counts
	}
	return counts
}

// Domain returns the domain of a node, and whether the constraint looks at the node at all, as if it were not being disrupted.
func (s *Spread) Domain(node *model.Node) (value string, counts bool) {
	t := &s.of.rules.topologyGroups[s.topologyGroup]
	label := func(key string) (string, bool) {
		value, has := requirement.Label(node.Labels, key)
		if !has && key == model.LabelHostname {
			return node.Name, true
		}
		return value, has
	}
	value, has := label(t.key)
	return value, has && value != "" && s.of.rules.filters[t.filter].passes(label, terms.WithoutDisruptionTaint(node.Taints))
}
