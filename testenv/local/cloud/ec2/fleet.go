package ec2

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

type createFleetInput struct {
	ClientToken                 string `json:"-"`
	Type                        string
	SpotOptions                 *spotOptions
	OnDemandOptions             *onDemandOptions
	ReservedCapacityOptions     *reservedOptions
	LaunchTemplateConfigs       []fleetConfig
	TargetCapacitySpecification *targetCapacity
	TagSpecifications           []TagSpecification `query:"TagSpecification"`
	Context                     string
}

type spotOptions struct {
	AllocationStrategy           string `xml:"allocationStrategy,omitempty"`
	InstanceInterruptionBehavior string `xml:"instanceInterruptionBehavior,omitempty"`
	InstancePoolsToUseCount      *int   `xml:"instancePoolsToUseCount,omitempty"`
}

type onDemandOptions struct {
	AllocationStrategy         string              `xml:"allocationStrategy,omitempty"`
	CapacityReservationOptions *reservationOptions `xml:"capacityReservationOptions,omitempty"`
}

// reservationOptions say whether open reservations are used before pools are chosen.
type reservationOptions struct {
	UsageStrategy string `xml:"usageStrategy,omitempty"`
}

type reservedOptions struct {
	ReservationTypes []string `query:"ReservationType" xml:"reservationTypeSet>item"`
}

type targetCapacity struct {
	TotalTargetCapacity       int    `xml:"totalTargetCapacity"`
	OnDemandTargetCapacity    int    `xml:"onDemandTargetCapacity"`
	SpotTargetCapacity        int    `xml:"spotTargetCapacity"`
	DefaultTargetCapacityType string `xml:"defaultTargetCapacityType,omitempty"`
}

type fleetConfig struct {
	Specification *templateRef    `query:"LaunchTemplateSpecification" xml:"launchTemplateSpecification"`
	Overrides     []fleetOverride `xml:"overrides>item"`
}

type templateRef struct {
	LaunchTemplateID   string `query:"LaunchTemplateId" xml:"launchTemplateId,omitempty"`
	LaunchTemplateName string `xml:"launchTemplateName,omitempty"`
	Version            string `xml:"version,omitempty"`
}

type fleetOverride struct {
	InstanceType        string               `xml:"instanceType,omitempty"`
	MaxPrice            string               `xml:"maxPrice,omitempty"`
	SubnetID            string               `query:"SubnetId" xml:"subnetId,omitempty"`
	AvailabilityZone    string               `xml:"availabilityZone,omitempty"`
	AvailabilityZoneID  string               `query:"AvailabilityZoneId" xml:"availabilityZoneId,omitempty"`
	Priority            *float64             `xml:"priority,omitempty"`
	ImageID             string               `query:"ImageId" xml:"imageId,omitempty"`
	BlockDeviceMappings []BlockDeviceMapping `query:"BlockDeviceMapping" xml:"blockDeviceMappingSet>item"`
}

type createFleetOutput struct {
	FleetID   string                  `xml:"fleetId"`
	Errors    wire.Set[fleetError]    `xml:"errorSet"`
	Instances wire.Set[fleetInstance] `xml:"fleetInstanceSet"`
}

type templateAndOverrides struct {
	Specification templateRef   `xml:"launchTemplateSpecification"`
	Overrides     fleetOverride `xml:"overrides"`
}

type fleetError struct {
	Source       templateAndOverrides `xml:"launchTemplateAndOverrides"`
	Lifecycle    string               `xml:"lifecycle"`
	ErrorCode    string               `xml:"errorCode"`
	ErrorMessage string               `xml:"errorMessage"`
}

type fleetInstance struct {
	Source       templateAndOverrides `xml:"launchTemplateAndOverrides"`
	Lifecycle    string               `xml:"lifecycle"`
	InstanceIDs  wire.Set[string]     `xml:"instanceIds"`
	InstanceType string               `xml:"instanceType"`
	Platform     string               `xml:"platform,omitempty"`

	AvailabilityZone   string `xml:"availabilityZone"`
	AvailabilityZoneID string `xml:"availabilityZoneId"`
	SubnetID           string `xml:"subnetId"`
}

// fleet is an instant fleet that was made: its answer is all there is to it.
type fleet struct {
	id      string
	created time.Time
	input   *createFleetInput
	output  *createFleetOutput
}

// createFleet launches instances at once: 1. validate, 2. answer a repeated
// client token as before, 3. resolve every override, 4. allocate each capacity
// type over its pools, 5. launch. What one pool cannot give is an error in the
// answer, not of the call.
func (m *Model) createFleet(ctx context.Context, in *createFleetInput) (*createFleetOutput, error) {
	m.lock()
	defer m.unlock()
	if err := checkFleet(in); err != nil {
		return nil, err
	}
	if before, ok, err := m.replay("CreateFleet", in.ClientToken, in); ok || err != nil {
		out, _ := before.(*createFleetOutput)
		return out, err
	}
	denied := m.authorize(ctx, "RunInstances")
	f := &fleet{id: "fleet-" + m.newUUID(), created: m.now(), input: in, output: &createFleetOutput{}}
	f.output.FleetID = f.id
	spot, onDemand := in.TargetCapacitySpecification.split()
	spotPools, err := m.fleetPools(in, f.id, Spot, m.launching(ctx, in, spot, denied))
	if err != nil {
		return nil, m.refused("CreateFleet", in.ClientToken, in, err)
	}
	onDemandPools, err := m.fleetPools(in, f.id, OnDemand, m.launching(ctx, in, onDemand, denied))
	if err != nil {
		return nil, m.refused("CreateFleet", in.ClientToken, in, err)
	}
	b := newBook()
	grants, left := allocateReserved(m, b, in, onDemandPools, onDemand)
	grants = append(grants, m.allocate(b, f.output, onDemandPools, in.onDemandStrategy(), left)...)
	grants = append(grants, m.allocate(b, f.output, spotPools, in.spotStrategy(), spot)...)
	for _, g := range grants {
		ids := m.launch(&g.pool.spec, g.count)
		f.output.Instances.Items = append(f.output.Instances.Items, g.pool.launched(ids))
	}
	m.tags.set(f.id, tagsFor("fleet", in.TagSpecifications...), m.now())
	m.fleets = append(m.fleets, f)
	if len(grants) > 0 || !m.reads.Takes(reading.TokenUnfulfilled) {
		m.remember("CreateFleet", in.ClientToken, in, f.output)
	}
	return f.output, nil
}

// launching returns what says of one override why the caller may not launch from it; nil when it may. Where nothing is
// asked for of a capacity type, only denied counts: why it may not launch at all.
func (m *Model) launching(ctx context.Context, in *createFleetInput, count int, denied *wire.Error) func(*launchSpec) *wire.Error {
	return func(spec *launchSpec) *wire.Error {
		if denied != nil || count == 0 || spec == nil {
			return denied
		}
		return m.permitLaunch(ctx, spec, in.TagSpecifications)
	}
}

// freely is for looking at the overrides of a fleet without launching it.
func freely(*launchSpec) *wire.Error { return nil }

// tryFleet finds what would refuse a request as a whole.
func (m *Model) tryFleet(_ context.Context, in *createFleetInput) error {
	m.lock()
	defer m.unlock()
	if err := checkFleet(in); err != nil {
		return err
	}
	_, err := m.fleetPools(in, "", OnDemand, freely)
	return err
}

// split returns how many spot and on-demand instances a target asks for.
func (t *targetCapacity) split() (spot, onDemand int) {
	spot, onDemand = t.SpotTargetCapacity, t.OnDemandTargetCapacity
	rest := t.TotalTargetCapacity - spot - onDemand
	if t.DefaultTargetCapacityType == Spot {
		return spot + rest, onDemand
	}
	return spot, onDemand + rest
}

func (in *createFleetInput) spotStrategy() string {
	if in.SpotOptions == nil || in.SpotOptions.AllocationStrategy == "" {
		return lowestPrice
	}
	return in.SpotOptions.AllocationStrategy
}

func (in *createFleetInput) onDemandStrategy() string {
	if in.OnDemandOptions == nil || in.OnDemandOptions.AllocationStrategy == "" {
		return lowestPrice
	}
	return in.OnDemandOptions.AllocationStrategy
}

// reservationsFirst reports whether unused open reservations are used before pools are chosen.
func (in *createFleetInput) reservationsFirst() bool {
	o := in.OnDemandOptions
	return o != nil && o.CapacityReservationOptions != nil &&
		o.CapacityReservationOptions.UsageStrategy == useReservationsFirst
}

// fleetPool is one override, and what it resolved to.
type fleetPool struct {
	source  templateAndOverrides
	spec    launchSpec
	refusal *wire.Error // why nothing can be launched from it; nil when it can
	order   int         // place in the request
}

func (p *fleetPool) priority() (float64, bool) {
	if p.source.Overrides.Priority == nil {
		return 0, false
	}
	return *p.source.Overrides.Priority, true
}

func (p *fleetPool) failed(err *wire.Error) fleetError {
	return fleetError{Source: p.source, Lifecycle: p.spec.market, ErrorCode: err.Code, ErrorMessage: err.Message}
}

func (p *fleetPool) launched(ids []string) fleetInstance {
	out := fleetInstance{Source: p.source, Lifecycle: p.spec.market, InstanceIDs: wire.SetOf(ids), InstanceType: p.spec.typ.Name,
		AvailabilityZone: p.spec.subnet.Zone, AvailabilityZoneID: catalog.ZoneID(p.spec.subnet.Zone), SubnetID: p.spec.subnet.ID}
	if p.spec.image.Platform == windows {
		out.Platform = "Windows"
	}
	return out
}

// fleetPools resolves every override of a request for one capacity type. Only a
// launch template that does not exist or is for another market, and two pools
// that are the same, are errors of the whole request. refuses says why the
// caller may not launch from an override; of one that does not resolve it is told nil.
func (m *Model) fleetPools(in *createFleetInput, fleetID, capacityType string, refuses func(*launchSpec) *wire.Error) ([]*fleetPool, error) {
	var out []*fleetPool
	seen := map[Pool]bool{}
	for _, c := range in.LaunchTemplateConfigs {
		t, err := m.launchable(c.Specification)
		if err != nil {
			return nil, err
		}
		v, err := t.version(c.Specification.Version)
		if err != nil {
			return nil, err
		}
		if err := checkMarket(in.TargetCapacitySpecification, v); err != nil {
			return nil, err
		}
		overrides := c.Overrides
		if len(overrides) == 0 {
			overrides = []fleetOverride{{}}
		}
		for _, o := range overrides {
			p := m.fleetPool(in, v, o, capacityType)
			resolved := &p.spec
			if p.refusal != nil {
				resolved = nil
			}
			if denied := refuses(resolved); denied != nil {
				p.refusal = denied
			}
			p.order, p.spec.fleetID, p.spec.clientToken = len(out), fleetID, in.ClientToken
			p.source.Specification = templateRef{LaunchTemplateID: t.id, Version: c.Specification.Version}
			if p.spec.pool.Zone != "" && seen[p.spec.pool] {
				return nil, wire.Errorf("InvalidFleetConfig", "The fleet configuration contains duplicate instance pools")
			}
			seen[p.spec.pool] = true
			out = append(out, p)
		}
	}
	return out, nil
}

func (m *Model) fleetPool(in *createFleetInput, v *templateVersion, o fleetOverride, capacityType string) *fleetPool {
	p := &fleetPool{source: templateAndOverrides{Overrides: o}}
	market := capacityType
	if capacityType == OnDemand {
		market = marketOf(in.TargetCapacitySpecification)
	}
	p.spec, p.refusal = m.resolve(launchRequest{
		capacityType: capacityType, market: market, instanceType: o.InstanceType, subnetID: o.SubnetID,
		zone: o.AvailabilityZone, zoneID: o.AvailabilityZoneID, imageID: o.ImageID, maxPrice: o.MaxPrice,
		mappings: o.BlockDeviceMappings, version: v, data: v.data, tags: in.TagSpecifications,
		refusesWrongZoneAs: "InvalidFleetConfiguration",
	})
	p.spec.pool.CapacityType = capacityType // also when nothing was resolved
	p.spec.metadata, p.spec.overridden = p.spec.data.metadataOptions(), o
	if o.AvailabilityZone == "" && p.spec.subnet != nil {
		p.source.Overrides.AvailabilityZone = p.spec.subnet.Zone
	}
	return p
}
