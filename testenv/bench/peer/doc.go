// Command peer answers a scheduling problem with the provisioning scheduler of Karpenter, taken as a library, so that our
// planner can be measured beside it. It is a module of its own: neither the product nor package bench imports it.
//
// It reads what `joiner plan provision` reads and prints what that prints, with what the answer took in stats:
//
//	peer -f cluster.json --catalog catalog.json [--timeout 5m]
//
// What is timed is what a caller of the provisioner waits for: copying the cluster's state, building the scheduler and its
// topology, solving, and ordering each new node's instance types by price. Reading the files is not, nor are writes.
//
// With --consolidate it answers another question: what of a running cluster is given back. The disruption controller's
// methods decide, empty nodes first, then several nodes at once, then one; each decision is carried out with every pod where
// it was thought to go, and the next is made, until there is none. What is timed is what the controller does for a decision,
// candidates and budgets included; the 15 seconds it then waits, and drains, are not.
//
//	peer --consolidate -f cluster.json --catalog catalog.json [--timeout 4m]
//
// It is given its best: objects are read as from an informer's cache, indexed and with one deep copy each; one worker, as a
// default install has. Nodes with a pool's label get the NodeClaim they would have. The pool's class is replaced by a class
// of Karpenter's own test provider, since nothing is launched.
package main
