package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/api/condition"
)

// NodeClaimStatus is what is known of a claim.
type NodeClaimStatus struct {
	// NodeName is the name of the claim's node, once it has joined.
	//
	// +optional
	NodeName string `json:"nodeName,omitempty"`
	// ProviderID names the instance, such as aws:///eu-west-1a/i-0123456789abcdef0, once it is launched.
	//
	// +optional
	ProviderID string `json:"providerID,omitempty"`
	// ImageID names the image the instance was launched from.
	//
	// +optional
	ImageID string `json:"imageID,omitempty"`
	// Capacity is what the instance has, as expected until the node has said so itself.
	//
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
	// Allocatable is what pods may use of Capacity.
	//
	// +optional
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`
	// Conditions say how far the claim has come.
	//
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// LastPodEventTime is when a pod that is not a daemon last came to the node, ended there or began to leave it.
	//
	// +optional
	LastPodEventTime metav1.Time `json:"lastPodEventTime,omitzero"`
}

// Conditions of a NodeClaim. The first three make it Ready.
const (
	ConditionLaunched    = "Launched"
	ConditionRegistered  = "Registered"
	ConditionInitialized = "Initialized"

	ConditionConsolidatable       = "Consolidatable"
	ConditionDrifted              = "Drifted"
	ConditionDisruptionReason     = "DisruptionReason"
	ConditionDrained              = "Drained"
	ConditionVolumesDetached      = "VolumesDetached"
	ConditionInstanceTerminating  = "InstanceTerminating"
	ConditionConsistentStateFound = "ConsistentStateFound"
)

// Reasons of NodeClaim conditions.
const (
	ReasonNodeNotFound                  = "NodeNotFound"
	ReasonRegistrationHookPending       = "RegistrationHookPending"
	ReasonMultipleNodesFound            = "MultipleNodesFound"
	ReasonNodeNotReady                  = "NodeNotReady"
	ReasonDraining                      = "Draining"
	ReasonAwaitingVolumeDetachment      = "AwaitingVolumeDetachment"
	ReasonTerminationGracePeriodElapsed = "TerminationGracePeriodElapsed"
	ReasonConsistencyCheckFailed        = "ConsistencyCheckFailed"
)

// NodeClaimConditions are the conditions that make a claim Ready.
var NodeClaimConditions = condition.Types{
	Dependents: []string{ConditionLaunched, ConditionRegistered, ConditionInitialized},
}

// GetConditions returns the claim's conditions; they are shared with the claim.
func (c *NodeClaim) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions replaces the claim's conditions.
func (c *NodeClaim) SetConditions(conditions []metav1.Condition) { c.Status.Conditions = conditions }
