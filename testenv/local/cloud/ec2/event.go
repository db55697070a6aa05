package ec2

import (
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
)

// source is what EC2 signs its events with.
const source = "aws.ec2"

// Types of the events EC2 sends to EventBridge.
const (
	EventStateChange        = "EC2 Instance State-change Notification"
	EventSpotWarning        = "EC2 Spot Instance Interruption Warning"
	EventRebalance          = "EC2 Instance Rebalance Recommendation"
	EventReservationWarning = "EC2 Capacity Reservation Instance Interruption Warning"
)

// OnEvent registers f to be called with each event EC2 would send to EventBridge, in the order of what happens, after the
// hooks of the same change. detail marshals to the event's detail. Hooks may call the model.
func (m *Model) OnEvent(f func(source, detailType string, detail any, resources []string)) {
	m.lock()
	defer m.unlock()
	m.onEvent = append(m.onEvent, f)
}

// send queues an event for the hooks.
func (m *Model) send(detailType string, detail map[string]string, resource string) {
	for _, f := range m.onEvent {
		m.after = append(m.after, func() { f(source, detailType, detail, []string{resource}) })
	}
}

// sendState tells that an instance is in another state.
func (m *Model) sendState(i *instance) {
	m.send(EventStateChange, map[string]string{"instance-id": i.facts.ID, "state": string(i.facts.State)}, m.arn("instance/"+i.facts.ID))
}

// sendSpotWarning tells that a spot instance has two minutes left. Its resource names a zone where others name region and
// account, as the events people show do, or region and account, as the guide does.
func (m *Model) sendSpotWarning(i *instance) {
	resource := "arn:aws:ec2:" + i.facts.Zone + ":instance/" + i.facts.ID
	if m.reads.Takes(reading.EventResource) {
		resource = m.arn("instance/" + i.facts.ID)
	}
	m.send(EventSpotWarning, map[string]string{"instance-id": i.facts.ID, "instance-action": interruptTerminate}, resource)
}

// sendReservationWarning tells that an instance of an interruptible reservation has two minutes left.
func (m *Model) sendReservationWarning(i *instance) {
	m.send(EventReservationWarning, map[string]string{
		"instance-id": i.facts.ID, "instance-action": interruptTerminate, "azId": catalog.ZoneID(i.facts.Zone),
		"instance-termination-time": m.now().Add(m.timing.warning()).UTC().Format("2006-01-02T15:04:05Z"),
	}, m.arn("instance/"+i.facts.ID))
}
