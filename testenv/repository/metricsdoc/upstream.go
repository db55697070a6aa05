package main

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/cmd/watcher/metrics"
)

//go:embed upstream.csv
var upstreamText []byte

// series is one of Karpenter 1.14's core or AWS provider, from the documentation and the sources of both. Without a
// reason the watcher has it, with all of its labels.
type series struct {
	source, name, kind string
	labels             []string
	reason             string // why it is missing, or which labels of it are and why
}

// sources are who has series, in the order of the page.
var sources = []struct{ name, title string }{{"core", "Of Karpenter's core"}, {"provider", "Of its AWS provider"}}

const missingAbout = `
### Metrics of Karpenter that differ or are missing

The watcher has every other series of Karpenter 1.14, with its labels.
`

// readUpstream returns the list.
func readUpstream() ([]series, error) {
	rows, err := csv.NewReader(bytes.NewReader(upstreamText)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("upstream.csv: %w", err)
	}
	var out []series
	for _, row := range rows[1:] {
		out = append(out, series{row[0], row[1], row[2], strings.Fields(row[3]), row[4]})
	}
	return out, nil
}

// problems returns what is wrong with the list beside what the watcher has: series that are neither there with all of
// their labels nor have a reason, and reasons of series that need none.
func problems(list []series, families []metrics.Family) error {
	var out []error
	seen := map[string]bool{}
	for _, s := range list {
		key := s.source + " " + s.name
		if seen[key] {
			out = append(out, fmt.Errorf("%s is there twice", key))
		}
		seen[key] = true
		lacks := s.lacks(families)
		switch {
		case lacks != "" && s.reason == "":
			out = append(out, fmt.Errorf("%s: %s; add it, or say why in upstream.csv", key, lacks))
		case lacks == "" && s.reason != "":
			out = append(out, fmt.Errorf("%s is there with all of its labels: delete the reason", key))
		}
	}
	return errors.Join(out...)
}

// lacks returns what the watcher lacks of a series, "" where nothing.
func (s series) lacks(families []metrics.Family) string {
	at := slices.IndexFunc(families, func(f metrics.Family) bool { return f.Name == s.name })
	if at < 0 {
		return "the watcher does not have it"
	}
	family := families[at]
	if family.Type != s.kind {
		return fmt.Sprintf("it is a %s, and the watcher has a %s", s.kind, family.Type)
	}
	for _, label := range s.labels {
		if !slices.Contains(family.Labels, label) {
			return "the label " + label + " is missing"
		}
	}
	return ""
}
