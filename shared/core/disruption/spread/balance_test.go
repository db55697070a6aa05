package spread

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// K1: a command that may be carried out is weighed with those that follow; one that may not, or that was only asked for, is not.
func TestK1CommandsThatMayBeCarriedOutAreWeighedWithThoseThatFollow(t *testing.T) {
	web := map[string]string{"app": "web"}
	snapshot := &model.Snapshot{Shapes: []model.PodShape{{Namespace: "default", Labels: web, Spread: []model.Spread{
		{TopologyKey: model.LabelZone, MaxSkew: 1, Selector: &model.Selector{MatchLabels: web}}}}}}
	for _, zone := range []string{"a", "a", "b", "c"} {
		name := zone + string(rune('0'+len(snapshot.Nodes)))
		snapshot.Nodes = append(snapshot.Nodes, model.Node{Name: name, Labels: map[string]string{model.LabelZone: zone}})
		if zone != "c" {
			snapshot.Pods = append(snapshot.Pods, model.Pod{Namespace: "default", Name: "web-" + name, NodeName: name})
		}
	}
	command := func(pod int, to string) *model.PlannedCommand {
		return &model.PlannedCommand{Moves: []model.Nomination{{Node: to, Pods: []model.PodRef{snapshot.Pods[pod].Ref()}}}}
	}
	b := NewBalance(snapshot)
	fills, empties := command(0, "c3"), command(2, "a1")
	if no := b.Alone(fills, []int{0}); no != nil || len(b.done) != 0 {
		t.Errorf("asked for: %v, %d are weighed", no, len(b.done))
	}
	if no := b.Add(fills, []int{0}); no != nil || len(b.done) != 1 {
		t.Errorf("carried out: %v, %d are weighed", no, len(b.done))
	}
	if no := b.Add(empties, []int{2}); no == nil || len(b.done) != 1 {
		t.Errorf("refused: %v, %d are weighed", no, len(b.done))
	}
}
