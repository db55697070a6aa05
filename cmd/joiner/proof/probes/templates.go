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

// launchRights are what a launch template and launching from it take.
var launchRights = append([]string{"ec2:CreateLaunchTemplate", "ec2:RunInstances", "ec2:CreateFleet", "ec2:CreateTags", "ec2:DescribeInstances"}, placeRights...)

func templates() []proof.Probe {
	made := func(id, assumption, about string, want proof.Seen, run func(context.Context, *proof.Env) (proof.Seen, error)) proof.Probe {
		return ofEC2(id, assumption, about, proof.KindSmall, launchRights, want, run)
	}
	// One that launches nothing, unless an assumption is wrong.
	fleet := func(id, assumption, about string, want proof.Seen, run func(context.Context, *proof.Env) (proof.Seen, error)) proof.Probe {
		p := ofEC2(id, assumption, about, proof.KindInstances, append([]string{"ec2:TerminateInstances"}, launchRights...), want, run)
		p.Cost = proof.InstanceCost
		return p
	}
	lag := made("ec2-template-lag", "how soon a launch template can be launched from", "CreateLaunchTemplate, dry runs of RunInstances from it at once", nil, templateLag)
	lag.Readings = []proof.Reading{
		{Name: "at once", Says: "a launch template can be launched from at once", Want: proof.Seen{"first try": wouldHave}},
		{Name: "later", Says: "for a moment it does not exist for launches", Want: proof.Seen{"first try": "InvalidLaunchTemplateName.NotFoundException"}},
	}
	list := []proof.Probe{
		lag,
		made("ec2-template-name-length", "a launch template's name has 3 to 128 characters", "dry runs of CreateLaunchTemplate with names of 2, 3, 128 and 129",
			proof.Seen{"2": "InvalidLaunchTemplateName.MalformedException", "3": wouldHave, "128": wouldHave, "129": "InvalidLaunchTemplateName.MalformedException"}, templateNames),
		made("ec2-template-name-characters", "a launch template's name may have slashes, and no colons", "dry runs of CreateLaunchTemplate",
			proof.Seen{"a slash": wouldHave, "a colon": "InvalidLaunchTemplateName.MalformedException"}, templateCharacters),
		made("ec2-template-twice", "a name that exists is InvalidLaunchTemplateName.AlreadyExistsException; the same token and parameters give the template that exists",
			"CreateLaunchTemplate three times", proof.Seen{"same token": "same template", "another token": "InvalidLaunchTemplateName.AlreadyExistsException"}, templateTwice),
		made("ec2-template-passes-no-role", "making a launch template asks for no iam:PassRole, launching does", "CreateLaunchTemplate and a dry run of RunInstances, both with a profile, by a session without iam:PassRole",
			proof.Seen{"template": wouldHave, "run": "UnauthorizedOperation", "run with it": wouldHave}, passRole),
		fleet("ec2-fleet-same-pool-twice", "two overrides of one type and zone are InvalidFleetConfig", "CreateFleet with one override twice", proof.Seen{"code": "InvalidFleetConfig"}, samePoolTwice),
		fleet("ec2-fleet-missing-template", "a launch template that does not exist is an error of the whole CreateFleet", "CreateFleet with a template made up",
			proof.Seen{"code": "InvalidLaunchTemplateName.NotFoundException"}, fleetMissingTemplate),
		fleet("ec2-fleet-unknown-type", "an override that cannot be had is an entry of Errors with lifecycle and override", "CreateFleet of a type that does not exist",
			proof.Seen{"answer": "ok", "code": "InvalidFleetConfiguration", "lifecycle": "on-demand", "instances": "0"}, fleetUnknownType),
		fleet("ec2-fleet-wrong-architecture", "an image of the wrong architecture is InvalidParameterValue, found at launch", "CreateFleet of t3.nano with an image for arm64",
			proof.Seen{"answer": "ok", "code": "InvalidParameterValue", "instances": "0"}, fleetWrongArchitecture),
		fleet("ec2-fleet-spot-tags-on-demand", "tags for spot-instances-request in a launch on demand are InvalidParameterValue in Errors", "CreateFleet on demand from a template with such tags",
			proof.Seen{"answer": "ok", "code": "InvalidParameterValue", "instances": "0"}, spotTagsOnDemand),
		fleet("ec2-run-wrong-zone", "RunInstances of a type that the zone does not sell is Unsupported", "RunInstances of a type that the subnet's zone does not sell",
			proof.Seen{"code": "Unsupported"}, runWrongZone),
	}
	for i := range list {
		if list[i].ID == "ec2-template-passes-no-role" {
			list[i].Rights = slices.Concat(roleRights, profileRights, launchRights)
		}
	}
	return list
}

func templateLag(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	data, err := proof.TemplateData(ctx, e)
	if err != nil {
		return nil, err
	}
	in, err := proof.RunInput(ctx, e, e.Name("lagging"))
	if err != nil {
		return nil, err
	}
	in.DryRun = aws.Bool(true)
	if _, err := proof.MakeTemplate(ctx, e, "lagging", data); err != nil {
		return nil, err
	}
	first := ""
	took, _, err := e.Until(ctx, time.Minute, time.Second, func() (bool, error) {
		_, err := e.EC2.RunInstances(ctx, in)
		if first == "" {
			first = proof.Code(err)
		}
		return proof.Code(err) == wouldHave, proof.Answered(err)
	})
	return proof.Seen{"first try": first, "seconds": count(int(took.Seconds()))}, err
}

// dryRunTemplate says what a dry run of CreateLaunchTemplate with a name is answered with.
func dryRunTemplate(ctx context.Context, e *proof.Env, c proof.Clients, name string, data *types.RequestLaunchTemplateData) (string, error) {
	in := proof.TemplateInput(e, name, data)
	in.DryRun = aws.Bool(true)
	_, err := c.EC2.CreateLaunchTemplate(ctx, in)
	return proof.Code(err), proof.Answered(err)
}

func templateNames(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	data, err := proof.TemplateData(ctx, e)
	if err != nil {
		return nil, err
	}
	seen := proof.Seen{}
	for _, n := range []int{2, 3, 128, 129} {
		if seen[count(n)], err = dryRunTemplate(ctx, e, e.Clients, strings.Repeat("p", n), data); err != nil {
			return nil, err
		}
	}
	return seen, nil
}

func templateCharacters(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	data, err := proof.TemplateData(ctx, e)
	if err != nil {
		return nil, err
	}
	seen := proof.Seen{}
	for _, fact := range []string{"a slash", "a colon"} {
		name := map[string]string{"a slash": "joiner/proof/name", "a colon": "joiner:proof"}[fact]
		if seen[fact], err = dryRunTemplate(ctx, e, e.Clients, name, data); err != nil {
			return nil, err
		}
	}
	return seen, nil
}

func templateTwice(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	data, err := proof.TemplateData(ctx, e)
	if err != nil {
		return nil, err
	}
	in := proof.TemplateInput(e, e.Name("twice"), data)
	first, err := e.EC2.CreateLaunchTemplate(ctx, in)
	if err != nil {
		return nil, err
	}
	second, err := e.EC2.CreateLaunchTemplate(ctx, in)
	if err := proof.Answered(err); err != nil {
		return nil, err
	}
	seen := proof.Seen{"same token": proof.Code(err)}
	if err == nil && aws.ToString(second.LaunchTemplate.LaunchTemplateId) == aws.ToString(first.LaunchTemplate.LaunchTemplateId) {
		seen["same token"] = "same template"
	}
	in.ClientToken = aws.String(e.Token("another"))
	_, err = e.EC2.CreateLaunchTemplate(ctx, in)
	seen["another token"] = proof.Code(err)
	return seen, proof.Answered(err)
}

func passRole(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	names, err := profileAndRole(ctx, e)
	if err != nil {
		return nil, err
	}
	template, err := proof.Plain(ctx, e)
	if err != nil {
		return nil, err
	}
	data, err := proof.TemplateData(ctx, e)
	if err != nil {
		return nil, err
	}
	data.IamInstanceProfile = &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: &names[0]}
	in, err := proof.RunInput(ctx, e, template)
	if err != nil {
		return nil, err
	}
	in.DryRun, in.IamInstanceProfile = aws.Bool(true), profileOf(names[0])
	without, err := proof.Session(ctx, e, proof.Everything, proof.Statement{Effect: "Deny", Action: []string{"iam:PassRole"}, Resource: []string{"*"}})
	if err != nil {
		return nil, err
	}
	with, err := proof.Session(ctx, e, proof.Everything)
	if err != nil {
		return nil, err
	}
	seen := proof.Seen{}
	if seen["template"], err = dryRunTemplate(ctx, e, without, e.Name("passes"), data); err != nil {
		return nil, err
	}
	_, err = without.EC2.RunInstances(ctx, in)
	seen["run"] = proof.Code(err)
	if err := proof.Answered(err); err != nil {
		return nil, err
	}
	// EC2 may not know the profile yet.
	_, _, err = e.Until(ctx, time.Minute, 2*time.Second, func() (bool, error) {
		_, err := with.EC2.RunInstances(ctx, in)
		seen["run with it"] = proof.Code(err)
		return proof.Code(err) == wouldHave, proof.Answered(err)
	})
	return seen, err
}

// fleetFrom is a fleet of one instance on demand from a template of the run's. It costs nothing where nothing is launched.
func fleetFrom(ctx context.Context, e *proof.Env, template, token string) (*ec2.CreateFleetInput, error) {
	if template == "" {
		var err error
		if template, err = proof.Plain(ctx, e); err != nil {
			return nil, err
		}
	}
	return proof.FleetInput(ctx, e, template, e.Token(token), types.DefaultTargetCapacityTypeOnDemand)
}

// launchedNothing sends a fleet that is to launch nothing, and says what came of it. What it launches all the same is ended.
func launchedNothing(ctx context.Context, e *proof.Env, in *ec2.CreateFleetInput) (proof.Seen, error) {
	if err := known(ctx, e, in); err != nil {
		return nil, err
	}
	return launchedNothingOf(ctx, e, in)
}

// known waits until EC2 knows the launch template of a fleet, as dry runs from it tell.
func known(ctx context.Context, e *proof.Env, in *ec2.CreateFleetInput) error {
	dry, err := proof.RunInput(ctx, e, aws.ToString(in.LaunchTemplateConfigs[0].LaunchTemplateSpecification.LaunchTemplateName))
	if err != nil {
		return err
	}
	dry.DryRun = aws.Bool(true)
	_, _, err = e.Until(ctx, 30*time.Second, 2*time.Second, func() (bool, error) {
		_, err := e.EC2.RunInstances(ctx, dry)
		return proof.Code(err) != "InvalidLaunchTemplateName.NotFoundException", proof.Answered(err)
	})
	return err
}

func launchedNothingOf(ctx context.Context, e *proof.Env, in *ec2.CreateFleetInput) (proof.Seen, error) {
	if err := e.Spend("an instance that should not be launched", proof.InstanceCost); err != nil {
		return nil, err
	}
	out, err := e.EC2.CreateFleet(ctx, in)
	if err := proof.Answered(err); err != nil {
		return nil, err
	}
	seen := proof.Seen{"answer": proof.Code(err)}
	if err != nil {
		seen["code"] = proof.Code(err)
		return seen, nil
	}
	seen["instances"] = count(len(launchedBy(out)))
	for _, x := range out.Errors {
		seen["code"], seen["lifecycle"] = aws.ToString(x.ErrorCode), string(x.Lifecycle)
	}
	return seen, proof.End(ctx, e, launchedBy(out)...)
}

// launchedBy returns the ids of a fleet's instances.
func launchedBy(out *ec2.CreateFleetOutput) []string {
	var ids []string
	if out != nil {
		for _, i := range out.Instances {
			ids = append(ids, i.InstanceIds...)
		}
	}
	return ids
}

func samePoolTwice(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	in, err := fleetFrom(ctx, e, "", "pool twice")
	if err != nil {
		return nil, err
	}
	o := in.LaunchTemplateConfigs[0].Overrides
	in.LaunchTemplateConfigs[0].Overrides = append(o, o[0])
	return launchedNothing(ctx, e, in)
}

func fleetMissingTemplate(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	in, err := fleetFrom(ctx, e, e.Name("nothing"), "missing template")
	if err != nil {
		return nil, err
	}
	return launchedNothingOf(ctx, e, in)
}

func fleetUnknownType(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	in, err := fleetFrom(ctx, e, "", "unknown type")
	if err != nil {
		return nil, err
	}
	in.LaunchTemplateConfigs[0].Overrides[0].InstanceType = "t4g.imaginary"
	return launchedNothing(ctx, e, in)
}

func fleetWrongArchitecture(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	in, err := fleetFrom(ctx, e, "", "wrong architecture")
	if err != nil {
		return nil, err
	}
	in.LaunchTemplateConfigs[0].Overrides[0].InstanceType = types.InstanceTypeT3Nano
	return launchedNothing(ctx, e, in)
}

func spotTagsOnDemand(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	data, err := proof.TemplateData(ctx, e)
	if err != nil {
		return nil, err
	}
	data.TagSpecifications = append(data.TagSpecifications, types.LaunchTemplateTagSpecificationRequest{ResourceType: types.ResourceTypeSpotInstancesRequest, Tags: proof.EC2Tags(e, nil)})
	template, err := proof.MakeTemplate(ctx, e, "spot-tags", data)
	if err != nil {
		return nil, err
	}
	in, err := fleetFrom(ctx, e, template, "spot tags")
	if err != nil {
		return nil, err
	}
	return launchedNothing(ctx, e, in)
}

func runWrongZone(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	place, err := proof.Where(ctx, e)
	if err != nil {
		return nil, err
	}
	template, err := proof.Plain(ctx, e)
	if err != nil {
		return nil, err
	}
	in, err := proof.RunInput(ctx, e, template)
	if err != nil {
		return nil, err
	}
	kind, err := unsold(ctx, e, place.Zone)
	if err != nil {
		return nil, err
	}
	in.InstanceType = types.InstanceType(kind)
	in.ClientToken = aws.String(e.Token("wrong zone"))
	if err := e.Spend("an instance that should not be launched", proof.InstanceCost); err != nil {
		return nil, err
	}
	run, err := e.EC2.RunInstances(ctx, in)
	seen := proof.Seen{"code": proof.Code(err), "type": kind}
	if err == nil {
		return seen, proof.End(ctx, e, idsOf(run.Instances)...)
	}
	return seen, proof.Answered(err)
}

func idsOf(instances []types.Instance) []string {
	var out []string
	for _, i := range instances {
		out = append(out, aws.ToString(i.InstanceId))
	}
	return out
}
