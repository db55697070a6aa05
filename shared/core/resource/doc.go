// Package resource does arithmetic on amounts of resources: sums, what is left, whether one set fits another, and how
// amounts are read and written by people.
//
// Every operation returns a new value, treats a missing name as zero and stops at the ends of int64 instead of wrapping
// round, so that no input, however hostile, turns a huge request into a small one. What the amounts mean to a node is
// core/offering's and core/pack's.
//
//	left := resource.Sub(node.Allocatable, used)
//	if short := resource.Short(pod.Requests, left); len(short) > 0 {
//		why := resource.Format(short[0], pod.Requests[short[0]]) // "1500m", "2Gi"
//	}
package resource
