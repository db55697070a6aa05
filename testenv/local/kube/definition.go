package kube

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// established reports whether the server has taken the definition up, and
// where not, what its conditions say.
func established(d *apiextensionsv1.CustomResourceDefinition) (ok bool, reason string) {
	reason = "no condition yet"
	for _, condition := range d.Status.Conditions {
		switch {
		case condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue:
			return true, ""
		case condition.Status == apiextensionsv1.ConditionFalse:
			reason = string(condition.Type) + ": " + condition.Message
		}
	}
	return false, reason
}

// servedResource returns the resource of the first version that is served. A
// definition has one; the server refuses it otherwise.
func servedResource(d *apiextensionsv1.CustomResourceDefinition) schema.GroupVersionResource {
	resource := schema.GroupVersionResource{Group: d.Spec.Group, Resource: d.Spec.Names.Plural}
	for _, version := range d.Spec.Versions {
		if version.Served {
			resource.Version = version.Name
			break
		}
	}
	return resource
}
