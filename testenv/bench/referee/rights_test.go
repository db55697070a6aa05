package referee

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"

	"github.com/joiner-sh/joiner/shared/adapter/ekscontrol"
	"github.com/joiner-sh/joiner/shared/core/image"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

var few = []string{"m5.", "m5d.", "m6g.", "m8i.", "c6in."} // what the scenarios use

// TestA62KarpenterLaunchesByItsPublishedPolicy: its controllers run with the policy it publishes in force; where they were refused anything the
// policy would be transcribed wrongly, or our model of IAM deny what AWS allows. What they ask for our policies allow too, but for what
// DIFFERENCES.md lists.
func TestA62KarpenterLaunchesByItsPublishedPolicy(t *testing.T) {
	var found []Difference
	for _, scenario := range Scenarios(t, "") {
		t.Run(scenario.Name, func(t *testing.T) {
			s := Open(t, few...)
			scenario := s.Scenario(scenario.Name)
			k := s.Karpenter(scenario)
			k.Try()
			claim := k.Create(scenario)
			if scenario.Name == "spot" { // one is enough
				k.Join(claim)
			}
			k.Finish(claim)
			for _, denied := range s.Policies.Denied() {
				t.Errorf("denied: %v", denied)
			}
			found = append(found, s.Denied(s.Record.Asked(), s.Programs())...)
		})
	}
	Evaluate(t, "their requests, our policies", found)
}

// TestA62WhatWeAskKarpentersPolicyAllows: every request of ours, of every action that our templates grant a cluster's programs on EC2, IAM, SSM,
// EKS and the price list, but for what DIFFERENCES.md lists. Queues, table and bucket are our own: Karpenter has none of them.
func TestA62WhatWeAskKarpentersPolicyAllows(t *testing.T) {
	var found []Difference
	for _, scenario := range Scenarios(t, "") {
		t.Run(scenario.Name, func(t *testing.T) {
			s := Open(t, few...)
			scenario := s.Scenario(scenario.Name)
			s.Apply(scenario)
			s.Try()
			if out := s.Provision(scenario); out.Claims != 1 || out.Failed > 0 {
				t.Fatalf("provisioning: %+v", out)
			}
			s.rest()
			for _, denied := range s.Policies.Denied() {
				t.Errorf("denied by our own policies: %v", denied)
			}
			if scenario.Name == "spot" && os.Getenv("JOINER_READINGS") == "" { // other readings of AWS ask for less
				for _, unused := range s.Policies.Unused() {
					if strings.HasPrefix(unused.Role, s.role("")) && slices.ContainsFunc([]string{"ec2:", "iam:", "ssm:", "pricing:", "eks:"}, func(p string) bool { return strings.HasPrefix(unused.Action, p) }) {
						t.Errorf("our templates grant what was never asked for, so that nothing is known of it: %v", unused)
					}
				}
			}
			ours := slices.DeleteFunc(s.Record.Asked(), func(a Asked) bool { return !strings.Contains(a.Who, ":assumed-role/joiner-") })
			found = append(found, s.Denied(ours, Published(s, s.NodeRole))...)
		})
	}
	Evaluate(t, "our requests, their policy", found)
}

// rest is what our programs ask of AWS besides looking classes up, trying and launching.
func (s *Site) rest() {
	s.Helper()
	ctx, check := s.Context(), func(what string, err error) {
		s.Helper()
		if err != nil {
			s.Errorf("%s: %v", what, err)
		}
	}
	ids := []string{}
	for _, i := range s.EC2.Instances() {
		ids = append(ids, i.ID)
	}
	provision, interruption, adopt := s.Fleet("provision"), s.Fleet("interruption"), s.Fleet("adopt")
	_, err := provision.FindInstances(ctx, "01A")
	check("find machines", err)
	_, err = provision.Tag(ctx, ids[0], map[string]string{"Name": "n", "karpenter.sh/nodeclaim": "default-1", "eks:eks-cluster-name": cluster})
	check("tag a machine", err)
	_, err = provision.Collect(ctx, cluster, nil, s.World.Clock.Now().Add(time.Hour).Unix(), 1)
	check("delete a launch template", err)
	_, err = interruption.Owned(ctx, cluster)
	check("list machines", err)
	_, err = interruption.Interrupted(ctx, cluster)
	check("list interrupted machines", err)
	_, err = interruption.Impaired(ctx)
	check("list impaired machines", err)
	_, err = interruption.Terminate(ctx, cluster, ids)
	check("end machines", err)
	s.profiles(check)
	_, err = ekscontrol.New(eks.NewFromConfig(s.As("catalog"))).Describe(ctx, world.Registration())
	check("describe the cluster", err)
	group := []types.Tag{{Key: aws.String("kubernetes.io/cluster/" + cluster), Value: aws.String("owned")}, {Key: aws.String("karpenter.sh/nodepool"), Value: aws.String("default")}}
	like := s.EC2.Instances()[0]
	out, err := ec2.NewFromConfig(s.Config()).RunInstances(ctx, &ec2.RunInstancesInput{
		ImageId: &like.ImageID, InstanceType: types.InstanceType(like.Type), MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: group}},
	})
	check("make a machine of Karpenter's", err)
	_, err = adopt.Managed(ctx, cluster)
	check("list managed machines", err)
	_, err = adopt.AdoptInstances(ctx, cluster, "01C", []string{*out.Instances[0].InstanceId})
	check("take a machine over", err)
}

// profiles is what is done with instance profiles when nothing goes as it should, and at the end of a class.
func (s *Site) profiles(check func(string, error)) {
	s.Helper()
	ctx, known, fleet := s.Context(), s.Catalog("catalog"), s.Fleet("catalog")
	profile := model.InstanceProfile{
		Name: cluster + "_1", Path: "/karpenter/" + s.Region() + "/" + cluster + "/uid-web/", Role: s.NodeRole,
		Tags: map[string]string{"kubernetes.io/cluster/" + cluster: "owned", "eks:eks-cluster-name": cluster, "topology.kubernetes.io/region": s.Region(), "karpenter.k8s.aws/ec2nodeclass": "web"},
	}
	check("make a profile", known.EnsureProfile(ctx, profile))
	check("make it again", known.EnsureProfile(ctx, profile))
	_, err := known.Profiles(ctx, "/karpenter/"+s.Region()+"/"+cluster+"/")
	check("list profiles", err)
	check("delete a profile", known.DeleteProfile(ctx, profile))
	tagged := []model.SelectorTerm{{Tags: map[string]string{"team": "a"}}}
	class := model.Class{
		Name: "new", Family: "AL2023", Role: s.NodeRole, Subnets: tagged, SecurityGroups: tagged, Reservations: tagged, PlacementGroup: &model.SelectorTerm{Name: "close"},
		Images: []model.SelectorTerm{{Alias: "al2023@latest"}},
	}
	queries, err := image.Queries(class, "1.36")
	check("queries", err)
	_, err = s.Catalog("provision").Resolve(ctx, class, queries)
	check("resolve a class that nobody has looked up", err)
	class.InstanceProfile = "its-own" // as the flow does, so that nobody else's is looked for
	_, err = known.ResolveParts(ctx, class, queries)
	check("examine a class", err)
	check("delete a class's templates", fleet.DeleteTemplates(ctx, cluster, "web"))
	_, err = fleet.DescribeInstances(ctx, []string{"i-0123456789abcdef0"})
	check("look for machines", err)
}
