package volume

import (
	"cmp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/requirement"
)

const (
	maxAlternatives = 64  // that one pod is given
	maxCombinations = 256 // that are tried for one pod, however few are left of them
)

// part is where one claim of a pod lets it run.
type part struct {
	claim *claim
	*place
}

// combine returns the places that suit all of the claims; nil = anywhere.
func (x *Index) combine(claims []claim, where func(*claim) (*place, *Problem)) ([]requirement.Requirements, *Problem) {
	parts := make([]part, 0, len(claims))
	for i := range claims {
		at, problem := where(&claims[i])
		if problem != nil {
			return nil, problem
		}
		alike := func(p part) bool { return p.key == at.key }
		if !at.anywhere && !slices.ContainsFunc(parts, alike) {
			parts = append(parts, part{claim: &claims[i], place: at})
		}
	}
	switch len(parts) {
	case 0:
		return nil, nil
	case 1:
		return parts[0].any, nil
	}
	// Narrow ones first, which keeps the product small; then in an order of what they say, which makes it the same
	// whatever the order of claims.
	slices.SortFunc(parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(len(a.any), len(b.any)), strings.Compare(a.key, b.key))
	})
	x.scratch = x.scratch[:0]
	for i := range parts {
		x.scratch = append(append(x.scratch, parts[i].key...), 0)
	}
	if known := x.products[string(x.scratch)]; known != nil {
		return known, nil
	}
	out, problem := product(parts)
	if problem == nil {
		x.products[string(x.scratch)] = out
	}
	return out, problem
}

// product returns what is left of every choice of one alternative of each part, parts in order.
func product(parts []part) ([]requirement.Requirements, *Problem) {
	out := parts[0].any
	tried := 0
	for _, p := range parts[1:] {
		tried += len(out) * len(p.any)
		if tried > maxCombinations {
			return nil, tooMany(parts)
		}
		var both []requirement.Requirements
		for _, a := range out {
			for _, b := range p.any {
				if where := a.Intersect(b); where.Possible() {
					both = append(both, where)
				}
			}
		}
		out = canonical(both)
		if len(out) == 0 {
			return nil, contradiction(parts)
		}
	}
	if len(out) > maxAlternatives {
		return nil, tooMany(parts)
	}
	return out, nil
}

func tooMany(parts []part) *Problem {
	return &Problem{
		Claim:   first(parts).name.String(),
		Message: "the pod's volumes can be used in more combinations of topologies than are evaluated: " + preferences(parts),
		Remedy:  "use fewer volumes, or storage classes with fewer topologies",
	}
}

func contradiction(parts []part) *Problem {
	return &Problem{
		Claim:   first(parts).name.String(),
		Message: "no node can use all of the pod's volumes: " + preferences(parts),
		Remedy:  "create the claims again so that their volumes are in one zone",
	}
}

// first returns the part's claim that is first by name, whatever the order of parts.
func first(parts []part) *claim {
	return slices.MinFunc(parts, func(a, b part) int { return strings.Compare(a.claim.name.name, b.claim.name.name) }).claim
}

// maxPreferences bounds how many claims a message reports.
const maxPreferences = 4

// preferences says what each claim asks for, claims by name.
func preferences(parts []part) string {
	parts = slices.Clone(parts)
	slices.SortFunc(parts, func(a, b part) int { return strings.Compare(a.claim.name.name, b.claim.name.name) })
	var list []string
	for i := range parts[:min(len(parts), maxPreferences)] {
		list = append(list, parts[i].claim.name.String()+" requires "+text(parts[i].any))
	}
	if len(parts) > maxPreferences {
		list = append(list, "…")
	}
	return strings.Join(list, "; ")
}
