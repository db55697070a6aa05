package main

import (
	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/adapter/ec2catalog"
	"github.com/joiner-sh/joiner/shared/adapter/ec2fleet"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster"
	"github.com/joiner-sh/joiner/shared/adapter/s3catalog"
	"github.com/joiner-sh/joiner/shared/adapter/s3snapshot"
	"github.com/joiner-sh/joiner/shared/flow/provision"
)

// H7: what serves the ports of provisioning.
// A method that an adapter lacks is missed here first.
var (
	_ = provision.Flow{
		Registry: dynamoledger.Registry{}, Leases: dynamoledger.Leases{}, Claims: dynamoledger.Launches{},
		ClaimStates: dynamoledger.Claims{}, Unavailable: dynamoledger.Regions{}, Allowances: dynamoledger.Regions{},
		Memory: dynamoledger.Launches{}, Memories: dynamoledger.Regions{}, UsageRecounts: dynamoledger.Launches{},
		Peeks: dynamoledger.Claims{}, Losses: dynamoledger.Manifests{},
		Decisions: s3snapshot.Records{}, Snapshots: (*s3snapshot.Snapshots)(nil), Catalogs: (*s3catalog.Store)(nil),
	}
	_ = provision.Clients{
		Cluster: (*ekscluster.Client)(nil), Configurations: ekscluster.Reader{}, Nominator: ekscluster.Pods{},
		Standalone: ekscluster.Claims{}, Reporter: ekscluster.Reporter{},
		Fleet: (*ec2fleet.Fleet)(nil), Templates: (*ec2fleet.Fleet)(nil), Tagger: (*ec2fleet.Fleet)(nil),
		Catalog: (*ec2catalog.Catalog)(nil),
	}
	_ = provision.Forwarder{Dues: dynamoledger.Hints{}}
)
