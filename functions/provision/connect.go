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
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/adapter/relay"
	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
)

// connector opens clusters with their own permissions and keeps what it opened for the next invocation: connections, and a
// catalog that knows its age.
type connector struct {
	config   aws.Config
	relay    *relay.Relay
	isolated bool // there is no way to the price list and to IAM
	sites    boot.ClientCache[provision.Clients]
}

func newConnector(config aws.Config, relay *relay.Relay, isolated bool) *connector {
	return &connector{config: config, relay: relay, isolated: isolated}
}

// Connect returns the cluster's site; another endpoint, authority, role or default spread opens it anew.
func (c *connector) Connect(_ context.Context, reg model.Registration) (provision.Clients, error) {
	return c.sites.Open(reg.Cluster, reg.Access()+" "+reg.DefaultSpread, func() (site provision.Clients, err error) {
		config := boot.Rights(c.config, "joiner-provision", reg.Region, reg.Roles.Provision, reg.ExternalID)
		cluster, err := ekscluster.Connect(config, reg, c.relay)
		if err != nil {
			return site, err
		}
		spread, err := translate.ParseDefaultSpread(reg.DefaultSpread)
		if err != nil {
			return site, err
		}
		cluster.SpreadByDefault(spread)
		fleet := ec2fleet.New(ec2.NewFromConfig(config))
		return provision.Clients{
			Cluster: cluster, Configurations: cluster, Nominator: cluster, Standalone: cluster, Reporter: cluster,
			Fleet: fleet, Templates: fleet, Tagger: fleet,
			Catalog: ec2catalog.New(ec2catalog.Clients{
				EC2: ec2.NewFromConfig(config), IAM: iam.NewFromConfig(config), SSM: ssm.NewFromConfig(config),
				Pricing: pricing.NewFromConfig(config, func(o *pricing.Options) { o.Region = ec2catalog.PricingRegion(reg.Region) }),
			}, ec2catalog.Settings{Region: reg.Region, Isolated: c.isolated}),
		}, nil
	})
}
