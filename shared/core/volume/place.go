package volume

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// place is where one volume may be used. It does not change.
type place struct {
	anywhere bool
	any      []requirement.Requirements // else one of these; canonical; empty = nowhere
	key      string                     // of any
	auto     bool                       // a term names what only nodes of EKS Auto Mode have
	terms    int                        // how many were written
}

// maxTerms bounds how many terms of one volume or class are looked at.
const maxTerms = 64

// affinity returns where a bound volume may be used: where one of its terms holds. Like kube-scheduler it passes over
// terms that cannot be read or ask for nothing, and does not look at their fields, which name nodes.
func (x *Index) affinity(terms []model.NodeTerm) *place {
	x.scratch = sign(x.scratch[:0], terms)
	if known := x.terms[string(x.scratch)]; known != nil {
		return known
	}
	out := placeOf(terms, func(term *model.NodeTerm) bool {
		return slices.ContainsFunc(term.Fields, func(f model.Requirement) bool {
			return len(f.Values) != 1 || f.Operator != model.In && f.Operator != model.NotIn
		}) || slices.ContainsFunc(term.Requirements, func(r model.Requirement) bool { return !nodeOperator(r) })
	})
	x.terms[string(x.scratch)] = out
	return out
}

// sign appends a text that tells what the terms say, word for word: each part after its length.
func sign(b []byte, terms []model.NodeTerm) []byte {
	word := func(text string) { b = append(binary.AppendUvarint(b, uint64(len(text))), text...) }
	for i := range terms {
		for _, list := range [][]model.Requirement{terms[i].Requirements, terms[i].Fields} {
			b = binary.AppendUvarint(b, uint64(len(list)))
			for j := range list {
				word(list[j].Key)
				word(string(list[j].Operator))
				b = binary.AppendUvarint(b, uint64(len(list[j].Values)))
				for _, value := range list[j].Values {
					word(value)
				}
			}
		}
	}
	return b
}

// allowed returns where a class makes volumes. Its terms know no operator but In.
func allowed(terms []model.NodeTerm) *place {
	return placeOf(terms, func(term *model.NodeTerm) bool {
		return slices.ContainsFunc(term.Requirements, func(r model.Requirement) bool { return r.Operator != model.In })
	})
}

func placeOf(terms []model.NodeTerm, unreadable func(*model.NodeTerm) bool) *place {
	if len(terms) == 0 || len(terms) > maxTerms {
		return &place{anywhere: len(terms) == 0, terms: len(terms)}
	}
	var list []requirement.Requirements
	auto := false
	for i := range terms {
		term := &terms[i]
		if len(term.Requirements)+len(term.Fields) == 0 || unreadable(term) {
			continue
		}
		where, err := requirement.From(plain(term.Requirements))
		if err != nil || !where.Possible() {
			continue
		}
		auto = auto || where.Has(autoZoneKey)
		list = append(list, where)
	}
	out := newPlace(list)
	out.auto, out.terms = auto, len(terms)
	return out
}

// newPlace returns where one of the list is met.
func newPlace(list []requirement.Requirements) *place {
	list = canonical(list)
	if len(list) == 1 && len(list[0]) == 0 {
		return &place{anywhere: true}
	}
	return &place{any: list, key: AlternativesKey(list)}
}

// nodeOperator reports whether Kubernetes reads the requirement: it has six operators and no negative bounds, because no
// label value starts with a sign.
func nodeOperator(r model.Requirement) bool {
	switch r.Operator {
	case model.In, model.NotIn, model.Exists, model.DoesNotExist:
		return true
	case model.Gt, model.Lt:
		return len(r.Values) == 1 && !strings.HasPrefix(r.Values[0], "-") && !strings.HasPrefix(r.Values[0], "+")
	}
	return false
}

// plain returns the list without minValues, of which volumes know nothing.
func plain(list []model.Requirement) []model.Requirement {
	if !slices.ContainsFunc(list, func(r model.Requirement) bool { return r.MinValues != 0 }) {
		return list
	}
	list = slices.Clone(list)
	for i := range list {
		list[i].MinValues = 0
	}
	return list
}

// where returns where the claim lets its pod run, host names as they are written.
func (x *Index) where(c *claim) (*place, *Problem) {
	if problem := x.problem(c); problem != nil {
		return nil, problem
	}
	var out *place
	source, remedy := "is bound to the volume ", "correct the volume's node affinity"
	if c.bound() {
		out = x.affinity(c.volume.Affinity)
		source += c.volume.VolumeName
	} else {
		out = x.classes[x.className(c)].where
		source, remedy = "is of the storage class "+x.className(c), "correct its allowedTopologies"
	}
	switch {
	case out.terms > maxTerms:
		return nil, c.complain("name fewer topologies", "%s, whose %d topologies are more than the %d that are evaluated", source, out.terms, maxTerms)
	case !out.anywhere && len(out.any) == 0:
		return nil, c.complain(remedy, "%s, whose topologies match no node", source)
	}
	return out, nil
}

// whereExisting returns where the claim lets its pod run among nodes that exist.
func (x *Index) whereExisting(c *claim) (*place, *Problem) {
	where, problem := x.where(c)
	if problem != nil || where.anywhere {
		return where, problem
	}
	return withoutHosts(where, func(hosts requirement.Set) (dropped, impossible bool) { return x.stranded(c, hosts), false }), nil
}

// whereNew returns where the claim lets its pod run among nodes yet to be made. Whatever name such a node gets, it is one
// that nothing was written about.
func (x *Index) whereNew(c *claim) (*place, *Problem) {
	where, problem := x.where(c)
	if problem != nil {
		return nil, problem
	}
	if x.driver(c) == autoDriver || where.auto {
		return nil, c.complain("use a storage class of the driver "+ebsDriver, "has a volume of %s, which only nodes of EKS Auto Mode can use", autoDriver)
	}
	if where.anywhere {
		return where, nil
	}
	out := withoutHosts(where, func(hosts requirement.Set) (dropped, impossible bool) {
		dropped = x.stranded(c, hosts) || hosts.Has(freshHost)
		return dropped, !dropped
	})
	if !out.anywhere && len(out.any) == 0 {
		return nil, c.complain("free capacity on that node, or delete the claim", "has its volume on one node (%s), and no other can use it", text(where.any))
	}
	return out, nil
}

// freshHost stands for the name of a node yet to be made: no label value looks like it.
const freshHost = "/"

// stranded reports whether a local volume is on nodes that are all gone.
func (x *Index) stranded(c *claim, hosts requirement.Set) bool {
	if !c.bound() || !c.volume.Local {
		return false
	}
	names, listed := hosts.Listed()
	return listed && len(names) > 0 && !slices.ContainsFunc(names, x.hostExists)
}

// withoutHosts returns where without the host names that evaluate says to drop, and without the alternatives that it calls
// impossible.
func withoutHosts(where *place, evaluate func(hosts requirement.Set) (dropped, impossible bool)) *place {
	var list []requirement.Requirements
	changed := false
	for _, alternative := range where.any {
		if alternative.Has(model.LabelHostname) {
			dropped, impossible := evaluate(alternative.Get(model.LabelHostname))
			changed = changed || dropped || impossible
			if impossible {
				continue
			}
			if dropped {
				alternative = alternative.Without(model.LabelHostname)
			}
		}
		list = append(list, alternative)
	}
	if !changed {
		return where
	}
	return newPlace(list)
}
