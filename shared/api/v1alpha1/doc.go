// Package v1alpha1 holds the karpenter.sh/v1alpha1 API: NodeOverlay, which corrects what is known of instance types:
// their prices, and resources that EC2 does not list.
//
// It decides how the object looks in Kubernetes: fields, validation rules and printed columns are declared beside the
// types as markers, and the CRD of package crds is generated from them. What a schema cannot express is checked by
// [Validate]. Which offerings an overlay applies to is decided by core/overlay.
//
//	overlay := &v1alpha1.NodeOverlay{}
//	if err := yaml.UnmarshalStrict(manifest, overlay); err != nil {
//		return fmt.Errorf("read overlay: %w", err)
//	}
//	for _, problem := range v1alpha1.Validate(overlay) {
//		fmt.Println(problem) // spec.capacity[cpu]: … Remedy: …
//	}
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.sh
package v1alpha1
