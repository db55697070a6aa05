package pack

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// maxTerms bounds how many alternatives a pod's node affinity is followed through.
const maxTerms = 64

// demand is what a shape says of its node, read once: terms, or the reason why it can never be placed.
type demand struct {
	id        int
	there     []requirement.Requirements // any one of them must hold; sorted, each possible
	terms     []requirement.Requirements // the same of a new node, whose name nothing knows yet
	named     *model.Reason              // why no new node will do
	preferred []requirement.Requirements // heaviest first, then as written
	names     []string                   // of nodes it asks for or refuses
	readings  readings                   // of there
	no        *model.Reason
}

func demandKey(shape *model.PodShape) string {
	if len(shape.NodeSelector)+len(shape.RequiredNodeAffinity)+len(shape.PreferredNodeAffinity) == 0 {
		return ""
	}
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(shape.NodeSelector)) {
		b.WriteString(strconv.Quote(key) + strconv.Quote(shape.NodeSelector[key]))
	}
	if len(shape.RequiredNodeAffinity)+len(shape.PreferredNodeAffinity) > 0 {
		fmt.Fprintf(&b, "%#v%#v", shape.RequiredNodeAffinity, shape.PreferredNodeAffinity)
	}
	return b.String()
}

// unplannable returns why the shape is not placed at all, naming the field; nil where nothing stands against it.
func unplannable(shape *model.PodShape) *model.Reason {
	switch {
	case len(shape.Unsupported) > 0:
		return &model.Reason{Code: NotSupportedYet, Message: strings.Join(shape.Unsupported, "; "), Remedy: "remove the field from the pod"}
	case shape.DynamicResource:
		return &model.Reason{Code: NotSupportedYet, Message: "spec.resourceClaims (dynamic resource allocation) is not supported yet",
			Remedy: "request an extended resource instead, or provide a node by hand"}
	}
	return nil
}

// negative returns why a shape is not placed that asks for less than nothing; nil where it does not.
func negative(shape *model.PodShape) *model.Reason {
	first, found := "", false
	for name, amount := range shape.Requests { // the first by name, whatever the order
		if amount < 0 && (!found || name < first) {
			first, found = name, true
		}
	}
	if found {
		return invalid("spec.containers[].resources.requests", fmt.Sprintf("%s is negative: %d", first, shape.Requests[first]), "request zero or more")
	}
	return nil
}

// preferredTerms returns the preferences for nodes that can be read and met, heaviest first.
func preferredTerms(shape *model.PodShape) []requirement.Requirements {
	list := slices.Clone(shape.PreferredNodeAffinity)
	slices.SortStableFunc(list, func(a, b model.WeightedTerm) int { return cmp.Compare(b.Weight, a.Weight) })
	var out []requirement.Requirements
	for i := range list[:min(len(list), maxTerms)] {
		term := &list[i].Term
		read, err := requirement.From(term.Requirements)
		if err == nil {
			read, err = withFields(read, term.Fields)
		}
		if err != nil || !read.Possible() || !read.Get(nodeName).AllowsAbsent() {
			continue
		}
		if read = read.Without(nodeName); len(read) > 0 {
			out = append(out, read)
		}
	}
	return out
}

// nodeTerms returns what the pod's node must be: its selector together with any one of its affinity terms.
func nodeTerms(shape *model.PodShape) ([]requirement.Requirements, *model.Reason) {
	selector, err := requirement.FromSelector(shape.NodeSelector)
	if err != nil {
		return nil, invalid("spec.nodeSelector", err.Error(), "correct the selector")
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
		return nil, invalid(affinityField, "no term is compatible with spec.nodeSelector", "remove the contradiction")
	}
	return canonicalTerms(out), nil
}

const affinityField = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"

// affinityTerms reads the terms that can be met. A term that is empty, contradicts itself or cannot be read is left out,
// because the others may still be met; the reason says what was wrong with the first one where none is left.
func affinityTerms(list []model.NodeTerm) ([]requirement.Requirements, *model.Reason) {
	var terms []requirement.Requirements
	var first *model.Reason
	note := func(reason *model.Reason) {
		if first == nil {
			first = reason
		}
	}
	for i, term := range list[:min(len(list), maxTerms)] {
		field := fmt.Sprintf("%s.nodeSelectorTerms[%d]", affinityField, i)
		read, err := requirement.From(term.Requirements)
		if err == nil {
			read, err = withFields(read, term.Fields)
		}
		switch {
		case err != nil:
			note(invalid(field, err.Error(), "correct the expression"))
		case len(term.Requirements)+len(term.Fields) == 0:
			note(invalid(field, "it is empty and matches no node", "give it an expression"))
		case !read.Possible():
			note(invalid(field, "its expressions contradict each other", "remove the contradiction"))
		default:
			terms = append(terms, read)
		}
	}
	return terms, first
}

// canonicalTerms sorts alternatives and drops repeated ones, since their order means nothing.
func canonicalTerms(terms []requirement.Requirements) []requirement.Requirements {
	slices.SortStableFunc(terms, func(a, b requirement.Requirements) int { return strings.Compare(termKey(a), termKey(b)) })
	return slices.CompactFunc(terms, requirement.Requirements.Equal)
}

func invalid(field, problem, remedy string) *model.Reason {
	return &model.Reason{Code: Invalid, Message: field + ": " + problem, Remedy: remedy}
}
