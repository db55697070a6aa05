// Package seam has the joiner command plan where Karpenter's unit specs expect Karpenter's planner to. It is compiled into Karpenter's own
// test binaries, as a package of Karpenter's module, see testenv/upstream/unit.
//
// What it does: it reads the cluster that a spec has made (an API server of envtest), writes its objects and what the spec's fake cloud
// provider sells to files, runs `joiner plan provision` or `joiner plan disrupt` with them, and gives back what the plan says in Karpenter's
// types. It decides nothing. Two names are translated on the way there and back, since the fake provider has a NodeClass and a reservation
// label of its own: TestNodeClass is EC2NodeClass, and its reservation label is that of EC2.
//
// Environment: JOINER_BIN is the joiner command, JOINER_UPSTREAM_TRACE a folder into which every question and its answer are written.
package seam
