package ec2fleet

import (
	"context"
	"encoding/json"
	"sort"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// maxOverrides bounds one request. EC2 takes 300 launch specifications per fleet request (EC2 user guide, fleet
// quotas).
const maxOverrides = 300

// request is what is stored: everything CreateFleet is given, in a form of our own that no SDK release changes.
type request struct {
	Version      int               `json:"v"`
	Intent       string            `json:"intent"`
	Token        string            `json:"token"`
	CapacityType string            `json:"capacityType"`
	Count        int32             `json:"count"`
	Templates    []template        `json:"templates"`
	Tags         map[string]string `json:"tags"`
	Market       string            `json:"market,omitempty"`  // of reserved capacity not bought as on-demand, see below
	Context      string            `json:"context,omitempty"` // handed to EC2 as it is
	// EC2 goes by the overrides' prices, which people set, and not by its own
	Prioritized bool `json:"prioritized,omitempty"`
	// EC2 takes open capacity reservations first
	OpenFirst bool `json:"openFirst,omitempty"`
}

// Markets of reserved capacity. Instances of a plain reservation are bought on demand and target it.
const (
	marketBlock         = "capacity-block"
	marketInterruptible = "interruptible"
)

type template struct {
	Name        string     `json:"name"`
	ImageID     string     `json:"image"`                 // what the launch template boots; the answer does not say
	Reservation string     `json:"reservation,omitempty"` // what its instances run in; the answer does not say either
	Overrides   []override `json:"overrides"`
}

type override struct {
	InstanceType string         `json:"type"`
	Zone         string         `json:"zone"`
	SubnetID     string         `json:"subnet"`
	Price        model.MicroUSD `json:"price"`
}

// Requests are written as the first version that has all they hold: a build that knows only earlier ones would leave it
// out.
const (
	requestVersion     = 1
	requestReserved    = 2 // has market and context
	requestPrioritized = 3
	requestOpenFirst   = 4
	requestNewest      = requestOpenFirst
)

// PrepareRequest makes sure of the launch templates and returns the bytes to store.
func (f *Fleet) PrepareRequest(ctx context.Context, launch model.Launch) ([]byte, error) {
	r := request{
		Version: requestVersion, Intent: launch.Intent, Token: launch.Token, CapacityType: launch.CapacityType,
		Count: int32(len(launch.Claims)), Tags: tagsOf(launch), Context: launch.Context,
		Prioritized: launch.Prioritized, OpenFirst: opens(launch),
	}
	if err := checkTemplates(launch); err != nil {
		return nil, err
	}
	r.Market = marketOf(launch)
	var total int
	for _, t := range launch.Templates {
		name, err := f.ensureTemplate(ctx, launch, t)
		if err != nil {
			return nil, err
		}
		entry := template{Name: name, ImageID: t.ImageID, Reservation: t.Reservation}
		for _, o := range t.Overrides {
			if total == maxOverrides {
				break // most expensive ones last: they are the ones left out
			}
			entry.Overrides = append(entry.Overrides, override{o.InstanceType, o.Zone, o.SubnetID, o.Price})
			total++
		}
		if len(entry.Overrides) > 0 {
			r.Templates = append(r.Templates, entry)
		}
	}
	if total == 0 || r.Count == 0 {
		return nil, fault.New(fault.Invalid, "",
			"launch of NodePool %s has %d offerings for %d claims; both must be at least one",
			launch.Pool, total, r.Count)
	}
	switch {
	case r.OpenFirst:
		r.Version = requestOpenFirst
	case r.Prioritized:
		r.Version = requestPrioritized
	case r.Context != "" || launch.CapacityType == model.Reserved:
		r.Version = requestReserved
	}
	text, err := json.Marshal(r)
	return text, fault.Wrap(fault.Invalid, "", err, "encode launch %s", launch.Intent)
}

// checkTemplates refuses what EC2 would refuse of one fleet: reserved capacity of two kinds or without its reservation,
// two capacity blocks, and two overrides of one instance type and zone.
func checkTemplates(launch model.Launch) error {
	type pool struct{ instanceType, zone string }
	seen := map[pool]bool{}
	wrong := func(format string, args ...any) error {
		return fault.New(fault.Invalid, "", "launch "+launch.Intent+" of NodePool "+launch.Pool+": "+format, args...)
	}
	for i, t := range launch.Templates {
		first := launch.Templates[0]
		switch {
		case (t.Reservation != "") != (launch.CapacityType == model.Reserved):
			return wrong("template %d is for reservation %q and the launch requests %s", i, t.Reservation,
				launch.CapacityType)
		case t.Block != first.Block || t.Interruptible != first.Interruptible:
			return wrong("its templates are for reservations of several kinds")
		case t.Block && t.Reservation != first.Reservation:
			return wrong("it names the capacity blocks %s and %s; a fleet takes one", first.Reservation, t.Reservation)
		}
		for _, o := range t.Overrides {
			if seen[pool{o.InstanceType, o.Zone}] {
				return wrong("%s in %s is named twice", o.InstanceType, o.Zone)
			}
			seen[pool{o.InstanceType, o.Zone}] = true
		}
	}
	return nil
}

func marketOf(launch model.Launch) string {
	switch {
	case launch.CapacityType != model.Reserved || len(launch.Templates) == 0:
		return ""
	case launch.Templates[0].Block:
		return marketBlock
	case launch.Templates[0].Interruptible:
		return marketInterruptible
	}
	return ""
}

func decodeRequest(text []byte) (*request, error) {
	var r request
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fault.Wrap(fault.Invalid, "", err, "decode a stored request of %d bytes", len(text))
	}
	if r.Version < requestVersion || r.Version > requestNewest {
		return nil,
			fault.New(fault.Invalid, "", "stored request of intent %s is of version %d and this build knows %d to %d",
				r.Intent, r.Version, requestVersion, requestNewest)
	}
	return &r, nil
}

// input is the request as the SDK sends it.
func (r *request) input() *ec2.CreateFleetInput {
	input := &ec2.CreateFleetInput{
		Type:        types.FleetTypeInstant,
		ClientToken: aws.String(r.Token),
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{
			TotalTargetCapacity: aws.Int32(r.Count), DefaultTargetCapacityType: types.DefaultTargetCapacityTypeOnDemand,
		},
	}
	if r.Context != "" {
		input.Context = aws.String(r.Context)
	}
	r.strategy(input)
	resources := []types.ResourceType{types.ResourceTypeInstance, types.ResourceTypeVolume, types.ResourceTypeFleet}
	for _, resource := range resources {
		input.TagSpecifications = append(input.TagSpecifications,
			types.TagSpecification{ResourceType: resource, Tags: sdkTags(r.Tags)})
	}
	for _, t := range r.Templates {
		config := types.FleetLaunchTemplateConfigRequest{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{
				LaunchTemplateName: aws.String(t.Name), Version: aws.String("$Latest"),
			},
		}
		for _, o := range t.Overrides {
			config.Overrides = append(config.Overrides, types.FleetLaunchTemplateOverridesRequest{
				InstanceType: types.InstanceType(o.InstanceType), SubnetId: aws.String(o.SubnetID),
				AvailabilityZone: aws.String(o.Zone),
				Priority:         aws.Float64(o.Price.USD()),
			})
		}
		input.LaunchTemplateConfigs = append(input.LaunchTemplateConfigs, config)
	}
	return input
}

// strategy says what kind of capacity is bought, and which of the pools first. The prioritized strategies read the
// overrides' priorities: they are for prices that people set by NodeOverlays.
func (r *request) strategy(input *ec2.CreateFleetInput) {
	target := &input.TargetCapacitySpecification.DefaultTargetCapacityType
	switch {
	case r.CapacityType == model.Spot:
		*target = types.DefaultTargetCapacityTypeSpot
		input.SpotOptions = &types.SpotOptionsRequest{
			AllocationStrategy: types.SpotAllocationStrategyPriceCapacityOptimized,
		}
		if r.Prioritized {
			input.SpotOptions.AllocationStrategy = types.SpotAllocationStrategyCapacityOptimizedPrioritized
		}
	case r.Market == marketBlock:
		*target = types.DefaultTargetCapacityTypeCapacityBlock
	case r.Market == marketInterruptible:
		*target = types.DefaultTargetCapacityTypeReservedCapacity
		input.ReservedCapacityOptions = &types.ReservedCapacityOptionsRequest{
			ReservationTypes: []types.FleetReservationType{types.FleetReservationTypeInterruptibleCapacityReservation},
		}
	default:
		input.OnDemandOptions = &types.OnDemandOptionsRequest{
			AllocationStrategy: types.FleetOnDemandAllocationStrategyLowestPrice,
		}
		if r.Prioritized {
			input.OnDemandOptions.AllocationStrategy = types.FleetOnDemandAllocationStrategyPrioritized
		}
		if r.OpenFirst {
			input.OnDemandOptions.CapacityReservationOptions = &types.CapacityReservationOptionsRequest{
				UsageStrategy: types.FleetCapacityReservationUsageStrategyUseCapacityReservationsFirst,
			}
		}
	}
}

// result reads the answer: instances by id, and every error with the pool of capacity it names.
func (r *request) result(out *ec2.CreateFleetOutput) model.LaunchResult {
	zones, templates := map[string]string{}, map[override]*template{}
	for i := range r.Templates {
		t := &r.Templates[i]
		for _, o := range t.Overrides {
			zones[o.SubnetID] = o.Zone
			templates[override{InstanceType: o.InstanceType, SubnetID: o.SubnetID}] = t
		}
	}
	var result model.LaunchResult
	for i := range out.Instances {
		at := r.instanceOf(&out.Instances[i], zones, templates)
		for _, id := range out.Instances[i].InstanceIds {
			instance := at
			instance.ID = id
			result.Instances = append(result.Instances, instance)
		}
	}
	sort.Slice(result.Instances, func(i, j int) bool { return result.Instances[i].ID < result.Instances[j].ID })
	for i := range out.Errors {
		result.Errors = append(result.Errors, r.errorOf(&out.Errors[i], zones))
	}
	return result
}

// instanceOf reads what the instances of one pool of capacity have in common.
func (r *request) instanceOf(set *types.CreateFleetInstance, zones map[string]string,
	templates map[override]*template) model.Instance {
	at := model.Instance{Type: string(set.InstanceType), CapacityType: r.CapacityType,
		State: string(types.InstanceStateNamePending), Tags: r.Tags}
	if set.Lifecycle == types.InstanceLifecycleSpot {
		at.CapacityType = model.Spot
	}
	if l := set.LaunchTemplateAndOverrides; l != nil && l.Overrides != nil {
		at.SubnetID, at.Zone = aws.ToString(l.Overrides.SubnetId), aws.ToString(l.Overrides.AvailabilityZone)
		if at.Type == "" {
			at.Type = string(l.Overrides.InstanceType)
		}
	}
	if at.Zone == "" {
		at.Zone = zones[at.SubnetID]
	}
	if t := templates[override{InstanceType: at.Type, SubnetID: at.SubnetID}]; t != nil {
		at.ImageID, at.Reservation = t.ImageID, t.Reservation
	}
	return at
}

func (r *request) errorOf(e *types.CreateFleetError, zones map[string]string) model.LaunchError {
	out := model.LaunchError{Code: aws.ToString(e.ErrorCode), Message: aws.ToString(e.ErrorMessage)}
	out.Offering.CapacityType = r.CapacityType
	if l := e.LaunchTemplateAndOverrides; l != nil && l.Overrides != nil {
		out.Offering.InstanceType = string(l.Overrides.InstanceType)
		out.Offering.Zone = aws.ToString(l.Overrides.AvailabilityZone)
		out.SubnetID = aws.ToString(l.Overrides.SubnetId)
		if out.Offering.Zone == "" {
			out.Offering.Zone = zones[out.SubnetID]
		}
	}
	return out
}
