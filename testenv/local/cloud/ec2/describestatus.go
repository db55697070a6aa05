package ec2

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

type describeInstanceStatusInput struct {
	InstanceIDs         []string `query:"InstanceId"`
	Filters             []Filter `query:"Filter"`
	IncludeAllInstances bool
	NextToken           string
	MaxResults          *int
}

type describeInstanceStatusOutput struct {
	Statuses  wire.Set[instanceStatusView] `xml:"instanceStatusSet"`
	NextToken string                       `xml:"nextToken,omitempty"`
}

type instanceStatusView struct {
	InstanceID         string                `xml:"instanceId"`
	AvailabilityZone   string                `xml:"availabilityZone"`
	AvailabilityZoneID string                `xml:"availabilityZoneId"`
	Events             wire.Set[statusEvent] `xml:"eventsSet"`
	State              stateView             `xml:"instanceState"`
	SystemStatus       statusCheck           `xml:"systemStatus"`
	InstanceStatus     statusCheck           `xml:"instanceStatus"`
	EBSStatus          statusCheck           `xml:"attachedEbsStatus"`
}

type statusEvent struct {
	ID                string     `xml:"instanceEventId"`
	Code              string     `xml:"code"`
	Description       string     `xml:"description"`
	NotAfter          *wire.Time `xml:"notAfter"`
	NotBefore         *wire.Time `xml:"notBefore"`
	NotBeforeDeadline *wire.Time `xml:"notBeforeDeadline"`
}

type statusCheck struct {
	Status  string                    `xml:"status"`
	Details wire.Set[statusCheckView] `xml:"details"`
}

type statusCheckView struct {
	ImpairedSince *wire.Time `xml:"impairedSince"`
	Name          string     `xml:"name"`
	Status        string     `xml:"status"`
}

// maxStatusIDs is how many instances may be named. Source: API reference, DescribeInstanceStatus.
const maxStatusIDs = 100

// statusFields are the filters, by what the events an instance shows now say.
func (m *Model) statusFields() fields[*instance] {
	status := func(c Check) func(*instance) []string {
		return func(i *instance) []string { return one(check(i, c).Status) }
	}
	reachability := func(c Check) func(*instance) []string {
		return func(i *instance) []string {
			var out []string
			for _, d := range check(i, c).Details.Items {
				out = append(out, d.Status)
			}
			return out
		}
	}
	event := func(get func(scheduledEvent) string) func(*instance) []string {
		return func(i *instance) []string {
			var out []string
			for _, e := range m.reported(i) {
				out = append(out, one(get(e))...)
			}
			return out
		}
	}
	when := func(get func(scheduledEvent) time.Time) func(*instance) []string {
		return event(func(e scheduledEvent) string {
			if get(e).IsZero() {
				return ""
			}
			return timeText(get(e))
		})
	}
	return fields[*instance]{
		"availability-zone":            instanceFields["availability-zone"],
		"availability-zone-id":         instanceFields["availability-zone-id"],
		"instance-state-code":          instanceFields["instance-state-code"],
		"instance-state-name":          instanceFields["instance-state-name"],
		"instance-status.status":       status(InstanceCheck),
		"instance-status.reachability": reachability(InstanceCheck),
		"system-status.status":         status(SystemCheck),
		"system-status.reachability":   reachability(SystemCheck),
		"attached-ebs-status.status":   status(EBSCheck),
		"event.code":                   event(func(e scheduledEvent) string { return e.Code }),
		"event.description":            event(func(e scheduledEvent) string { return e.Description }),
		"event.instance-event-id":      event(func(e scheduledEvent) string { return e.ID }),
		"event.not-after":              when(func(e scheduledEvent) time.Time { return e.NotAfter }),
		"event.not-before":             when(func(e scheduledEvent) time.Time { return e.NotBefore }),
		"event.not-before-deadline":    when(func(e scheduledEvent) time.Time { return e.Deadline }),
	}
}

// check is the outcome of a status check: what runs is well unless somebody said otherwise.
func check(i *instance, c Check) statusCheck {
	since, impaired := i.impaired[c]
	switch {
	case i.facts.State == Pending:
		return statusCheck{Status: "initializing", Details: wire.SetOf([]statusCheckView{{nil, "reachability", "initializing"}})}
	case i.facts.State != Running:
		return statusCheck{Status: "not-applicable"}
	case impaired:
		return statusCheck{Status: "impaired", Details: wire.SetOf([]statusCheckView{{moment(since), "reachability", "failed"}})}
	}
	return statusCheck{Status: "ok", Details: wire.SetOf([]statusCheckView{{nil, "reachability", "passed"}})}
}

// moment writes a time; nothing for zero.
func moment(t time.Time) *wire.Time {
	if t.IsZero() {
		return nil
	}
	return &wire.Time{Time: t}
}

func (m *Model) describeInstanceStatus(_ context.Context, in *describeInstanceStatusInput) (*describeInstanceStatusOutput, error) {
	m.lock()
	defer m.unlock()
	switch {
	case len(in.InstanceIDs) > 0 && in.MaxResults != nil:
		return nil, wire.Errorf("InvalidParameterCombination", "The parameter instancesSet cannot be used with the parameter maxResults")
	case len(in.InstanceIDs) > maxStatusIDs:
		return nil, wire.Errorf("InvalidParameterValue", "At most %d instance IDs may be named, not %d", maxStatusIDs, len(in.InstanceIDs))
	}
	found, err := m.findInstances(in.InstanceIDs)
	if err != nil {
		return nil, err
	}
	if found, err = filter(found, in.Filters, m.statusFields(), nil); err != nil {
		return nil, err
	}
	var shown []*instance
	for _, i := range found {
		if in.IncludeAllInstances || i.facts.State == Running {
			shown = append(shown, i)
		}
	}
	key := func(i *instance) string { return leftPad(int64(i.seq)) }
	shown, next, err := page(shown, key, pages{5, 1000, 0}, in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	views := []instanceStatusView{}
	for _, i := range shown {
		views = append(views, m.viewStatus(i))
	}
	return &describeInstanceStatusOutput{wire.SetOf(views), next}, nil
}

func (m *Model) viewStatus(i *instance) instanceStatusView {
	v := instanceStatusView{
		InstanceID: i.facts.ID, AvailabilityZone: i.facts.Zone, AvailabilityZoneID: i.facts.ZoneID, State: viewState(i.facts.State),
		SystemStatus: check(i, SystemCheck), InstanceStatus: check(i, InstanceCheck), EBSStatus: check(i, EBSCheck),
	}
	for _, e := range m.reported(i) {
		v.Events.Items = append(v.Events.Items, statusEvent{e.ID, e.Code, e.Description, moment(e.NotAfter), moment(e.NotBefore), moment(e.Deadline)})
	}
	return v
}
