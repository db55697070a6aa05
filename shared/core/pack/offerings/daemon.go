package offerings

import (
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack/terms"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// Daemon is a DaemonSet: one pod on every node that fits it.
type Daemon struct {
	Set             int // index into the snapshot's DaemonSets
	Namespace, Name string
	Request         vector.Vector
	Terms           []requirement.Requirements
	Tolerations     []model.Toleration // with every PreferNoSchedule taint tolerated
	Ports           []model.HostPort
	Claims          bool // devices
}

// DaemonsOf returns the DaemonSets, by namespace and name. One whose conditions cannot be read runs nowhere.
func DaemonsOf(snapshot *model.Snapshot, dims vector.Dimensions) []Daemon {
	var out []Daemon
	for i := range snapshot.DaemonSets {
		set := &snapshot.DaemonSets[i]
		if set.Shape < 0 || set.Shape >= len(snapshot.Shapes) {
			continue
		}
		shape := &snapshot.Shapes[set.Shape]
		alternatives, no := terms.Required(shape)
		if no != nil {
			continue
		}
		request := dims.Requests(shape.Requests)
		if pods, known := slices.BinarySearch(dims, model.Pods); known {
			request[pods] = max(1, request[pods])
		}
		tolerations := append(slices.Clone(shape.Tolerations), model.Toleration{Operator: terms.TolerationExists, Effect: model.PreferNoSchedule})
		out = append(out, Daemon{i, set.Namespace, set.Name, request, alternatives, tolerations, shape.HostPorts,
			len(shape.DeviceClaims) > 0})
	}
	slices.SortStableFunc(out, func(a, b Daemon) int {
		if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out
}
