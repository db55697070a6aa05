package terms

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// maxTerms bounds how many alternatives a pod's node affinity is followed through.
const maxTerms = 64

// Preferred returns the preferences for nodes that can be read and met, heaviest first.
func Preferred(shape *model.PodShape) []requirement.Requirements {
	list := slices.Clone(shape.PreferredNodeAffinity)
	slices.SortStableFunc(list, func(a, b model.WeightedTerm) int { return cmp.Compare(b.Weight, a.Weight) })
	var out []requirement.Requirements
	for i := range list[:min(len(list), maxTerms)] {
		term := &list[i].Term
		read, err := requirement.From(term.Requirements)
		if err == nil {
			read, err = withFields(read, term.Fields)
		}
		if err != nil || !read.Possible() || !read.Get(NodeName).AllowsAbsent() {
			continue
		}
		if read = read.Without(NodeName); len(read) > 0 {
			out = append(out, read)
		}
	}
	return out
}

// Required returns what the pod's node must be: its selector together with any one of its affinity terms.
func Required(shape *model.PodShape) ([]requirement.Requirements, *model.Reason) {
	selector, err := requirement.FromSelector(shape.NodeSelector)
	if err != nil {
		return nil, Unreadable("spec.nodeSelector", err.Error(), "correct the selector")
	}
	if len(shape.RequiredNodeAffinity) == 0 {
		return []requirement.Requirements{selector}, nil
	}
	terms, no := affinityTerms(shape.RequiredNodeAffinity)
	if len(terms) == 0 {
		return nil, no
	}
	var out []requirement.Requirements
	for _, term := range terms {
		if both := selector.Intersect(term); both.Possible() {
			out = append(out, both)
		}
	}
	if len(out) == 0 {
		return nil, Unreadable(AffinityField, "no term is compatible with spec.nodeSelector", "remove the contradiction")
	}
	return Canonical(out), nil
}

// AffinityField is the field that required node affinity is in.
const AffinityField = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"

// affinityTerms reads the terms that can be met. A term that is empty, contradicts itself or cannot be read is left
// out, because the others may still be met; the reason says what was wrong with the first one where none is left.
func affinityTerms(list []model.NodeTerm) ([]requirement.Requirements, *model.Reason) {
	var terms []requirement.Requirements
	var first *model.Reason
	note := func(reason *model.Reason) {
		if first == nil {
			first = reason
		}
	}
	for i, term := range list[:min(len(list), maxTerms)] {
		field := fmt.Sprintf("%s.nodeSelectorTerms[%d]", AffinityField, i)
		read, err := requirement.From(term.Requirements)
		if err == nil {
			read, err = withFields(read, term.Fields)
		}
		switch {
		case err != nil:
			note(Unreadable(field, err.Error(), "correct the expression"))
		case len(term.Requirements)+len(term.Fields) == 0:
			note(Unreadable(field, "it is empty and matches no node", "give it an expression"))
		case !read.Possible():
			note(Unreadable(field, "its expressions contradict each other", "remove the contradiction"))
		default:
			terms = append(terms, read)
		}
	}
	return terms, first
}

// Canonical sorts alternatives and drops repeated ones, since their order means nothing.
func Canonical(terms []requirement.Requirements) []requirement.Requirements {
	slices.SortStableFunc(terms, func(a, b requirement.Requirements) int { return strings.Compare(KeyOf(a), KeyOf(b)) })
	return slices.CompactFunc(terms, requirement.Requirements.Equal)
}

// Unreadable says that a field of the pod cannot be read or never holds.
func Unreadable(field, problem, remedy string) *model.Reason {
	return &model.Reason{Code: input.Invalid, Message: field + ": " + problem, Remedy: remedy}
}

// NodeName is the field of nodes that node affinity can name, written like a label that no node can have. Of the nodes
// that exist only those that some pod names carry it, so that all others stay alike; new nodes never do.
const NodeName = "\x00metadata.name"

// withFields adds a term's matchFields to what it says of labels. kube-scheduler knows one field and two operators,
// each with one value.
func withFields(term requirement.Requirements, fields []model.Requirement) (requirement.Requirements, error) {
	for i, f := range fields {
		if f.Key != "metadata.name" || len(f.Values) != 1 || f.Operator != model.In && f.Operator != model.NotIn {
			return nil, fault.New(fault.Invalid, "", "matchFields[%d] must require metadata.name to be In or NotIn one value", i)
		}
		set := requirement.Values(f.Values[0])
		if f.Operator == model.NotIn {
			set = requirement.Not(f.Values[0])
		}
		term = term.With(NodeName, set)
	}
	return term, nil
}

// Cross returns every combination of the two that can be met.
func Cross(a, b []requirement.Requirements) []requirement.Requirements {
	var out []requirement.Requirements
	for _, x := range a {
		for _, y := range b {
			if both := x.Intersect(y); both.Possible() && len(out) < maxTerms {
				out = append(out, both)
			}
		}
	}
	return Canonical(out)
}
