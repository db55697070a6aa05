package requirement

import (
	"slices"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// maxShown is how many values a rendered requirement lists.
const maxShown = 5

// List returns the requirements in API form, by key, so that From reads back an equal value. A key takes several items
// where one operator cannot say it all: NotIn beside bounds, both bounds, Exists beside NotIn. A key that may be
// anything takes none.
func (r Requirements) List() []model.Requirement {
	var list []model.Requirement
	for _, key := range r.Keys() {
		list = append(list, r[key].List(key)...)
	}
	return list
}

// List returns the items of one key, in the form of Requirements.List; minValues stands on the first.
func (s Set) List(key string) []model.Requirement {
	var items []model.Requirement
	add := func(operator model.Operator, values ...string) {
		items = append(items, model.Requirement{Key: key, Operator: operator, Values: values})
	}
	switch {
	case !s.complement && len(s.values) > 0:
		add(model.In, slices.Clone(s.values)...)
	case !s.complement:
		add(model.DoesNotExist)
		if !s.absent { // nothing at all: only a contradiction says so
			add(model.Exists)
		}
	default:
		if len(s.values) > 0 {
			add(model.NotIn, slices.Clone(s.values)...)
		}
		if s.hasLower {
			add(model.Gte, strconv.FormatInt(s.lower, 10))
		}
		if s.hasUpper {
			add(model.Lte, strconv.FormatInt(s.upper, 10))
		}
		if !s.absent && !s.hasLower && !s.hasUpper {
			add(model.Exists)
		}
	}
	if len(items) > 0 {
		items[0].MinValues = s.minimum
	}
	return items
}

// Text renders the requirement on key for people: "zone In [a b c d e and 3 others]", "cpu Exists >= 4 <= 16",
// "family In [m5 m6i] minValues 2".
func (s Set) Text(key string) string {
	var b strings.Builder
	b.WriteString(key + " " + string(s.Operator()))
	if len(s.values) > 0 {
		b.WriteString(" [" + strings.Join(s.values[:min(len(s.values), maxShown)], " "))
		if more := len(s.values) - maxShown; more == 1 {
			b.WriteString(" and 1 other")
		} else if more > 1 {
			b.WriteString(" and " + strconv.Itoa(more) + " others")
		}
		b.WriteString("]")
	}
	if s.hasLower {
		b.WriteString(" >= " + strconv.FormatInt(s.lower, 10))
	}
	if s.hasUpper {
		b.WriteString(" <= " + strconv.FormatInt(s.upper, 10))
	}
	if s.minimum > 0 {
		b.WriteString(" minValues " + strconv.Itoa(s.minimum))
	}
	return b.String()
}

// String renders every requirement but the host name's, by key.
func (r Requirements) String() string {
	var parts []string
	for _, key := range r.Keys() {
		if key != model.LabelHostname {
			parts = append(parts, r[key].Text(key))
		}
	}
	return strings.Join(parts, ", ")
}
