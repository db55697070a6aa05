package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/joiner-sh/joiner/shared/api/condition"
	"github.com/joiner-sh/joiner/shared/api/wellknown"
)

// GroupVersion is the API group and version of this package.
var GroupVersion = schema.GroupVersion{Group: wellknown.Group, Version: "v1alpha1"}

// KindNodeOverlay is the kind of this package.
const KindNodeOverlay = "NodeOverlay"

// NodeOverlayResource is the resource of this package, as it appears in a URL.
var NodeOverlayResource = GroupVersion.WithResource("nodeoverlays")

// ConditionValidationSucceeded says that the overlay can be applied: Validate finds nothing, and no overlay of its
// weight changes the same.
const ConditionValidationSucceeded = "ValidationSucceeded"

// Conditions are the conditions that make an overlay Ready.
var Conditions = condition.Types{Dependents: []string{ConditionValidationSucceeded}}

// GetConditions returns the overlay's conditions; they are shared with the overlay.
func (o *NodeOverlay) GetConditions() []metav1.Condition { return o.Status.Conditions }

// SetConditions replaces the overlay's conditions.
func (o *NodeOverlay) SetConditions(conditions []metav1.Condition) { o.Status.Conditions = conditions }

// AddToScheme makes the types of this package known to scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &NodeOverlay{}, &NodeOverlayList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
