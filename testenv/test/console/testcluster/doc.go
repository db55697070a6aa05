// Package testcluster is a make-believe cluster for the console to show: apps grow and shrink, nodes come, fill, and are given back. What
// is decided in it the real planners decide (core/pack, core/disruption), at the prices of the catalog built in, and each decision is
// kept as the functions keep it; machines, kubelets and kube-scheduler are played in a few lines, so that a cluster of 5,000 nodes is
// there in seconds. For how Joiner itself behaves see testenv/test/stack and testenv/sim.
//
//	t, err := cluster.New(cluster.Options{Nodes: 50, Seed: 1})
//	t.Step()                          // a second passes
//	feed := console.NewFeed(t, console.Settings{Now: t.Now})
package testcluster
