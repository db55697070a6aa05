// Package seam has the joiner command plan where Karpenter's unit specs expect Karpenter's planner to. It is compiled into Karpenter's own
// test binaries, as a package of Karpenter's module, see testenv/bench/upstream/unit.
//
// What it does: it reads the cluster that a spec has made (an API server of envtest), writes its objects and what the spec's fake cloud
// provider sells to files, runs `joiner plan provision` or `joiner plan disrupt` with them, and gives back what the plan says in Karpenter's
// types. It decides nothing. Two names are translated on the way there and back, since the fake provider has a NodeClass and a reservation
// label of its own: TestNodeClass is EC2NodeClass, and its reservation label is that of EC2.
//
// What only Karpenter's process knows is written as objects: which nodes and NodeClaims are leaving, the room of CapacityBuffers on nodes, and
// that a NodeClaim which a spec calls Consolidatable has been left in peace for long enough.
//
// A plan to disrupt has everything that can go at once. A method of Karpenter's is given what it does of that in one round (see Disrupt), and where
// it checks a command some time later, Joiner is asked once more then. What budgets of NodePools allow is counted by Karpenter too, since specs
// read it from gauges, and a spec fails where Joiner's plan does not keep to it.
//
// Environment: JOINER_BIN is the joiner command, JOINER_UPSTREAM_TRACE a folder into which every question and its answer are written.
package seam
