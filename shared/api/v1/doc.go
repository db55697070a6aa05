// Package v1 holds the karpenter.sh/v1 API: NodePool, which says what nodes may be bought and when they are disrupted, and
// NodeClaim, which is one node asked for.
//
// It decides how these objects look in Kubernetes: fields, defaults, validation rules and printed columns are declared
// beside the types as markers, and the CRDs of package crds are generated from them. What a schema cannot express is
// checked by [ValidateNodePool]. Package wellknown has the names of labels, annotations and taints, package condition the
// arithmetic of status conditions; what pools and claims lead to is for the flows to decide.
//
//	pool := &v1.NodePool{}
//	if err := yaml.UnmarshalStrict(manifest, pool); err != nil {
//		return fmt.Errorf("read pool: %w", err)
//	}
//	for _, problem := range v1.ValidateNodePool(pool) {
//		fmt.Println(problem) // spec.template.spec.requirements[0].key: … Remedy: …
//	}
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.sh
package v1
