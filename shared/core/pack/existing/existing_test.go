package existing

import (
	"fmt"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/volume"
	"github.com/joiner-sh/joiner/shared/model"
)

var testDims = vector.Dimensions{model.CPU, model.Memory, model.Pods}

// cluster has nodes of four cores, one pod of a core on the first of them, and a DaemonSet that asks for half a core
// everywhere and runs on the second.
func cluster(nodes int) *input.Input {
	in := &input.Input{Snapshot: &model.Snapshot{
		Shapes: []model.PodShape{
			{Namespace: "default", Requests: model.Resources{model.CPU: 1000, model.Pods: 1}},
			{Namespace: "kube-system", Requests: model.Resources{model.CPU: 500, model.Pods: 1}, OwnerKind: "DaemonSet", OwnerName: "agent"},
		},
		DaemonSets: []model.DaemonSet{{Namespace: "kube-system", Name: "agent", Shape: 1}},
		Pods:       []model.Pod{{Namespace: "default", Name: "web", UID: "web", NodeName: "n0"}, {Namespace: "kube-system", Name: "agent-1", UID: "agent-1", NodeName: "n1", Shape: 1}},
	}}
	for i := range nodes {
		name := fmt.Sprintf("n%d", i)
		in.Snapshot.Nodes = append(in.Snapshot.Nodes, model.Node{Name: name, UID: name, Ready: true, Labels: map[string]string{model.LabelHostname: name},
			Allocatable: model.Resources{model.CPU: 4000, model.Memory: 8 << 30, model.Pods: 20}})
	}
	return in
}

// built returns the existing nodes of a cluster in which so many pods wait.
func built(in *input.Input, waiting int, memory *Memory) *Nodes {
	nodes := New(in, testDims, offerings.NewMarkets(in, testDims), offerings.DaemonsOf(in.Snapshot, testDims), false, memory)
	nodes.Rules = group.NewPodRules(in.Snapshot, group.NoPreferences)
	nodes.Classifier = &group.Classifier{Snapshot: in.Snapshot, Facts: group.NewShapeFacts(in.Snapshot.Shapes, false), Rules: nodes.Rules, Volumes: volume.New(in.Snapshot)}
	nodes.Build(waiting, nil, nil)
	return nodes
}

// free returns the CPU that is free on each node, in the order of their names.
func free(nodes *Nodes) []int64 {
	nodes.All()
	out := make([]int64, len(nodes.List))
	for n := range nodes.List {
		out[n] = nodes.Node(n).Free[0]
	}
	return out
}

// TestRoomIsLessWhatRunsAndWhatIsToRun guards both ways of making existing nodes: all at once, and in turn where few
// pods wait.
func TestRoomIsLessWhatRunsAndWhatIsToRun(t *testing.T) {
	want := []int64{2500, 3500, 3500}
	for _, waiting := range []int{100, 0} {
		if got := free(built(cluster(3), waiting, nil)); !slices.Equal(got, want) {
			t.Errorf("with %d pods waiting, %v of CPU are free, want %v", waiting, got, want)
		}
	}
}

// TestMemoryForgetsNodesWhosePodsChange plans one cluster again and again, with its pods elsewhere each time.
func TestMemoryForgetsNodesWhosePodsChange(t *testing.T) {
	memory := NewMemory(2)
	for _, x := range []struct {
		node string
		want []int64
	}{{"n0", []int64{2500, 3500, 3500}}, {"n2", []int64{3500, 3500, 2500}}, {"n2", []int64{3500, 3500, 2500}}, {"", []int64{3500, 3500, 3500}}, {"n1", []int64{3500, 2500, 3500}}} {
		in := cluster(3)
		in.Snapshot.Pods[0].NodeName = x.node
		memory.Begin(in)
		if got := free(built(in, 100, memory)); !slices.Equal(got, x.want) {
			t.Errorf("with its pod on %q, %v of CPU are free, want %v", x.node, got, x.want)
		}
	}
}
