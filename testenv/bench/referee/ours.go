package referee

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/joiner-sh/joiner/shared/adapter/ec2catalog"
	"github.com/joiner-sh/joiner/shared/adapter/ec2fleet"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/flow/catalog"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// Fleet is our adapter of EC2 with the rights of a program.
func (s *Site) Fleet(program string) *ec2fleet.Fleet {
	s.Helper()
	return ec2fleet.New(ec2.NewFromConfig(s.As(program)))
}

// Catalog is our adapter of what can be bought, with the rights of a program.
func (s *Site) Catalog(program string) *ec2catalog.Catalog {
	s.Helper()
	config := s.As(program)
	return ec2catalog.New(ec2catalog.Clients{
		EC2: ec2.NewFromConfig(config), IAM: iam.NewFromConfig(config), SSM: ssm.NewFromConfig(config),
		Pricing: pricing.NewFromConfig(config, func(o *pricing.Options) { o.Region = ec2catalog.PricingRegion(s.Region()) }),
	}, ec2catalog.Settings{Region: s.Region()})
}

// classes opens the cluster for the catalog's flow: Kubernetes is the world's, AWS is the site's.
type classes struct {
	port.Connector[catalog.Clients]
	site *Site
}

func (c classes) Connect(ctx context.Context, reg model.Registration) (catalog.Clients, error) {
	out, err := c.Connector.Connect(ctx, reg)
	known, fleet := c.site.Catalog("catalog"), c.site.Fleet("catalog")
	out.Catalog, out.Profiles, out.Trials, out.InstanceTypes = known, known, fleet, fleet
	return out, err
}

// launches does the same for provisioning.
type launches struct {
	provision.Connector
	site *Site
}

func (c launches) Connect(ctx context.Context, reg model.Registration) (provision.Clients, error) {
	out, err := c.Connector.Connect(ctx, reg)
	fleet := c.site.Fleet("provision")
	out.Catalog, out.Fleet, out.Templates, out.Tagger = c.site.Catalog("provision"), fleet, fleet, fleet
	return out, err
}

// Apply puts a scenario's class and pool into our cluster.
func (s *Site) Apply(scenario Scenario) {
	s.Helper()
	ours := OurSchemas(s)
	class := translate.ClassOf(Defaulted(ours, scenario.Class))
	pool, managed := translate.PoolOf(Defaulted(ours, scenario.Pool))
	if len(class.Invalid)+len(class.Unsupported)+len(pool.Invalid) > 0 || !managed {
		s.Fatalf("%s: %v %v %v", scenario.Name, class.Invalid, class.Unsupported, pool.Invalid)
	}
	s.World.Cluster.AddClass(class)
	s.World.Cluster.AddPool(pool)
}

// Try has our catalog's flow look the classes up and try them on EC2.
func (s *Site) Try() catalog.Outcome {
	s.Helper()
	w := s.World
	flow := w.Ports(w.Process(world.Fault{}), "catalog").Catalog(w.Clock.Now, catalog.Settings{})
	flow.Connector = classes{flow.Connector, s}
	out, err := flow.Run(s.Context(), catalog.Request{Cluster: cluster, Config: true, Owner: "catalog", Deadline: w.Clock.Now().Add(world.InvocationTimeout)})
	if err != nil {
		s.Fatalf("look classes up: %v", err)
	}
	return out
}

// Provision has our provisioning's flow launch what waiting pods need.
func (s *Site) Provision(scenario Scenario) provision.Outcome {
	s.Helper()
	w := s.World
	_, shape := translate.Pod(&scenario.Pod)
	w.Cluster.CreatePod(scenario.Pod.Name, shape)
	w.Tick(time.Second) // kube-scheduler finds no node
	flow := w.Process(world.Fault{}).Flow()
	flow.Connector = launches{flow.Connector, s}
	out, err := flow.Run(s.Context(), provision.Request{Cluster: cluster, Trigger: provision.TriggerResync, Owner: "provision", Deadline: w.Clock.Now().Add(world.InvocationTimeout)})
	if err != nil {
		s.Fatalf("provision: %v", err)
	}
	return out
}
