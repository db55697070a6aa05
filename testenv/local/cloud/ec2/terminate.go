package ec2

import (
	"context"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

type terminateInstancesInput struct {
	InstanceIDs    []string `query:"InstanceId"`
	Force          bool
	SkipOsShutdown bool
}

type terminateInstancesOutput struct {
	Instances wire.Set[stateChange] `xml:"instancesSet"`
}

type stateChange struct {
	InstanceID string    `xml:"instanceId"`
	Current    stateView `xml:"currentState"`
	Previous   stateView `xml:"previousState"`
}

// terminateInstances begins the end of all the instances, or of none when one
// of the ids is wrong. It may be repeated.
func (m *Model) terminateInstances(_ context.Context, in *terminateInstancesInput) (*terminateInstancesOutput, error) {
	return m.changeStates(in.InstanceIDs, func(i *instance) *wire.Error {
		if value(i.data.DisableAPITermination) {
			return wire.Errorf("OperationNotPermitted", "The instance '%s' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again.", i.facts.ID)
		}
		return nil
	}, func(i *instance) { m.terminate(i, reasonUser) })
}

// changeStates changes all the instances, or none when one of the ids is wrong or an instance may not be changed, and tells their states
// before and after.
func (m *Model) changeStates(ids []string, may func(*instance) *wire.Error, change func(*instance)) (*terminateInstancesOutput, error) {
	m.lock()
	defer m.unlock()
	if len(ids) == 0 {
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameter InstanceId")
	}
	found, err := m.findInstances(ids)
	if err != nil {
		return nil, err
	}
	for _, i := range found {
		if err := may(i); err != nil {
			return nil, err
		}
	}
	out := &terminateInstancesOutput{}
	for _, i := range found {
		before := viewState(i.facts.State)
		change(i)
		out.Instances.Items = append(out.Instances.Items, stateChange{i.facts.ID, viewState(i.facts.State), before})
	}
	return out, nil
}
