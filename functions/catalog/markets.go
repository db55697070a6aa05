package main

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/pricing"

	"github.com/joiner-sh/joiner/shared/adapter/ec2catalog"
	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/catalog"
	"github.com/joiner-sh/joiner/shared/model"
)

// markets opens regions with the permissions of clusters and keeps what it opened for the next invocation.
type markets struct {
	config   aws.Config
	isolated bool // the price list cannot be reached
	opened   boot.ClientCache[catalog.CatalogSource]
}

func newMarkets(config aws.Config, isolated bool) *markets {
	return &markets{config: config, isolated: isolated}
}

// CatalogSource returns the cluster's region; another role or region opens it anew.
func (m *markets) CatalogSource(_ context.Context, reg model.Registration) (catalog.CatalogSource, error) {
	return m.opened.Open(reg.Cluster, reg.Access(), func() (catalog.CatalogSource, error) {
		config := boot.Rights(m.config, "joiner-catalog", reg.Region, reg.Roles.Catalog, reg.ExternalID)
		return ec2catalog.New(ec2catalog.Clients{
			EC2:     ec2.NewFromConfig(config),
			Pricing: pricing.NewFromConfig(config, func(o *pricing.Options) { o.Region = ec2catalog.PricingRegion(reg.Region) }),
		}, ec2catalog.Settings{Region: reg.Region, Isolated: m.isolated}), nil
	})
}
