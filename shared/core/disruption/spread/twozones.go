package spread

import (
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/topology"
	"github.com/joiner-sh/joiner/shared/model"
)

// KeepTwoZones returns the snapshot as it is planned with: the pods of a workload that is to keep two zones
// (model.AnnotationTwoZones) have a DoNotSchedule spread over zones that does not let all of them come to one. A
// workload that has pods in one zone alone has nothing to keep. The snapshot itself is returned where there is none.
func KeepTwoZones(snapshot *model.Snapshot) *model.Snapshot {
	asks := askTwoZones(snapshot)
	if !slices.Contains(asks, true) {
		return snapshot
	}
	zones := make(map[string]string, len(snapshot.Nodes))
	for i := range snapshot.Nodes {
		zones[snapshot.Nodes[i].Name] = snapshot.Nodes[i].Labels[model.LabelZone]
	}
	perShape := make([]map[string]int32, len(snapshot.Shapes)) // pods by zone
	for i := range snapshot.Pods {
		pod := &snapshot.Pods[i]
		if zone := zones[pod.NodeName]; zone != "" && pod.DeletedUnix == 0 && !pod.Terminal() && pod.Buffer == "" {
			if perShape[pod.Shape] == nil {
				perShape[pod.Shape] = make(map[string]int32)
			}
			perShape[pod.Shape][zone]++
		}
	}
	out, rules := *snapshot, make(map[string]*model.Spread)
	out.Shapes = slices.Clone(snapshot.Shapes)
	for i := range out.Shapes {
		shape := &out.Shapes[i]
		selector := siblings(shape)
		if !asks[i] || selector == nil {
			continue
		}
		var id strings.Builder
		id.WriteString(shape.Namespace)
		for _, key := range slices.Sorted(maps.Keys(selector.MatchLabels)) {
			id.WriteString("\x00" + key + "\x00" + selector.MatchLabels[key])
		}
		rule, known := rules[id.String()]
		if !known {
			rule = twoZones(selector, shape.Namespace, snapshot.Shapes, perShape)
			rules[id.String()] = rule
		}
		if rule != nil {
			shape.Spread = append(slices.Clip(shape.Spread), *rule)
		}
	}
	return &out
}

// askTwoZones says of each shape whether it, or a NodePool that a pod of it is on, asks for two zones.
func askTwoZones(snapshot *model.Snapshot) []bool {
	asks := make([]bool, len(snapshot.Shapes))
	for i := range snapshot.Shapes {
		asks[i] = snapshot.Shapes[i].TwoZones && replicated(&snapshot.Shapes[i])
	}
	pools := make(map[string]bool)
	for i := range snapshot.Pools {
		if snapshot.Pools[i].Annotations[model.AnnotationTwoZones] == "true" {
			pools[snapshot.Pools[i].Name] = true
		}
	}
	if len(pools) == 0 {
		return asks
	}
	nodes := make(map[string]bool)
	for i := range snapshot.Nodes {
		if node := &snapshot.Nodes[i]; pools[node.Pool()] {
			nodes[node.Name] = true
		}
	}
	for i := range snapshot.Pods {
		if pod := &snapshot.Pods[i]; nodes[pod.NodeName] && replicated(snapshot.ShapeOf(pod)) {
			asks[pod.Shape] = true
		}
	}
	return asks
}

// replicated reports whether the pod is one of several that do the same: not a daemon, a static pod, a Job's, or
// nobody's.
func replicated(shape *model.PodShape) bool {
	return !slices.Contains([]string{"", "DaemonSet", "Node", "Job"}, shape.OwnerKind)
}

// revisions are labels that tell the revisions of a workload apart.
var revisions = []string{"pod-template-hash", "controller-revision-hash"}

// siblings returns what selects the pods that do the same as one of the shape, in its namespace; nil where its labels
// do not say.
func siblings(shape *model.PodShape) *model.Selector {
	labels := maps.Clone(shape.Labels)
	for _, key := range revisions {
		delete(labels, key)
	}
	if len(labels) == 0 {
		return nil
	}
	return &model.Selector{MatchLabels: labels}
}

func selects(selector *model.Selector, labels map[string]string) bool {
	matches, err := topology.Matches(selector, labels)
	return err == nil && matches
}

// twoZones returns the spread of a workload's pods; nil where they are in one zone, or in none. Its maxSkew is one less
// than there are pods, so that they may be anywhere but all in one.
func twoZones(
	selector *model.Selector, namespace string, shapes []model.PodShape, pods []map[string]int32,
) *model.Spread {
	count, zones := int32(0), make(map[string]bool)
	for i := range shapes {
		if shapes[i].Namespace != namespace || len(pods[i]) == 0 || !selects(selector, shapes[i].Labels) {
			continue
		}
		for zone, n := range pods[i] { // into a sum and a set
			count, zones[zone] = count+n, true
		}
	}
	if len(zones) < 2 {
		return nil
	}
	return &model.Spread{
		TopologyKey: model.LabelZone, MaxSkew: count - 1, Selector: selector,
		Field: "metadata.annotations[" + model.AnnotationTwoZones + "]",
	}
}
