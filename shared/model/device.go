package model

// PublishSeconds is how long after a node was made its drivers may take to publish its devices.
const PublishSeconds = 15 * 60

// PodClaim is an entry of a pod's spec.resourceClaims: either a ResourceClaim by its name, or one that is made for the
// pod from a ResourceClaimTemplate. An extended resource that a DeviceClass stands for is one, too, with a Spec.
type PodClaim struct {
	Name     string `json:"name"` // within the pod, or of the extended resource
	Claim    string `json:"claim,omitempty"`
	Template string `json:"template,omitempty"`
	Spec     string `json:"spec,omitempty"` // of the claim, JSON
}

// ResourceClaim is a request for devices (dynamic resource allocation), and what was allocated for it.
type ResourceClaim struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
	// of the pod it was made for from a template, and the entry of that pod's spec.resourceClaims; empty = it is
	// nobody's
	PodUID   string `json:"podUID,omitempty"`
	PodClaim string `json:"podClaim,omitempty"`
	Spec     string `json:"spec"` // as the object has it, JSON
	// status.allocation as the object has it, JSON; empty = nothing is allocated
	Allocation string `json:"allocation,omitempty"`
	// where what is allocated can be used; empty = anywhere
	Affinity    []NodeTerm `json:"affinity,omitempty"`
	ReservedFor []string   `json:"reservedFor,omitempty"` // UIDs of pods that may use it
	Others      bool       `json:"others,omitempty"`      // it is reserved for what is no pod, too
	DeletedUnix int64      `json:"deleted,omitempty"`
}

// ResourceClaimTemplate is what ResourceClaims are made of for pods.
type ResourceClaimTemplate struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Spec      string `json:"spec"` // of the claims, JSON
}

// DeviceClass is what requests of ResourceClaims name.
type DeviceClass struct {
	Name string `json:"name"`
	Spec string `json:"spec"` // as the object has it, JSON

	CreatedUnix int64 `json:"created,omitempty"` // of several for one extended resource the newest counts
}

// ResourceSlice is some of the devices that a driver has.
type ResourceSlice struct {
	Name   string `json:"name"`
	Driver string `json:"driver"`
	Node   string `json:"node,omitempty"` // whose devices they are; empty = of no single node
	Spec   string `json:"spec,omitempty"` // as the object has it, JSON; empty where Node is
}
