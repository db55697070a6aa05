// Package rbac holds the manifests of what Joiner's programs may do in a cluster, for whoever applies them: people with
// kubectl, the chart, the tests.
package rbac

import _ "embed"

// Functions is what the functions may do, bound to the groups joiner:functions, joiner:interruption, joiner:catalog and joiner:disrupt,
// and what whoever takes over a cluster from Karpenter may, bound to joiner:adopt.
//
//go:embed functions.yaml
var Functions []byte

// Watcher is what the watcher may do, bound to the group joiner:watcher; its lease lives in namespace joiner.
//
//go:embed watcher.yaml
var Watcher []byte
