package world

import (
	"context"
	"slices"
	"sort"

	"github.com/joiner-sh/joiner/shared/model"
)

// pageSize is how many machines a page of a listing holds. It is small so that small worlds have pages to lose.
const pageSize = 5

// List returns the visible machines that carry a cluster's tags, also those shutting down and, for a while, those
// terminated, by id.
func (f *Fleet) List(_ context.Context, cluster string) ([]model.Instance, error) {
	defer f.enter()()
	if err := f.reach("DescribeInstances"); err != nil {
		return nil, err
	}
	var out []model.Instance
	for _, m := range f.listed {
		if m.Tags["kubernetes.io/cluster/"+cluster] == "owned" && f.visible(m) {
			out = append(out, m.Instance)
		}
	}
	return f.pages(out), nil
}

// Describe returns the machines of the ids, by id, in whatever state. InvalidInstanceID.NotFound, and nothing, where one
// of them is not shown yet or no more, or never was.
func (f *Fleet) Describe(_ context.Context, ids []string) ([]model.Instance, error) {
	defer f.enter()()
	if err := f.reach("DescribeInstances"); err != nil {
		return nil, err
	}
	var out []model.Instance
	for _, id := range ids {
		m, err := f.shown(id)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(out, func(i model.Instance) bool { return i.ID == id }) {
			out = append(out, m.Instance)
		}
	}
	return f.pages(out), nil
}

// shown returns a machine that describing calls show.
func (f *Fleet) shown(id string) (*Machine, error) {
	m := f.byID[id]
	if m == nil || !f.visible(m) || m.Terminated && f.now().Sub(m.EndedAt) >= f.options.Listed {
		return nil, refusal("InvalidInstanceID.NotFound", "the instance ID %s does not exist", id)
	}
	return m, nil
}

// pages sorts what a listing found, loses every second page where that is due, and names some twice where that is.
func (f *Fleet) pages(all []model.Instance) []model.Instance {
	sort.Slice(all, func(i, j int) bool { return all[i].ID < all[j].ID })
	if f.halves > 0 || f.by(f.chances.Half) {
		f.halves = max(0, f.halves-1)
		var some []model.Instance
		for i, instance := range all {
			if i/pageSize%2 == 1 {
				some = append(some, instance)
			}
		}
		all = some
	}
	if f.doubles > 0 || f.by(f.chances.Double) {
		f.doubles = max(0, f.doubles-1)
		all = slices.Concat(all, all)
	}
	return all
}

// Terminate tells machines to end. One that is ending or has ended already is left as it is. InvalidInstanceID.NotFound,
// and none told, where one of the ids is not shown.
func (f *Fleet) Terminate(_ context.Context, ids []string) error {
	defer f.enter()()
	if err := f.reach("TerminateInstances"); err != nil {
		return err
	}
	machines := make([]*Machine, 0, len(ids))
	for _, id := range ids {
		m, err := f.shown(id)
		if err != nil {
			return err
		}
		machines = append(machines, m)
	}
	f.log.Note(TerminateCalled{IDs: slices.Clone(ids)})
	for _, m := range machines {
		f.end(m, byTerminate)
	}
	return nil
}
