// Package device answers whether a node's devices suffice for what pods claim (dynamic resource allocation,
// resource.k8s.io/v1), for nodes that exist and for those yet to be made.
//
// The answers are those of kube-scheduler's own allocator, which this asks; it adds what that needs to know. An [Index]
// is made of a snapshot. [Index.ClaimsOf] says what a pod claims. [Index.OfNode] and [Index.OfType] are the devices of
// a node: those its drivers published, or those of its instance type. [Devices.Take] gives some of them away.
//
//	index := device.New(snapshot, moving, now)
//	claims, problem := index.ClaimsOf(pod, shape)
//	if problem != nil {
//		return problem.Message // "ResourceClaim shop/gpu does not exist"
//	}
//	left := index.OfNode(node).Take(claims) // nil where they do not suffice
//
// What devices a type has is taken from a node of that type, and else from its catalog. Where neither says anything,
// drivers are assumed to publish what assumed.go says of GPUs and Neuron devices, if a DeviceClass of the cluster is
// about the driver. Nodes that are young and have published nothing yet are taken to be like others of their type.
//
// [Index.Beside] takes off what pods of DaemonSets claim of each node.
//
// Only devices that belong to one node are counted. Of those that several nodes can use [Index.Shared] knows the
// drivers.
package device
