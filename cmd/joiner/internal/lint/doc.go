// Package lint has the command joiner lint: what an API server, the admission webhook, the planner and the functions
// would say of NodePools, EC2NodeClasses, NodeOverlays, CapacityBuffers and of the annotations of workloads, before
// they are applied.
//
//	command := lint.New()
package lint
