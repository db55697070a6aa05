package ec2

import (
	"context"

	"github.com/joiner-sh/joiner/testenv/cloud/wire"
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
	InstanceID         string      `xml:"instanceId"`
	AvailabilityZone   string      `xml:"availabilityZone"`
	AvailabilityZoneID string      `xml:"availabilityZoneId"`
	State              stateView   `xml:"instanceState"`
	SystemStatus       statusCheck `xml:"systemStatus"`
	InstanceStatus     statusCheck `xml:"instanceStatus"`
	EBSStatus          statusCheck `xml:"attachedEbsStatus"`
}

type statusCheck struct {
	Status  string                    `xml:"status"`
	Details wire.Set[statusCheckView] `xml:"details"`
}

type statusCheckView struct {
	Name   string `xml:"name"`
	Status string `xml:"status"`
}

var statusFields = fields[*instance]{
	"availability-zone":          instanceFields["availability-zone"],
	"availability-zone-id":       instanceFields["availability-zone-id"],
	"instance-state-code":        instanceFields["instance-state-code"],
	"instance-state-name":        instanceFields["instance-state-name"],
	"instance-status.status":     func(i *instance) []string { return one(check(i).Status) },
	"system-status.status":       func(i *instance) []string { return one(check(i).Status) },
	"attached-ebs-status.status": func(i *instance) []string { return one(check(i).Status) },
}

// check is the outcome of every status check: what runs is well.
func check(i *instance) statusCheck {
	switch i.facts.State {
	case Pending:
		return statusCheck{Status: "initializing", Details: wire.SetOf([]statusCheckView{{"reachability", "initializing"}})}
	case Running:
		return statusCheck{Status: "ok", Details: wire.SetOf([]statusCheckView{{"reachability", "passed"}})}
	}
	return statusCheck{Status: "not-applicable"}
}

func (m *Model) describeInstanceStatus(_ context.Context, in *describeInstanceStatusInput) (*describeInstanceStatusOutput, error) {
	m.lock()
	defer m.unlock()
	found, err := m.findInstances(in.InstanceIDs)
	if err != nil {
		return nil, err
	}
	if found, err = filter(found, in.Filters, statusFields, m.instanceTags); err != nil {
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
		views = append(views, instanceStatusView{i.facts.ID, i.facts.Zone, i.facts.ZoneID, viewState(i.facts.State), check(i), check(i), check(i)})
	}
	return &describeInstanceStatusOutput{wire.SetOf(views), next}, nil
}
