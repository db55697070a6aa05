package model

import (
	"cmp"
	"time"
)

// Annotations of a NodePool that say for how long its instances are waited for.
const (
	// AnnotationJoinWithin is the time within which an instance must join as a node, from its launch.
	AnnotationJoinWithin = "joiner.sh/join-within"
	// AnnotationRepairAfter is for how long a condition of a node may be bad, whichever; "Never" = no node is repaired.
	AnnotationRepairAfter = "joiner.sh/repair-after"
)

// What the annotations may say, in seconds.
const (
	LeastWait   = 60
	MaxJoinWait = 2 * 3600
	MaxRepair   = 24 * 3600
)

// PoolWaits are the times that a NodePool sets for its instances, in seconds. 0 = what holds for the region.
type PoolWaits struct {
	JoinSeconds   int64
	RepairSeconds int64 // < 0 = no node is repaired
}

// WaitsOf reads annotations of a NodePool. One without a meaning sets nothing.
func WaitsOf(annotations map[string]string) PoolWaits {
	join, _ := JoinWait(annotations[AnnotationJoinWithin])
	repair, _ := RepairWait(annotations[AnnotationRepairAfter])
	return PoolWaits{JoinSeconds: join, RepairSeconds: repair}
}

// WaitsOf returns the times that the snapshot's NodePool of a name sets; none for a name that it has no NodePool of.
func (s *Snapshot) WaitsOf(pool string) PoolWaits {
	for i := range s.Pools {
		if s.Pools[i].Name == pool {
			return WaitsOf(s.Pools[i].Annotations)
		}
	}
	return PoolWaits{}
}

// JoinOr returns within how many seconds an instance must join where the region's functions say seconds.
func (w PoolWaits) JoinOr(seconds int64) int64 { return cmp.Or(w.JoinSeconds, seconds) }

// JoinWait reads a value of AnnotationJoinWithin, in seconds.
func JoinWait(value string) (seconds int64, ok bool) { return wait(value, MaxJoinWait) }

// RepairWait reads a value of AnnotationRepairAfter, in seconds; -1 for Never.
func RepairWait(value string) (seconds int64, ok bool) {
	if value == "Never" {
		return -1, true
	}
	return wait(value, MaxRepair)
}

func wait(value string, most int64) (int64, bool) {
	parsed, err := time.ParseDuration(value)
	seconds := int64(parsed / time.Second)
	if err != nil || seconds < LeastWait || seconds > most {
		return 0, false
	}
	return seconds, true
}
