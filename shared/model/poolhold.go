package model

import (
	"fmt"
	"time"
)

// PoolSuspension says that instances of a NodePool come up and cannot take the pods they were bought for, and until
// when no more are bought to find that out again.
type PoolSuspension struct {
	Pool string `json:"pool"`
	UID  string `json:"uid"` // the pool's
	// digest of the pool's template and class as they were; others are tried at once
	Inputs string `json:"inputs"`
	// bought without effect, each after the one before was noted; 0 = what was wrong is mended
	Instances int    `json:"machines"`
	Claim     string `json:"claim,omitempty"`  // of the latest of them
	Node      string `json:"node,omitempty"`   // the same
	Pod       string `json:"pod,omitempty"`    // that cannot run there, namespace/name
	Why       string `json:"why,omitempty"`    // it cannot, as half a sentence
	Taint     string `json:"taint,omitempty"`  // key of the taint that is in the way; empty where it is something else
	Effect    string `json:"effect,omitempty"` // the same

	LastUnix int64 `json:"last,omitempty"` // launch of the latest instance that counts
	// when the last was counted: instances launched before are of the same incident
	NotedUnix int64 `json:"noted"`
	// nothing is bought before; after it one instance at a time, until one takes its pods
	UntilUnix int64 `json:"until,omitempty"`
}

// Text says for people what is wrong, and what becomes of it.
func (h *PoolSuspension) Text() string {
	text := fmt.Sprintf(
		"node %s was initialized and cannot take pod %s, for which it was launched: %s; ", h.Node, h.Pod, h.Why)
	if h.Instances == 1 {
		return text + "one more instance of the NodePool is launched, and then none for an hour"
	}
	return text + fmt.Sprintf("%d instances in a row were launched without effect, and the next is launched at %s,"+
		" or as soon as the NodePool's template or its EC2NodeClass is changed",
		h.Instances, time.Unix(h.UntilUnix, 0).UTC().Format(time.RFC3339))
}
