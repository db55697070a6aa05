package ec2

import (
	"context"

	"github.com/joiner-sh/joiner/testenv/cloud/wire"
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
	m.lock()
	defer m.unlock()
	if len(in.InstanceIDs) == 0 {
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameter InstanceId")
	}
	found, err := m.findInstances(in.InstanceIDs)
	if err != nil {
		return nil, err
	}
	for _, i := range found {
		if value(i.data.DisableAPITermination) {
			return nil, wire.Errorf("OperationNotPermitted", "The instance '%s' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again.", i.facts.ID)
		}
	}
	out := &terminateInstancesOutput{}
	for _, i := range found {
		before := viewState(i.facts.State)
		m.terminate(i, reasonUser)
		out.Instances.Items = append(out.Instances.Items, stateChange{i.facts.ID, viewState(i.facts.State), before})
	}
	return out, nil
}
