package awsv1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/api/condition"
)

// EC2NodeClassStatus is what the selectors of a class resolve to, and whether it can be used.
type EC2NodeClassStatus struct {
	// Subnets are sorted by free addresses, most first, then by id.
	//
	// +optional
	Subnets []Subnet `json:"subnets,omitempty"`
	// SecurityGroups are sorted by id.
	//
	// +optional
	SecurityGroups []SecurityGroup `json:"securityGroups,omitempty"`
	// AMIs are sorted by age, youngest first, then by id.
	//
	// +optional
	AMIs []AMI `json:"amis,omitempty"`
	// CapacityReservations are sorted by id.
	//
	// +optional
	CapacityReservations []CapacityReservation `json:"capacityReservations,omitempty"`
	// InstanceProfile is the instance profile instances are launched with.
	//
	// +optional
	InstanceProfile string `json:"instanceProfile,omitempty"`
	// Conditions say whether the class can be used, and why not.
	//
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Subnet is a subnet to launch into.
type Subnet struct {
	// +required
	ID string `json:"id"`
	// Zone is the name of the zone, such as eu-west-1a.
	//
	// +required
	Zone string `json:"zone"`
	// ZoneID is the id of the zone, the same in every account, such as euw1-az1.
	//
	// +optional
	ZoneID string `json:"zoneID,omitempty"`
}

// SecurityGroup is a security group of the instances.
type SecurityGroup struct {
	// +required
	ID string `json:"id"`
	// +optional
	Name string `json:"name,omitempty"`
}

// AMI is an image to launch from.
type AMI struct {
	// +required
	ID string `json:"id"`
	// +optional
	Name string `json:"name,omitempty"`
	// Deprecated says that the image's owner advises against it.
	//
	// +optional
	Deprecated bool `json:"deprecated,omitempty"`
	// Requirements say which instance types the image is for. Sorted by length of key, then key.
	//
	// +required
	Requirements []corev1.NodeSelectorRequirement `json:"requirements"`
}

// CapacityReservation is a capacity reservation that may be used.
type CapacityReservation struct {
	// AvailabilityZone is the name of the zone the capacity is in.
	//
	// +required
	AvailabilityZone string `json:"availabilityZone"`
	// EndTime is when the reservation ends; absent where it does not.
	//
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`
	// +kubebuilder:validation:Pattern=`^cr-[0-9a-z]+$`
	// +required
	ID string `json:"id"`
	// +required
	InstanceMatchCriteria InstanceMatchCriteria `json:"instanceMatchCriteria"`
	// +required
	InstanceType string `json:"instanceType"`
	// +kubebuilder:validation:Pattern=`^[0-9]{12}$`
	// +required
	OwnerID string `json:"ownerID"`
	// ReservationType says whether the reservation is a block bought for a while.
	//
	// +kubebuilder:default=default
	// +optional
	ReservationType CapacityReservationType `json:"reservationType,omitempty"`
	// Interruptible says whether the owner may take the capacity back.
	//
	// +optional
	Interruptible bool `json:"interruptible,omitempty"`
	// State says whether the reservation may still be launched into.
	//
	// +kubebuilder:default=active
	// +optional
	State CapacityReservationState `json:"state,omitempty"`
}

// CapacityReservationType is the kind of a capacity reservation.
//
// +kubebuilder:validation:Enum=default;capacity-block
type CapacityReservationType string

// The kinds of capacity reservations.
const (
	ReservationDefault       CapacityReservationType = "default"
	ReservationCapacityBlock CapacityReservationType = "capacity-block"
)

// CapacityReservationState says whether a reservation may still be launched into.
//
// +kubebuilder:validation:Enum=active;expiring
type CapacityReservationState string

// The states of a capacity reservation.
const (
	ReservationActive   CapacityReservationState = "active"
	ReservationExpiring CapacityReservationState = "expiring"
)

// Conditions of an EC2NodeClass; all of them count towards Ready, the last one only where reservations are used at all.
const (
	ConditionAMIsReady                 = "AMIsReady"
	ConditionSubnetsReady              = "SubnetsReady"
	ConditionSecurityGroupsReady       = "SecurityGroupsReady"
	ConditionInstanceProfileReady      = "InstanceProfileReady"
	ConditionPlacementGroupReady       = "PlacementGroupReady"
	ConditionValidationSucceeded       = "ValidationSucceeded"
	ConditionCapacityReservationsReady = "CapacityReservationsReady"
)

// Conditions returns the conditions that make a class Ready.
func Conditions(reservedCapacity bool) condition.Types {
	types := condition.Types{Dependents: []string{
		ConditionAMIsReady, ConditionSubnetsReady, ConditionSecurityGroupsReady, ConditionInstanceProfileReady,
		ConditionPlacementGroupReady, ConditionValidationSucceeded,
	}}
	if reservedCapacity {
		types.Dependents = append(types.Dependents, ConditionCapacityReservationsReady)
	}
	return types
}

// GetConditions returns the class's conditions; they are shared with the class.
func (c *EC2NodeClass) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions replaces the class's conditions.
func (c *EC2NodeClass) SetConditions(conditions []metav1.Condition) { c.Status.Conditions = conditions }
