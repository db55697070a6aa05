package wire

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// HintVersion is the version EncodeHint writes, and the newest DecodeHint reads.
const HintVersion = 1

// Limits of a hint. A batch beyond them is cut and says by how much: the pods left out are in the snapshot.
const (
	MaxHintBytes = 900_000 // of the encoded hint; the queue takes 1 MiB
	MaxHintPods  = 5_000
)

// Limits of single strings; namespace and name are those of the Kubernetes API itself.
const (
	maxNamespaceBytes = 63
	maxNameBytes      = 253
	maxUIDBytes       = 128
	maxClaims         = 1_000 // of one pod
	maxClaimBytes     = 512   // an ephemeral volume's is <pod>-<volume>, which may be too long to ever exist
	maxClusterBytes   = 100
	maxTickBytes      = 40
)

// HintReason says why a hint was sent. Whatever it says, the receiver looks at everything.
type HintReason string

// The reasons of a hint.
const (
	ReasonBatch HintReason = "batch" // pods wait for capacity
	ReasonNode  HintReason = "node"  // a node joined, or a node that is not initialized changed
	// a NodePool or EC2NodeClass was made, changed or deleted, or somebody made a NodeClaim by hand
	ReasonConfig    HintReason = "config"
	ReasonHeadroom  HintReason = "headroom"  // a CapacityBuffer changed, or pods came to where there may be its room
	ReasonResync    HintReason = "sweep"     // the full pass of each minute
	ReasonHeartbeat HintReason = "heartbeat" // nothing but time has passed
	ReasonEnd       HintReason = "end"       // somebody deleted a Node or NodeClaim of ours
	ReasonDrain     HintReason = "drain"     // the next step of drains is due
	ReasonLeaving   HintReason = "leaving"   // a claim is to end: its pods need a place elsewhere
	ReasonDisrupt   HintReason = "judge"     // there may be nodes to disrupt, or a command that can go on
	ReasonReplace   HintReason = "replace"   // a command waits for its replacements to be launched
	ReasonShift     HintReason = "shift"     // a zonal shift may have begun or ended
)

// Hint tells a function that there is something to look at, never what to do: it may be lost, late, doubled.
type Hint struct {
	Version      int            `json:"v"`
	Cluster      string         `json:"cluster"`
	Epoch        int64          `json:"epoch"`  // of the snapshot that shows it; 0 = no watcher had a part in it
	Seq          int64          `json:"seq"`    // the receiver should not plan with an older snapshot
	Number       int64          `json:"number"` // grows with every hint of an epoch; the same hint sent again keeps it
	Reason       HintReason     `json:"reason"`
	Pods         []model.PodRef `json:"pods,omitempty"`         // unschedulable, by key
	Omitted      int            `json:"omitted,omitempty"`      // pods of the batch left out for size
	SentAtMillis int64          `json:"sentAtMillis,omitempty"` // Unix, by the sender's clock

	// Of a batch, by the same clock: when its first pod was seen, and when it was closed. What lies between is waiting
	// for more pods; what comes after is work.
	FirstSeenMillis int64 `json:"firstSeenMillis,omitempty"`
	ClosedMillis    int64 `json:"closedMillis,omitempty"`

	Tick string `json:"tick,omitempty"` // of a resync: the time it was due; the same tick is one hint
}

// DedupID returns what tells this hint from every other of its cluster, at most 128 characters out of those a queue
// takes: letters, digits and punctuation.
func (h *Hint) DedupID() string {
	return fmt.Sprintf("%d/%d/%s/%d/%s", h.Epoch, h.Seq, h.Reason, h.Number, h.Tick)
}

// EncodeHint returns the hint as JSON, with Version set, and with as many pods from the front as fit the limits, the
// rest added to Omitted. Invalid for a hint without a cluster or with a reason or string DecodeHint would refuse.
func EncodeHint(h Hint) ([]byte, error) {
	h.Version = HintVersion
	if cut := len(h.Pods) - MaxHintPods; cut > 0 {
		h.Pods, h.Omitted = h.Pods[:MaxHintPods], h.Omitted+cut
	}
	for {
		if err := h.validate(); err != nil {
			return nil, err
		}
		data, err := json.Marshal(h)
		if err != nil {
			return nil, fault.Wrap(fault.Invalid, "", err, "encode hint of cluster %s", h.Cluster)
		}
		if len(data) <= MaxHintBytes || len(h.Pods) == 0 {
			return data, nil
		}
		// Pods are about the same size, so the share that fits is known well; one pod less keeps the loop moving.
		keep := min(len(h.Pods)-1, len(h.Pods)*MaxHintBytes/len(data))
		h.Omitted += len(h.Pods) - keep
		h.Pods = h.Pods[:keep]
	}
}

// DecodeHint reads what EncodeHint wrote, by this or another version. Unknown fields are ignored. Invalid for anything
// that is no hint, passes a limit or has a version newer than HintVersion.
func DecodeHint(data []byte) (Hint, error) {
	var h Hint
	if len(data) > MaxHintBytes {
		return h, fault.New(fault.Invalid, "TooLarge",
			"hint has %d bytes, at most %d are read", len(data), MaxHintBytes)
	}
	if err := json.Unmarshal(data, &h); err != nil {
		return Hint{}, fault.Wrap(fault.Invalid, "Malformed", err, "decode hint")
	}
	if err := h.validate(); err != nil {
		return Hint{}, err
	}
	return h, nil
}

func (h *Hint) validate() error {
	switch {
	case h.Version < 1 || h.Version > HintVersion:
		return fault.New(fault.Invalid, "UnknownVersion",
			"hint has version %d, versions 1 to %d are read", h.Version, HintVersion)
	case h.Cluster == "" || !fits(h.Cluster, maxClusterBytes):
		return fault.New(fault.Invalid, "Malformed",
			"hint: cluster must have 1 to %d bytes, has %d", maxClusterBytes, len(h.Cluster))
	case h.Epoch < 0 || h.Seq < 0 || h.Number < 0 || h.Omitted < 0 || h.SentAtMillis < 0:
		return fault.New(fault.Invalid, "Malformed", "hint of cluster %s has a negative number", h.Cluster)
	case !printable(h.Tick) || len(h.Tick) > maxTickBytes:
		return fault.New(fault.Invalid, "Malformed",
			"hint of cluster %s: tick %.60q must be at most %d printable characters without spaces",
			h.Cluster, h.Tick, maxTickBytes)
	case len(h.Pods) > MaxHintPods:
		return fault.New(fault.Invalid, "TooLarge", "hint lists %d pods, at most %d are read", len(h.Pods), MaxHintPods)
	}
	switch h.Reason {
	case ReasonBatch, ReasonNode, ReasonConfig, ReasonHeadroom, ReasonResync, ReasonHeartbeat, ReasonEnd, ReasonDrain,
		ReasonLeaving, ReasonDisrupt, ReasonReplace, ReasonShift:
	default:
		return fault.New(fault.Invalid, "Malformed",
			"hint of cluster %s has the unknown reason %.40q", h.Cluster, h.Reason)
	}
	for i := range h.Pods {
		p := &h.Pods[i]
		if !fits(p.Namespace, maxNamespaceBytes) || !fits(p.Name, maxNameBytes) || !fits(p.UID, maxUIDBytes) {
			return fault.New(fault.Invalid, "Malformed",
				"hint of cluster %s: pods[%d] has a namespace, name or UID that is too long or no text", h.Cluster, i)
		}
	}
	return nil
}

func fits(text string, limit int) bool { return len(text) <= limit && utf8.ValidString(text) }

func printable(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}
