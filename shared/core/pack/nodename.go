package pack

import (
	"fmt"

	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// nodeName is the field of nodes that node affinity can name, written like a label that no node can have. Of the nodes
// that exist only those that some pod names carry it, so that all others stay alike; new nodes never do.
const nodeName = "\x00metadata.name"

// withFields adds a term's matchFields to what it says of labels. kube-scheduler knows one field and two operators, each
// with one value.
func withFields(term requirement.Requirements, fields []model.Requirement) (requirement.Requirements, error) {
	for i, f := range fields {
		if f.Key != "metadata.name" || len(f.Values) != 1 || f.Operator != model.In && f.Operator != model.NotIn {
			return nil, fault.New(fault.Invalid, "", "matchFields[%d] must require metadata.name to be In or NotIn one value", i)
		}
		set := requirement.Values(f.Values[0])
		if f.Operator == model.NotIn {
			set = requirement.Not(f.Values[0])
		}
		term = term.With(nodeName, set)
	}
	return term, nil
}

// forNewNodes derives terms from there.
func (d *demand) forNewNodes() {
	named := ""
	for _, term := range d.there {
		if !term.Has(nodeName) {
			d.terms = append(d.terms, term)
			continue
		}
		if term[nodeName].AllowsAbsent() {
			d.terms = append(d.terms, term.Without(nodeName))
		} else if name, one := term[nodeName].Single(); one && named == "" {
			named = name
		}
	}
	d.terms = canonicalTerms(d.terms)
	if len(d.terms) == 0 && len(d.there) > 0 {
		d.terms = []requirement.Requirements{{model.LabelHostname: requirement.Values(named)}}
		d.named = &model.Reason{Code: RequirementConflict,
			Message: fmt.Sprintf("%s requires the node name %.100q, which no new node has", affinityField, named), Remedy: "select nodes by label"}
	}
}

// noteNames remembers which nodes the term names.
func (d *demand) noteNames(term requirement.Requirements) {
	if term.Has(nodeName) {
		list, _ := term[nodeName].Listed() // or, of NotIn, what is excluded
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
