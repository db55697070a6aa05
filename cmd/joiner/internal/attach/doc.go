// Package attach has the commands for the clusters of an installation: attach, detach, clusters, and adopt, which takes
// over the nodes of a cluster that Karpenter ran.
//
//	commands := []*cobra.Command{attach.New(), attach.NewDetach(), attach.NewClusters(), attach.NewAdopt()}
package attach
