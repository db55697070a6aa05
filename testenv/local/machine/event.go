package machine

import (
	"fmt"
	"time"
)

// EventKind says what happened to an instance.
type EventKind string

// What can happen to an instance, in this order. An instance that is Refused never
// joins; what comes after Registered may be missing where the instance ends.
const (
	// Refused: the instance will not join. Err says why.
	Refused EventKind = "refused"
	// Retrying: the API server did not take a step; it is tried again. Err is its answer.
	Retrying EventKind = "retrying"
	// Registered: the Node exists and is not ready.
	Registered EventKind = "registered"
	// Initialized: the cloud controller manager has labeled the Node.
	Initialized EventKind = "initialized"
	// Ready: the kubelet says it is ready.
	Ready EventKind = "ready"
	// DevicesReady: the device plugins have announced their resources.
	DevicesReady EventKind = "devices ready"
	// Silent: the kubelet's heartbeats have stopped.
	Silent EventKind = "instance is shutting down"
	// Deleted: the cloud controller manager has deleted the Node.
	Deleted EventKind = "deleted"
	// KwokEnded: the program that plays the kubelets has ended by itself. It
	// concerns no instance; pods change no more. Err has the end of its log.
	KwokEnded EventKind = "kwok ended"
)

// Event is something that happened to an instance.
type Event struct {
	Time       time.Time
	Kind       EventKind
	InstanceID string // "" for KwokEnded
	NodeName   string // "" where it is not known
	Err        error  // nil unless Kind says otherwise
}

// String is one line without the time.
func (e Event) String() string {
	s := fmt.Sprintf("%s %s", e.InstanceID, e.Kind)
	if e.NodeName != "" {
		s += " as " + e.NodeName
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}
