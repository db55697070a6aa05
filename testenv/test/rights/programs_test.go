package rights

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	awspricing "github.com/aws/aws-sdk-go-v2/service/pricing"
	awsssm "github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/joiner-sh/joiner/shared/adapter/arcshift"
	"github.com/joiner-sh/joiner/shared/adapter/ec2catalog"
	"github.com/joiner-sh/joiner/shared/adapter/ec2fleet"
	"github.com/joiner-sh/joiner/shared/core/image"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud"
	arcmodel "github.com/joiner-sh/joiner/testenv/local/cloud/arcshift"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	ec2model "github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	iammodel "github.com/joiner-sh/joiner/testenv/local/cloud/iam"
	"github.com/joiner-sh/joiner/testenv/local/cloud/pricing"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ssm"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
	"github.com/joiner-sh/joiner/testenv/local/rights"
)

// clusterARN is the ARN of cluster demo.
const clusterARN = "arn:aws:eks:" + region + ":" + account + ":cluster/" + demo

// shipped is the model of AWS with the rights that ship: those of a region and of cluster demo.
type shipped struct {
	*testing.T
	*cloud.Cloud
	ec2 *ec2model.Model
}

// shippedAs starts it with readings.
func shippedAs(t *testing.T, readings *reading.Set) shipped {
	t.Helper()
	c, err := cloud.Start(t.Context(), cloud.Options{Account: account, Readings: readings, Latency: func(string, string) time.Duration { return time.Millisecond }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	network := ec2model.DefaultNetwork(demo)
	timing := ec2model.Timing{Boot: ec2model.Delay{Min: time.Millisecond, Max: time.Millisecond}, Gone: time.Hour}
	m := ec2model.New(ec2model.Options{Clock: clock.System(), Account: account, Timing: &timing, Network: &network, Readings: readings})
	m.AddInstanceProfile(nodes, nodes)
	c.Register("ec2", ec2model.NewHandler(m))
	c.Register("iam", iammodel.NewHandler(m))
	c.Register("ssm", ssm.NewHandler(ssm.New(ssm.Options{})))
	c.Register("pricing", pricing.NewHandler(pricing.New(pricing.Options{})))
	zones := arcmodel.New(arcmodel.Options{Clock: clock.System()})
	zones.Manage(clusterARN)
	c.Register("arc-zonal-shift", arcmodel.NewHandler(zones))
	region := open(t, "region.json", demo, environment("joiner"))
	env := environment("joiner-cluster-" + demo)
	if env.Exports, err = region.ExportValues(); err != nil {
		t.Fatal(err)
	}
	if _, err := rights.Add(c.Policies, region, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := rights.Add(c.Policies, open(t, "cluster.json", demo, env), nil); err != nil {
		t.Fatal(err)
	}
	return shipped{t, c, m}
}

// as returns the configuration of a program: its function takes on its role in the cluster.
func (s shipped) as(program string) aws.Config {
	s.Helper()
	arn := s.STS.AddRole(sts.Role{Name: strings.TrimPrefix(ofCluster(program), role(""))})
	k, err := s.STS.Assume(arn, "joiner-"+program, time.Hour)
	if err != nil {
		s.Fatal(err)
	}
	return s.ConfigFor(k)
}

func (s shipped) fleet(program string) *ec2fleet.Fleet {
	return ec2fleet.New(awsec2.NewFromConfig(s.as(program)))
}

func (s shipped) catalog(program string) *ec2catalog.Catalog {
	config := s.as(program)
	return ec2catalog.New(ec2catalog.Clients{
		EC2: awsec2.NewFromConfig(config), IAM: awsiam.NewFromConfig(config), SSM: awsssm.NewFromConfig(config), Pricing: awspricing.NewFromConfig(config),
	}, ec2catalog.Settings{Region: region})
}

// class is a node class with everything that has to be asked about.
func (s shipped) class() model.Class {
	discovery := []model.SelectorTerm{{Tags: map[string]string{"karpenter.sh/discovery": demo}}}
	return model.Class{
		Name: "web", UID: "uid-web", Family: "AL2023", Role: nodes, Subnets: discovery, SecurityGroups: discovery,
		Images:       []model.SelectorTerm{{Alias: "al2023@latest"}},
		Reservations: []model.SelectorTerm{{Tags: map[string]string{"team": "a"}}}, PlacementGroup: &model.SelectorTerm{Name: "close"},
		Metadata: model.MetadataOptions{HTTPTokens: "required"},
	}
}

// imageFor returns the id of the standard image of a resolved class for an architecture, as EC2 spells it; "" where there is none.
func imageFor(class model.Class, architecture string) string {
	for _, i := range class.Status.Images {
		if strings.Contains(i.Name, "-"+architecture+"-standard-") {
			return i.ID
		}
	}
	return ""
}

// launch is one of a machine of the class, as it was resolved.
func (s shipped) launch(class model.Class, intent, capacityType string) model.Launch {
	class.Status.InstanceProfile = nodes
	class.Status.PlacementGroup = nil
	subnet := class.Status.Subnets[0]
	return model.Launch{
		Intent: intent, Token: "token-" + intent, Cluster: demo, Pool: "default", CapacityType: capacityType, Claims: []string{"default-" + intent}, Class: class,
		Templates: []model.LaunchTemplate{{ImageID: imageFor(class, "x86_64"), UserData: []byte("join"), Overrides: []model.Override{
			{InstanceType: "m5.large", Zone: subnet.Zone, SubnetID: subnet.ID, Price: 96_000},
		}}},
	}
}

// check fails on an error, naming what was being done.
func (s shipped) check(what string, err error) {
	s.Helper()
	if err != nil {
		s.Errorf("%s: %v", what, err)
	}
}

// TestSE01ProgramsNeedWhatShips: what the programs say to EC2, IAM, SSM and the price list goes through with the rights that ship, and
// of those rights none is left over where CreateFleet asks for all of them. What they say to their own region's queues, table and bucket is shown where all of it runs.
func TestSE01ProgramsNeedWhatShips(t *testing.T) {
	s := shippedAs(t, reading.Strict(append(reading.Delays(), reading.CreateFleetResources)...))
	s.ec2.AddPlacementGroup(ec2model.PlacementGroup{Name: "close", Strategy: "cluster"})
	s.ec2.AddReservation(ec2model.Reservation{Type: "m5.large", Zone: "us-west-2a", Total: 1, Targeted: true, Tags: map[string]string{"team": "a"}})
	class, instances := s.provisions()
	s.tries(class)
	s.interrupts(instances)
	s.adopts(class)
	for _, denied := range s.Policies.Denied() {
		t.Errorf("denied: %v", denied)
	}
	for _, unused := range s.Policies.Unused() {
		clusters := strings.HasPrefix(unused.Role, role("joiner-"+demo+"-"))
		others := slices.ContainsFunc([]string{"sqs:", "s3:", "dynamodb:", "eks:"}, func(service string) bool { return strings.HasPrefix(unused.Action, service) })
		if clusters && !others {
			t.Errorf("never used: %v", unused)
		}
	}
}

// provisions does all that provision does with AWS and returns the class as it was resolved and the machines launched.
func (s shipped) provisions() (class model.Class, instances []string) {
	s.Helper()
	class = s.class()
	ctx, fleet, known := s.Context(), s.fleet("provision"), s.catalog("provision")
	queries, err := image.Queries(class, "1.36")
	s.check("queries", err)
	class.Status, err = known.Resolve(ctx, class, queries)
	s.check("resolve a class", err)
	if len(class.Status.Subnets) == 0 || len(class.Status.Images) == 0 || class.Status.InstanceProfile == "" {
		s.Fatalf("the class was not resolved: %+v", class.Status.Problems)
	}
	_, err = known.InstanceTypes(ctx)
	s.check("read the catalog", err)
	for intent, capacityType := range map[string]string{"01A": model.OnDemand, "01B": model.Spot} {
		request, err := fleet.PrepareRequest(ctx, s.launch(class, intent, capacityType))
		s.check("make a launch template", err)
		result, err := fleet.Launch(ctx, request)
		s.check("launch "+capacityType, err)
		if len(result.Instances) != 1 {
			s.Fatalf("launch %s: %+v", capacityType, result.Errors)
		}
		instances = append(instances, result.Instances[0].ID)
		_, err = fleet.FindInstances(ctx, intent)
		s.check("find what was launched", err)
	}
	_, err = fleet.Tag(ctx, instances[0], map[string]string{"Name": "n", "karpenter.sh/nodeclaim": "default-1", "eks:eks-cluster-name": demo})
	s.check("tag a machine", err)
	_, err = fleet.Collect(ctx, demo, nil, time.Now().Add(time.Hour).Unix(), 10)
	s.check("delete launch templates", err)
	return class, instances
}

// tries does all that catalog does with AWS.
func (s shipped) tries(class model.Class) {
	s.Helper()
	ctx, fleet, known := s.Context(), s.fleet("catalog"), s.catalog("catalog")
	queries, err := image.Queries(class, "1.36")
	s.check("queries", err)
	checked := class
	checked.InstanceProfile = "its-own" // as the flow does, so that nobody else's is looked for
	_, err = known.ResolveParts(ctx, checked, queries)
	s.check("examine a class", err)
	_, err = known.Refresh(ctx, model.InstanceCatalog{}, model.CatalogParts{Types: true, Prices: true, Spot: true})
	s.check("refresh the catalogue", err)
	profile := model.InstanceProfile{
		Name: demo + "_1", Path: "/karpenter/" + region + "/" + demo + "/uid-web/", Role: class.Role,
		Tags: map[string]string{"kubernetes.io/cluster/" + demo: "owned", "eks:eks-cluster-name": demo, "topology.kubernetes.io/region": region, "karpenter.k8s.aws/ec2nodeclass": "web"},
	}
	_, err = known.Profile(ctx, profile.Name)
	if err == nil || strings.Contains(err.Error(), "AccessDenied") {
		s.Errorf("a profile that is not there: %v", err)
	}
	s.check("make a profile", known.EnsureProfile(ctx, profile))
	s.check("make it again", known.EnsureProfile(ctx, profile))
	_, err = known.Profiles(ctx, "/karpenter/"+region+"/"+demo+"/")
	s.check("list profiles", err)
	s.check("delete a profile", known.DeleteProfile(ctx, profile))
	launch := s.launch(class, "trial", model.OnDemand)
	request, err := fleet.PrepareRequest(ctx, launch)
	s.check("make a launch template to try", err)
	s.check("try a fleet", fleet.DryRunFleet(ctx, request))
	s.check("try a launch", fleet.DryRun(ctx, launch, request, launch.Templates[0].Overrides[0].SubnetID))
	s.check("delete a class's templates", fleet.DeleteTemplates(ctx, demo, "web"))
	_, err = fleet.DescribeInstances(ctx, []string{"i-0123456789abcdef0"})
	s.check("look for machines", err)
	_, managed, err := arcshift.New(arczonalshift.NewFromConfig(s.as("catalog"))).ZonalShifts(ctx,
		model.Registration{Cluster: demo, ARN: clusterARN})
	if s.check("ask for zonal shifts", err); !managed {
		s.Error("the cluster has no zonal shifts enabled")
	}
}

// interrupts does all that interruption does with AWS.
func (s shipped) interrupts(instances []string) {
	s.Helper()
	ctx, fleet := s.Context(), s.fleet("interruption")
	owned, err := fleet.Owned(ctx, demo)
	s.check("list machines", err)
	if len(owned) != len(instances) {
		s.Errorf("%d machines, want %d", len(owned), len(instances))
	}
	_, err = fleet.Interrupted(ctx, demo)
	s.check("list interrupted machines", err)
	_, err = fleet.Impaired(ctx)
	s.check("list impaired machines", err)
	ended, err := fleet.Terminate(ctx, demo, instances)
	s.check("end machines", err)
	if len(ended) != len(instances) {
		s.Errorf("ended %v, want %v", ended, instances)
	}
}

// adopts takes over a machine that Karpenter launched.
func (s shipped) adopts(class model.Class) {
	s.Helper()
	ctx, fleet := s.Context(), s.fleet("adopt")
	tags := []types.Tag{{Key: aws.String("kubernetes.io/cluster/" + demo), Value: aws.String("owned")}, {Key: aws.String("karpenter.sh/nodepool"), Value: aws.String("default")}}
	out, err := awsec2.NewFromConfig(s.Config()).RunInstances(ctx, &awsec2.RunInstancesInput{
		ImageId: aws.String(imageFor(class, "x86_64")), InstanceType: "m5.large", SubnetId: &class.Status.Subnets[0].ID, MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		TagSpecifications: []types.TagSpecification{{ResourceType: "instance", Tags: tags}},
	})
	if err != nil {
		s.Fatal(err)
	}
	id := *out.Instances[0].InstanceId
	_, err = fleet.Managed(ctx, demo)
	s.check("list managed machines", err)
	taken, err := fleet.AdoptInstances(ctx, demo, "01C", []string{id})
	s.check("take a machine over", err)
	if fmt.Sprint(taken) != "["+id+"]" {
		s.Errorf("took %v, want %s", taken, id)
	}
}
