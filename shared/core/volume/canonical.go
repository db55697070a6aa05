package volume

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/requirement"
)

// canonical brings alternatives into one form: those that others include are left out, those that differ in the values
// of one label only are made one, and the rest is sorted by what it says.
func canonical(list []requirement.Requirements) []requirement.Requirements {
	if len(list) < 2 {
		return list
	}
	list = merged(largest(sorted(list)))
	return sorted(list)
}

// sorted returns the alternatives sorted by what they say, each once.
func sorted(list []requirement.Requirements) []requirement.Requirements {
	byText := make(map[string]requirement.Requirements, len(list))
	for _, alternative := range list {
		byText[keyOf(alternative)] = alternative
	}
	out := make([]requirement.Requirements, 0, len(byText))
	for _, key := range slices.Sorted(maps.Keys(byText)) {
		out = append(out, byText[key])
	}
	return out
}

// largest returns the alternatives that no other includes. No two of the list are equal.
func largest(list []requirement.Requirements) []requirement.Requirements {
	var out []requirement.Requirements
	for i, alternative := range list {
		included := false
		for j, other := range list {
			included = included || i != j && within(alternative, other)
		}
		if !included {
			out = append(out, alternative)
		}
	}
	return out
}

// within reports whether every node that meets a meets b.
func within(a, b requirement.Requirements) bool {
	for key, set := range b {
		if !a.Get(key).Within(set) {
			return false
		}
	}
	return true
}

// merged joins alternatives that agree but for the listed values of one label, until none do.
func merged(list []requirement.Requirements) []requirement.Requirements {
	for again := true; again && len(list) > 1; {
		again = false
		for _, key := range keysOf(list) {
			if joined := mergedBy(key, list); len(joined) < len(list) {
				list, again = joined, true
			}
		}
	}
	return list
}

func mergedBy(key string, list []requirement.Requirements) []requirement.Requirements {
	var out []requirement.Requirements
	at := make(map[string]int, len(list)) // where in out those that say this of the other labels are joined
	for _, alternative := range list {
		values, listed := alternative.Get(key).Listed()
		if !listed || alternative.Get(key).AllowsAbsent() {
			out = append(out, alternative)
			continue
		}
		rest := alternative.Without(key)
		i, found := at[keyOf(rest)]
		if !found {
			at[keyOf(rest)] = len(out)
			out = append(out, alternative)
			continue
		}
		have, _ := out[i].Get(key).Listed()
		out[i] = rest.With(key, requirement.Values(append(have, values...)...))
	}
	return out
}

func keysOf(list []requirement.Requirements) []string {
	keys := make(map[string]bool)
	for _, alternative := range list {
		for key := range alternative {
			keys[key] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// AlternativesKey returns a text that two answers of an Index share exactly where they say the same, so that pods can
// be grouped by it; "" for anywhere.
func AlternativesKey(alternatives []requirement.Requirements) string {
	var b strings.Builder
	for _, alternative := range alternatives {
		write(&b, alternative)
		b.WriteByte('|')
	}
	return b.String()
}

func keyOf(alternative requirement.Requirements) string {
	var b strings.Builder
	write(&b, alternative)
	return b.String()
}

// write renders everything an alternative says. Keys are label keys and hold none of the separators.
func write(b *strings.Builder, alternative requirement.Requirements) {
	for _, r := range alternative.List() {
		b.WriteString(r.Key + " " + string(r.Operator))
		for _, value := range r.Values {
			b.WriteByte(',')
			b.WriteString(strconv.Quote(value))
		}
		b.WriteByte('&')
	}
}

// maxListed bounds how many alternatives a message reports.
const maxListed = 3

// text renders alternatives for people.
func text(alternatives []requirement.Requirements) string {
	var list []string
	for _, alternative := range alternatives[:min(len(alternatives), maxListed)] {
		var parts []string
		for _, key := range alternative.Keys() {
			parts = append(parts, alternative[key].Text(key))
		}
		list = append(list, strings.Join(parts, " and "))
	}
	if len(alternatives) > maxListed {
		list = append(list, "…")
	}
	return strings.Join(list, ", or ")
}
