package world

import (
	"context"
	"slices"
	"sort"

	"github.com/joiner-sh/joiner/shared/model"
)

// pageSize is how many instances a page of a listing holds. It is small so that small worlds have pages to lose.
const pageSize = 5

// FindInstances returns the visible instances of an intent that are not on their way out, by id.
func (f *Fleet) FindInstances(_ context.Context, intent string) ([]model.Instance, error) {
	defer f.enter()()
	if err := f.reach("DescribeInstances"); err != nil {
		return nil, err
	}
	var out []model.Instance
	for _, m := range f.byIntent[intent] {
		if f.visible(m) && (living(m) || m.State == stateStopping || m.State == stateStopped) {
			out = append(out, m.Instance)
			f.log.Touch(m.Cluster, "machine")
		}
	}
	return f.twice(byID(out)), nil
}

// Owned returns the visible instances that carry a cluster's tag, a NodePool tag and an intent tag, in whatever state, by
// id.
func (f *Fleet) Owned(_ context.Context, cluster string) ([]model.Instance, error) {
	defer f.enter()()
	if err := f.reach("DescribeInstances"); err != nil {
		f.log.Note(ListFailed{Cluster: cluster, Error: err.Error()})
		return nil, err
	}
	var out []model.Instance
	for _, m := range f.listed {
		if f.visible(m) && m.OwnedBy(cluster) {
			out = append(out, m.Instance)
			f.log.Touch(m.Cluster, "machine")
		}
	}
	listed := f.halved(byID(out))
	if missing := len(out) - len(listed); missing > 0 {
		f.log.Note(ListFailed{Cluster: cluster, Missing: missing})
	}
	return f.twice(listed), nil
}

// DescribeInstances returns those of the instances that are shown, in whatever state, by id, each once.
func (f *Fleet) DescribeInstances(_ context.Context, ids []string) ([]model.Instance, error) {
	defer f.enter()()
	if err := f.reach("DescribeInstances"); err != nil {
		return nil, err
	}
	var out []model.Instance
	for _, m := range f.shown(ids) {
		out = append(out, m.Instance)
		f.log.Touch(m.Cluster, "machine")
	}
	return f.twice(byID(out)), nil
}

// Terminate tells those of the instances to end that are shown, carry a cluster's tags, and are not ending already, and
// returns their ids.
func (f *Fleet) Terminate(_ context.Context, cluster string, ids []string) ([]string, error) {
	defer f.enter()()
	for _, api := range []string{"DescribeInstances", "TerminateInstances"} {
		if err := f.reach(api); err != nil {
			return nil, err
		}
	}
	var ended []string
	for _, m := range f.shown(ids) {
		if m.OwnedBy(cluster) && !m.shutting && !m.Terminated {
			ended = append(ended, m.ID)
		}
	}
	if len(ended) == 0 {
		return nil, nil
	}
	sort.Strings(ended)
	f.log.Note(TerminateCalled{IDs: slices.Clone(ended)})
	for _, id := range ended {
		f.end(f.byID[id], byTerminate)
	}
	return ended, nil
}

// visible reports whether describing calls show an instance by now.
func (f *Fleet) visible(m *Instance) bool { return !f.now().Before(m.VisibleAt) }

func living(m *Instance) bool { return m.State == statePending || m.State == stateRunning }

// OwnedBy reports whether the instance carries all tags of those that a controller launches for a cluster: the cluster's, a NodePool's, and
// the launch's.
func (m *Instance) OwnedBy(cluster string) bool {
	return m.Tags["kubernetes.io/cluster/"+cluster] == "owned" && m.Tags[model.LabelNodePool] != "" && m.Tags[tagIntent] != ""
}

// shown returns those of the instances that describing calls show, each once.
func (f *Fleet) shown(ids []string) []*Instance {
	var out []*Instance
	for _, id := range ids {
		m := f.byID[id]
		if m == nil || !f.visible(m) || m.Terminated && f.now().Sub(m.EndedAt) >= f.options.Listed || slices.Contains(out, m) {
			continue
		}
		out = append(out, m)
	}
	return out
}

func byID(instances []model.Instance) []model.Instance {
	sort.Slice(instances, func(i, j int) bool { return instances[i].ID < instances[j].ID })
	return instances
}

// halved loses every second page, where that is due.
func (f *Fleet) halved(all []model.Instance) []model.Instance {
	if f.halves == 0 && !f.by(f.chances.Half) {
		return all
	}
	f.halves = max(0, f.halves-1)
	var some []model.Instance
	for i, instance := range all {
		if i/pageSize%2 == 1 {
			some = append(some, instance)
		}
	}
	return some
}

// twice names everything twice, where that is due: what a flow is told not to expect, and survives.
func (f *Fleet) twice(all []model.Instance) []model.Instance {
	if f.doubles == 0 && !f.by(f.chances.Double) {
		return all
	}
	f.doubles = max(0, f.doubles-1)
	return slices.Concat(all, all)
}
