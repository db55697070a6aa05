package world

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sort"

	"github.com/joiner-sh/joiner/shared/fault"
)

// Named returns the names of the launch templates of a request, sorted.
func (f *Fleet) Named(text []byte) ([]string, error) {
	var r request
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fault.Wrap(fault.Invalid, "", err, "decode request")
	}
	var names []string
	for _, t := range r.Templates {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Collect deletes the oldest of a cluster's launch templates that were made before a time and are not to be kept, at most
// so many, and returns how many there are yet.
func (f *Fleet) Collect(_ context.Context, cluster string, keep []string, beforeUnix int64, most int) (int, error) {
	defer f.enter()()
	if err := f.reach("DescribeLaunchTemplates"); err != nil {
		return 0, err
	}
	var old []string
	for name, t := range f.templates {
		if t.cluster == cluster && t.made.Unix() < beforeUnix && !slices.Contains(keep, name) {
			old = append(old, name)
		}
	}
	sort.Slice(old, func(i, j int) bool {
		a, b := f.templates[old[i]].made, f.templates[old[j]].made
		return a.Before(b) || a.Equal(b) && old[i] < old[j]
	})
	most = max(0, min(most, len(old)))
	for _, name := range old[:most] {
		delete(f.templates, name)
	}
	return len(old) - most, nil
}

// Templates returns the names of the launch templates there are, sorted.
func (f *Fleet) Templates() []string {
	defer f.enter()()
	return slices.Sorted(maps.Keys(f.templates))
}

// Tag adds the tags an instance lacks.
func (f *Fleet) Tag(_ context.Context, id string, tags map[string]string) (bool, error) {
	defer f.enter()()
	if err := f.reach("CreateTags"); err != nil {
		return false, err
	}
	m := f.byID[id]
	if m == nil || !f.visible(m) {
		return false, fault.New(fault.NotFound, "", "instance %s is not shown", id)
	}
	f.log.Touch(m.Cluster, "machine")
	next, added := maps.Clone(m.Tags), false
	if next == nil {
		next = map[string]string{}
	}
	for key, value := range tags {
		if _, has := next[key]; !has {
			next[key], added = value, true
		}
	}
	m.Tags = next
	return added, nil
}
