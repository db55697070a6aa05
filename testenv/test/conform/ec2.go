package conform

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// EC2 is the contract of what launching nodes needs: what can be bought, launch
// templates, instant fleets, instances and tags.
func EC2(t *testing.T, target Target) {
	c := ec2.NewFromConfig(target.Config)
	var cases []Case
	cases = append(cases, ec2OfferingCases(c)...)
	cases = append(cases, ec2TemplateCases(c)...)
	cases = append(cases, ec2FleetCases(c)...)
	cases = append(cases, ec2InstanceCases(c)...)
	cases = append(cases, ec2DryRunCases(c)...)
	cases = append(cases, ec2ReservationCases(c)...)
	cases = append(cases, ec2PlacementCases(c)...)
	cases = append(cases, ec2ImageCases(c)...)
	cases = append(cases, ec2HealthCases(c)...)
	target.Run(t, "ec2", cases)
}

// ec2OfferingCases say what can be bought and where.
func ec2OfferingCases(c *ec2.Client) []Case {
	return []Case{
		{"instance types have their published shape", func(t T) {
			for _, want := range []struct {
				name                            types.InstanceType
				vcpus, interfaces, perInterface int32
				memoryMiB                       int64
				architecture                    types.ArchitectureType
			}{
				{"m5.large", 2, 3, 10, 8192, "x86_64"}, {"c6g.medium", 1, 2, 4, 2048, "arm64"}, {"r7i.4xlarge", 16, 8, 30, 131072, "x86_64"},
				{"t4g.small", 2, 3, 4, 2048, "arm64"}, {"g5.12xlarge", 48, 15, 50, 196608, "x86_64"}, {"i4i.24xlarge", 96, 15, 30, 786432, "x86_64"},
			} {
				out, err := c.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{want.name}})
				if err != nil || len(out.InstanceTypes) != 1 {
					t.Fatalf("describe %s: %+v, %v", want.name, out, err)
				}
				got := out.InstanceTypes[0]
				if *got.VCpuInfo.DefaultVCpus != want.vcpus || *got.MemoryInfo.SizeInMiB != want.memoryMiB || got.ProcessorInfo.SupportedArchitectures[0] != want.architecture ||
					*got.NetworkInfo.MaximumNetworkInterfaces != want.interfaces || *got.NetworkInfo.Ipv4AddressesPerInterface != want.perInterface {
					t.Errorf("%s: %+v %+v %+v", want.name, got.VCpuInfo, got.MemoryInfo, got.NetworkInfo)
				}
			}
		}},
		{"instance types are filtered", func(t T) {
			out, err := c.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{Filters: []types.Filter{
				ec2Filter("instance-type", "m5.*"), ec2Filter("bare-metal", "true"), ec2Filter("processor-info.supported-architecture", "x86_64")}})
			if err != nil || len(out.InstanceTypes) != 1 || out.InstanceTypes[0].InstanceType != "m5.metal" {
				t.Errorf("got %+v, %v; want m5.metal alone", out, err)
			}
		}},
		{"an unknown instance type is refused by its code", func(t T) {
			_, err := c.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"m5.gigantic"}})
			wantCode(t, err, "InvalidInstanceType")
		}},
		{"offerings name zones of the region", func(t T) {
			out, err := c.DescribeInstanceTypeOfferings(t.Context(), &ec2.DescribeInstanceTypeOfferingsInput{
				LocationType: types.LocationTypeAvailabilityZone, Filters: []types.Filter{ec2Filter("instance-type", "m5.large")}})
			if err != nil || len(out.InstanceTypeOfferings) < 2 {
				t.Fatalf("offerings %+v, %v", out, err)
			}
			zones := ec2Zones(t, c)
			for _, o := range out.InstanceTypeOfferings {
				if o.InstanceType != "m5.large" || !zones[*o.Location] {
					t.Errorf("offering %+v", o)
				}
			}
		}},
		{"spot prices are quoted per zone", func(t T) {
			out, err := c.DescribeSpotPriceHistory(t.Context(), &ec2.DescribeSpotPriceHistoryInput{
				StartTime: aws.Time(time.Now()), InstanceTypes: []types.InstanceType{"m5.large"}, ProductDescriptions: []string{"Linux/UNIX"}})
			if err != nil || len(out.SpotPriceHistory) < 2 {
				t.Fatalf("prices %+v, %v", out, err)
			}
			for _, p := range out.SpotPriceHistory {
				if p.InstanceType != "m5.large" || p.ProductDescription != "Linux/UNIX" || *p.SpotPrice == "" || p.Timestamp == nil {
					t.Errorf("price %+v", p)
				}
			}
		}},
		{"an unknown filter is refused", func(t T) {
			_, err := c.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{Filters: []types.Filter{ec2Filter("colour", "red")}})
			if err == nil {
				t.Errorf("it was accepted")
			}
		}},
		{"a dry run does nothing and says so", func(t T) {
			_, err := c.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{DryRun: aws.Bool(true)})
			wantCode(t, err, "DryRunOperation")
		}},
	}
}

// ec2TemplateCases are about launch templates.
func ec2TemplateCases(c *ec2.Client) []Case {
	return []Case{
		{"a launch template gives back what it was made of", func(t T) {
			name := newTemplate(t, c)
			out, err := c.DescribeLaunchTemplateVersions(t.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: &name, Versions: []string{"$Latest"}})
			if err != nil || len(out.LaunchTemplateVersions) != 1 {
				t.Fatalf("versions %+v, %v", out, err)
			}
			v := out.LaunchTemplateVersions[0]
			if *v.VersionNumber != 1 || !*v.DefaultVersion || *v.LaunchTemplateName != name || *v.LaunchTemplateData.UserData != "Ym9vdA==" || *v.LaunchTemplateData.ImageId == "" {
				t.Errorf("version %+v", v)
			}
		}},
		{"a template name is taken once", func(t T) {
			name := newTemplate(t, c)
			_, err := c.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{LaunchTemplateName: &name,
				LaunchTemplateData: &types.RequestLaunchTemplateData{InstanceType: "m5.large"}})
			wantCode(t, err, "InvalidLaunchTemplateName.AlreadyExistsException")
		}},
		{"an absent template is refused by its name", func(t T) {
			_, err := c.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{Unique("absent")}})
			wantCode(t, err, "InvalidLaunchTemplateName.NotFoundException")
		}},
		{"a deleted template is gone", func(t T) {
			name := newTemplate(t, c)
			if _, err := c.DeleteLaunchTemplate(t.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateName: &name}); err != nil {
				t.Fatalf("delete: %v", err)
			}
			_, err := c.DeleteLaunchTemplate(t.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateName: &name})
			wantCode(t, err, "InvalidLaunchTemplateName.NotFoundException")
		}},
		{"a fleet without its template launches nothing", func(t T) {
			in := newFleet(Unique("absent"), 1, types.DefaultTargetCapacityTypeOnDemand, ec2Override(t, c, "m5.large", 0))
			_, err := c.CreateFleet(t.Context(), in)
			wantCode(t, err, "InvalidLaunchTemplateName.NotFoundException")
		}},
	}
}

func ec2Filter(name string, values ...string) types.Filter {
	return types.Filter{Name: &name, Values: values}
}

func ec2Zones(t T, c *ec2.Client) map[string]bool {
	t.Helper()
	out, err := c.DescribeAvailabilityZones(t.Context(), &ec2.DescribeAvailabilityZonesInput{})
	if err != nil {
		t.Fatalf("zones: %v", err)
	}
	zones := map[string]bool{}
	for _, z := range out.AvailabilityZones {
		zones[*z.ZoneName] = true
	}
	return zones
}
