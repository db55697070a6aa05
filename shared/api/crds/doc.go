// Package crds holds the CustomResourceDefinitions of Joiner's API as they are applied to a cluster, generated from the
// types of packages v1 and awsv1.
//
// It decides nothing: the types do. It is for whoever installs or serves the API, and for tests that validate objects the
// way an API server would.
//
//	for _, manifest := range crds.Manifests() {
//		// apply manifest
//	}
package crds
