// Package installation finds an installation as the caller's own permissions reach it: its parameter, ledger, bucket
// and clusters, and the records of its decisions. In its place it can read a folder, with the bucket's objects and the
// table's items as AWS's command line copies them.
//
//	at, err := (&installation.Flags{Region: "us-west-2"}).Open(ctx)
//	all, err := at.Clusters(ctx, os.Stderr)
package installation
