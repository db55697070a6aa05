// Package arcshift is a model of Amazon Application Recovery Controller (ARC) as far as zonal shifts of EKS clusters
// go.
//
//	m := arcshift.New(arcshift.Options{Clock: clock.System()})
//	m.Manage(clusterARN) // zonal shifts are enabled for the cluster
//	c.Register("arc-zonal-shift", arcshift.NewHandler(m))
package arcshift
