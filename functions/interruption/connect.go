package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/joiner-sh/joiner/shared/adapter/ec2fleet"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster"
	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/model"
)

// connector opens clusters with their own rights and keeps their connections for the next invocation.
type connector struct {
	config aws.Config

	mutex sync.Mutex
	sites map[string]opened // by cluster
}

// opened is a site and what it was opened with.
type opened struct {
	identity string
	site     interruption.Site
}

func newConnector(config aws.Config) *connector {
	return &connector{config: config, sites: map[string]opened{}}
}

// Connect returns the cluster's site; another endpoint, authority or role opens it anew.
func (c *connector) Connect(_ context.Context, reg model.Registration) (interruption.Site, error) {
	identity := fmt.Sprintf("%s %s %s %s %x", reg.Region, reg.Endpoint, reg.RoleARN, reg.ExternalID, reg.CA)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if kept, ok := c.sites[reg.Cluster]; ok && kept.identity == identity {
		return kept.site, nil
	}
	config := boot.Rights(c.config, "joiner-interruption", reg.Region, reg.RoleARN, reg.ExternalID)
	cluster, err := ekscluster.Connect(config, reg)
	if err != nil {
		return interruption.Site{}, err
	}
	site := interruption.Site{Cluster: cluster, Fleet: ec2fleet.New(ec2.NewFromConfig(config))}
	c.sites[reg.Cluster] = opened{identity, site}
	return site, nil
}
