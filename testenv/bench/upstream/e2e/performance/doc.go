// Package performance runs upstream's suite of performance, unchanged, against Joiner and against Karpenter's own controller, in turn on one
// computer, and says what each took.
//
// Karpenter is the controller of its kwok provider, built from its module, on the same control plane and scheduler (testenv/bench/kwok); it sells what
// Joiner's stack does. A run of a spec is a cluster of its own. While the suite runs, a watch of nodes and pods (Timeline) and the API server's
// audit log (Disrupted) say the same of both; what the suite reports says where its phases begin and end (Measure).
//
//	go run ./run -performance 2                       # each spec twice on either side
//	go run ./run -performance 1 -focus 'Basic|Drift'  # some of them
//	go run ./run -page                                # writes docs/upstream.md with results.json, where runs are kept
package performance
