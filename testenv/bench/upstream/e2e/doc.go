// Package e2e runs Karpenter's own end-to-end suites, as they are released, against the stack of `make up`.
//
// The suites come with the modules sigs.k8s.io/karpenter and github.com/aws/karpenter-provider-aws. Both are pinned to 1.14.1, the newest
// that builds with the Go of this repository: 1.14.3 asks for Go 1.26.10. They are compiled as they are and told our NodeClass and NodePool by
// their own flags. A spec is left out by its name alone.
//
// A suite may count on a program of upstream's (Suite.Driver). It is built from the same module and runs beside the
// specs.
//
// specs.csv has a row for every spec: whether it passes, differs on purpose, waits for something that is not built yet, or cannot run here and
// why (Rows). What a run found is held against it (Judge): a spec that fails without such a row is a fault, and so is a row that nothing needs.
//
//	go run ./run                                   # everything that is to pass
//	go run ./run -suite core/regression -focus 'NodeClaim'
package e2e
