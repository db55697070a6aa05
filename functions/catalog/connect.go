package main

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/joiner-sh/joiner/shared/adapter/arcshift"
	"github.com/joiner-sh/joiner/shared/adapter/ec2catalog"
	"github.com/joiner-sh/joiner/shared/adapter/ec2fleet"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster"
	"github.com/joiner-sh/joiner/shared/adapter/relay"
	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/catalog"
	"github.com/joiner-sh/joiner/shared/model"
)

// newConnector opens clusters with the permissions of the role that launches: whatever is tried there is tried with those.
func newConnector(config aws.Config, relay *relay.Relay, isolated bool) *boot.Connector[catalog.Clients] {
	role := func(roles model.Roles) string { return roles.Catalog }
	return boot.NewConnector(config, "joiner-catalog", role, func(config aws.Config, reg model.Registration) (clients catalog.Clients, err error) {
		cluster, err := ekscluster.Connect(config, reg, relay)
		if err != nil {
			return clients, err
		}
		fleet, instances := ec2fleet.New(ec2.NewFromConfig(config)), instancesOf(config, reg, isolated)
		return catalog.Clients{
			Cluster: cluster, Claims: cluster, Reporter: cluster, Catalog: instances, Profiles: instances, Trials: fleet, InstanceTypes: fleet,
			Zones: arcshift.New(arczonalshift.NewFromConfig(config)),
		}, nil
	})
}

// instancesOf reads what a region sells. isolated says that IAM and the price list cannot be reached.
func instancesOf(config aws.Config, reg model.Registration, isolated bool) *ec2catalog.Catalog {
	return ec2catalog.New(ec2catalog.Clients{
		EC2: ec2.NewFromConfig(config), IAM: iam.NewFromConfig(config), SSM: ssm.NewFromConfig(config),
		Pricing: pricing.NewFromConfig(config, func(o *pricing.Options) { o.Region = ec2catalog.PricingRegion(reg.Region) }),
	}, ec2catalog.Settings{Region: reg.Region, Isolated: isolated})
}

// newMarkets opens regions with the permissions of clusters.
func newMarkets(config aws.Config, isolated bool) *boot.Connector[catalog.CatalogSource] {
	role := func(roles model.Roles) string { return roles.Catalog }
	return boot.NewConnector(config, "joiner-catalog", role, func(config aws.Config, reg model.Registration) (catalog.CatalogSource, error) {
		return instancesOf(config, reg, isolated), nil
	})
}
