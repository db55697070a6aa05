package main

import (
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

// newConnector opens clusters with their own permissions.
func newConnector(config aws.Config, relay *relay.Relay, isolated bool) *boot.Connector[provision.Clients] {
	role := func(roles model.Roles) string { return roles.Provision }
	return boot.NewConnector(config, "joiner-provision", role, func(config aws.Config, reg model.Registration) (clients provision.Clients, err error) {
		cluster, err := ekscluster.Connect(config, reg, relay)
		if err != nil {
			return clients, err
		}
		spread, err := translate.ParseDefaultSpread(reg.DefaultSpread)
		if err != nil {
			return clients, err
		}
		cluster.SpreadByDefault(spread)
		fleet := ec2fleet.New(ec2.NewFromConfig(config))
		return provision.Clients{
			Cluster: cluster, Configurations: cluster, Nominator: cluster, Standalone: cluster, Reporter: cluster,
			Fleet: fleet, Templates: fleet, Tagger: fleet,
			Catalog: ec2catalog.New(ec2catalog.Clients{
				EC2: ec2.NewFromConfig(config), IAM: iam.NewFromConfig(config), SSM: ssm.NewFromConfig(config),
				Pricing: pricing.NewFromConfig(config, func(o *pricing.Options) { o.Region = ec2catalog.PricingRegion(reg.Region) }),
			}, ec2catalog.Settings{Region: reg.Region, Isolated: isolated}),
		}, nil
	})
}
