package model

// Karpenter is what a cluster shows of a Karpenter that runs in it.
type Karpenter struct {
	Deployments []Controller // of Karpenter's chart, by namespace and name; empty = there is none
	Lease       *Leadership  // of its leader election; nil = there is none
}

// Controller is a Deployment of a controller.
type Controller struct {
	Namespace string
	Name      string
	Replicas  int64 // that are asked for
	Running   int64 // pods that are there
}

// Leadership is a lease of leader election.
type Leadership struct {
	Namespace   string
	Name        string
	Holder      string
	RenewedUnix int64 // by its holder's clock; 0 = it never was
}
