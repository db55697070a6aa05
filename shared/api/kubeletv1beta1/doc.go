// Package kubeletv1beta1 has the fields of KubeletConfiguration of kubelet.config.k8s.io/v1beta1, as a kubelet of our version of
// Kubernetes reads them: their JSON names and types, and nothing else.
//
// Kubernetes' own package for it, k8s.io/kubelet/config/v1beta1, also brings loggers, flags and metrics, which a function has no
// use for. So the fields are written from its types by this package's test, which fails where the two differ, and writes them
// anew with
//
//	JOINER_UPDATE=1 go test doc.go duration.go fields_test.go
package kubeletv1beta1

// APIVersion and Kind are what a configuration says of itself, where it does.
const (
	APIVersion = "kubelet.config.k8s.io/v1beta1"
	Kind       = "KubeletConfiguration"
)
