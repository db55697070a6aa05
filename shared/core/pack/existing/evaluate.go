package existing

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/requirement"
)

// Verdict says whether a pod group may go onto an existing node, resources aside.
type Verdict uint8

const (
	Refused   Verdict = iota + 1
	Reluctant         // only a PreferNoSchedule taint speaks against it
	Welcome
)

// Evaluate says whether the pod group may go onto the existing node.
func Evaluate(c *group.PodGroup, s *Node) Verdict {
	hard, soft := c.Untolerated(s.Taints)
	switch {
	case hard != nil || c.Settled && s.Churning || !s.meets(c) || slices.ContainsFunc(c.Conflicts, func(set int) bool { return slices.Contains(s.coming, set) }):
		return Refused
	case soft:
		return Reluctant
	default:
		return Welcome
	}
}

// meets reports whether a node of the existing node is sure to meet any one of the pod group's terms.
func (s *Node) meets(c *group.PodGroup) bool {
	if s.Market == nil {
		return MeetsAny(c.There, s)
	}
	return sure(c.Readings.Of(c.There, s.Market), s)
}

// columnsOf returns those that meet what is left to offerings of each term that the existing node meets in all else.
func columnsOf(r *offerings.Reading, s *Node, space []vector.Bitset) []vector.Bitset {
	for i, custom := range r.Custom {
		if custom.MatchesBy(s.Label) {
			space = append(space, r.Met[i])
		}
	}
	return space
}

// sure reports whether a node of the existing node is sure to meet any one of the terms.
func sure(r *offerings.Reading, s *Node) bool {
	var space [8]vector.Bitset
	met := columnsOf(r, s, space[:0])
	for w, open := range s.mask {
		for _, mask := range met {
			open &^= mask[w]
		}
		if open != 0 {
			return false
		}
	}
	return true
}

// MeetsAny reports whether a node of the existing node is sure to meet any one of the terms.
func MeetsAny(terms []requirement.Requirements, s *Node) bool {
	if s.Market == nil {
		return slices.ContainsFunc(terms, func(term requirement.Requirements) bool { return term.MatchesBy(s.Label) })
	}
	open := slices.Clone(s.mask)
	for _, term := range terms {
		if offerings.CustomPart(term).MatchesBy(s.Label) {
			met := s.Market.ColumnsMeeting(term)
			for w := range open {
				open[w] &^= met[w]
			}
		}
	}
	return open.Empty()
}
