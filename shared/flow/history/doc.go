// Package history answers questions about a cluster from what an installation keeps: the ledger, the snapshots the watcher wrote, the
// records of decisions and of instances' ends, and the region's catalog of instances. It only reads.
//
// What it reads becomes a Cluster of core/explain, which has the answers. Of now that is the snapshot and the ledger as they are; of a
// past time the snapshot of then and what the last decision before was asked, since the ledger keeps no past. Records are kept for
// 30 days.
//
//	flow := &history.Flow{Registry: ledger, Ledger: ledger, Snapshots: store, Records: store, Catalogs: catalogs, Now: time.Now}
//	reg, err := flow.Registration(ctx, "")
//	cluster, err := flow.ReadCluster(ctx, reg, history.Query{})
//	fmt.Println(explain.Pod(cluster, "shop", "web-0").Line())
package history
