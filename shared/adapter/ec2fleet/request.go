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

// maxOverrides bounds one request. EC2 takes 300 launch specifications per fleet request (EC2 user guide, fleet quotas).
const maxOverrides = 300

// request is what is stored: everything CreateFleet is told, in a form of our own that no SDK release changes.
type request struct {
	Version      int               `json:"v"`
	Intent       string            `json:"intent"`
	Token        string            `json:"token"`
	CapacityType string            `json:"capacityType"`
	Count        int32             `json:"count"`
	Templates    []template        `json:"templates"`
	Tags         map[string]string `json:"tags"`
}

type template struct {
	Name      string     `json:"name"`
	ImageID   string     `json:"image"` // what the launch template boots; the answer does not say
	Overrides []override `json:"overrides"`
}

type override struct {
	InstanceType string         `json:"type"`
	Zone         string         `json:"zone"`
	SubnetID     string         `json:"subnet"`
	Price        model.MicroUSD `json:"price"`
}

const requestVersion = 1

// Request makes sure of the launch templates and returns the bytes to store.
func (f *Fleet) Request(ctx context.Context, launch model.Launch) ([]byte, error) {
	r := request{
		Version: requestVersion, Intent: launch.Intent, Token: launch.Token, CapacityType: launch.CapacityType,
		Count: int32(len(launch.Claims)), Tags: tagsOf(launch),
	}
	var total int
	for _, t := range launch.Templates {
		name, err := f.ensureTemplate(ctx, launch, t)
		if err != nil {
			return nil, err
		}
		entry := template{Name: name, ImageID: t.ImageID}
		for _, o := range t.Overrides {
			if total == maxOverrides {
				break // dearest ones last: they are the ones left out
			}
			entry.Overrides = append(entry.Overrides, override{o.InstanceType, o.Zone, o.SubnetID, o.Price})
			total++
		}
		if len(entry.Overrides) > 0 {
			r.Templates = append(r.Templates, entry)
		}
	}
	if total == 0 || r.Count == 0 {
		return nil, fault.New(fault.Invalid, "", "launch of pool %s has %d offers for %d claims; both must be at least one", launch.Pool, total, r.Count)
	}
	text, err := json.Marshal(r)
	return text, fault.Wrap(fault.Invalid, "", err, "encode launch %s", launch.Intent)
}

func decodeRequest(text []byte) (*request, error) {
	var r request
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fault.Wrap(fault.Invalid, "", err, "decode a stored request of %d bytes", len(text))
	}
	if r.Version != requestVersion {
		return nil, fault.New(fault.Invalid, "", "stored request of intent %s is of version %d and this build knows %d", r.Intent, r.Version, requestVersion)
	}
	return &r, nil
}

// tagsOf are the tags of instance, volume and fleet. What the class asks for comes first; ours win.
func tagsOf(launch model.Launch) map[string]string {
	tags := map[string]string{}
	for key, value := range launch.Class.Tags {
		tags[key] = value
	}
	tags["kubernetes.io/cluster/"+launch.Cluster] = "owned"
	tags["eks:eks-cluster-name"] = launch.Cluster
	tags[model.LabelNodePool] = launch.Pool
	tags[model.LabelNodeClass] = launch.Class.Name
	tags[TagIntent] = launch.Intent
	if len(launch.Claims) == 1 {
		tags["karpenter.sh/nodeclaim"] = launch.Claims[0]
	}
	return tags
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
	resources := []types.ResourceType{types.ResourceTypeInstance, types.ResourceTypeVolume, types.ResourceTypeFleet}
	if r.CapacityType == model.Spot {
		input.TargetCapacitySpecification.DefaultTargetCapacityType = types.DefaultTargetCapacityTypeSpot
		input.SpotOptions = &types.SpotOptionsRequest{AllocationStrategy: types.SpotAllocationStrategyPriceCapacityOptimized}
	} else {
		input.OnDemandOptions = &types.OnDemandOptionsRequest{AllocationStrategy: types.FleetOnDemandAllocationStrategyLowestPrice}
	}
	for _, resource := range resources {
		input.TagSpecifications = append(input.TagSpecifications, types.TagSpecification{ResourceType: resource, Tags: sdkTags(r.Tags)})
	}
	for _, t := range r.Templates {
		config := types.FleetLaunchTemplateConfigRequest{LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{
			LaunchTemplateName: aws.String(t.Name), Version: aws.String("$Latest"),
		}}
		for _, o := range t.Overrides {
			config.Overrides = append(config.Overrides, types.FleetLaunchTemplateOverridesRequest{
				InstanceType: types.InstanceType(o.InstanceType), SubnetId: aws.String(o.SubnetID), AvailabilityZone: aws.String(o.Zone),
				Priority: aws.Float64(o.Price.USD()),
			})
		}
		input.LaunchTemplateConfigs = append(input.LaunchTemplateConfigs, config)
	}
	return input
}

// result reads the answer: instances by id, and every error with the pool of capacity it speaks of.
func (r *request) result(out *ec2.CreateFleetOutput) model.LaunchResult {
	zones, images := map[string]string{}, map[override]string{}
	for _, t := range r.Templates {
		for _, o := range t.Overrides {
			zones[o.SubnetID] = o.Zone
			images[override{InstanceType: o.InstanceType, SubnetID: o.SubnetID}] = t.ImageID
		}
	}
	var result model.LaunchResult
	for i := range out.Instances {
		at := r.instanceOf(&out.Instances[i], zones, images)
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
func (r *request) instanceOf(set *types.CreateFleetInstance, zones map[string]string, images map[override]string) model.Instance {
	at := model.Instance{Type: string(set.InstanceType), CapacityType: r.CapacityType, State: string(types.InstanceStateNamePending), Tags: r.Tags}
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
	at.ImageID = images[override{InstanceType: at.Type, SubnetID: at.SubnetID}]
	return at
}

func (r *request) errorOf(e *types.CreateFleetError, zones map[string]string) model.LaunchError {
	out := model.LaunchError{Code: aws.ToString(e.ErrorCode), Message: aws.ToString(e.ErrorMessage)}
	out.Offer.CapacityType = r.CapacityType
	if l := e.LaunchTemplateAndOverrides; l != nil && l.Overrides != nil {
		out.Offer.InstanceType, out.Offer.Zone = string(l.Overrides.InstanceType), aws.ToString(l.Overrides.AvailabilityZone)
		out.SubnetID = aws.ToString(l.Overrides.SubnetId)
		if out.Offer.Zone == "" {
			out.Offer.Zone = zones[out.SubnetID]
		}
	}
	return out
}

func sdkTags(tags map[string]string) []types.Tag {
	keys := make([]string, 0, len(tags))
	for key := range tags {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	out := make([]types.Tag, len(keys))
	for i, key := range keys {
		out[i] = types.Tag{Key: aws.String(key), Value: aws.String(tags[key])}
	}
	return out
}

// forget drops templates EC2 does not know any more, so that the next request makes them again.
func (f *Fleet) forget(r *request) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, t := range r.Templates {
		delete(f.made, t.Name)
	}
}
