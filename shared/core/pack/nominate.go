package pack

import (
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/model"
)

// keepPromises gives pods the place they were planned for, where it still holds them.
func (b *solver) keepPromises() {
	if len(b.in.Claims) == 0 {
		return
	}
	const nowhere = -1
	pending, promised := make(map[string]int, len(b.pending)), false
	for _, i := range b.pending {
		pending[b.in.Snapshot.Pods[i].UID] = nowhere
	}
	delete(pending, "")
	if !owesAny(b.in.Claims, pending) {
		return
	}
	b.existing.all()
	for n, s := range b.existing.nodes {
		if s.closed {
			continue
		}
		for _, pod := range s.promised {
			if other, waits := pending[pod.UID]; waits && (other == nowhere || s.name < b.existing.nodes[other].name) {
				pending[pod.UID], promised = n, true
			}
		}
	}
	if !promised {
		return
	}
	place := func(i int) (n int, is bool) {
		n, is = pending[b.in.Snapshot.Pods[i].UID]
		return n, is && n != nowhere
	}
	a := assigner{planner: b.planner, existing: b.existing, rules: b.rules}
	order := group.InOrder(b.podGroups)
	for progress := true; progress; { // one that is there may be what another needs beside it
		progress = false
		for _, c := range order {
			if c.Stride != 1 || !slices.ContainsFunc(c.Pods, func(i int) bool { _, is := place(i); return is }) {
				continue
			}
			pods := c.Pods
			var others []int
			l := a.placementOn(c, nil) // each pod is asked about one existing node
			for _, i := range pods {
				n, is := place(i)
				c.Pods = []int{i}
				if !is || !l.keeps(n) {
					others = append(others, i)
				}
			}
			c.Pods = others
			progress = progress || len(others) < len(pods)
		}
	}
}

// owesAny reports whether any pod of the claims is among those, by UID.
func owesAny(claims []model.Claim, pods map[string]int) bool {
	for i := range claims {
		for _, pod := range claims[i].Pods {
			if _, waits := pods[pod.UID]; waits {
				return true
			}
		}
	}
	return false
}

// keeps places the pod group's next unit on the existing node it was promised; false where that does not hold it any more. Of an existing node
// nothing is known of, the promise is all there is.
func (l *placement) keeps(n int) bool {
	s := l.existing.node(n)
	if l.podGroup.Settled && s.churning {
		return false
	}
	if s.blind {
		s.pods = append(s.pods, l.podGroup.TakeUnits(1)...)
		return true
	}
	if !l.podGroup.Request.Fits(s.free) || evaluate(l.podGroup, s) == refused || l.hostRefuses(n) != "" {
		return false
	}
	if u := l.refuses(s.values(l.podGroup.Keys), s.possibles(l.podGroup.Keys)); u != nil && u.Kind == group.AntiAffinity { // for the other kinds pods may count that are placed later
		return false
	}
	l.settleOn(n)
	return true
}

// values returns the existing node's values of the labels, empty where it has none.
func (s *existingNode) values(keys []string) []string {
	values := make([]string, len(keys))
	for k, key := range keys {
		values[k], _ = s.label(key)
	}
	return values
}

// possibles returns, for each label, the values it may take where it is not there yet; nil where all are known.
func (s *existingNode) possibles(keys []string) [][]string {
	if s.market == nil {
		return nil
	}
	out := make([][]string, len(keys))
	for k, key := range keys {
		out[k] = s.possible(key)
	}
	return out
}

// nominations returns what the existing nodes took, by node name.
func nominations(snapshot *model.Snapshot, nodes []*existingNode) []model.Nomination {
	out := []model.Nomination{}
	for _, s := range nodes {
		if len(s.pods) > 0 {
			out = append(out, model.Nomination{Node: s.name, Pods: input.Refs(snapshot, s.pods)})
		}
	}
	slices.SortStableFunc(out, func(a, b model.Nomination) int { return strings.Compare(a.Node, b.Node) })
	return out
}
