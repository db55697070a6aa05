// Package input is what a plan depends on, and the codes of why a pod has no place in it.
//
// [Input] is all there is: the same input gives the same plan, byte for byte. What refers to pods does so by their
// index in the snapshot; lists of pods are sorted ([SortedPods]) wherever the order of the snapshot could show.
//
//	in := input.Input{Snapshot: snapshot, Catalogs: map[string][]model.InstanceType{"default": types}, NowUnix: now}
//	for _, i := range input.SortedPods(in.Snapshot, in.Pending) {
//		pod := &in.Snapshot.Pods[i]
//	}
package input
