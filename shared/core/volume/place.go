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

// nodeOperator reports whether Kubernetes reads the requirement: it has six operators and no negative bounds, because
// no label value starts with a sign.
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

// withoutHosts returns where without the host names that evaluate says to drop, and without the alternatives that it
// calls impossible.
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
