// Package read turns files of Kubernetes objects into the snapshot a plan is made of.
//
// It takes what people have: YAML and JSON, several documents to a file, Lists, folders, standard input, compressed or not.
// What an object means is adapter/ekscluster/translate's; this package finds the objects, reads each into its Kubernetes
// type, and says of one it cannot read where it is: file, document, object, field, value and what to write instead.
// Objects of kinds that planning does not look at are counted and left out.
//
// Files may be large, a cluster with its pods being some hundred megabytes: one goroutine cuts the text into objects, as
// many as there are processors read them, and the snapshot is built in the order of the text, so that the same files give
// the same snapshot. No more than a few megabytes of text are held at a time, but for a YAML document that is one object.
//
//	cluster, err := read.Files([]string{"cluster.yaml", "pods/"}, read.Options{Stdin: os.Stdin, NowUnix: now})
//	fmt.Println(len(cluster.Snapshot.Pods), cluster.Warnings)
package read
