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

// Karpenter is a cluster that Karpenter 1.14 runs, as kubectl prints it with managed fields and all: the NodePools default and
// batch, the EC2NodeClass default, three NodeClaims of m5.large bought as spot, and their nodes. Instances are i-0a000000000000001,
// 2 and 3 of us-west-2a. One of them has drifted.
//
//go:embed karpenter.yaml
var Karpenter []byte
