package autoscalingv1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of this package.
var GroupVersion = schema.GroupVersion{Group: "autoscaling.x-k8s.io", Version: "v1beta1"}

// KindCapacityBuffer is the kind of this package.
const KindCapacityBuffer = "CapacityBuffer"

// CapacityBufferResource is the resource of this package, as it appears in a URL.
var CapacityBufferResource = GroupVersion.WithResource("capacitybuffers")

// Conditions of a CapacityBuffer.
const (
	ConditionReadyForProvisioning = "ReadyForProvisioning" // it is known what room is to be kept
	ConditionProvisioning         = "Provisioning"         // the room is there
)

// AddToScheme makes the types of this package known to scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &CapacityBuffer{}, &CapacityBufferList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
