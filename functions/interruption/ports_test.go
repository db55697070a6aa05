package main

import (
	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/adapter/ec2fleet"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster"
	"github.com/joiner-sh/joiner/shared/adapter/s3snapshot"
	"github.com/joiner-sh/joiner/shared/flow/interruption"
)

// H7: what serves the ports of interruption.
// A method that an adapter lacks is missed here first.
var (
	_ = interruption.Flow{
		Registry: dynamoledger.Registry{}, Leases: dynamoledger.Leases{}, Collector: dynamoledger.Collector{},
		Claims: dynamoledger.Collector{}, Finder: dynamoledger.Claims{}, Steps: dynamoledger.Claims{},
		Unavailable: dynamoledger.Regions{}, Peeks: dynamoledger.Claims{}, Removals: s3snapshot.Records{},
	}
	_ = interruption.Clients{
		Cluster: (*ekscluster.Client)(nil), Objects: (*ekscluster.Client)(nil), Pods: ekscluster.Pods{},
		Reporter: ekscluster.Reporter{}, Fleet: (*ec2fleet.Fleet)(nil), Health: (*ec2fleet.Fleet)(nil),
	}
)
