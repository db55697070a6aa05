package probes

import (
	"context"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/cmd/joiner/proof"
)

// Which condition keys EC2 sends to IAM is evaluated by what is denied: a session may do everything but the action on one kind of
// resource where a key is missing. Nothing is launched: dry runs are evaluated like runs.

// unless denies an action on resources where a key is missing.
func unless(e *proof.Env, action, resource, key string) []proof.Statement {
	return []proof.Statement{proof.Everything, {
		Effect: "Deny", Action: []string{action}, Resource: []string{"arn:" + e.Partition + ":ec2:*:*:" + resource + "/*"},
		Condition: map[string]map[string]any{"Null": {key: "true"}},
	}}
}

const (
	sent    = "sent"
	missing = "missing"
	control = "a key that is not there" // or what is denied in any case
)

// keyAnswer turns the answer to a dry run under unless into what it says of the key.
func keyAnswer(err error) (string, error) {
	switch code := proof.Code(err); code {
	case wouldHave:
		return sent, nil
	case "UnauthorizedOperation":
		return missing, nil
	default:
		return code, proof.Answered(err)
	}
}

// runKeys are keys of RunInstances, by fact: the resource and the key.
type runKeys map[string][2]string

// keyProbe dry runs RunInstances from a template once for each key, with something changed.
func keyProbe(id, assumption string, asked runKeys, want proof.Seen, template func(*types.RequestLaunchTemplateData), change func(*ec2.RunInstancesInput)) proof.Probe {
	if want != nil {
		want[control] = missing
	}
	return ofEC2(id, assumption, "dry runs of RunInstances by sessions that are denied it where a key is missing", proof.KindSmall, append(append([]string{}, roleRights...), launchRights...), want,
		func(ctx context.Context, e *proof.Env) (proof.Seen, error) {
			in, err := dryRunFrom(ctx, e, id, template)
			if err != nil {
				return nil, err
			}
			if change != nil {
				change(in)
			}
			// Were nobody denied anything, every key would seem to be there.
			all := runKeys{control: {"instance", "aws:RequestTag/joiner.sh/nothing"}}
			maps.Copy(all, asked)
			seen := proof.Seen{}
			for _, fact := range sorted(all) {
				c, err := proof.Session(ctx, e, unless(e, "ec2:RunInstances", all[fact][0], all[fact][1])...)
				if err != nil {
					return nil, err
				}
				_, err = c.EC2.RunInstances(ctx, in)
				if seen[fact], err = keyAnswer(err); err != nil {
					return nil, err
				}
			}
			return seen, nil
		})
}

// dryRunFrom is a dry run of RunInstances from the run's plain template, or one of its own with something changed, which EC2 knows.
func dryRunFrom(ctx context.Context, e *proof.Env, what string, change func(*types.RequestLaunchTemplateData)) (*ec2.RunInstancesInput, error) {
	name, err := templateFor(ctx, e, what, change)
	if err != nil {
		return nil, err
	}
	in, err := proof.RunInput(ctx, e, name)
	if err != nil {
		return nil, err
	}
	in.DryRun = aws.Bool(true)
	return in, nil
}

func templateFor(ctx context.Context, e *proof.Env, what string, change func(*types.RequestLaunchTemplateData)) (string, error) {
	name, err := proof.Plain(ctx, e)
	if change != nil && err == nil {
		var data *types.RequestLaunchTemplateData
		if data, err = proof.TemplateData(ctx, e); err == nil {
			change(data)
			name, err = proof.MakeTemplate(ctx, e, what, data)
		}
	}
	if err != nil {
		return "", err
	}
	in, err := proof.FleetInput(ctx, e, name, "", types.DefaultTargetCapacityTypeOnDemand)
	if err != nil {
		return "", err
	}
	return name, known(ctx, e, in)
}

// fleetProbe dry runs CreateFleet from the run's template by sessions with statements of their own.
func fleetProbe(id, assumption string, cases map[string]func(*proof.Env) []proof.Statement, readings []proof.Reading) proof.Probe {
	p := ofEC2(id, assumption, "dry runs of CreateFleet by sessions that are denied some of it", proof.KindSmall, append(append([]string{}, roleRights...), launchRights...), nil,
		func(ctx context.Context, e *proof.Env) (proof.Seen, error) {
			template, err := templateFor(ctx, e, id, nil)
			if err != nil {
				return nil, err
			}
			in, err := proof.FleetInput(ctx, e, template, e.Token(id), types.DefaultTargetCapacityTypeOnDemand)
			if err != nil {
				return nil, err
			}
			in.DryRun = aws.Bool(true)
			seen := proof.Seen{}
			for _, fact := range sorted(cases) {
				c, err := proof.Session(ctx, e, cases[fact](e)...)
				if err != nil {
					return nil, err
				}
				_, err = c.EC2.CreateFleet(ctx, in)
				if err := proof.Answered(err); err != nil {
					return nil, err
				}
				seen[fact] = map[string]string{wouldHave: let, "UnauthorizedOperation": denied}[proof.Code(err)]
				if seen[fact] == "" {
					seen[fact] = proof.Code(err)
				}
			}
			return seen, nil
		})
	p.Readings = readings
	return p
}

func keys() []proof.Probe {
	tags := keyProbe("ec2-run-instances-tags", "whether TagSpecifications of RunInstances take the place of all of the launch template's, or are joined to them",
		runKeys{"network-interface": {"network-interface", "aws:RequestTag/" + proof.TagRun}, "instance": {"instance", "aws:RequestTag/" + proof.TagRun}}, nil, nil, nil)
	tags.Readings = []proof.Reading{
		{Name: "overwrite", Says: "tag specifications of the request take the place of all of the launch template's", Want: proof.Seen{control: missing, "instance": sent, "network-interface": missing}},
		{Name: "merge", Says: "both are joined, by resource type", Want: proof.Seen{control: missing, "instance": sent, "network-interface": sent}},
	}
	metadata := keyProbe("ec2-run-instances-metadata-keys", "whether RunInstances has ec2:MetadataHttpTokens where the launch template alone has MetadataOptions",
		runKeys{"of the template": {"instance", "ec2:MetadataHttpTokens"}}, nil, nil, nil)
	metadata.Readings = []proof.Reading{
		{Name: "request", Says: "the key is there only where the request itself has MetadataOptions", Want: proof.Seen{control: missing, "of the template": missing}},
		{Name: "template", Says: "it is there from the launch template, too", Want: proof.Seen{control: missing, "of the template": sent}},
	}
	options := func(in *ec2.RunInstancesInput) {
		in.MetadataOptions = &types.InstanceMetadataOptionsRequest{HttpTokens: types.HttpTokensStateRequired, HttpPutResponseHopLimit: aws.Int32(1), HttpEndpoint: types.InstanceMetadataEndpointStateEnabled}
	}
	denyFleet := func(resource, key string) func(*proof.Env) []proof.Statement {
		return func(e *proof.Env) []proof.Statement { return unless(e, "ec2:CreateFleet", resource, key) }
	}
	return []proof.Probe{
		tags, metadata,
		keyProbe("ec2-run-metadata-keys-of-request", "ec2:MetadataHttpTokens, its hop limit and its endpoint are there where the request has MetadataOptions", runKeys{
			"tokens": {"instance", "ec2:MetadataHttpTokens"}, "hops": {"instance", "ec2:MetadataHttpPutResponseHopLimit"}, "endpoint": {"instance", "ec2:MetadataHttpEndpoint"},
		}, proof.Seen{"tokens": sent, "hops": sent, "endpoint": sent}, nil, options),
		keyProbe("ec2-run-template-keys", "a launch from a template has ec2:LaunchTemplate and ec2:IsLaunchTemplateResource of what it makes and uses", runKeys{
			"template of instance": {"instance", "ec2:LaunchTemplate"}, "resource of subnet": {"subnet", "ec2:IsLaunchTemplateResource"}, "resource of image": {"image", "ec2:IsLaunchTemplateResource"},
		}, proof.Seen{"template of instance": sent, "resource of subnet": sent, "resource of image": sent}, nil, nil),
		keyProbe("ec2-run-image-owner", "RunInstances has ec2:Owner of the image, also where the launch template names it", runKeys{"owner": {"image", "ec2:Owner"}, "public": {"image", "ec2:Public"}},
			proof.Seen{"owner": sent, "public": sent}, nil, nil),
		keyProbe("ec2-run-instance-keys", "RunInstances has type, zone, tenancy and root device of the instance", runKeys{
			"type": {"instance", "ec2:InstanceType"}, "zone": {"instance", "ec2:AvailabilityZone"}, "tenancy": {"instance", "ec2:Tenancy"}, "root device": {"instance", "ec2:RootDeviceType"},
		}, proof.Seen{"type": sent, "zone": sent, "tenancy": sent, "root device": sent}, nil, nil),
		keyProbe("ec2-run-network-keys", "RunInstances has the VPC of the subnet, of the security group and of the interface, and the interface's subnet", runKeys{
			"VPC of subnet": {"subnet", "ec2:Vpc"}, "VPC of group": {"security-group", "ec2:Vpc"}, "VPC of interface": {"network-interface", "ec2:Vpc"}, "subnet of interface": {"network-interface", "ec2:Subnet"},
		}, proof.Seen{"VPC of subnet": sent, "VPC of group": sent, "VPC of interface": sent, "subnet of interface": sent}, nil, nil),
		keyProbe("ec2-run-volume-keys", "RunInstances has type, size and encryption of a volume that the request or the template maps", runKeys{
			"type": {"volume", "ec2:VolumeType"}, "size": {"volume", "ec2:VolumeSize"}, "encrypted": {"volume", "ec2:Encrypted"},
		}, proof.Seen{"type": sent, "size": sent, "encrypted": sent}, withVolume, nil),
		keyProbe("ec2-run-market-type", "a launch of spot has ec2:InstanceMarketType", runKeys{"market": {"instance", "ec2:InstanceMarketType"}}, proof.Seen{"market": sent},
			func(data *types.RequestLaunchTemplateData) { data.InstanceInitiatedShutdownBehavior = "" },
			func(in *ec2.RunInstancesInput) {
				in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot}
			}),
		deniedFirst(), createAction(),
		fleetProbe("ec2-create-fleet-resources", "on which resources CreateFleet is authorized", map[string]func(*proof.Env) []proof.Statement{
			"fleet": resourcesDenied("fleet"), "instance": resourcesDenied("instance"), "subnet": resourcesDenied("subnet"), "image": resourcesDenied("image"), "launch-template": resourcesDenied("launch-template"),
		}, []proof.Reading{
			{Name: "all", Says: "CreateFleet is authorized on the fleet, and on instance, volume, image, template and subnet of each override",
				Want: proof.Seen{"fleet": denied, "instance": denied, "subnet": denied, "image": denied, "launch-template": denied}},
			{Name: "fleet", Says: "it is authorized on the fleet alone", Want: proof.Seen{"fleet": denied, "instance": let, "subnet": let, "image": let, "launch-template": let}},
		}),
		fleetProbe("ec2-create-fleet-template-keys", "whether CreateFleet has condition keys of what only the launch template says", map[string]func(*proof.Env) []proof.Statement{
			"owner of image": denyFleet("image", "ec2:Owner"), "zone of subnet": denyFleet("subnet", "ec2:AvailabilityZone"), "the fleet itself": resourcesDenied("fleet"),
		}, []proof.Reading{
			{Name: "missing", Says: "ec2:Owner and its like are missing where the launch template alone names the image", Want: proof.Seen{"the fleet itself": denied, "owner of image": denied}},
			{Name: "template", Says: "they have the template's values, or the image is not asked about", Want: proof.Seen{"the fleet itself": denied, "owner of image": let}},
		}),
		fleetProbe("ec2-fleet-create-tags", "with which ec2:CreateAction tags of what a fleet launches ask for CreateTags", map[string]func(*proof.Env) []proof.Statement{
			"instance, RunInstances alone": tagsOnlyBy("instance", "RunInstances"), "fleet, CreateFleet alone": tagsOnlyBy("fleet", "CreateFleet"), "the fleet itself": resourcesDenied("fleet"),
		}, []proof.Reading{
			{Name: "twice", Says: "with CreateFleet and with RunInstances", Want: proof.Seen{"the fleet itself": denied, "instance, RunInstances alone": denied, "fleet, CreateFleet alone": let}},
			{Name: "once", Says: "with RunInstances alone; those of the fleet itself with CreateFleet", Want: proof.Seen{"the fleet itself": denied, "instance, RunInstances alone": let, "fleet, CreateFleet alone": let}},
		}),
	}
}

func withVolume(data *types.RequestLaunchTemplateData) {
	data.BlockDeviceMappings = []types.LaunchTemplateBlockDeviceMappingRequest{{
		DeviceName: aws.String("/dev/xvda"), Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: aws.Int32(20), VolumeType: types.VolumeTypeGp3, Encrypted: aws.Bool(true), DeleteOnTermination: aws.Bool(true)},
	}}
}

func resourcesDenied(resource string) func(*proof.Env) []proof.Statement {
	return func(e *proof.Env) []proof.Statement {
		return []proof.Statement{proof.Everything, {Effect: "Deny", Action: []string{"ec2:CreateFleet"}, Resource: []string{"arn:" + e.Partition + ":ec2:*:*:" + resource + "/*", "arn:" + e.Partition + ":ec2:*::" + resource + "/*"}}}
	}
}

// tagsOnlyBy denies tagging of a kind of resource but by one action that makes it.
func tagsOnlyBy(resource, action string) func(*proof.Env) []proof.Statement {
	return func(e *proof.Env) []proof.Statement {
		return []proof.Statement{proof.Everything, {
			Effect: "Deny", Action: []string{"ec2:CreateTags"}, Resource: []string{"arn:" + e.Partition + ":ec2:*:*:" + resource + "/*"},
			Condition: map[string]map[string]any{"StringNotEquals": {"ec2:CreateAction": action}},
		}}
	}
}

func deniedFirst() proof.Probe {
	return ofEC2("ec2-denied-before-looked-at", "a denied action is UnauthorizedOperation before anything else of the request is looked at", "a dry run of RunInstances with an image made up, by a session that is denied it",
		proof.KindSmall, append(append([]string{}, roleRights...), dryRunRights...), proof.Seen{"code": "UnauthorizedOperation"}, func(ctx context.Context, e *proof.Env) (proof.Seen, error) {
			in, err := dryRunInput(ctx, e)
			if err != nil {
				return nil, err
			}
			c, err := proof.Session(ctx, e, proof.Everything, proof.Statement{Effect: "Deny", Action: []string{"ec2:RunInstances"}, Resource: []string{"*"}})
			if err != nil {
				return nil, err
			}
			_, err = c.EC2.RunInstances(ctx, in)
			return proof.Seen{"code": proof.Code(err)}, proof.Answered(err)
		})
}

func createAction() proof.Probe {
	return ofEC2("ec2-run-create-action", "tags given at RunInstances ask for CreateTags with ec2:CreateAction RunInstances", "dry runs of RunInstances by sessions that may tag by one action alone",
		proof.KindSmall, append(append([]string{}, roleRights...), launchRights...), proof.Seen{"RunInstances": let, "CreateFleet": denied}, func(ctx context.Context, e *proof.Env) (proof.Seen, error) {
			in, err := dryRunFrom(ctx, e, "", nil)
			if err != nil {
				return nil, err
			}
			seen := proof.Seen{}
			for _, action := range []string{"CreateFleet", "RunInstances"} {
				c, err := proof.Session(ctx, e, tagsOnlyBy("instance", action)(e)...)
				if err != nil {
					return nil, err
				}
				_, err = c.EC2.RunInstances(ctx, in)
				if seen[action], err = keyAnswer(err); err != nil {
					return nil, err
				}
				seen[action] = map[string]string{sent: let, missing: denied}[seen[action]]
			}
			return seen, nil
		})
}
