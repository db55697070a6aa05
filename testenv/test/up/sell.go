package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
)

// sell adds to instance types one of the catalog by another name, as NAME=TYPE says. No types are those of the catalog.
func sell(types []catalog.Type, text string) ([]catalog.Type, error) {
	name, of, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return nil, fmt.Errorf("it is NAME=TYPE, with a TYPE of the catalog, such as c5.xlarge")
	}
	sold, found := catalog.Lookup(of)
	if !found {
		return nil, fmt.Errorf("the catalog has no instance type %q; name one of testenv/local/cloud/catalog", of)
	}
	if types == nil {
		types = catalog.Types()
	}
	byName := func(t catalog.Type, name string) int { return strings.Compare(t.Name, name) }
	at, found := slices.BinarySearchFunc(types, name, byName)
	if found {
		return nil, fmt.Errorf("there is an instance type %q already; choose another name", name)
	}
	sold.Name = name
	return slices.Insert(types, at, sold), nil
}
