package probes

import (
	"context"
	"sort"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/cmd/joiner/proof"
)

// wouldHave is EC2's answer to a dry run that would have succeeded.
const wouldHave = "DryRunOperation"

// ofEC2 is a probe about EC2 with one reading.
func ofEC2(id, assumption, about string, kind proof.Kind, rights []string, want proof.Seen, run func(context.Context, *proof.Env) (proof.Seen, error)) proof.Probe {
	return proof.Probe{
		ID: id, Service: "ec2", Assumption: assumption, About: about, Kind: kind, Lasts: 2 * time.Second, Rights: rights, Readings: one(assumption, want), Run: run,
	}
}

func describing() []proof.Probe {
	check := func(id, assumption, about string, want proof.Seen, rights []string, run func(context.Context, *proof.Env) (proof.Seen, error)) proof.Probe {
		return ofEC2(id, assumption, about, proof.KindDryRuns, rights, want, run)
	}
	return []proof.Probe{
		check("ec2-unknown-filter", "an unknown filter is InvalidParameterValue", "DescribeInstances with a filter there is not", proof.Seen{"code": "InvalidParameterValue"}, []string{"ec2:DescribeInstances"}, unknownFilter),
		check("ec2-made-up-token", "a token made up is InvalidNextToken", "DescribeInstances with a token made up", proof.Seen{"code": "InvalidNextToken | InvalidParameterValue"}, []string{"ec2:DescribeInstances"}, madeUpToken),
		check("ec2-missing-instance", "an id of an instance that is not there is InvalidInstanceID.NotFound",
			"DescribeInstances of an id that is not there, and of a word that is no id", proof.Seen{"not there": "InvalidInstanceID.NotFound"}, []string{"ec2:DescribeInstances"}, missingInstance),
		check("ec2-ids-or-pages", "DescribeInstances takes ids or a page size, not both", "DescribeInstances with an id and MaxResults", proof.Seen{"code": "InvalidParameterCombination"}, []string{"ec2:DescribeInstances"}, idsAndPages),
		check("ec2-status-by-tag", "DescribeInstanceStatus has no filters by tag", "DescribeInstanceStatus with a filter by tag", proof.Seen{"code": "InvalidParameterValue"}, []string{"ec2:DescribeInstanceStatus"}, statusByTag),
		check("ec2-type-shapes", "shapes of instance types are those of the built-in catalog", "DescribeInstanceTypes of four types",
			proof.Seen{
				"c6g.large": "2 vCPU 4096 MiB 3x10", "m5.xlarge": "4 vCPU 16384 MiB 4x15", "t3.nano": "2 vCPU 512 MiB 2x2", "t4g.nano": "2 vCPU 512 MiB 2x2",
			}, []string{"ec2:DescribeInstanceTypes"}, typeShapes),
		check("ec2-zone-ids", "a zone has a name and an id that is the same in all accounts", "DescribeAvailabilityZones", proof.Seen{"have ids": "yes"}, []string{"ec2:DescribeAvailabilityZones"}, zoneIDs),
		check("ec2-spot-history-of-now", "DescribeSpotPriceHistory from now on gives one price for each type and zone", "DescribeSpotPriceHistory of t3.nano, StartTime now",
			proof.Seen{"prices": "some", "twice": "no"}, []string{"ec2:DescribeSpotPriceHistory"}, spotHistory),
		check("ec2-templates-by-name-missing", "DescribeLaunchTemplates by a name that is not there is an error, by filter it is empty", "DescribeLaunchTemplates both ways",
			proof.Seen{"by name": "InvalidLaunchTemplateName.NotFoundException", "by filter": "0"}, []string{"ec2:DescribeLaunchTemplates"}, missingTemplate),
		check("ec2-image-owner-alias", "images of Amazon's have the owner alias amazon", "DescribeImages of the EKS image", proof.Seen{"alias": "amazon"}, []string{"ec2:DescribeImages", "ssm:GetParameter"}, imageOwner),
	}
}

func unknownFilter(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	_, err := e.EC2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{Filters: []types.Filter{proof.Filter("weather", "fine")}})
	return proof.Seen{"code": proof.Code(err)}, proof.Answered(err)
}

func madeUpToken(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	_, err := e.EC2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{NextToken: aws.String("made-up"), MaxResults: aws.Int32(5)})
	return proof.Seen{"code": proof.Code(err)}, proof.Answered(err)
}

func missingInstance(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	_, missing := e.EC2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{"i-0123456789abcdef0"}})
	_, none := e.EC2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{"i-none"}})
	return proof.Seen{"not there": proof.Code(missing), "none": proof.Code(none)}, proof.Answered(missing, none)
}

func idsAndPages(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	_, err := e.EC2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{"i-0123456789abcdef0"}, MaxResults: aws.Int32(5)})
	return proof.Seen{"code": proof.Code(err)}, proof.Answered(err)
}

func statusByTag(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	_, err := e.EC2.DescribeInstanceStatus(ctx, &ec2.DescribeInstanceStatusInput{Filters: []types.Filter{proof.Filter("tag:a", "b")}})
	return proof.Seen{"code": proof.Code(err)}, proof.Answered(err)
}

func typeShapes(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	out, err := e.EC2.DescribeInstanceTypes(ctx, &ec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"c6g.large", "m5.xlarge", "t3.nano", "t4g.nano"}})
	if err != nil {
		return nil, err
	}
	seen := proof.Seen{}
	for _, t := range out.InstanceTypes {
		seen[string(t.InstanceType)] = count(int(aws.ToInt32(t.VCpuInfo.DefaultVCpus))) + " vCPU " + count(int(aws.ToInt64(t.MemoryInfo.SizeInMiB))) + " MiB " +
			count(int(aws.ToInt32(t.NetworkInfo.MaximumNetworkInterfaces))) + "x" + count(int(aws.ToInt32(t.NetworkInfo.Ipv4AddressesPerInterface)))
	}
	return seen, nil
}

func zoneIDs(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	out, err := e.EC2.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
	if err != nil {
		return nil, err
	}
	have := len(out.AvailabilityZones) > 0
	for _, z := range out.AvailabilityZones {
		have = have && strings.Contains(aws.ToString(z.ZoneId), "-az")
	}
	return proof.Seen{"have ids": yes(have)}, nil
}

func spotHistory(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	out, err := e.EC2.DescribeSpotPriceHistory(ctx, &ec2.DescribeSpotPriceHistoryInput{
		InstanceTypes: []types.InstanceType{"t3.nano"}, ProductDescriptions: []string{"Linux/UNIX"}, StartTime: aws.Time(e.Now()),
	})
	if err != nil {
		return nil, err
	}
	zones, twice := map[string]bool{}, false
	for _, p := range out.SpotPriceHistory {
		twice = twice || zones[aws.ToString(p.AvailabilityZone)]
		zones[aws.ToString(p.AvailabilityZone)] = true
	}
	return proof.Seen{"prices": map[bool]string{true: "some", false: "none"}[len(zones) > 0], "twice": yes(twice)}, nil
}

func missingTemplate(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	name := e.Name("nothing")
	_, err := e.EC2.DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{name}})
	found, other := e.EC2.DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{Filters: []types.Filter{proof.Filter("launch-template-name", name)}})
	if other != nil {
		return nil, other
	}
	return proof.Seen{"by name": proof.Code(err), "by filter": count(len(found.LaunchTemplates))}, proof.Answered(err)
}

func imageOwner(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	id, err := proof.Image(ctx, e)
	if err != nil {
		return nil, err
	}
	out, err := e.EC2.DescribeImages(ctx, &ec2.DescribeImagesInput{ImageIds: []string{id}})
	if err != nil {
		return nil, err
	}
	if len(out.Images) == 0 {
		return nil, errorf("there is no image %s", id)
	}
	return proof.Seen{"alias": aws.ToString(out.Images[0].ImageOwnerAlias)}, nil
}

// placeRights are what finding a subnet and an image takes.
var placeRights = []string{"ec2:DescribeSubnets", "ec2:DescribeInstanceTypeOfferings", "ec2:DescribeSecurityGroups", "ssm:GetParameter"}

var dryRunRights = append([]string{"ec2:RunInstances", "ec2:CreateTags"}, placeRights...)

func dryRuns() []proof.Probe {
	dry := func(id, assumption, about string, want proof.Seen, run func(context.Context, *proof.Env) (proof.Seen, error)) proof.Probe {
		return ofEC2(id, assumption, about, proof.KindDryRuns, dryRunRights, want, run)
	}
	group := dry("ec2-placement-group-unknown", "a placement group that does not exist is InvalidPlacementGroup.Unknown", "a dry run of RunInstances into a group that is not there",
		proof.Seen{"code": "InvalidPlacementGroup.Unknown"}, dryRunWith(func(in *ec2.RunInstancesInput) {
			in.Placement = &types.Placement{GroupName: aws.String("joiner-proof-nothing")}
		}))
	depth := dry("ec2-dry-run-depth", "whether a dry run looks for the type in the zone", "a dry run of RunInstances of a type that the subnet's zone does not sell", nil, dryRunDepth)
	depth.Readings = []proof.Reading{
		{Name: "refused", Says: "a dry run is refused where the zone has no such type", Want: proof.Seen{"code": "Unsupported"}},
		{Name: "references", Says: "it looks no further than the request's references", Want: proof.Seen{"code": wouldHave}},
	}
	ofFleet := dry("ec2-dry-fleet-word", "a dry run of CreateFleet is DryRunOperation or finds that its launch template is not there", "a dry run of CreateFleet with a template made up",
		proof.Seen{"code": "InvalidLaunchTemplateName.NotFoundException | " + wouldHave}, dryRunFleet)
	ofFleet.Rights = append([]string{"ec2:CreateFleet"}, dryRunRights...)
	return []proof.Probe{
		dry("ec2-dry-run-word", "a dry run that would have succeeded is DryRunOperation, 412", "a dry run of RunInstances", proof.Seen{"run": "412 " + wouldHave}, dryRunWord),
		dry("ec2-dry-run-image", "a dry run finds an image that is not there", "a dry run of RunInstances with an image made up", proof.Seen{"code": "InvalidAMIID.NotFound"},
			dryRunWith(func(in *ec2.RunInstancesInput) { in.ImageId = aws.String("ami-0123456789abcdef0") })),
		dry("ec2-dry-run-group", "a dry run finds a security group that is not there", "a dry run of RunInstances with a group made up", proof.Seen{"code": "InvalidGroup.NotFound"},
			dryRunWith(func(in *ec2.RunInstancesInput) { in.NetworkInterfaces[0].Groups = []string{"sg-0123456789abcdef0"} })),
		dry("ec2-dry-run-subnet", "a dry run finds a subnet that is not there", "a dry run of RunInstances with a subnet made up", proof.Seen{"code": "InvalidSubnetID.NotFound"},
			dryRunWith(func(in *ec2.RunInstancesInput) {
				in.NetworkInterfaces[0].SubnetId = aws.String("subnet-0123456789abcdef0")
			})),
		dry("ec2-dry-run-profile", "a dry run finds an instance profile that is not there", "a dry run of RunInstances with a profile made up", proof.Seen{"code": "InvalidParameterValue"},
			dryRunWith(func(in *ec2.RunInstancesInput) { in.IamInstanceProfile = profileOf("joiner-proof-nothing") })),
		dry("ec2-dry-run-template", "a dry run finds a launch template that is not there", "a dry run of RunInstances with a template made up",
			proof.Seen{"code": "InvalidLaunchTemplateName.NotFoundException"}, dryRunWith(func(in *ec2.RunInstancesInput) {
				in.LaunchTemplate = &types.LaunchTemplateSpecification{LaunchTemplateName: aws.String("joiner-proof-nothing")}
			})),
		group, depth, ofFleet,
	}
}

func profileOf(name string) *types.IamInstanceProfileSpecification {
	return &types.IamInstanceProfileSpecification{Name: &name}
}

// dryRunInput is a dry run of one instance without a launch template.
func dryRunInput(ctx context.Context, e *proof.Env) (*ec2.RunInstancesInput, error) {
	place, err := proof.Where(ctx, e)
	if err != nil {
		return nil, err
	}
	image, err := proof.Image(ctx, e)
	if err != nil {
		return nil, err
	}
	return &ec2.RunInstancesInput{
		DryRun: aws.Bool(true), MinCount: aws.Int32(1), MaxCount: aws.Int32(1), InstanceType: proof.InstanceType, ImageId: &image,
		MetadataOptions:   &types.InstanceMetadataOptionsRequest{HttpTokens: types.HttpTokensStateRequired},
		NetworkInterfaces: []types.InstanceNetworkInterfaceSpecification{{DeviceIndex: aws.Int32(0), SubnetId: &place.Subnet, Groups: []string{place.Group}}},
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: proof.EC2Tags(e, nil)}},
	}, nil
}

// dryRunWith is a dry run with something changed.
func dryRunWith(change func(*ec2.RunInstancesInput)) func(context.Context, *proof.Env) (proof.Seen, error) {
	return func(ctx context.Context, e *proof.Env) (proof.Seen, error) {
		in, err := dryRunInput(ctx, e)
		if err != nil {
			return nil, err
		}
		change(in)
		_, err = e.EC2.RunInstances(ctx, in)
		return proof.Seen{"code": proof.Code(err)}, proof.Answered(err)
	}
}

func dryRunWord(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	in, err := dryRunInput(ctx, e)
	if err != nil {
		return nil, err
	}
	_, err = e.EC2.RunInstances(ctx, in)
	return proof.Seen{"run": status(err)}, proof.Answered(err)
}

// rare are types, of the architecture of the run's image, that many zones do not sell.
var rare = []string{"a1.medium", "c7gn.medium", "c8g.medium", "i4g.large", "i8g.large", "im4gn.large", "is4gen.medium", "m8g.medium", "r8g.medium", "x2gd.medium", "x8g.medium"}

func dryRunDepth(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	in, err := dryRunInput(ctx, e)
	if err != nil {
		return nil, err
	}
	place, err := proof.Where(ctx, e)
	if err != nil {
		return nil, err
	}
	kind, err := unsold(ctx, e, place.Zone)
	if err != nil {
		return nil, err
	}
	in.InstanceType = types.InstanceType(kind)
	_, err = e.EC2.RunInstances(ctx, in)
	return proof.Seen{"code": proof.Code(err), "type": kind}, proof.Answered(err)
}

// unsold returns an instance type that the region sells and the zone does not.
func unsold(ctx context.Context, e *proof.Env, zone string) (string, error) {
	out, err := e.EC2.DescribeInstanceTypeOfferings(ctx, &ec2.DescribeInstanceTypeOfferingsInput{
		LocationType: types.LocationTypeAvailabilityZone, Filters: []types.Filter{{Name: aws.String("instance-type"), Values: rare}},
	})
	if err != nil {
		return "", err
	}
	kind := elsewhere(out.InstanceTypeOfferings, zone)
	if kind == "" {
		return "", errorf("zone %s sells all types of this region that were thought of: give --subnet in another zone", zone)
	}
	return kind, nil
}

// elsewhere returns the first type that other zones sell, and one does not; "" where there is none.
func elsewhere(offerings []types.InstanceTypeOffering, zone string) string {
	here, anywhere := map[string]bool{}, []string{}
	for _, o := range offerings {
		anywhere = append(anywhere, string(o.InstanceType))
		here[string(o.InstanceType)] = here[string(o.InstanceType)] || aws.ToString(o.Location) == zone
	}
	sort.Strings(anywhere)
	for _, t := range anywhere {
		if !here[t] {
			return t
		}
	}
	return ""
}

func dryRunFleet(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	in, err := proof.FleetInput(ctx, e, "joiner-proof-nothing", e.Token("dry"), types.DefaultTargetCapacityTypeOnDemand)
	if err != nil {
		return nil, err
	}
	in.DryRun = aws.Bool(true)
	_, err = e.EC2.CreateFleet(ctx, in)
	return proof.Seen{"code": proof.Code(err)}, proof.Answered(err)
}
