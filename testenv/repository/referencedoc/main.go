package main

import (
	"bytes"
	"embed"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/repository/page"
)

//go:embed *.csv
var meanings embed.FS

// pages are what is written, by file name. root is the repository's.
var pages = page.Set{"settings.md": settings, "api.md": api, "iam.md": iam, "events.md": events}

func main() { page.Main("referencedoc", pages) }

// glossary has the meanings of one CSV file by key, the columns before the last with / between, and which were asked for.
type glossary struct {
	file    string
	meaning map[string]string
	asked   map[string]bool
	missing []string
}

func open(file string) (*glossary, error) {
	data, err := meanings.ReadFile(file)
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	g := &glossary{file: file, meaning: map[string]string{}, asked: map[string]bool{}}
	for _, row := range rows[1:] {
		key := strings.Join(row[:len(row)-1], "/")
		if _, twice := g.meaning[key]; twice {
			return nil, fmt.Errorf("%s: %s is there twice", file, key)
		}
		g.meaning[key] = row[len(row)-1]
	}
	return g, nil
}

// of returns the meaning of a key; "" where there is none, which check reports.
func (g *glossary) of(key string) string {
	meaning, found := g.meaning[key]
	g.asked[key] = true
	if !found {
		g.missing = append(g.missing, key)
	}
	return meaning
}

// has is of where no meaning is no mistake.
func (g *glossary) has(key string) (string, bool) {
	meaning, found := g.meaning[key]
	g.asked[key] = g.asked[key] || found
	return meaning, found
}

// check reports what has no meaning and meanings of what is not there.
func (g *glossary) check() error {
	var problems []error
	slices.Sort(g.missing)
	for _, key := range slices.Compact(g.missing) {
		problems = append(problems, fmt.Errorf("%s has no row for %s: say what it means", g.file, key))
	}
	for key := range g.meaning {
		if !g.asked[key] {
			problems = append(problems, fmt.Errorf("%s has a row for %s, which is not there: delete it", g.file, key))
		}
	}
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(problems...)
}
