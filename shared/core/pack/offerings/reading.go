package offerings

import (
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/requirement"
)

// Reading is what terms of a pod group or a daemon say, to be asked of many claims on their way.
type Reading struct {
	market *Market
	Custom []requirement.Requirements // by term: what offerings do not decide
	Met    []vector.Bitset            // by term: the columns that meet the rest of it
}

// Readings are some terms as read for claims of markets; filled when asked for.
type Readings []*Reading

// Of reads the terms, which are always the same, for claims of the market, once.
func (list *Readings) Of(terms []requirement.Requirements, m *Market) *Reading {
	for _, r := range *list {
		if r.market == m {
			return r
		}
	}
	r := NewReading(terms, m)
	*list = append(*list, r)
	return r
}

// NewReading reads the terms for claims of the market.
func NewReading(terms []requirement.Requirements, m *Market) *Reading {
	r := &Reading{market: m}
	for _, term := range terms {
		r.Custom, r.Met = append(r.Custom, CustomPart(term)), append(r.Met, m.ColumnsMeeting(term))
	}
	return r
}
