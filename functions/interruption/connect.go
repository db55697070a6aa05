package main

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/joiner-sh/joiner/shared/adapter/ec2fleet"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster"
	"github.com/joiner-sh/joiner/shared/adapter/relay"
	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/model"
)

// newConnector opens clusters with their own permissions.
func newConnector(config aws.Config, relay *relay.Relay) *boot.Connector[interruption.Clients] {
	role := func(roles model.Roles) string { return roles.Interruption }
	return boot.NewConnector(config, "joiner-interruption", role, func(config aws.Config, reg model.Registration) (clients interruption.Clients, err error) {
		cluster, err := ekscluster.Connect(config, reg, relay)
		if err != nil {
			return clients, err
		}
		fleet := ec2fleet.New(ec2.NewFromConfig(config))
		return interruption.Clients{Cluster: cluster, Objects: cluster, Pods: cluster, Reporter: cluster, Fleet: fleet, Health: fleet}, nil
	})
}
