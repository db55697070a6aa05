package publish

import (
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

// freedCapacity is what pods that left nodes of pools requested, less what pods that came to such nodes request, since
// the last hint to the disruption function. Pods of nodes that are being drained do not count: they need a place
// elsewhere.
type freedCapacity struct {
	cpu, memory int64           // millicores and bytes, at least 0
	first, last time.Time       // since enough is free; when a pod left last
	enough      model.Resources // as much is worth an evaluation; nil = not computed yet
	enoughAt    time.Time
}

// enoughFor is how long what is enough stays as it was computed.
const enoughFor = time.Minute

// requestsOn returns the requests of a pod on a node of a pool that stays; nil where it is on none.
func (s *state) requestsOn(pod *model.Pod) model.Resources {
	if pod == nil {
		return nil
	}
	shape := s.shapes.At(pod.Shape)
	if !homed(pod, shape) {
		return nil
	}
	node, known := s.nodes.rows[pod.NodeName]
	if !known || node.Pool() == "" || node.DeletedUnix != 0 || drained(&node) {
		return nil
	}
	return shape.Requests
}

// note counts a pod that was one row and is another.
func (c *freedCapacity) note(before, after model.Resources, now time.Time) {
	cpu, memory := before["cpu"]-after["cpu"], before["memory"]-after["memory"]
	c.cpu, c.memory = max(0, c.cpu+cpu), max(0, c.memory+memory)
	if cpu > 0 || memory > 0 {
		c.last = now
	}
}

// worthIt returns what must be free before consolidation may gain by it: as much as the smallest node of a pool has,
// and a hundredth of all of them, so that pods that come and go on a large cluster ask for no evaluation each.
func (s *state) worthIt() model.Resources {
	var all, smallest model.Resources
	for _, node := range s.nodes.rows {
		if node.Pool() == "" || node.Allocatable["cpu"] == 0 {
			continue
		}
		if all == nil {
			all, smallest = model.Resources{}, model.Resources{"cpu": node.Allocatable["cpu"], "memory": node.Allocatable["memory"]}
		}
		for _, name := range []string{"cpu", "memory"} {
			all[name] += node.Allocatable[name]
			smallest[name] = min(smallest[name], node.Allocatable[name])
		}
	}
	for name := range smallest {
		smallest[name] = max(smallest[name], all[name]/100)
	}
	return smallest
}

// worth reports whether enough is free.
func (c *freedCapacity) worth() bool {
	return c.enough != nil && (c.cpu >= c.enough["cpu"] || c.memory >= c.enough["memory"])
}
