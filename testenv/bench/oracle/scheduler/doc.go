// Package scheduler is the real kube-scheduler as a library: its framework and the in-tree plugins of its default profile,
// over a cluster that is held in memory and changes only when told to.
//
// It decides nothing itself: whether a node takes a pod is for the plugins to say, all of them together ([Cluster.Offer],
// [Cluster.Choose]) or each on its own ([Cluster.Evaluate]). What it adds are the parts of a cluster a scheduler counts on:
// it provisions the volumes of a pod that is bound, makes the claims of ephemeral volumes, and gives nodes their daemons.
// It leaves preemption, gates, gangs and the queue out; the order in which pods are offered is the caller's.
//
// The plugins read their objects from informers. The informers here never watch anything: an object that is added is in
// their stores, and with their handlers, when [Cluster.Add] returns. So the same calls always have the same outcome.
//
//	c, err := scheduler.New(ctx, objects...)
//	refusal, err := c.Offer(pod, "node-1") // binds the pod where nothing refuses it
package scheduler
