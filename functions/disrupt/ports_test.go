package main

import (
	"github.com/joiner-sh/joiner/shared/adapter/cloudwatchalarms"
	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster"
	"github.com/joiner-sh/joiner/shared/adapter/s3catalog"
	"github.com/joiner-sh/joiner/shared/adapter/s3snapshot"
	"github.com/joiner-sh/joiner/shared/flow/disrupt"
)

// H7: what serves the ports of disruption.
// A method that an adapter lacks is missed here first.
var (
	_ = disrupt.Flow{
		Registry: dynamoledger.Registry{}, Leases: dynamoledger.Leases{}, Ledger: dynamoledger.Commands{},
		Commands: dynamoledger.Commands{}, Losses: dynamoledger.Manifests{},
		Decisions: s3snapshot.Records{}, Snapshots: (*s3snapshot.Snapshots)(nil), Catalogs: (*s3catalog.Store)(nil),
	}
	_ = disrupt.Clients{Objects: (*ekscluster.Client)(nil), Reporter: ekscluster.Reporter{},
		Alarms: cloudwatchalarms.Alarms{}}
)
