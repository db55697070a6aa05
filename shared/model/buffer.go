package model

// Reasons of why a CapacityBuffer cannot be made room for.
const (
	ScalableRefNotFound = "ScalableRefNotFound"
	PodTemplateNotFound = "PodTemplateNotFound"
	ResolutionFailed    = "ResolutionFailed"
)

// Buffer is a CapacityBuffer with what it comes to: room for Replicas pods of Shape is to be kept free. Snapshots hold
// buffers; the room itself is made of them where it is decided by, see [Pod.Buffer].
type Buffer struct {
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	UID         string `json:"uid"`
	Generation  int64  `json:"generation,omitempty"`
	CreatedUnix int64  `json:"created,omitempty"`
	Strategy    string `json:"strategy,omitempty"` // spec.provisioningStrategy

	// whose pods the room is for: "PodTemplate web", "Deployment web"; empty = that is not known
	Of string `json:"of,omitempty"`
	// name of the PodTemplate; empty = it is a workload's
	Template           string `json:"template,omitempty"`
	TemplateGeneration int64  `json:"templateGeneration,omitempty"` // of that PodTemplate
	// index into Snapshot.Shapes; −1 where Replicas is 0
	Shape    int   `json:"shape"`
	Replicas int32 `json:"replicas,omitempty"` // for how many pods room is kept, ≥ 0

	// why there is no room, a sentence naming field, value and remedy; empty = nothing is wrong
	Problem string `json:"problem,omitempty"`
	Reason  string `json:"reason,omitempty"` // the same in a word; set with Problem

	Status BufferStatus `json:"status"` // what its object says
}

// Key returns namespace/name.
func (b *Buffer) Key() string { return b.Namespace + "/" + b.Name }

// BufferStatus is the status of a CapacityBuffer. Two are equal where nothing has to be written.
type BufferStatus struct {
	Template           string `json:"template,omitempty"`           // empty = unset
	TemplateGeneration int64  `json:"templateGeneration,omitempty"` // 0 = unset
	Sized              bool   `json:"sized,omitempty"`              // replicas is set
	Replicas           int32  `json:"replicas,omitempty"`
	Strategy           string `json:"strategy,omitempty"`

	Ready        BufferCondition `json:"ready"`        // ReadyForProvisioning
	Provisioning BufferCondition `json:"provisioning"` // Provisioning
}

// BufferCondition is one condition of a CapacityBuffer; zero = it is not there.
type BufferCondition struct {
	Status     string `json:"status,omitempty"` // True, False, Unknown
	Reason     string `json:"reason,omitempty"`
	Message    string `json:"message,omitempty"`
	Generation int64  `json:"generation,omitempty"` // observedGeneration
}

// BufferReport is what a CapacityBuffer's object is to say.
type BufferReport struct {
	Namespace, Name, UID string
	Status               BufferStatus
}
