package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// page is a package of npm that is built into a program, with the hash that npm installs it by.
type page struct{ Name, Version, License, Integrity string }

// pages are the packages of a package-lock.json that what is built from it contains, by name: those that are needed for building
// alone are left out.
func pages(lock string) ([]page, error) {
	text, err := os.ReadFile(lock)
	if err != nil {
		return nil, err
	}
	var read struct {
		Packages map[string]struct {
			Version, License, Integrity string
			Dev, Optional               bool
		}
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, fmt.Errorf("%s: %w", lock, err)
	}
	var out []page
	for path, p := range read.Packages {
		_, name, installed := strings.Cut(path, "node_modules/")
		if !installed || p.Dev || p.Optional {
			continue
		}
		if !compatible(p.License) {
			return nil, fmt.Errorf("%s: package %s has license %q, which is not known to be compatible; read it, and add it to tools/supply or drop the dependency", lock, name, p.License)
		}
		out = append(out, page{name, p.Version, p.License, p.Integrity})
	}
	slices.SortFunc(out, func(a, b page) int { return strings.Compare(a.Name, b.Name) })
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no package in it is built in; is it a package-lock.json of version 2 or later?", lock)
	}
	return out, nil
}

// compatible reports whether a license is one of those that texts are recognized as.
func compatible(license string) bool {
	for _, p := range phrases {
		if p.name == license {
			return true
		}
	}
	return false
}
