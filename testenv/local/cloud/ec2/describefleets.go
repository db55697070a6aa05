package ec2

import (
	"context"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

type describeFleetsInput struct {
	FleetIDs   []string `query:"FleetId"`
	Filters    []Filter `query:"Filter"`
	NextToken  string
	MaxResults *int
}

type describeFleetsOutput struct {
	NextToken string              `xml:"nextToken,omitempty"`
	Fleets    wire.Set[fleetView] `xml:"fleetSet"`
}

type fleetView struct {
	FleetID                   string                  `xml:"fleetId"`
	State                     string                  `xml:"fleetState"`
	ActivityStatus            string                  `xml:"activityStatus"`
	Type                      string                  `xml:"type"`
	CreateTime                wire.Time               `xml:"createTime"`
	ClientToken               string                  `xml:"clientToken,omitempty"`
	Context                   string                  `xml:"context,omitempty"`
	FulfilledCapacity         float64                 `xml:"fulfilledCapacity"`
	FulfilledOnDemandCapacity float64                 `xml:"fulfilledOnDemandCapacity"`
	Configs                   wire.Set[fleetConfig]   `xml:"launchTemplateConfigs"`
	Target                    *targetCapacity         `xml:"targetCapacitySpecification"`
	SpotOptions               *spotOptions            `xml:"spotOptions"`
	OnDemandOptions           *onDemandOptions        `xml:"onDemandOptions"`
	Tags                      wire.Set[Tag]           `xml:"tagSet"`
	Errors                    wire.Set[fleetError]    `xml:"errorSet"`
	Instances                 wire.Set[fleetInstance] `xml:"fleetInstanceSet"`
}

var fleetFields = fields[*fleet]{
	"fleet-state": func(*fleet) []string { return one("active") },
	"type":        func(*fleet) []string { return one(fleetTypeInstant) },
}

// describeFleets shows instant fleets only to those who name them, as EC2 does.
func (m *Model) describeFleets(_ context.Context, in *describeFleetsInput) (*describeFleetsOutput, error) {
	m.lock()
	defer m.unlock()
	if len(in.FleetIDs) == 0 {
		return &describeFleetsOutput{}, nil
	}
	id := func(f *fleet) string { return f.id }
	found, err := pickByID(m.fleets, in.FleetIDs, id, "InvalidFleetId.NotFound", "fleet ID")
	if err != nil {
		return nil, err
	}
	if found, err = filter(found, in.Filters, fleetFields, func(f *fleet) map[string]string { return m.tags.seen(f.id, m.now()) }); err != nil {
		return nil, err
	}
	found = slices.Clone(found)
	slices.SortFunc(found, func(a, b *fleet) int { return strings.Compare(a.id, b.id) })
	found, next, err := page(found, id, pages{1, 1000, 0}, in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	out := &describeFleetsOutput{NextToken: next}
	for _, f := range found {
		out.Fleets.Items = append(out.Fleets.Items, m.viewFleet(f))
	}
	return out, nil
}

func (m *Model) viewFleet(f *fleet) fleetView {
	v := fleetView{
		FleetID: f.id, State: "active", ActivityStatus: "fulfilled", Type: fleetTypeInstant, CreateTime: wire.Time{Time: f.created},
		ClientToken: f.input.ClientToken, Context: f.input.Context, Configs: wire.SetOf(f.input.LaunchTemplateConfigs),
		Target: f.input.TargetCapacitySpecification, SpotOptions: f.input.SpotOptions, OnDemandOptions: f.input.OnDemandOptions,
		Tags: wire.SetOf(tagList(m.tags.seen(f.id, m.now()))), Errors: f.output.Errors, Instances: f.output.Instances,
	}
	for _, i := range f.output.Instances.Items {
		n := float64(len(i.InstanceIDs.Items))
		v.FulfilledCapacity += n
		if i.Lifecycle == OnDemand {
			v.FulfilledOnDemandCapacity += n
		}
	}
	if int(v.FulfilledCapacity) < f.input.TargetCapacitySpecification.TotalTargetCapacity {
		v.ActivityStatus = "error"
	}
	return v
}
