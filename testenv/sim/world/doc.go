// Package world is a cluster, an account and a ledger in memory under one clock that stands still until it is advanced:
// what the flows are tested against when no wire needs to be crossed. It implements the ports of flow/provision.
//
// It is simple where that changes no rule, and strict where a rule is at stake: the ledger commits on the same conditions
// as the real one, the fleet honors client tokens, runs dry and shows instances late, instances join with the taints and
// labels their user data says, and the scheduler binds a pod only where Kubernetes would let it run. A Process is one
// invocation; it can be told to die or to lose an answer at its n-th effect. Attach puts further clusters under the same control plane.
//
//	w := world.New(world.Options{})
//	w.Cluster.AddClass(world.Class("default"))
//	w.Cluster.AddPool(world.Pool("default", "default"))
//	w.Cluster.AddPods("web", 3, world.Shape(1000, 2<<30))
//	w.Tick(time.Second)                       // kube-scheduler finds no node
//	outcome, err := w.Process(world.Fault{}).Run(ctx, provision.TriggerResync)
//	w.Tick(time.Minute)                       // instances boot and join
package world
