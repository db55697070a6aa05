package main

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/joiner-sh/joiner/shared/adapter/ec2catalog"
	"github.com/joiner-sh/joiner/shared/adapter/ec2fleet"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster"
	"github.com/joiner-sh/joiner/shared/adapter/relay"
	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/catalog"
	"github.com/joiner-sh/joiner/shared/model"
)

// connector opens clusters with their own permissions and keeps what it opened for the next invocation.
type connector struct {
	config   aws.Config
	relay    *relay.Relay
	isolated bool // IAM and the price list cannot be reached
	sites    boot.ClientCache[catalog.Clients]
}

func newConnector(config aws.Config, relay *relay.Relay, isolated bool) *connector {
	return &connector{config: config, relay: relay, isolated: isolated}
}

// Connect returns the cluster's site; another endpoint, authority or role opens it anew. Whatever is tried there is tried
// with the permissions of the role that launches.
func (c *connector) Connect(_ context.Context, reg model.Registration) (catalog.Clients, error) {
	return c.sites.Open(reg.Cluster, reg.Access(), func() (site catalog.Clients, err error) {
		config := boot.Rights(c.config, "joiner-catalog", reg.Region, reg.Roles.Catalog, reg.ExternalID)
		cluster, err := ekscluster.Connect(config, reg, c.relay)
		if err != nil {
			return site, err
		}
		fleet := ec2fleet.New(ec2.NewFromConfig(config))
		instances := ec2catalog.New(ec2catalog.Clients{
			EC2: ec2.NewFromConfig(config), IAM: iam.NewFromConfig(config), SSM: ssm.NewFromConfig(config),
			Pricing: pricing.NewFromConfig(config, func(o *pricing.Options) { o.Region = ec2catalog.PricingRegion(reg.Region) }),
		}, ec2catalog.Settings{Region: reg.Region, Isolated: c.isolated})
		return catalog.Clients{
			Cluster: cluster, Claims: cluster, Reporter: cluster, Catalog: instances, Profiles: instances, Trials: fleet, InstanceTypes: fleet,
		}, nil
	})
}
