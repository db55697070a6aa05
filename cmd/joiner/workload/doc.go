// Package workload makes of a workload's manifest the pods that its controller would create in a cluster, so that they
// can be planned for before anything is applied. It makes the claims of a StatefulSet's volumes too, and says which
// StorageClasses they need.
//
//	made, mistake := workload.Of(deployment)
package workload
