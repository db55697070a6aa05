package group

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/terms"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// demand is what a shape says of its node, read once: terms, or the reason why it can never be placed.
type demand struct {
	id        int
	There     []requirement.Requirements // any one of them must hold; sorted, each possible
	terms     []requirement.Requirements // the same of a new node, whose name nothing knows yet
	named     *model.Reason              // why no new node will do
	preferred []requirement.Requirements // heaviest first, then as written
	names     []string                   // of nodes it asks for or refuses
	readings  offerings.Readings         // of there
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
		return &model.Reason{Code: input.NotSupportedYet, Message: strings.Join(shape.Unsupported, "; "),
			Remedy: "remove the field from the pod"}
	case shape.DynamicResource && len(shape.DeviceClaims) == 0:
		return &model.Reason{Code: input.NotSupportedYet,
			Message: "spec.resourceClaims: the snapshot does not say what the pod claims",
			Remedy:  "upgrade the watcher to the version of the functions"}
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
		return terms.Unreadable("spec.containers[].resources.requests", fmt.Sprintf("%s is negative: %d", first, shape.Requests[first]), "request zero or more")
	}
	return nil
}

// forNewNodes derives terms from there.
func (d *demand) forNewNodes() {
	named := ""
	for _, term := range d.There {
		if !term.Has(terms.NodeName) {
			d.terms = append(d.terms, term)
			continue
		}
		if term[terms.NodeName].AllowsAbsent() {
			d.terms = append(d.terms, term.Without(terms.NodeName))
		} else if name, one := term[terms.NodeName].Single(); one && named == "" {
			named = name
		}
	}
	d.terms = terms.Canonical(d.terms)
	if len(d.terms) == 0 && len(d.There) > 0 {
		d.terms = []requirement.Requirements{{model.LabelHostname: requirement.Values(named)}}
		d.named = &model.Reason{Code: input.RequirementConflict,
			Message: fmt.Sprintf("%s requires the node name %.100q, which no new node has", terms.AffinityField, named), Remedy: "select nodes by label"}
	}
}

// noteNames remembers which nodes the term names.
func (d *demand) noteNames(term requirement.Requirements) {
	if term.Has(terms.NodeName) {
		list, _ := term[terms.NodeName].Listed() // or, of NotIn, what is excluded
		d.names = append(d.names, list...)
	}
}
