package ec2

import (
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Filter keeps what has one of the values. A value may hold the wildcards * and
// ?, which a backslash takes their meaning from.
type Filter struct {
	Name   string
	Values []string `query:"Value"`
}

// fields are the filters of one kind of resource, by name, with the values an
// item has for it; none when the item lacks it.
type fields[T any] map[string]func(T) []string

const maxFilterValues = 200

// filter returns the items every filter keeps. tags gives the tags of an item
// for the filters tag:KEY, tag-key and tag-value; nil for what has none.
func filter[T any](items []T, filters []Filter, by fields[T], tags func(T) map[string]string) ([]T, error) {
	for _, f := range filters {
		_, known := by[f.Name]
		known = known || tags != nil && (f.Name == "tag-key" || f.Name == "tag-value" || strings.HasPrefix(f.Name, "tag:"))
		switch {
		case !known:
			return nil, wire.Errorf("InvalidParameterValue", "The filter '%s' is invalid", f.Name)
		case len(f.Values) == 0:
			return nil, wire.Errorf("InvalidParameterValue", "The filter '%s' has no values", f.Name)
		case len(f.Values) > maxFilterValues:
			return nil, wire.Errorf("FilterLimitExceeded", "The maximum number of filter values specified on a single call is %d", maxFilterValues)
		}
	}
	out := []T{}
	for _, item := range items {
		keep := !slices.ContainsFunc(filters, func(f Filter) bool {
			return !matchesAny(f.Values, filterValues(item, f.Name, by, tags))
		})
		if keep {
			out = append(out, item)
		}
	}
	return out, nil
}

func filterValues[T any](item T, name string, by fields[T], tags func(T) map[string]string) []string {
	if get, ok := by[name]; ok {
		return get(item)
	}
	all := tags(item)
	if name == "tag-key" {
		return sortedKeys(all)
	}
	if name == "tag-value" {
		var out []string
		for _, key := range sortedKeys(all) {
			out = append(out, all[key])
		}
		return out
	}
	value, ok := all[strings.TrimPrefix(name, "tag:")]
	if !ok {
		return nil
	}
	return []string{value}
}

func matchesAny(patterns, values []string) bool {
	for _, v := range values {
		if slices.ContainsFunc(patterns, func(p string) bool { return matches(p, v) }) {
			return true
		}
	}
	return false
}

// matches tells whether value is what pattern describes, in time proportional
// to the product of their lengths at worst.
func matches(pattern, value string) bool {
	p, v := []rune(pattern), []rune(value)
	star, resume := -1, 0 // the last * seen, and where in v to go on from if it must take more
	i, j := 0, 0
	for j < len(v) {
		switch {
		case i < len(p) && p[i] == '*':
			star, resume = i, j
			i++
			continue
		case i < len(p) && p[i] == '\\' && i+1 < len(p) && p[i+1] == v[j]:
			i, j = i+2, j+1
			continue
		case i < len(p) && p[i] != '\\' && (p[i] == '?' || p[i] == v[j]):
			i, j = i+1, j+1
			continue
		case star < 0:
			return false
		}
		resume++
		i, j = star+1, resume
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}

func one(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}
