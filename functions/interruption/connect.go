package main

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/joiner-sh/joiner/shared/adapter/ec2fleet"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster"
	"github.com/joiner-sh/joiner/shared/adapter/relay"
	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/model"
)

// connector opens clusters with their own permissions and keeps their connections for the next invocation.
type connector struct {
	config aws.Config
	relay  *relay.Relay
	sites  boot.ClientCache[interruption.Clients]
}

func newConnector(config aws.Config, relay *relay.Relay) *connector {
	return &connector{config: config, relay: relay}
}

// Connect returns the cluster's site; another endpoint, authority or role opens it anew.
func (c *connector) Connect(_ context.Context, reg model.Registration) (interruption.Clients, error) {
	return c.sites.Open(reg.Cluster, reg.Access(), func() (site interruption.Clients, err error) {
		config := boot.Rights(c.config, "joiner-interruption", reg.Region, reg.Roles.Interruption, reg.ExternalID)
		cluster, err := ekscluster.Connect(config, reg, c.relay)
		if err != nil {
			return site, err
		}
		fleet := ec2fleet.New(ec2.NewFromConfig(config))
		return interruption.Clients{Cluster: cluster, Objects: cluster, Pods: cluster, Reporter: cluster, Fleet: fleet, Health: fleet}, nil
	})
}
