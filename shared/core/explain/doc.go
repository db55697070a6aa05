// Package explain answers what people ask of a cluster: why a pod waits ([Pod]), why a node is there, stays or went ([Node]), what
// disrupting nodes saved against what it disturbed ([Savings]), and what pools, namespaces and workloads cost ([Costs]).
//
// It is pure: facts in, answers out. Facts are a [Cluster], which has the cluster at one time together with what a planner would be asked
// then, and, where an installation is read rather than files, an [Installation] of what only the ledger and the records know. What a pod lacks is
// never guessed: the planner is asked, and asked again as if each obstacle it names were out of the way (asif.go), so that the nearest
// NodePool is the one with the fewest obstacles, and a remedy says what the pod would get.
//
//	answer := explain.Pod(cluster, "shop", "web-5d4f8c7b9f-x2k9z")
//	fmt.Println(answer.Line())
package explain
