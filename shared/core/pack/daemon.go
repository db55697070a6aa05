package pack

import (
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack/terms"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// daemon is a DaemonSet: one pod on every node that fits it.
type daemon struct {
	set             int // index into the snapshot's DaemonSets
	namespace, name string
	request         vector.Vector
	terms           []requirement.Requirements
	tolerations     []model.Toleration // with every PreferNoSchedule taint tolerated
	ports           []model.HostPort
}

// daemonsOf returns the DaemonSets, by namespace and name. One whose conditions cannot be read runs nowhere.
func daemonsOf(snapshot *model.Snapshot, dims vector.Dimensions) []daemon {
	var out []daemon
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
		out = append(out, daemon{i, set.Namespace, set.Name, request, alternatives, tolerations, shape.HostPorts})
	}
	slices.SortStableFunc(out, func(a, b daemon) int {
		if c := strings.Compare(a.namespace, b.namespace); c != 0 {
			return c
		}
		return strings.Compare(a.name, b.name)
	})
	return out
}
