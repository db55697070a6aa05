package ec2

import (
	"context"
	"fmt"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

type stopInstancesInput struct {
	InstanceIDs    []string `query:"InstanceId"`
	Force          bool
	SkipOsShutdown bool
	Hibernate      bool
}

// stopInstances begins to stop all the instances, or none when one of them cannot be. It may be repeated. Nothing starts
// them again: StartInstances is not modeled.
func (m *Model) stopInstances(_ context.Context, in *stopInstancesInput) (*terminateInstancesOutput, error) {
	return m.changeStates(in.InstanceIDs, func(i *instance) *wire.Error { return i.mayStop(in.Hibernate) }, m.stop)
}

func (i *instance) mayStop(hibernate bool) *wire.Error {
	switch {
	case i.facts.State == Pending || i.ending():
		return wire.Errorf("IncorrectInstanceState", "The instance '%s' is not in a state from which it can be stopped.", i.facts.ID)
	case hibernate && (i.data.HibernationOptions == nil || !value(i.data.HibernationOptions.Configured)):
		return wire.Errorf("UnsupportedHibernationConfiguration", "The instance '%s' is not configured for hibernation.", i.facts.ID)
	case hibernate:
		return wire.Errorf("UnsupportedOperation", "Hibernation is not modelled")
	case i.spotRequest != nil: // every request of the model is one-time
		return wire.Errorf("UnsupportedOperation", "You can't stop the Spot Instance '%s' because it is associated with a one-time Spot Instance request. You can only stop Spot Instances associated with persistent Spot Instance requests.", i.facts.ID)
	case value(i.data.DisableAPIStop):
		return wire.Errorf("OperationNotPermitted", "The instance '%s' may not be stopped. Modify its 'disableApiStop' instance attribute and try again.", i.facts.ID)
	}
	return nil
}

// stop begins to stop an instance that runs.
func (m *Model) stop(i *instance) {
	if i.facts.State != Running {
		return
	}
	i.stateReasonCode, i.stateReason = reasonUser, reasonUser+": User initiated shutdown"
	i.transitionReason = fmt.Sprintf("User initiated (%s)", m.now().UTC().Format("2006-01-02 15:04:05 GMT"))
	m.enter(i, Stopping)
	delay := m.timing.Shutdown.of(fmt.Sprintf("stop/%d/%s", m.seed, i.facts.ID))
	i.stopTimer = m.clock.AfterFunc(delay, func() {
		m.lock()
		defer m.unlock()
		if i.facts.State == Stopping {
			m.enter(i, Stopped)
		}
	})
}

// idle reports whether an instance is stopped, or about to be.
func (i *instance) idle() bool { return i.facts.State == Stopping || i.facts.State == Stopped }
