package ec2

import (
	"cmp"
	"context"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

type describeSpotInstanceRequestsInput struct {
	IDs        []string `query:"SpotInstanceRequestId"`
	Filters    []Filter `query:"Filter"`
	NextToken  string
	MaxResults *int
}

type describeSpotInstanceRequestsOutput struct {
	NextToken string                    `xml:"nextToken,omitempty"`
	Requests  wire.Set[spotRequestView] `xml:"spotInstanceRequestSet"`
}

type spotRequestView struct {
	ID                   string                  `xml:"spotInstanceRequestId"`
	Price                string                  `xml:"spotPrice"`
	Type                 string                  `xml:"type"`
	State                string                  `xml:"state"`
	Status               spotStatusView          `xml:"status"`
	Specification        launchSpecificationView `xml:"launchSpecification"`
	InstanceID           string                  `xml:"instanceId"`
	CreateTime           wire.Time               `xml:"createTime"`
	ProductDescription   string                  `xml:"productDescription"`
	AvailabilityZone     string                  `xml:"launchedAvailabilityZone"`
	AvailabilityZoneID   string                  `xml:"launchedAvailabilityZoneId"`
	InterruptionBehavior string                  `xml:"instanceInterruptionBehavior"`
	Tags                 wire.Set[Tag]           `xml:"tagSet"`
}

type spotStatusView struct {
	Code       string    `xml:"code"`
	UpdateTime wire.Time `xml:"updateTime"`
	Message    string    `xml:"message"`
}

type launchSpecificationView struct {
	ImageID           string             `xml:"imageId"`
	KeyName           string             `xml:"keyName,omitempty"`
	Groups            wire.Set[groupRef] `xml:"groupSet"`
	InstanceType      string             `xml:"instanceType"`
	AvailabilityZone  string             `xml:"placement>availabilityZone"`
	SubnetID          string             `xml:"subnetId"`
	MonitoringEnabled bool               `xml:"monitoring>enabled"`
}

var spotRequestFields = fields[*spotRequest]{
	"create-time":                   func(r *spotRequest) []string { return one(timeText(r.created)) },
	"instance-id":                   func(r *spotRequest) []string { return one(r.instance.facts.ID) },
	"launch.image-id":               func(r *spotRequest) []string { return one(r.instance.facts.ImageID) },
	"launch.instance-type":          func(r *spotRequest) []string { return one(r.instance.facts.Type) },
	"launched-availability-zone":    func(r *spotRequest) []string { return one(r.instance.facts.Zone) },
	"launched-availability-zone-id": func(r *spotRequest) []string { return one(r.instance.facts.ZoneID) },
	"product-description":           func(r *spotRequest) []string { return one(r.instance.image.Platform) },
	"spot-instance-request-id":      func(r *spotRequest) []string { return one(r.id) },
	"state":                         func(r *spotRequest) []string { return one(r.status.state) },
	"status-code":                   func(r *spotRequest) []string { return one(r.status.code) },
	"status-message":                func(r *spotRequest) []string { return one(r.status.message) },
	"type":                          func(*spotRequest) []string { return one(oneTime) },
}

// oneTime is the type of requests that a fleet or RunInstances makes.
const oneTime = "one-time"

func (m *Model) describeSpotInstanceRequests(_ context.Context, in *describeSpotInstanceRequestsInput) (*describeSpotInstanceRequestsOutput, error) {
	m.lock()
	defer m.unlock()
	if len(in.IDs) > 0 && in.MaxResults != nil {
		return nil, wire.Errorf("InvalidParameterCombination", "The parameter spotInstanceRequestIdSet cannot be used with the parameter maxResults")
	}
	found, err := pickByID(m.visibleRequests(), in.IDs, func(r *spotRequest) string { return r.id }, "InvalidSpotInstanceRequestID.NotFound", "spot instance request ID")
	if err != nil {
		return nil, err
	}
	tags := func(r *spotRequest) map[string]string { return m.tags.seen(r.id, m.now()) }
	if found, err = filter(found, in.Filters, spotRequestFields, tags); err != nil {
		return nil, err
	}
	key := func(r *spotRequest) string { return leftPad(int64(r.seq)) }
	found, next, err := page(found, key, pages{5, 1000, 0}, in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	views := []spotRequestView{}
	for _, r := range found {
		views = append(views, m.viewRequest(r))
	}
	return &describeSpotInstanceRequestsOutput{next, wire.SetOf(views)}, nil
}

// visibleRequests returns the requests describing shows now, by launch. Never nil.
func (m *Model) visibleRequests() []*spotRequest {
	now := m.now()
	out := []*spotRequest{}
	for _, r := range m.spotRequests {
		if !r.instance.visibleAt.After(now) {
			out = append(out, r)
		}
	}
	return out
}

func (m *Model) viewRequest(r *spotRequest) spotRequestView {
	i := r.instance
	v := spotRequestView{
		ID: r.id, Price: cmp.Or(i.maxPrice, dollars(m.priceOf(i.typ, i.facts.Zone, OnDemand))), Type: oneTime, State: r.status.state,
		Status:        spotStatusView{r.status.code, wire.Time{Time: r.updated}, r.status.message},
		Specification: launchSpecificationView{ImageID: i.facts.ImageID, KeyName: i.data.KeyName, Groups: groupRefs(i.groups), InstanceType: i.facts.Type, AvailabilityZone: i.facts.Zone, SubnetID: i.facts.SubnetID},
		InstanceID:    i.facts.ID, CreateTime: wire.Time{Time: r.created}, ProductDescription: cmp.Or(i.image.Platform, linux),
		AvailabilityZone: i.facts.Zone, AvailabilityZoneID: i.facts.ZoneID, InterruptionBehavior: interruptTerminate,
		Tags: wire.SetOf(tagList(m.tags.seen(r.id, m.now()))),
	}
	if i.data.Monitoring != nil {
		v.Specification.MonitoringEnabled = value(i.data.Monitoring.Enabled)
	}
	return v
}
