package lifecycle

import (
	"cmp"

	"github.com/joiner-sh/joiner/shared/model"
)

// Repair says for how long a condition of a node may be bad.
type Repair struct {
	Type     string // of the node's condition
	Status   string // that is bad
	Tolerate int64  // seconds
}

// Repairs are the conditions that have a node repaired. Those beside Ready are of the EKS node monitoring agent.
var Repairs = []Repair{
	{"AcceleratedHardwareReady", "False", 10 * 60},
	{"ContainerRuntimeReady", "False", 30 * 60},
	{"KernelReady", "False", 30 * 60},
	{"NetworkingReady", "False", 30 * 60},
	{"Ready", "False", 30 * 60},
	{"Ready", "Unknown", 30 * 60},
	{"StorageReady", "False", 30 * 60},
}

// nodeHealth is how many nodes there are, and how many of them have a condition that is bad, for however short a time.
type nodeHealth struct{ nodes, sick int64 }

// nodeHealthByPool counts the nodes of each pool, and under "" all there are.
func nodeHealthByPool(nodes []model.Node) map[string]nodeHealth {
	out := map[string]nodeHealth{}
	for i := range nodes {
		node := &nodes[i]
		sick := int64(0)
		if _, _, bad := worst(node, 0, 0); bad {
			sick = 1
		}
		pools := []string{""}
		if pool := node.Pool(); pool != "" {
			pools = append(pools, pool)
		}
		for _, pool := range pools {
			w := out[pool]
			out[pool] = nodeHealth{w.nodes + 1, w.sick + sick}
		}
	}
	return out
}

// worst returns the bad condition of a node that is tolerated for the shortest time from now on, and when that is over.
// None began before the node did, or before notBefore, whatever clock it was written by; one that does not say since
// when it is bad counts, and is never due. tolerate stands in for every condition's own time, where it is not 0.
func worst(node *model.Node, notBefore, tolerate int64) (condition model.NodeCondition, dueUnix int64, found bool) {
	conditions := node.Conditions
	if !node.Ready && node.ReadyUnix > 0 && !hasReady(conditions) {
		conditions = append([]model.NodeCondition{{Type: "Ready", Status: "False", SinceUnix: node.ReadyUnix}}, conditions...)
	}
	for _, c := range conditions {
		for _, repair := range Repairs {
			if c.Type != repair.Type || c.Status != repair.Status {
				continue
			}
			due := never
			if c.SinceUnix > 0 {
				due = max(c.SinceUnix, node.CreatedUnix, notBefore) + cmp.Or(tolerate, repair.Tolerate)
			}
			if !found || due < dueUnix {
				condition, dueUnix, found = c, due, true
			}
		}
	}
	return condition, dueUnix, found
}

const never = int64(1) << 60

func hasReady(conditions []model.NodeCondition) bool {
	for i := range conditions {
		if conditions[i].Type == "Ready" {
			return true
		}
	}
	return false
}
