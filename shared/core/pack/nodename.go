package pack

import (
	"fmt"

	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/terms"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// forNewNodes derives terms from there.
func (d *demand) forNewNodes() {
	named := ""
	for _, term := range d.there {
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
	if len(d.terms) == 0 && len(d.there) > 0 {
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

// noteNames remembers which nodes pods name.
func (c *classifier) noteNames(d *demand) {
	if len(d.names) > 0 && c.names == nil {
		c.names = make(map[string]bool)
	}
	for _, name := range d.names {
		c.names[name] = true
	}
}
