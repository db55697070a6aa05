package main

import (
	"github.com/joiner-sh/joiner/shared/adapter/arcshift"
	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/adapter/ec2catalog"
	"github.com/joiner-sh/joiner/shared/adapter/ec2fleet"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster"
	"github.com/joiner-sh/joiner/shared/adapter/s3catalog"
	"github.com/joiner-sh/joiner/shared/adapter/s3snapshot"
	"github.com/joiner-sh/joiner/shared/flow/attach"
	"github.com/joiner-sh/joiner/shared/flow/catalog"
)

// H7: what serves the ports of the catalog and of attaching.
// A method that an adapter lacks is missed here first.
var (
	_ = catalog.Flow{
		Registry: dynamoledger.Registry{}, Leases: dynamoledger.Leases{}, Records: dynamoledger.Classes{},
		Allowances: dynamoledger.Regions{}, Peeks: dynamoledger.Claims{}, Catalogs: (*s3catalog.Store)(nil),
		Shifts: dynamoledger.Zones{},
	}
	_ = catalog.Clients{
		Cluster: (*ekscluster.Client)(nil), Claims: (*ekscluster.Client)(nil), Reporter: ekscluster.Reporter{},
		Catalog: (*ec2catalog.Catalog)(nil), Profiles: ec2catalog.InstanceProfiles{},
		Trials: (*ec2fleet.Fleet)(nil), InstanceTypes: (*ec2fleet.Fleet)(nil),
		Zones: (*arcshift.ARC)(nil),
	}
	_ = catalog.Region{
		Registry: dynamoledger.Registry{}, Ledgers: dynamoledger.Claims{}, Losses: dynamoledger.Manifests{},
		Learnings: dynamoledger.Regions{}, Allowances: dynamoledger.Regions{},
		Snapshots: (*s3snapshot.Snapshots)(nil), Catalogs: (*s3catalog.Store)(nil),
	}
	_ catalog.CatalogSource = (*ec2catalog.Types)(nil)
	_                       = attach.Flow{
		Registry: dynamoledger.Registry{}, Leases: dynamoledger.Leases{}, Ledger: dynamoledger.Collector{},
	}
)
