// Package helm runs Helm itself, pinned and built by package kube, on the project's chart, as people do who install it.
//
// It decides nothing: what is installed with which values is the caller's.
//
//	release := helm.Release{Kubeconfig: plane.KubeconfigPath(), Helm: plane.Assets().Helm, Namespace: "joiner"}
//	if err := release.Install(ctx, values); err != nil {
//		return err
//	}
package helm
