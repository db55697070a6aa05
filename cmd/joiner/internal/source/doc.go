// Package source reads a cluster for the commands that explain one: from an installation with its records, or from
// files, which only say what is there.
//
//	flags.Register(command)
//	clusterState, flow, err := flags.Read(command, history.Query{})
package source
