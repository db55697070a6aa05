package referee

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/joiner-sh/joiner/shared/adapter/ec2fleet"
	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/access"
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	ec2model "github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/eks"
	iammodel "github.com/joiner-sh/joiner/testenv/local/cloud/iam"
	"github.com/joiner-sh/joiner/testenv/local/cloud/once"
	"github.com/joiner-sh/joiner/testenv/local/cloud/policy"
	"github.com/joiner-sh/joiner/testenv/local/cloud/pricing"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ssm"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloudformation"
	"github.com/joiner-sh/joiner/testenv/local/rights"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

const (
	cluster   = world.Name
	committed = "joiner-demo" // the cluster the committed templates are of
	templates = "../../../infra/cdk/templates"
	karpenter = "karpenter" // its controller's role
)

// Site is a cluster's account: a model of AWS with the rights that our templates ship, and beside them Karpenter's controller with the
// rights that it publishes. World is the cluster itself.
type Site struct {
	testing.TB
	*cloud.Cloud
	EC2      *ec2model.Model
	EKS      *eks.Model
	World    *world.World
	Record   *Record
	NodeRole string // name of the role of nodes

	programs map[string][]policy.Attached // policies of our programs in the cluster, by program
}

// sells returns the types whose names begin with one of the prefixes; all where there is none. One of bare metal is always there:
// Karpenter takes a price list without any for a broken one.
func sells(prefixes []string) []catalog.Type {
	return slices.DeleteFunc(catalog.Types(), func(t catalog.Type) bool {
		return len(prefixes) > 0 && t.Name != "m5.metal" && !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(t.Name, p) })
	})
}

// Open starts a site that ends with the test, which sells instance types whose names begin with one of the prefixes; all where there is none.
func Open(t testing.TB, types ...string) *Site {
	t.Helper()
	s := &Site{TB: t, World: world.New(world.Options{}), Record: &Record{}}
	registration := world.Registration()
	var err error
	s.Cloud, err = cloud.Start(t.Context(), cloud.Options{Account: registration.Account, Region: registration.Region, Clock: s.World.Clock, ClientClock: clock.System()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	s.policies()
	network := ec2model.DefaultNetwork(cluster)
	sold := sells(types)
	s.EC2 = ec2model.New(ec2model.Options{Clock: s.World.Clock, Account: registration.Account, Timing: &ec2model.Timing{Gone: time.Hour}, Network: &network, Types: sold})
	s.EC2.AddReservation(ec2model.Reservation{Type: "m5.large", Zone: "us-west-2a", Total: 2, Targeted: true, Tags: map[string]string{"team": "a"}})
	s.EC2.AddPlacementGroup(ec2model.PlacementGroup{Name: "close", Strategy: ec2model.PlacePartition, Partitions: 3})
	s.EC2.AddRole(ec2model.Role{Name: s.NodeRole})
	for i, subnet := range s.EC2.Subnets() { // both take those with most free addresses first: so it is clear which
		s.EC2.OccupyAddresses(subnet.ID, 100*i)
	}
	s.EKS = eks.New(eks.Options{Clock: s.World.Clock, Account: registration.Account, Region: registration.Region})
	s.EKS.AddCluster(eks.Cluster{
		Name: cluster, Version: registration.Version, Endpoint: registration.Endpoint, CertificateAuthority: registration.CA, ServiceCIDR: registration.ServiceCIDR,
	})
	for service, handler := range map[string]tap{
		"ec2": {Handler: ec2model.NewHandler(s.EC2)}, "iam": {Handler: iammodel.NewHandler(s.EC2)}, "eks": {Handler: eks.NewHandler(s.EKS)},
		"ssm": {Handler: ssm.NewHandler(ssm.New(ssm.Options{}))}, "pricing": {Handler: pricing.NewHandler(pricing.New(pricing.Options{Types: sold}))},
	} {
		handler.record, handler.service, handler.book = s.Record, service, s.Policies
		s.Register(service, handler)
	}
	return s
}

// policies reads the templates and gives every role its policies.
func (s *Site) policies() {
	s.Helper()
	region := s.stack("region.json", "joiner", nil)
	exports, err := region.ExportValues()
	if err != nil {
		s.Fatal(err)
	}
	own := s.stack("cluster-adopters.json", "joiner-cluster-"+cluster, exports) // cluster.json, and the role for people who adopt
	for _, stack := range []*cloudformation.Stack{region, own} {
		left, err := rights.Add(s.Policies, stack, nil)
		if err != nil {
			s.Fatal(err)
		}
		if len(left) == 1 {
			s.NodeRole = left[0][strings.LastIndex(left[0], "/")+1:]
		}
	}
	if s.NodeRole == "" {
		s.Fatal("the cluster's template makes no role of nodes, which is one that holds managed policies")
	}
	s.programs = map[string][]policy.Attached{}
	for _, id := range own.OfType("AWS::IAM::Role") {
		properties, err := own.Properties(id)
		if err != nil {
			s.Fatal(err)
		}
		program, ours := strings.CutPrefix(fmt.Sprint(properties["RoleName"]), s.roleName(""))
		inline, _ := properties["Policies"].([]any)
		for _, item := range inline {
			p, _ := item.(map[string]any)
			document, err := policy.ParseValue(p["PolicyDocument"], policy.Identity)
			if err != nil {
				s.Fatal(err)
			}
			if ours {
				s.programs[program] = append(s.programs[program], policy.Attached{Name: program, Document: document})
			}
		}
	}
	s.Policies.SetRole(s.role(karpenter), access.Role{Identity: Published(s, s.NodeRole)})
}

// stack reads a committed template as the cluster's.
func (s *Site) stack(file, name string, exports map[string]string) *cloudformation.Stack {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(templates, file))
	if err != nil {
		s.Fatal(err)
	}
	template, err := cloudformation.Parse([]byte(strings.ReplaceAll(string(text), committed, cluster)))
	if err != nil {
		s.Fatalf("%s: %v", file, err)
	}
	stack, err := template.With(cloudformation.Environment{Account: s.Account(), Region: s.Region(), StackName: name, Exports: exports}, nil)
	if err != nil {
		s.Fatalf("%s: %v", file, err)
	}
	return stack
}

// roleName is the role that a program of ours takes on in the cluster.
func (s *Site) roleName(program string) string {
	return "joiner-" + cluster + "-" + s.Region() + "-" + program
}

// role returns the ARN of a program's role.
func (s *Site) role(program string) string {
	name := s.roleName(program)
	if program == karpenter {
		name = "KarpenterController-" + cluster
	}
	return "arn:aws:iam::" + s.Account() + ":role/" + name
}

// As returns the configuration of a program that has taken on its role.
func (s *Site) As(program string) aws.Config {
	s.Helper()
	arn := s.role(program)
	s.STS.AddRole(sts.Role{Name: arn[strings.LastIndex(arn, "/")+1:]})
	k, err := s.STS.Assume(arn, program, time.Hour)
	if err != nil {
		s.Fatal(err)
	}
	return overLoopback(s.ConfigFor(k))
}

// Config returns the configuration of the account's root.
func (s *Site) Config() aws.Config { return overLoopback(s.Cloud.Config()) }

// overLoopback gives a configuration a client that does not lose answers of many pages; see package once.
func overLoopback(config aws.Config) aws.Config {
	config.HTTPClient = once.Client{}
	return config
}

// Programs returns the policies of all our programs in the cluster together.
func (s *Site) Programs() []policy.Attached {
	var all []policy.Attached
	for _, name := range []string{"provision", "catalog", "interruption", "adopt"} {
		if len(s.programs[name]) == 0 {
			s.Fatalf("the cluster's template has no role of %s", name)
		}
		all = append(all, s.programs[name]...)
	}
	return all
}

// Denied returns what of a record the policies do not allow. Whoever asked, it is decided as if one role had them all. Of each it says
// whether it would be allowed were there the tag by which we know what we made.
func (s *Site) Denied(asked []Asked, policies []policy.Attached) []Difference {
	book := access.NewBook(s.Account(), s.Region(), s.World.Clock.Now)
	book.SetRole(s.role("judged"), access.Role{Identity: policies})
	var out []Difference
	for _, a := range asked {
		decision := book.Would(policy.Role(s.role("judged")), a.Access)
		if decision.Allowed() {
			continue
		}
		lacks := ""
		if tagged := withIntent(a.Access); book.Would(policy.Role(s.role("judged")), tagged).Allowed() {
			lacks = "it lacks only the tag " + ec2fleet.TagIntent + "; "
		}
		resource := a.Access.Resource
		if parts := strings.SplitN(resource, ":", 6); len(parts) == 6 {
			resource = parts[5]
		}
		kind, _, _ := strings.Cut(resource, "/")
		if creates := a.Access.Context["ec2:createaction"]; len(creates) > 0 {
			kind += " / " + creates[0]
		}
		context, _ := json.Marshal(a.Access.Context)
		d := Difference{Where: a.Access.Action + " / " + kind, What: fmt.Sprintf("%s%s asked of %s with %s: %v", lacks, a.Who, a.Access.Resource, context, decision)}
		if !slices.ContainsFunc(out, func(b Difference) bool { return b.Where == d.Where }) {
			out = append(out, d)
		}
	}
	return out
}

// withIntent is an access whose request and resource have the tag of an intent.
func withIntent(a wire.Access) wire.Access {
	context := maps.Clone(a.Context)
	if context == nil {
		context = map[string][]string{}
	}
	context["aws:requesttag/"+ec2fleet.TagIntent], context["aws:resourcetag/"+ec2fleet.TagIntent] = []string{"01A"}, []string{"01A"}
	a.Context = context
	return a
}
