package world

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

// States of an instance that was stopped.
const (
	stateStopping = "stopping"
	stateStopped  = "stopped"
)

// Interrupted returns the spot instances of a cluster that are marked for termination, or were ended by EC2, sorted.
func (f *Fleet) Interrupted(_ context.Context, cluster string) ([]model.SpotInterruption, error) {
	defer f.enter()()
	if err := f.reach("DescribeSpotInstanceRequests"); err != nil {
		return nil, err
	}
	out := []model.SpotInterruption{}
	for _, m := range f.listed {
		if m.marked && m.Tags["kubernetes.io/cluster/"+cluster] == "owned" {
			out = append(out, model.SpotInterruption{InstanceID: m.ID, SinceUnix: m.markedAt.Unix()})
		}
	}
	slices.SortFunc(out, func(a, b model.SpotInterruption) int { return cmp.Compare(a.InstanceID, b.InstanceID) })
	return out, nil
}

// Impaired returns what is wrong with instances, whoever owns them, by id and kind.
func (f *Fleet) Impaired(context.Context) ([]model.Impairment, error) {
	defer f.enter()()
	if err := f.reach("DescribeInstanceStatus"); err != nil {
		return nil, err
	}
	var out []model.Impairment
	for _, m := range f.listed {
		if m.State == stateRunning {
			out = append(out, m.impaired...)
		}
	}
	slices.SortFunc(out, func(a, b model.Impairment) int {
		if a.InstanceID+" "+a.Kind < b.InstanceID+" "+b.Kind {
			return -1
		}
		return 1
	})
	return out, nil
}

// Impair has a check of an instance fail from now on, or an event be scheduled for it: kind is one of model's.
func (f *Fleet) Impair(id, kind, code string) {
	defer f.enter()()
	m := f.byID[id]
	if m == nil || m.shutting || m.Terminated {
		return
	}
	m.impaired = append(slices.Clone(m.impaired), model.Impairment{
		InstanceID: id, Kind: kind, SinceUnix: f.now().Unix(), Code: code, Message: kind + " of " + id,
	})
	f.log.Note(InstanceImpaired{ID: id, Kind: kind})
}

// Mend has all be well with an instance again.
func (f *Fleet) Mend(id string) {
	defer f.enter()()
	if m := f.byID[id]; m != nil && len(m.impaired) > 0 {
		m.impaired = nil
		f.log.Note(InstanceImpaired{ID: id})
	}
}

// Rebalance recommends to replace a spot instance, which means nothing yet.
func (f *Fleet) Rebalance(id string) {
	defer f.enter()()
	if m := f.byID[id]; m != nil && living(m) && f.events != nil {
		f.events.rebalance(id)
	}
}

// Stop stops an instance, as a person in the console does: it is there and runs nothing.
func (f *Fleet) Stop(id string) {
	defer f.enter()()
	m := f.byID[id]
	if m == nil || !living(m) {
		return
	}
	m.State = stateStopping
	m.cost.stop(f.now())
	f.changed(m)
	f.log.Note(InstanceStopped{ID: id})
	f.eventQueue.Add(f.now().Add(20*time.Second), func() {
		if m.State == stateStopping {
			m.State = stateStopped
			f.changed(m)
		}
	})
}

// MendAll has all be well with every instance. Events that were scheduled stay.
func (f *Fleet) MendAll() {
	defer f.enter()()
	for _, m := range f.listed {
		kept := slices.DeleteFunc(slices.Clone(m.impaired), func(i model.Impairment) bool { return i.Kind != model.ImpairedEvent })
		if len(kept) < len(m.impaired) {
			m.impaired = kept
			f.log.Note(InstanceImpaired{ID: m.ID})
		}
	}
}
