package input

import (
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// TestSortedPodsDoNotDependOnTheSnapshotsOrder guards what every plan rests on: the same pods, listed otherwise, are
// looked at in one order.
func TestSortedPodsDoNotDependOnTheSnapshotsOrder(t *testing.T) {
	pods := []model.Pod{{Namespace: "b", Name: "a"}, {Namespace: "a", Name: "b"}, {Namespace: "a", Name: "a", UID: "2"}, {Namespace: "a", Name: "a", UID: "1"}}
	want := []string{"1", "2", "a/b", "b/a"}
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}} {
		snapshot := &model.Snapshot{}
		for _, i := range order {
			snapshot.Pods = append(snapshot.Pods, pods[i])
		}
		var got []string
		for _, i := range SortedPods(snapshot, []int{1, 3, 0, 2}) {
			name := snapshot.Pods[i].UID
			if name == "" {
				name = snapshot.Pods[i].Key()
			}
			got = append(got, name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("listed as %v, pods are in the order %v, want %v", order, got, want)
		}
		if refs := Refs(snapshot, []int{0, 1, 2, 3}); len(refs) != 4 || refs[3].Namespace != "b" {
			t.Errorf("listed as %v, pods are named %v", order, refs)
		}
	}
}

func TestPodsHoldSomethingOfTheirNodeUntilTheyEndOrMove(t *testing.T) {
	snapshot := &model.Snapshot{Shapes: make([]model.PodShape, 1), Pods: []model.Pod{
		{NodeName: "n"}, {}, {NodeName: "n", Phase: model.Succeeded}, {NodeName: "n", Shape: 1}, {NodeName: "n"},
	}}
	for i, want := range []bool{true, false, false, false, false} {
		if got := OnNode(snapshot, i, map[int]bool{4: true}); got != want {
			t.Errorf("pod %d holds something of its node: %v, want %v", i, got, want)
		}
	}
}
