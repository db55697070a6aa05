// Package input reads what planning takes from files: a cluster, what can be bought for it, what it uses of its limits,
// and NodePools and EC2NodeClasses that are not applied yet.
//
//	cluster, err := flags.Cluster(os.Stdin, now)
//	offered, err := flags.Offered(cluster.Snapshot, now)
//	catalogs, problems := offered.Catalogs(cluster.Snapshot, cluster.Claims)
package input
