package world

import "math/rand/v2"

// Attach attaches another cluster, which has nothing in it, to the same control plane in the same account and region. Its world
// shares everything with this one, ledger, queues, bucket, EC2 and clock, but its plan queue and what is Kubernetes': Cluster, Kubelets,
// Scheduler, Workloads and Volumes. Objects may have the same names as in others; no UID is given twice.
func (w *World) Attach(name string) *World {
	attached := *w
	attached.stale = 0
	w.Log.crowded = true
	draws := func(model string) *rand.Rand { return w.options.Draws(model + " of " + name) }
	attached.Plan = w.newPlan("plan of "+name, draws)
	attached.settle(name, draws)
	w.account.timed = append(w.account.timed, attached.Plan, attached.Kubelets, attached.Workloads, attached.Devices,
		attached.Scheduler, attached.Volumes)
	return &attached
}
