package main

import (
	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/adapter/ec2fleet"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster"
	"github.com/joiner-sh/joiner/shared/adapter/s3catalog"
	"github.com/joiner-sh/joiner/shared/adapter/s3snapshot"
	"github.com/joiner-sh/joiner/shared/flow/adopt"
	"github.com/joiner-sh/joiner/shared/flow/history"
	"github.com/joiner-sh/joiner/shared/flow/shadow"
)

// H7: what serves the ports of the flows that the command line runs.
// A method that an adapter lacks is missed here first.
var (
	_ = adopt.Flow{
		Registry: dynamoledger.Registry{}, Leases: dynamoledger.Leases{}, Ledger: dynamoledger.Collector{},
		Catalogs: (*s3catalog.Store)(nil),
	}
	_ = adopt.Clients{
		Cluster: ekscluster.Reader{}, Karpenter: ekscluster.Reader{}, Objects: (*ekscluster.Client)(nil),
		Fleet: (*ec2fleet.Fleet)(nil),
	}
	_ = history.Flow{
		Registry: dynamoledger.Registry{}, Ledger: dynamoledger.Claims{}, Snapshots: (*s3snapshot.Snapshots)(nil),
		Records: s3snapshot.Records{}, Catalogs: (*s3catalog.Store)(nil),
	}
	_ = shadow.Flow{Records: s3snapshot.Records{}, Findings: s3snapshot.ShadowRecords{}}
)
