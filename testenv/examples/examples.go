// Package examples holds the manifests `make up` applies and people may start from.
package examples

import _ "embed"

// NodePool is a general-purpose NodePool named default and its EC2NodeClass.
//
//go:embed nodepool.yaml
var NodePool []byte

// Inflate is a Deployment default/inflate of no replicas yet, one CPU and one GiB each.
//
//go:embed inflate.yaml
var Inflate []byte
