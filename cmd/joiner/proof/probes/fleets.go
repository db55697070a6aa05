package probes

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/cmd/joiner/proof"
)

var fleetRights = append([]string{"ec2:TerminateInstances"}, launchRights...)

// fleet is an instant fleet that several probes look at, and its instance.
type fleet struct {
	in    *ec2.CreateFleetInput
	out   *ec2.CreateFleetOutput
	found types.Instance
}

// launched runs an instant fleet of one instance with an override that cannot be had beside one that can.
func launched(ctx context.Context, e *proof.Env) (*fleet, error) {
	return proof.Shared(ctx, e, "fleet", func(ctx context.Context) (*fleet, error) {
		in, err := fleetFrom(ctx, e, "", "fleet")
		if err != nil {
			return nil, err
		}
		place, err := proof.Where(ctx, e)
		if err != nil {
			return nil, err
		}
		o := &in.LaunchTemplateConfigs[0]
		o.Overrides = append([]types.FleetLaunchTemplateOverridesRequest{{InstanceType: "t4g.imaginary", SubnetId: &place.Subnet, Priority: aws.Float64(0)}}, o.Overrides...)
		o.Overrides[1].Priority = aws.Float64(1)
		in.OnDemandOptions = &types.OnDemandOptionsRequest{AllocationStrategy: types.FleetOnDemandAllocationStrategyPrioritized}
		return fleetOf(ctx, e, in)
	})
}

func fleetOf(ctx context.Context, e *proof.Env, in *ec2.CreateFleetInput) (*fleet, error) {
	if err := known(ctx, e, in); err != nil {
		return nil, err
	}
	if err := e.Spend("an instance of a fleet", proof.InstanceCost); err != nil {
		return nil, err
	}
	out, err := e.EC2.CreateFleet(ctx, in)
	if err != nil {
		return nil, err
	}
	ids := launchedBy(out)
	if len(ids) != 1 {
		why := "without a word"
		if len(out.Errors) > 0 {
			why = aws.ToString(out.Errors[0].ErrorCode) + ": " + aws.ToString(out.Errors[0].ErrorMessage)
		}
		return nil, errorf("the fleet launched %d instances and not 1: %s", len(ids), why)
	}
	_, found, err := shown(ctx, e, ids[0], proof.Filter("instance-id", ids[0]), proof.Filter("tag:"+proof.TagRun, e.Run))
	return &fleet{in, out, found}, err
}

// spot runs an instant fleet of one spot instance.
func spot(ctx context.Context, e *proof.Env) (*fleet, error) {
	return proof.Shared(ctx, e, "spot", func(ctx context.Context) (*fleet, error) {
		data, err := proof.TemplateData(ctx, e)
		if err != nil {
			return nil, err
		}
		data.TagSpecifications = append(data.TagSpecifications, types.LaunchTemplateTagSpecificationRequest{ResourceType: types.ResourceTypeSpotInstancesRequest, Tags: proof.EC2Tags(e, nil)})
		data.InstanceInitiatedShutdownBehavior = "" // one-time spot instances end when they shut down
		template, err := proof.MakeTemplate(ctx, e, "spot", data)
		if err != nil {
			return nil, err
		}
		in, err := proof.FleetInput(ctx, e, template, e.Token("spot"), types.DefaultTargetCapacityTypeSpot)
		if err != nil {
			return nil, err
		}
		in.SpotOptions = &types.SpotOptionsRequest{AllocationStrategy: types.SpotAllocationStrategyPriceCapacityOptimized}
		return fleetOf(ctx, e, in)
	})
}

func fleets() []proof.Probe {
	of := func(id, assumption, about string, want proof.Seen, run func(context.Context, *proof.Env) (proof.Seen, error)) proof.Probe {
		p := ofEC2(id, assumption, about, proof.KindInstances, fleetRights, want, run)
		p.Cost, p.Lasts = proof.InstanceCost, 20*time.Second
		return p
	}
	token := of("ec2-fleet-instance-token", "which client token instances of a fleet carry", "CreateFleet, DescribeInstances", nil, instanceToken)
	token.Readings = []proof.Reading{
		{Name: "own", Says: "one of EC2's making", Want: proof.Seen{"token": "another"}},
		{Name: "request", Says: "that of the request, by which they are found", Want: proof.Seen{"token": "the request's"}},
	}
	unfulfilled := of("ec2-token-unfulfilled", "whether a fleet that got no instance uses its token up", "CreateFleet from a template with a profile that is not there, a new version without it, the same CreateFleet", nil, unfulfilledToken)
	unfulfilled.Readings = []proof.Reading{
		{Name: "used", Says: "the same request gets the same errors", Want: proof.Seen{"first": "0", "second": "0"}},
		{Name: "free", Says: "the same request is tried anew", Want: proof.Seen{"first": "0", "second": "1"}},
	}
	unfulfilled.Rights = append([]string{"ec2:CreateLaunchTemplateVersion"}, fleetRights...)
	refused := of("ec2-token-refused", "whether a request that was refused as a whole uses its token up", "CreateFleet from a template that is not there, CreateLaunchTemplate, the same CreateFleet", nil, refusedToken)
	refused.Readings = []proof.Reading{
		{Name: "used", Says: "the same request gets the same refusal", Want: proof.Seen{"first": noTemplate, "second": noTemplate}},
		{Name: "free", Says: "the same request is tried anew", Want: proof.Seen{"first": noTemplate, "second": "ok"}},
	}
	request := of("ec2-spot-request", "a spot instance of a fleet has a request of its own, one-time, active, with the tags that the launch template gives it",
		"CreateFleet of one spot instance, DescribeSpotInstanceRequests", proof.Seen{"type": "one-time", "state": "active", "tagged": "yes", "lifecycle": "spot"}, spotRequest)
	closed := of("ec2-spot-request-closed", "a spot request whose instance somebody ends is closed as instance-terminated-by-user", "TerminateInstances of the spot instance, DescribeSpotInstanceRequests",
		proof.Seen{"state": "closed", "status": "instance-terminated-by-user"}, spotClosed)
	for _, p := range []*proof.Probe{&request, &closed} {
		p.Rights = append([]string{"ec2:DescribeSpotInstanceRequests"}, fleetRights...)
	}
	return []proof.Probe{
		of("ec2-fleet-partial", "an instant fleet answers with instances and errors together", "CreateFleet of an override that cannot be had and one that can",
			proof.Seen{"instances": "1", "error": "InvalidFleetConfiguration", "names override": "t4g.imaginary"}, fleetPartial),
		of("ec2-fleet-token-repeats", "the same token and parameters repeat the whole answer: fleet, instances and errors", "CreateFleet twice with one token",
			proof.Seen{"fleet": "same", "instances": "same", "errors": "same"}, fleetTwice),
		of("ec2-fleet-token-mismatch", "other parameters with a fleet's token are IdempotentParameterMismatch", "CreateFleet with the token and another type", proof.Seen{"code": "IdempotentParameterMismatch"}, fleetMismatch),
		of("ec2-fleet-tags", "EC2 tags instances of a fleet with the fleet's id and the launch template's id and version", "DescribeInstances",
			proof.Seen{"aws:ec2:fleet-id": "the fleet's", "aws:ec2launchtemplate:id": "lt", "aws:ec2launchtemplate:version": "1"}, fleetTags),
		of("ec2-fleet-answer-lifecycle", "the answer names lifecycle, type and override of what was launched", "CreateFleet", proof.Seen{"lifecycle": "on-demand", "type": "t4g.nano", "override": "t4g.nano"}, fleetAnswer),
		token, unfulfilled, refused, request, closed,
	}
}

const noTemplate = "InvalidLaunchTemplateName.NotFoundException"

func fleetPartial(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	f, err := launched(ctx, e)
	if err != nil {
		return nil, err
	}
	seen := proof.Seen{"instances": count(len(launchedBy(f.out))), "error": "none"}
	for _, x := range f.out.Errors {
		seen["error"] = aws.ToString(x.ErrorCode)
		if x.LaunchTemplateAndOverrides != nil && x.LaunchTemplateAndOverrides.Overrides != nil {
			seen["names override"] = string(x.LaunchTemplateAndOverrides.Overrides.InstanceType)
		}
	}
	return seen, nil
}

func errorsOf(out *ec2.CreateFleetOutput) string {
	var all []string
	for _, x := range out.Errors {
		all = append(all, aws.ToString(x.ErrorCode))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func fleetTwice(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	f, err := launched(ctx, e)
	if err != nil {
		return nil, err
	}
	if err := e.Spend("a second instance, should it be launched", proof.InstanceCost); err != nil {
		return nil, err
	}
	again, err := e.EC2.CreateFleet(ctx, f.in)
	if err != nil {
		return proof.Seen{"fleet": proof.Code(err)}, proof.Answered(err)
	}
	same := map[bool]string{true: "same", false: "others"}
	return proof.Seen{
		"fleet":     same[aws.ToString(again.FleetId) == aws.ToString(f.out.FleetId)],
		"instances": same[slices.Equal(launchedBy(again), launchedBy(f.out))], "errors": same[errorsOf(again) == errorsOf(f.out)],
	}, nil
}

func fleetMismatch(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	f, err := launched(ctx, e)
	if err != nil {
		return nil, err
	}
	place, err := proof.Where(ctx, e)
	if err != nil {
		return nil, err
	}
	if err := e.Spend("a second instance, should it be launched", 2*proof.InstanceCost); err != nil {
		return nil, err
	}
	in := *f.in
	config := in.LaunchTemplateConfigs[0]
	config.Overrides = []types.FleetLaunchTemplateOverridesRequest{{InstanceType: types.InstanceTypeT4gMicro, SubnetId: &place.Subnet}}
	in.LaunchTemplateConfigs = []types.FleetLaunchTemplateConfigRequest{config}
	out, err := e.EC2.CreateFleet(ctx, &in)
	if err == nil {
		return proof.Seen{"code": "ok"}, proof.End(ctx, e, launchedBy(out)...)
	}
	return proof.Seen{"code": proof.Code(err)}, proof.Answered(err)
}

func fleetTags(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	f, err := launched(ctx, e)
	if err != nil {
		return nil, err
	}
	seen := proof.Seen{}
	for _, key := range []string{"aws:ec2:fleet-id", "aws:ec2launchtemplate:id", "aws:ec2launchtemplate:version"} {
		seen[key] = tagOf(f.found.Tags, key)
	}
	if seen["aws:ec2:fleet-id"] == aws.ToString(f.out.FleetId) {
		seen["aws:ec2:fleet-id"] = "the fleet's"
	}
	if strings.HasPrefix(seen["aws:ec2launchtemplate:id"], "lt-") {
		seen["aws:ec2launchtemplate:id"] = "lt"
	}
	return seen, nil
}

func fleetAnswer(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	f, err := launched(ctx, e)
	if err != nil {
		return nil, err
	}
	i := f.out.Instances[0]
	seen := proof.Seen{"lifecycle": string(i.Lifecycle), "type": string(i.InstanceType)}
	if i.LaunchTemplateAndOverrides != nil && i.LaunchTemplateAndOverrides.Overrides != nil {
		seen["override"] = string(i.LaunchTemplateAndOverrides.Overrides.InstanceType)
	}
	return seen, nil
}

func instanceToken(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	f, err := launched(ctx, e)
	if err != nil {
		return nil, err
	}
	carried := map[bool]string{true: "the request's", false: "another"}
	return proof.Seen{"token": carried[aws.ToString(f.found.ClientToken) == aws.ToString(f.in.ClientToken)]}, nil
}

func unfulfilledToken(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	data, err := proof.TemplateData(ctx, e)
	if err != nil {
		return nil, err
	}
	profiled := *data
	profiled.IamInstanceProfile = &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String(e.Name("nothing"))}
	template, err := proof.MakeTemplate(ctx, e, "unfulfilled", &profiled)
	if err != nil {
		return nil, err
	}
	in, err := fleetFrom(ctx, e, template, "unfulfilled")
	if err != nil {
		return nil, err
	}
	if err := known(ctx, e, in); err != nil {
		return nil, err
	}
	if err := e.Spend("an instance of a fleet", proof.InstanceCost); err != nil {
		return nil, err
	}
	first, err := e.EC2.CreateFleet(ctx, in)
	if err != nil {
		return proof.Seen{"first": proof.Code(err)}, proof.Answered(err)
	}
	seen := proof.Seen{"first": count(len(launchedBy(first))), "errors": errorsOf(first)}
	if _, err := e.EC2.CreateLaunchTemplateVersion(ctx, &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateName: &template, LaunchTemplateData: data, ClientToken: aws.String(e.Token("version"))}); err != nil {
		return nil, err
	}
	if err := e.Sleep(ctx, 10*time.Second); err != nil { // until EC2 knows the new version
		return nil, err
	}
	second, err := e.EC2.CreateFleet(ctx, in)
	if err != nil {
		seen["second"] = proof.Code(err)
		return seen, proof.Answered(err)
	}
	seen["second"] = count(len(launchedBy(second)))
	return seen, proof.End(ctx, e, launchedBy(second)...)
}

func refusedToken(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	data, err := proof.TemplateData(ctx, e)
	if err != nil {
		return nil, err
	}
	in, err := fleetFrom(ctx, e, e.Name("refused"), "refused")
	if err != nil {
		return nil, err
	}
	if err := e.Spend("an instance of a fleet", proof.InstanceCost); err != nil {
		return nil, err
	}
	_, first := e.EC2.CreateFleet(ctx, in)
	if err := proof.Answered(first); err != nil {
		return nil, err
	}
	if _, err := proof.MakeTemplate(ctx, e, "refused", data); err != nil {
		return nil, err
	}
	if err := known(ctx, e, in); err != nil {
		return nil, err
	}
	second, err := e.EC2.CreateFleet(ctx, in)
	seen := proof.Seen{"first": proof.Code(first), "second": proof.Code(err)}
	if err != nil {
		return seen, proof.Answered(err)
	}
	return seen, proof.End(ctx, e, launchedBy(second)...)
}

func requestOf(ctx context.Context, e *proof.Env, f *fleet) (types.SpotInstanceRequest, error) {
	id := aws.ToString(f.found.SpotInstanceRequestId)
	out, err := e.EC2.DescribeSpotInstanceRequests(ctx, &ec2.DescribeSpotInstanceRequestsInput{SpotInstanceRequestIds: []string{id}})
	if err != nil {
		return types.SpotInstanceRequest{}, err
	}
	if len(out.SpotInstanceRequests) != 1 {
		return types.SpotInstanceRequest{}, errorf("spot request %q is described %d times", id, len(out.SpotInstanceRequests))
	}
	return out.SpotInstanceRequests[0], nil
}

func spotRequest(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	f, err := spot(ctx, e)
	if err != nil {
		return nil, err
	}
	r, err := requestOf(ctx, e, f)
	if err != nil {
		return nil, err
	}
	return proof.Seen{
		"type": string(r.Type), "state": string(r.State), "tagged": yes(tagOf(r.Tags, proof.TagRun) == e.Run), "lifecycle": string(f.found.InstanceLifecycle),
	}, nil
}

func spotClosed(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	f, err := spot(ctx, e)
	if err != nil {
		return nil, err
	}
	if err := proof.End(ctx, e, aws.ToString(f.found.InstanceId)); err != nil {
		return nil, err
	}
	seen := proof.Seen{}
	_, _, err = e.Until(ctx, 3*time.Minute, 3*time.Second, func() (bool, error) {
		r, err := requestOf(ctx, e, f)
		if err != nil {
			return false, err
		}
		seen["state"] = string(r.State)
		if r.Status != nil {
			seen["status"] = aws.ToString(r.Status.Code)
		}
		return seen["state"] == "closed", nil
	})
	return seen, err
}
