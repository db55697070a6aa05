// Package unit runs Karpenter's own unit specs with Joiner in the place of Karpenter's planner, of its controller of
// NodeOverlays and of its definitions: inputs are put to `joiner plan provision`, `joiner plan disrupt`, `joiner lint`
// and `joiner types`, and expectations are asked of what those say. Specs of definitions are put to an API server that
// has Joiner's.
//
// How: a copy of Karpenter's module, whose files are checked to be those that go.sum names, is compiled with Go's -overlay. The overlay
// renames the method in which Karpenter plans and adds one of its name (overlay/) that asks Joiner (package seam). No spec is changed. An API
// server and etcd, which the specs need, are those of testenv/local/kube. A spec counts as passed only where Joiner was asked in it at least once.
//
// The version of Karpenter is the newest 1.14 whose go.mod this Go can build, the same as testenv/bench/referee's.
//
//	make upstream-unit
package unit
