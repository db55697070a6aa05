// Package metrics tells Prometheus what the watcher knows of its cluster, under the names that Karpenter's metrics
// have, so that dashboards and alerts made for those go on. The replica that leads reports the cluster; the others of
// themselves alone, or every node would be counted as often as there are replicas.
//
// States (nodes, pods, NodePools) are written from the watcher's own rows while they are asked for: nothing is kept for
// them, and what is gone has no series. Of 1,000 nodes and 10,000 pods they are 26,000 series, which a client library
// would keep as objects of a hundred megabytes. Counters count what this process has seen happen, and begin at 0 with
// it, as Karpenter's do.
package metrics
