package placing

import (
	"fmt"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/pack/existing"
	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/newnodes"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/volume"
	"github.com/joiner-sh/joiner/shared/model"
)

// placedByNode places pods with the shape on three nodes in three zones, the first of them four times as large, and
// returns how many are on each.
func placedByNode(t *testing.T, pods int, shape model.PodShape) (byNode []int, left int) {
	t.Helper()
	shape.Namespace, shape.Labels = "default", map[string]string{"app": "web"}
	shape.Requests = model.Resources{model.CPU: 1000, model.Pods: 1}
	in := &input.Input{Snapshot: &model.Snapshot{Shapes: []model.PodShape{shape}}}
	var pending []int
	for i := range pods {
		pending = append(pending, i)
		in.Snapshot.Pods = append(in.Snapshot.Pods, model.Pod{Namespace: "default", Name: fmt.Sprintf("web-%02d", i), UID: fmt.Sprint(i), Unschedulable: true})
	}
	for i, zone := range []string{"a", "b", "c"} {
		name, cores := "n"+zone, int64(3)
		if i == 0 {
			cores *= 4
		}
		in.Snapshot.Nodes = append(in.Snapshot.Nodes, model.Node{Name: name, UID: name, Ready: true, Labels: map[string]string{model.LabelHostname: name, model.LabelZone: zone},
			Allocatable: model.Resources{model.CPU: cores * 1000, model.Memory: 1 << 34, model.Pods: 50}})
	}
	rules := group.NewPodRules(in.Snapshot, group.NoPreferences)
	classifier := &group.Classifier{Snapshot: in.Snapshot, Facts: group.NewShapeFacts(in.Snapshot.Shapes, false), Rules: rules, Volumes: volume.New(in.Snapshot)}
	podGroups, refused := classifier.PodGroupsOf(pending, nil)
	if len(podGroups) != 1 || len(refused) != 0 {
		t.Fatalf("%d pod groups, and refused are %v", len(podGroups), refused)
	}
	c, dims := podGroups[0], group.DimensionsOf(in.Snapshot, podGroups)
	c.Request = dims.Vector(c.Resources)
	markets := offerings.NewMarkets(in, dims)
	nodes := existing.New(in, dims, markets, nil, false, nil)
	nodes.Rules, nodes.Classifier = rules, classifier
	nodes.Build(pods, nil, []string{model.LabelZone})
	assigner := Assigner{Planner: newnodes.NewPlanner(in, dims, rules, markets, nil), Existing: nodes, Rules: rules}
	assigner.Place(c)
	for _, s := range nodes.List {
		byNode = append(byNode, len(s.Pods))
	}
	return byNode, len(c.Pods)
}

// TestPodsGoWhereTheCountsAllow places six pods by each kind of rule: what has room for all of them, or for one, is not
// all that counts.
func TestPodsGoWhereTheCountsAllow(t *testing.T) {
	web := &model.Selector{MatchLabels: map[string]string{"app": "web"}}
	term := func(key string) []model.PodTerm { return []model.PodTerm{{Selector: web, TopologyKey: key}} }
	for name, x := range map[string]struct {
		shape model.PodShape
		want  string
	}{
		"no rule":                 {model.PodShape{}, "[6 0 0] 0"},
		"spread over zones":       {model.PodShape{Spread: []model.Spread{{MaxSkew: 1, TopologyKey: model.LabelZone, Selector: web}}}, "[2 2 2] 0"},
		"spread, minDomains":      {model.PodShape{Spread: []model.Spread{{MaxSkew: 1, MinDomains: 4, TopologyKey: model.LabelZone, Selector: web}}}, "[1 1 1] 3"},
		"apart on hosts":          {model.PodShape{PodAntiAffinity: term(model.LabelHostname)}, "[1 1 1] 3"},
		"together in one zone":    {model.PodShape{PodAffinity: term(model.LabelZone)}, "[6 0 0] 0"},
		"spread by a label of no": {model.PodShape{Spread: []model.Spread{{MaxSkew: 1, TopologyKey: "rack", Selector: web}}}, "[0 0 0] 6"},
	} {
		byNode, left := placedByNode(t, 6, x.shape)
		if got := fmt.Sprint(byNode, left); got != x.want {
			t.Errorf("%s: pods by node, and those left, are %s, want %s", name, got, x.want)
		}
	}
}
