// Package e2e holds the end-to-end scenarios: the real watcher, the real function binary, a real Kubernetes control plane
// and our model of AWS (testenv/test/stack), asserted on from outside: what kube-scheduler bound, what EC2 launched, what the
// ledger says.
//
// `go test ./testenv/test/e2e` runs a short form of each; JOINER_E2E=full (`make e2e`) runs all of each.
package e2e
