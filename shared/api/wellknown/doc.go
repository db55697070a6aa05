// Package wellknown holds the names that people, Kubernetes, AWS and Joiner share: labels, annotations, taints and
// finalizers, each spelled exactly once, and the few questions that can be answered from a name alone.
//
// It decides whether a label key may be used in a pool ([RestrictedReason]) and what an old key is called today
// ([Normalize]). It leaves the meaning of a label's value to the packages that schedule and launch, and the syntax of
// keys and values to the CRD schemas and to ValidateNodePool of package v1.
//
//	key := wellknown.Normalize("beta.kubernetes.io/arch") // "kubernetes.io/arch"
//	if reason := wellknown.RestrictedReason(key); reason != "" {
//		// refuse the key, saying reason
//	}
package wellknown
