// Package autoscalingv1beta1 holds the autoscaling.x-k8s.io/v1beta1 API: CapacityBuffer, which asks for room that is kept free
// for pods that are yet to come.
//
// It decides how the object looks in Kubernetes: fields, defaults, validation rules and printed columns are declared beside the
// types as markers, and the CRD of package crds is generated from them. How much room a buffer stands for, and what of, is found
// out by the translation of the cluster; where it is kept, by the plans.
//
//	buffer := &autoscalingv1beta1.CapacityBuffer{}
//	if err := yaml.UnmarshalStrict(manifest, buffer); err != nil {
//		return fmt.Errorf("read buffer: %w", err)
//	}
//	for _, problem := range autoscalingv1beta1.Validate(buffer) {
//		fmt.Println(problem) // spec.podTemplateRef: …
//	}
//
// +kubebuilder:object:generate=true
// +groupName=autoscaling.x-k8s.io
// +versionName=v1beta1
package autoscalingv1beta1
