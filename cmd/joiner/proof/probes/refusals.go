package probes

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/joiner-sh/joiner/cmd/joiner/proof"
)

const combination = "InvalidParameterCombination"

// refusals are about codes and moments that no documentation names.
func refusals() []proof.Probe {
	of := func(id, assumption, about string, kind proof.Kind, rights []string, readings []proof.Reading, run func(context.Context, *proof.Env) (proof.Seen, error)) proof.Probe {
		p := ofEC2(id, assumption, about, kind, rights, nil, run)
		p.Readings = readings
		return p
	}
	profile := ofIAM("iam", "iam-missing-profile-root", "whether a call for a profile that does not exist is authorized by its name in the root", "GetInstanceProfile of nothing by sessions that may ask for its name in the root, and below a path",
		roleRights, nil, missingProfile)
	profile.Readings = []proof.Reading{
		{Name: "root", Says: "it is authorized by its name in the root", Want: proof.Seen{"in the root": "NoSuchEntity", "below a path": "AccessDenied"}},
		{Name: "nobody", Says: "everybody gets NoSuchEntity, before authorization", Want: proof.Seen{"in the root": "NoSuchEntity", "below a path": "NoSuchEntity"}},
	}
	return []proof.Probe{
		profile,
		of("ec2-interface-refusals", "with which codes interfaces that a type cannot have are refused", "dry runs of RunInstances with a network card that is not there, and with EFA on a type without", proof.KindDryRuns, dryRunRights,
			[]proof.Reading{
				{Name: "reported", Says: "the codes that users report", Want: proof.Seen{"card": "InvalidNetworkCardIndex", "EFA": "AttachmentLimitExceeded"}},
				{Name: "others", Says: "other codes", Want: proof.Seen{
					"card": "InvalidParameterValue | Unsupported | InvalidNetworkInterface.NetworkCardIndex | AttachmentLimitExceeded | " + combination, "EFA": "Unsupported | UnsupportedOperation | InvalidParameterValue | " + combination,
				}},
			}, interfaceCodes),
		of("ec2-enclave-refusals", "with which code enclaves and nested virtualization are refused on a type without", "dry runs of RunInstances with them on t4g.nano", proof.KindDryRuns, dryRunRights,
			[]proof.Reading{
				{Name: "combination", Says: combination, Want: proof.Seen{"enclave": combination, "nested virtualization": combination}},
				{Name: "another", Says: "another code, or nothing before the launch", Want: proof.Seen{"enclave": "Unsupported | UnsupportedOperation | InvalidParameterValue | " + wouldHave}},
			}, enclaveCodes),
		of("ec2-volume-refusals", "when a volume that cannot be is refused", "CreateLaunchTemplate with a gp2 volume that has a throughput, a dry run of RunInstances from it", proof.KindSmall, launchRights,
			[]proof.Reading{
				{Name: "launch", Says: "when it is launched", Want: proof.Seen{"template": "ok", "run": combination}},
				{Name: "template", Says: "when the template is made", Want: proof.Seen{"template": combination + " | InvalidParameterValue"}},
				{Name: "later", Says: "not before a run that is none of trial", Want: proof.Seen{"template": "ok", "run": wouldHave}},
			}, volumeRefusal),
		of("ec2-reservation-market", "with which code a fleet is refused whose template has another market type", "a dry run of CreateFleet on demand from a template with the market type capacity-block", proof.KindSmall, launchRights,
			[]proof.Reading{
				{Name: "config", Says: "InvalidFleetConfig", Want: proof.Seen{"code": "InvalidFleetConfig"}},
				{Name: "another", Says: "another code, or nothing before the launch", Want: proof.Seen{"code": "InvalidParameterValue | InvalidParameterCombination | " + wouldHave}},
			}, marketRefusal),
	}
}

func missingProfile(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	arn := "arn:" + e.Partition + ":iam::" + e.Account + ":instance-profile"
	seen := proof.Seen{}
	paths := map[string]string{"in the root": "/" + e.Name("nothing"), "below a path": proof.Path + "*"}
	for _, fact := range sorted(paths) {
		c, err := proof.Session(ctx, e, proof.Statement{Effect: "Allow", Action: []string{"iam:GetInstanceProfile"}, Resource: []string{arn + paths[fact]}})
		if err != nil {
			return nil, err
		}
		_, err = c.IAM.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: aws.String(e.Name("nothing"))})
		if err := proof.Answered(err); err != nil {
			return nil, err
		}
		seen[fact] = proof.Code(err)
	}
	return seen, nil
}

// dryRunCodes says what dry runs of one instance are answered with, by fact, each with something changed.
func dryRunCodes(ctx context.Context, e *proof.Env, changes map[string]func(*ec2.RunInstancesInput)) (proof.Seen, error) {
	seen := proof.Seen{}
	for _, fact := range sorted(changes) {
		said, err := dryRunWith(changes[fact])(ctx, e)
		if err != nil {
			return nil, err
		}
		seen[fact] = said["code"]
	}
	return seen, nil
}

func interfaceCodes(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	return dryRunCodes(ctx, e, map[string]func(*ec2.RunInstancesInput){
		"card": func(in *ec2.RunInstancesInput) {
			second := in.NetworkInterfaces[0]
			second.DeviceIndex, second.NetworkCardIndex = aws.Int32(1), aws.Int32(1)
			in.NetworkInterfaces = append(slices.Clone(in.NetworkInterfaces), second)
		},
		"EFA": func(in *ec2.RunInstancesInput) { in.NetworkInterfaces[0].InterfaceType = aws.String("efa") },
	})
}

func enclaveCodes(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	return dryRunCodes(ctx, e, map[string]func(*ec2.RunInstancesInput){
		"enclave": func(in *ec2.RunInstancesInput) {
			in.EnclaveOptions = &types.EnclaveOptionsRequest{Enabled: aws.Bool(true)}
		},
		"nested virtualization": func(in *ec2.RunInstancesInput) {
			in.CpuOptions = &types.CpuOptionsRequest{NestedVirtualization: types.NestedVirtualizationSpecificationEnabled}
		},
	})
}

func volumeRefusal(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	data, err := proof.TemplateData(ctx, e)
	if err != nil {
		return nil, err
	}
	data.BlockDeviceMappings = []types.LaunchTemplateBlockDeviceMappingRequest{{
		DeviceName: aws.String("/dev/xvda"), Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: aws.Int32(20), VolumeType: types.VolumeTypeGp2, Throughput: aws.Int32(200), DeleteOnTermination: aws.Bool(true)},
	}}
	name, err := proof.MakeTemplate(ctx, e, "volume", data)
	seen := proof.Seen{"template": proof.Code(err)}
	if err != nil {
		return seen, proof.Answered(err)
	}
	in, err := fleetFrom(ctx, e, name, "")
	if err != nil {
		return nil, err
	}
	if err := known(ctx, e, in); err != nil {
		return nil, err
	}
	run, err := proof.RunInput(ctx, e, name)
	if err != nil {
		return nil, err
	}
	run.DryRun = aws.Bool(true)
	_, err = e.EC2.RunInstances(ctx, run)
	seen["run"] = proof.Code(err)
	return seen, proof.Answered(err)
}

func marketRefusal(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	name, err := templateFor(ctx, e, "market", func(data *types.RequestLaunchTemplateData) {
		data.InstanceMarketOptions = &types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: types.MarketTypeCapacityBlock}
	})
	if err != nil {
		return nil, err
	}
	in, err := fleetFrom(ctx, e, name, "market")
	if err != nil {
		return nil, err
	}
	in.DryRun = aws.Bool(true)
	_, err = e.EC2.CreateFleet(ctx, in)
	return proof.Seen{"code": proof.Code(err)}, proof.Answered(err)
}
