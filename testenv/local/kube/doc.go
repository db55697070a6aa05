// Package kube runs a real Kubernetes control plane: etcd, kube-apiserver,
// kube-scheduler and kube-controller-manager as child processes on loopback,
// with RBAC on and every address served over TLS except etcd's.
//
// It decides which binaries are run (KUBEBUILDER_ASSETS where set, else the
// official ones, fetched once into the user's cache, or built there from their
// Go modules), how the parts are wired
// and when they are ready. It has no kubelet: package machine turns instances
// into Nodes. What is applied to the cluster is left to the caller.
//
//	assets, err := kube.Binaries(ctx, os.Stderr)
//	if err != nil {
//		return err
//	}
//	plane, err := kube.Start(ctx, kube.Options{Assets: assets})
//	if err != nil {
//		return err
//	}
//	defer plane.Stop()
//	if err := plane.Apply(ctx, manifest); err != nil {
//		return err
//	}
//	client, err := kubernetes.NewForConfig(plane.Config())
package kube
