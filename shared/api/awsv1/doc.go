// Package awsv1 holds the karpenter.k8s.aws/v1 API: EC2NodeClass, which says how EC2 launches a node: image, network, disks,
// identity and user data.
//
// It decides how the object looks in Kubernetes: fields, defaults, validation rules and printed columns are declared
// beside the types as markers, and the CRD of package crds is generated from them. What a selector resolves to, and
// whether AWS accepts the result, is found out by the flows and written into the status.
//
//	class := &awsv1.EC2NodeClass{}
//	if err := yaml.UnmarshalStrict(manifest, class); err != nil {
//		return fmt.Errorf("read class: %w", err)
//	}
//	family := class.AMIFamily() // "AL2023", from amiFamily or from the alias
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.k8s.aws
// +versionName=v1
package awsv1
