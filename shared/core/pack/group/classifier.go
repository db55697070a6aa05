package group

import (
	"github.com/joiner-sh/joiner/shared/core/device"
	"github.com/joiner-sh/joiner/shared/core/volume"
	"github.com/joiner-sh/joiner/shared/model"
)

// Classifier turns pending pods into pod groups.
type Classifier struct {
	*scratch // while pods are grouped
	Snapshot *model.Snapshot
	Facts    *ShapeFacts
	Rules    *PodRules
	Volumes  *volume.Index
	Devices  *device.Index
	OnceUsed map[string]int // ReadWriteOncePod claims in use: by the pod
	settled  map[int]bool   // pods of Input.Settled
	arrived  map[int]bool   // shapes of settled pods alone, where there are pods of Input.Expected

	Names       map[string]bool      // of nodes, that some pod asks for or refuses
	shared      map[string]int       // claims whose volume is yet to be made: by how many waiting pods
	Met         []int                // shapes of pending pods, as first met
	unknown     *shapeInfo           // of pods whose shape there is not; nil = there is none
	podGroups   map[string]*PodGroup // the others
	made        []*PodGroup          // all of them, as they were met first
	space       []PodGroup           // for those yet to be made
	refused     map[int]*model.Reason
	unplaceable map[string]*model.Reason // why the volumes of some pods let no new node do, by message
}

// of returns what is known of the pod's shape.
func (c *Classifier) of(pod *model.Pod) *shapeInfo {
	if pod.Shape < 0 || pod.Shape >= len(c.shapes) {
		return c.unknown
	}
	return c.shapes[pod.Shape]
}
