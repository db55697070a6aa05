package main

import (
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/testenv/bench/upstream/e2e"
)

// A focus finds specs that have no row, and -untried looks at no others than it runs.
func TestFlagsPickSpecs(t *testing.T) {
	suites := map[string][]string{"a": {"one new", "one old", "two old"}, "b": {"one new"}}
	rows := []e2e.Row{
		{Suite: "a", Spec: "one old", Verdict: e2e.Passes}, {Suite: "a", Spec: "two old", Verdict: e2e.Untried},
		{Suite: "b", Spec: "one gone", Verdict: e2e.Untried},
	}
	for _, c := range []struct {
		options options
		run     []string
		listed  map[string][]string
	}{
		{options{}, []string{"one old"}, suites},
		{options{differences: true}, []string{"one old"}, suites},
		{options{focus: "one"}, []string{"one old", "one gone"},
			map[string][]string{"a": {"one new", "one old"}, "b": {"one new"}}},
		{options{untried: true}, []string{"two old", "one gone"}, map[string][]string{"a": {"two old"}, "b": nil}},
		{options{untried: true, focus: "one"}, []string{"one gone"}, map[string][]string{"a": nil, "b": nil}},
	} {
		focus := regexp.MustCompile(c.options.focus)
		var chosen []e2e.Row
		var run []string
		for _, r := range rows {
			if c.options.chooses(r, focus) {
				chosen, run = append(chosen, r), append(run, r.Spec)
			}
		}
		listed := suites
		if c.options.some() {
			listed = c.options.listed(suites, chosen, focus)
		}
		if !slices.Equal(run, c.run) || !maps.EqualFunc(listed, c.listed, slices.Equal) {
			t.Errorf("%+v runs %q of %v, want %q of %v", c.options, run, listed, c.run, c.listed)
		}
	}
}
