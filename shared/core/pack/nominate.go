package pack

import (
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack/existing"
	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/placing"
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
	b.existing.All()
	for n, s := range b.existing.List {
		if s.Closed {
			continue
		}
		for _, pod := range s.Promised {
			if other, waits := pending[pod.UID]; waits && (other == nowhere || s.Name < b.existing.List[other].Name) {
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
	a := placing.Assigner{Planner: b.planner, Existing: b.existing, Rules: b.rules}
	order := group.InOrder(b.podGroups)
	for progress := true; progress; { // one that is there may be what another needs beside it
		progress = false
		for _, c := range order {
			if c.Stride != 1 || !slices.ContainsFunc(c.Pods, func(i int) bool { _, is := place(i); return is }) {
				continue
			}
			pods := c.Pods
			var others []int
			l := a.PlacementOn(c, nil) // each pod is asked about one existing node
			for _, i := range pods {
				n, is := place(i)
				c.Pods = []int{i}
				if !is || !l.Keeps(n) {
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

// nominations returns what the existing nodes took, by node name.
func nominations(snapshot *model.Snapshot, nodes []*existing.Node) []model.Nomination {
	out := []model.Nomination{}
	for _, s := range nodes {
		if len(s.Pods) > 0 {
			out = append(out, model.Nomination{Node: s.Name, Pods: input.Refs(snapshot, s.Pods)})
		}
	}
	slices.SortStableFunc(out, func(a, b model.Nomination) int { return strings.Compare(a.Node, b.Node) })
	return out
}
