package disruption

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// keepers returns the group without the nodes that are better kept by what would become of their pods. One that could
// as well be kept as bought again takes moved pods from then on.
func keepers(s *simulation, n notes, group []*candidate, out *outcome) []*candidate {
	if len(out.homeless) > 0 {
		return withoutHomeless(owners(s.fork.in.Snapshot, group), n, group, out.homeless)
	}
	if kept := payers(owners(s.fork.in.Snapshot, group), n, group, out); len(kept) < len(group) {
		return kept
	}
	kept, rivals := withoutRivals(group, out)
	for _, a := range rivals {
		n.keep(a, NoSavings, "one like it would have to be launched")
		s.open(a)
	}
	return kept
}

// withoutHomeless returns the group without the nodes of pods that find no place, which stay; nothing where pods of
// others would lose theirs.
func withoutHomeless(
	owner map[model.PodRef]*candidate, n notes, group []*candidate, homeless []model.Unschedulable,
) []*candidate {
	lost := make(map[*candidate][]model.Unschedulable)
	for _, h := range homeless {
		lost[owner[h.Pod]] = append(lost[owner[h.Pod]], h)
	}
	if foreign := lost[nil]; len(foreign) > 0 {
		n.note(describe(foreign), group...)
		return nil
	}
	return slices.DeleteFunc(slices.Clone(group), func(a *candidate) bool {
		if len(lost[a]) > 0 {
			n.note(describe(lost[a]), a)
		}
		return len(lost[a]) > 0
	})
}

// payers returns the group without the nodes whose pods would cost as much as the nodes do, each new node's price
// shared out by what pods of the nodes are worth on average.
func payers(owner map[model.PodRef]*candidate, n notes, group []*candidate, out *outcome) []*candidate {
	charged := make(map[*candidate]float64)
	for i := range out.claims {
		claim := &out.claims[i]
		total := 0.0
		for _, ref := range claim.Pods {
			total += owner[ref].average()
		}
		for _, ref := range claim.Pods {
			if a := owner[ref]; a != nil && total > 0 {
				charged[a] += float64(claim.Price) * a.average() / total
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(group), func(a *candidate) bool {
		if charged[a] < float64(a.Price) {
			return false
		}
		const message = "its pods would cost $%.4f per hour elsewhere, and it costs $%.4f"
		n.keep(a, NoSavings, message, charged[a]/1e6, a.Price.USD())
		return true
	})
}

// withoutRivals divides the group into nodes that could as well be kept as bought again, one for each new node that is
// like one of them, and the others.
func withoutRivals(group []*candidate, out *outcome) (kept, rivals []*candidate) {
	kept = slices.Clone(group)
	for i := range out.claims {
		claim := &out.claims[i]
		n := slices.IndexFunc(kept, func(a *candidate) bool { return a.rivals(claim) })
		if n >= 0 {
			rivals = append(rivals, kept[n])
			kept = slices.Delete(kept, n, n+1)
		}
	}
	return kept, rivals
}

// cheaper returns what becomes of the group's pods where new nodes are opened in so many ways, if that is cheaper and
// all of the group is as well disrupted then.
func cheaper(s *simulation, group []*candidate, ways int, out outcome) outcome {
	other := s.without(group, ways)
	rival := func(claim model.PlannedClaim) bool {
		return slices.ContainsFunc(group, func(a *candidate) bool { return a.rivals(&claim) })
	}
	if len(other.homeless) > 0 || other.price >= out.price || slices.ContainsFunc(other.claims, rival) {
		return out
	}
	return other
}
