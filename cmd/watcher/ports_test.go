package main

import (
	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/adapter/s3snapshot"
	"github.com/joiner-sh/joiner/shared/flow/publish"
)

// H7: what serves the ports of publishing.
// A method that an adapter lacks is missed here first.
var _ = publish.Config{
	Publisher: (*s3snapshot.Snapshots)(nil), Manifests: dynamoledger.Manifests{},
	Previous: publish.NewestSnapshot{Ledger: dynamoledger.Manifests{}, Snapshots: (*s3snapshot.Snapshots)(nil)},
}
