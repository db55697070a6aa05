// Package audit evaluates what happened in a world by the world's log alone. It shares no code with what it evaluates: it keeps
// books of its own (claims, launches, instances, nodes, pods, limits, marks) and says where a fact breaks a rule.
//
// Rules that hold at every instant are looked at with each fact:
//
//	A1  a launch runs at most as many instances as it has claims; a claim has one instance for life
//	A2  EC2 is asked only with bytes and a token that were recorded before, and never with others afterwards
//	A5  which instance is which claim's follows from their names
//	A6  a pool's claims hold no more than its limits, its counter says what they hold, and no more instances run; where people changed
//	    either by hand the counter is right again within seven minutes, and at rest in any case
//	A7  launches in a minute stay under a budget, those that find no capacity under a smaller one
//	A8  an offering without capacity is tried once in a while; being throttled marks nothing
//	A9  instances are asked for only for pods that need one, and not twice for the same
//	    (limits count as they were since a planner could know what people wrote)
//	R12 of a pool whose nodes come up with a taint nobody declared one more instance is bought, and then none for an hour
//	B2  no node is disrupted voluntarily that runs a pod which is not to be disrupted, which a PodDisruptionBudget keeps, or which
//	    came after that was evaluated
//	B7  nobody else's instance is ended
//	C6  a claim's writes follow each other, states only advance, deposed writers write nothing
//	C10 a launch has at most 25 claims and a request that fits one item
//	C11 no instance is ended whose claim is live, or whose node is ready and runs pods
//
//	B8  at most max(5, 10 %) of the nodes are given up for repair in five minutes, and none while more than a fifth of its pool's
//	    nodes are unhealthy
//	S32 of a pool's nodes a tenth, and one at least, ends for its age at a time
//	R26 a pod whose eviction is refused is asked at most nine times a minute, and 24 times where clocks are off and messages are handled twice
//	R32 a drain whose node has not been Ready for forty minutes is over
//	D9  where people have stopped disruption voluntarily nothing is disrupted, decided before or after; while an alarm
//	    of a NodePool is on, nothing is decided about its nodes
//
// Of devices that pods claim (Devices):
//
//	E1  no device is allocated twice
//	E2  every instance type that a launch or a replacement may get has the devices of the pods it is for
//	E3  where nodes are consolidated, the pods on them that hold devices find some elsewhere
//	E4  a claim for pods with devices is initialized once a driver has published, or a quarter of an hour after its node
//	    joined
//
// Rules about time begin anew whenever something was made to go wrong, because then they may take their time anew:
//
//	A3  an instance that can be seen has a live claim or ends within two minutes
//	A4  a claim whose instance has ended is closed within two minutes of its node being seen to be lost
//
// Quiet is called when the world has had the time to come to rest, and holds A3, A4, A6, C3 (no pod waits that a pool has room
// for) and C4 (no launch is open, nodes that are ready are initialized, queues are empty).
//
// Of several clusters on one control plane Crossing holds that none touches another's, and Only holds all rules over one of them.
package audit
