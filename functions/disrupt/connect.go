package main

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"

	"github.com/joiner-sh/joiner/shared/adapter/cloudwatchalarms"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster"
	"github.com/joiner-sh/joiner/shared/adapter/relay"
	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/disrupt"
	"github.com/joiner-sh/joiner/shared/model"
)

// newConnector opens clusters with their own permissions.
func newConnector(config aws.Config, relay *relay.Relay) *boot.Connector[disrupt.Clients] {
	role := func(roles model.Roles) string { return roles.Disrupt }
	return boot.NewConnector(config, "joiner-disrupt", role, func(config aws.Config, reg model.Registration) (clients disrupt.Clients, err error) {
		cluster, err := ekscluster.Connect(config, reg, relay)
		if err != nil {
			return clients, err
		}
		return disrupt.Clients{
			Objects: cluster, Reporter: cluster, Alarms: cloudwatchalarms.New(cloudwatch.NewFromConfig(config)),
		}, nil
	})
}
