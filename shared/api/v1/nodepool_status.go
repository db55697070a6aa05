package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/api/condition"
)

// NodePoolStatus is what is known of a pool.
type NodePoolStatus struct {
	// Resources is the sum of the capacity of the pool's nodes that are not about to leave; its "nodes" is their number.
	//
	// +optional
	Resources corev1.ResourceList `json:"resources,omitempty"`
	// Nodes is the number of the pool's nodes that are not about to leave.
	//
	// +kubebuilder:default=0
	// +optional
	Nodes int64 `json:"nodes"`
	// NodeClassObservedGeneration is the generation of the node class that NodeRegistrationHealthy was evaluated with.
	//
	// +optional
	NodeClassObservedGeneration int64 `json:"nodeClassObservedGeneration,omitempty"`
	// Rollout counts the pool's nodes by whether an instance launched now would differ.
	//
	// +optional
	Rollout *NodePoolRollout `json:"rollout,omitempty"`
	// Conditions say whether the pool can be used, and why not.
	//
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// NodePoolRollout counts the nodes of a pool. Each node is in one of the three numbers.
type NodePoolRollout struct {
	// ObservedGeneration is the generation of the pool that the nodes were compared with.
	ObservedGeneration int64 `json:"observedGeneration"`
	// Current is the number of nodes of which nothing would differ.
	Current int64 `json:"current"`
	// Drifted is the number of nodes of which something would differ, and which are not being replaced yet.
	Drifted int64 `json:"drifted"`
	// Replacing is the number of drifted nodes that are being replaced.
	Replacing int64 `json:"replacing"`
}

// Conditions of a NodePool.
const (
	// ConditionValidationSucceeded says that ValidateNodePool, or the class's own validation, found nothing.
	ConditionValidationSucceeded = "ValidationSucceeded"
	// ConditionNodeClassReady says that the pool's class exists and is ready.
	ConditionNodeClassReady = "NodeClassReady"
)

// NodePoolConditions are the conditions that make a pool Ready.
var NodePoolConditions = condition.Types{Dependents: []string{ConditionValidationSucceeded, ConditionNodeClassReady}}

// GetConditions returns the pool's conditions; they are shared with the pool.
func (p *NodePool) GetConditions() []metav1.Condition { return p.Status.Conditions }

// SetConditions replaces the pool's conditions.
func (p *NodePool) SetConditions(conditions []metav1.Condition) { p.Status.Conditions = conditions }
