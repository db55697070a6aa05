package main

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster"
	"github.com/joiner-sh/joiner/shared/adapter/relay"
	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/disrupt"
	"github.com/joiner-sh/joiner/shared/model"
)

// connector opens clusters with their own permissions and keeps their connections for the next invocation.
type connector struct {
	config aws.Config
	relay  *relay.Relay
	sites  boot.ClientCache[disrupt.Clients]
}

func newConnector(config aws.Config, relay *relay.Relay) *connector {
	return &connector{config: config, relay: relay}
}

// Connect returns the cluster's site; another endpoint, authority or role opens it anew.
func (c *connector) Connect(_ context.Context, reg model.Registration) (disrupt.Clients, error) {
	return c.sites.Open(reg.Cluster, reg.Access(), func() (site disrupt.Clients, err error) {
		cluster, err := ekscluster.Connect(boot.Rights(c.config, "joiner-disrupt", reg.Region, reg.Roles.Disrupt, reg.ExternalID), reg, c.relay)
		if err != nil {
			return site, err
		}
		return disrupt.Clients{Objects: cluster, Reporter: cluster}, nil
	})
}
