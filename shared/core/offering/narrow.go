package offering

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// Match is an instance type with the offerings of it that meet some requirements.
type Match struct {
	Type      *model.InstanceType
	Offerings []*model.Offering // in the type's order, at least one
}

// Matches returns the types of which at least one offering meets the requirements, in the order given, available or not. Labels
// that nodes do not get by what they are, and those of pool and class, are no concern here. It refers to what it is given.
func Matches(types []model.InstanceType, wanted requirement.Requirements) []Match {
	var keys, byOffering []string
	for _, key := range wanted.Keys() {
		switch {
		case !IsInstanceLabel(key):
		case DecidedByOffering(key):
			byOffering = append(byOffering, key)
		default:
			keys = append(keys, key)
		}
	}
	var out []Match
	for i := range types {
		t := &types[i]
		if slices.ContainsFunc(keys, func(key string) bool { return !anyMeets(t.Labels[key], wanted[key]) }) {
			continue
		}
		var offerings []*model.Offering
		for j := range t.Offerings {
			o := &t.Offerings[j]
			if !slices.ContainsFunc(byOffering, func(key string) bool { return !anyMeets(text(ValueOf(o, key)), wanted[key]) }) {
				offerings = append(offerings, o)
			}
		}
		if len(offerings) > 0 {
			out = append(out, Match{t, offerings})
		}
	}
	return out
}

// IsInstanceLabel reports whether nodes get the label by the instance they are, rather than by pool or class.
func IsInstanceLabel(key string) bool {
	return requirement.WellKnown(key) && key != model.LabelNodePool && key != model.LabelNodeClass
}

// anyMeets reports whether any of a label's possible values is allowed; a label without any counts as absent.
func anyMeets(values []string, set requirement.Set) bool {
	if len(values) == 0 {
		return set.AllowsAbsent()
	}
	return slices.ContainsFunc(values, set.Has)
}

// Exclusion says which of several requirements leaves nothing to buy.
type Exclusion struct {
	Index  int      // of the first requirement after which nothing is left
	Before int      // how many types those before it leave
	Alone  bool     // it leaves nothing by itself
	With   int      // the last requirement before it without which it would leave something; −1 = there is no such single one
	Values []string // of its key, among what is left before it, sorted; empty where none of that has the label
}

// Excludes returns which of the requirements, taken in their order, leaves none of the types' offerings; false where all together
// leave some, where there was none to begin with, or where one of them cannot be read.
func Excludes(types []model.InstanceType, list []model.Requirement) (Exclusion, bool) {
	if len(Matches(types, nil)) == 0 {
		return Exclusion{}, false
	}
	steps := make([]requirement.Requirements, len(list))
	for i := range list {
		step, err := requirement.From(list[i : i+1])
		if err != nil {
			return Exclusion{}, false
		}
		steps[i] = step
	}
	before := requirement.Requirements{}
	for i, step := range steps {
		if all := before.Intersect(step); len(Matches(types, all)) > 0 {
			before = all
			continue
		}
		left := Matches(types, before)
		return Exclusion{
			Index: i, Before: len(left), Alone: len(Matches(types, step)) == 0, With: rival(types, steps[:i+1]),
			Values: valuesOf(left, requirement.Normalize(list[i].Key)),
		}, true
	}
	return Exclusion{}, false
}

// rival returns the last of the steps before the last one without which the others leave something; −1 where there is none.
func rival(types []model.InstanceType, steps []requirement.Requirements) int {
	for j := len(steps) - 2; j >= 0; j-- {
		others := requirement.Requirements{}
		for k, step := range steps {
			if k != j {
				others = others.Intersect(step)
			}
		}
		if len(Matches(types, others)) > 0 {
			return j
		}
	}
	return -1
}

// valuesOf returns the values of a label among what matches, sorted.
func valuesOf(matches []Match, key string) []string {
	var out []string
	for _, m := range matches {
		if !DecidedByOffering(key) {
			out = append(out, m.Type.Labels[key]...)
			continue
		}
		for _, o := range m.Offerings {
			out = append(out, text(ValueOf(o, key))...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Values returns the values that nodes of the types can have of a label, sorted.
func Values(types []model.InstanceType, key string) []string {
	return valuesOf(Matches(types, nil), key)
}

// maxNamed is how many values a sentence names.
const maxNamed = 6

// Why says in part of a sentence why nothing is left; list is what Excludes was asked with.
func (e Exclusion) Why(list []model.Requirement) string {
	wanted := wording(list[e.Index])
	have := "; " + AbbreviateValues(e.Values) + " is offered"
	if len(e.Values) == 0 {
		have = ""
	}
	switch {
	case e.Alone:
		return "no instance type has " + wanted + have
	case e.With >= 0:
		return wanted + " and " + wording(list[e.With]) + " exclude each other" + have
	}
	return fmt.Sprintf("none of the %d instance types that the earlier requirements allow has %s%s", e.Before, wanted, have)
}

func wording(r model.Requirement) string {
	set, err := requirement.Of(r)
	if err != nil {
		return r.Key
	}
	return set.Text(r.Key)
}

// AbbreviateValues names the first of the values, and how many more there are.
func AbbreviateValues(values []string) string {
	text := strings.Join(values[:min(len(values), maxNamed)], ", ")
	if more := len(values) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Requirements returns what a template asks of its nodes as one list: its requirements, then each of its labels by key.
func Requirements(t *model.Template) []model.Requirement {
	list := slices.Clone(t.Requirements)
	for _, key := range slices.Sorted(maps.Keys(t.Labels)) {
		list = append(list, model.Requirement{Key: key, Operator: model.In, Values: []string{t.Labels[key]}})
	}
	return list
}
