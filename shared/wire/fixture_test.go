package wire

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
	"pgregory.net/rapid"
)

// drawSnapshot makes a small snapshot that uses every field of a pod and every kind of object.
func drawSnapshot(t *rapid.T) *model.Snapshot {
	s := &model.Snapshot{
		Cluster: rapid.StringMatching(`[a-z][a-z0-9-]{0,20}`).Draw(t, "cluster"),
		Epoch:   rapid.Int64Range(0, 9).Draw(t, "epoch"),
		Seq:     rapid.Int64Range(0, 9).Draw(t, "seq"),
		AtUnix:  rapid.Int64().Draw(t, "at"),
		Shapes:  drawShapes(t, 1),
	}
	s.Pods = drawSorted(t, "pods", podKey, func() model.Pod { return drawPod(t, len(s.Shapes)) })
	s.Nodes = drawSorted(t, "nodes", nodeKey, func() model.Node { return drawNode(t) })
	s.Volumes = drawSorted(t, "volumes", volumeKey, func() model.Volume { return drawVolume(t) })
	s.DaemonSets = drawSorted(t, "daemons", daemonSetKey, func() model.DaemonSet {
		return model.DaemonSet{Namespace: drawNamespace(t), Name: drawName(t), Shape: rapid.IntRange(0, len(s.Shapes)-1).Draw(t, "shape")}
	})
	s.Claims = drawSorted(t, "claims", claimKey, func() model.Object {
		return model.Object{Name: drawName(t), UID: drawUID(t), DeletedUnix: rapid.Int64().Draw(t, "deleted")}
	})
	return s
}

func drawSorted[T any](t *rapid.T, label string, keyOf func(*T) key, draw func() T) []T {
	var out []T
	for range rapid.IntRange(0, 6).Draw(t, label) {
		out = append(out, draw())
	}
	slices.SortFunc(out, func(a, b T) int { return keyOf(&a).compare(keyOf(&b)) })
	return slices.CompactFunc(out, func(a, b T) bool { return keyOf(&a) == keyOf(&b) })
}

func drawNamespace(t *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "a-b", "ab", "default", "kube-system"}).Draw(t, "namespace")
}

func drawName(t *rapid.T) string { return rapid.StringMatching(`[ab](-?[a-c0]){0,5}`).Draw(t, "name") }

func drawUID(t *rapid.T) string {
	return rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9A-F]{4}|`).Draw(t, "uid")
}

func drawPod(t *rapid.T, shapes int) model.Pod {
	return model.Pod{
		UID: drawUID(t), Namespace: drawNamespace(t), Name: drawName(t),
		Shape:         rapid.IntRange(0, shapes-1).Draw(t, "shape"),
		NodeName:      rapid.SampledFrom([]string{"", "", "ip-10-0-0-1", "ip-10-0-0-2"}).Draw(t, "node"),
		NominatedNode: rapid.SampledFrom([]string{"", "", "ip-10-0-0-3"}).Draw(t, "nominated"),
		Phase:         model.Phase(rapid.IntRange(0, 3).Draw(t, "phase")),
		Unschedulable: rapid.Bool().Draw(t, "unschedulable"),
		Ready:         rapid.Bool().Draw(t, "ready"),
		CreatedUnix:   rapid.Int64().Draw(t, "created"),
		StartedUnix:   rapid.Int64().Draw(t, "started"),
		DeletedUnix:   rapid.Int64().Draw(t, "deleted"),
		Claims:        rapid.SampledFrom([][]string{nil, {"data-0"}, {"data-0", "logs-0"}}).Draw(t, "claims"),
	}
}

func drawNode(t *rapid.T) model.Node {
	return model.Node{
		Name: drawName(t), UID: drawUID(t), ProviderID: "aws:///us-west-2a/i-0123",
		Labels:   map[string]string{model.LabelZone: "us-west-2a", model.LabelNodePool: drawName(t)},
		Taints:   []model.Taint{{Key: model.TaintUnregistered, Effect: model.NoExecute}},
		Capacity: model.Resources{model.CPU: rapid.Int64Range(0, 1<<40).Draw(t, "cpu")},
		Ready:    rapid.Bool().Draw(t, "ready"),
	}
}

func drawVolume(t *rapid.T) model.Volume {
	return model.Volume{
		Namespace: drawNamespace(t), Name: drawName(t), Phase: "Bound",
		Affinity: []model.NodeTerm{{Requirements: []model.Requirement{{Key: model.LabelZone, Operator: model.In, Values: []string{"us-west-2a"}}}}},
	}
}

func drawShapes(t *rapid.T, least int) []model.PodShape {
	var out []model.PodShape
	for range rapid.IntRange(least, 3).Draw(t, "shapes") {
		out = append(out, model.PodShape{
			Namespace: drawNamespace(t),
			Labels:    map[string]string{"app": drawName(t)},
			Requests:  model.Resources{model.CPU: rapid.Int64Range(1, 1<<40).Draw(t, "cpu"), model.Pods: 1},
			Spread:    []model.Spread{{TopologyKey: model.LabelZone, MaxSkew: 1, Selector: &model.Selector{}}},
		})
	}
	return out
}

// drawDelta makes a delta that follows s.
func drawDelta(t *rapid.T, s *model.Snapshot) *Delta {
	d := &Delta{Cluster: s.Cluster, Epoch: s.Epoch, Seq: s.Seq + 1, AtUnix: rapid.Int64().Draw(t, "at"),
		FirstShape: len(s.Shapes), Shapes: drawShapes(t, 0)}
	shapes := d.FirstShape + len(d.Shapes)
	d.Pods = drawSorted(t, "pods", podKey, func() model.Pod { return drawPod(t, shapes) })
	d.Nodes = drawSorted(t, "nodes", nodeKey, func() model.Node { return drawNode(t) })
	d.Gone.Pods = drawGone(t, s.Pods, d.Pods, podKey)
	d.Gone.Nodes = drawGone(t, s.Nodes, d.Nodes, nodeKey)
	return d
}

func drawGone[T any](t *rapid.T, have, put []T, keyOf func(*T) key) []string {
	var out []string
	for i := range have {
		k := keyOf(&have[i])
		if rapid.Bool().Draw(t, "gone") && !slices.ContainsFunc(put, func(o T) bool { return keyOf(&o) == k }) {
			out = append(out, k.String())
		}
	}
	return out
}

// workload makes a believable cluster: deployments of 40 pods on nodes of 20.
func workload(pods int) *model.Snapshot {
	random := rand.New(rand.NewPCG(1, 2))
	letters := "bcdfghjklmnpqrstvwxz2456789"
	suffix := func(n int) string {
		out := make([]byte, n)
		for i := range out {
			out[i] = letters[random.IntN(len(letters))]
		}
		return string(out)
	}
	s := &model.Snapshot{Cluster: "prod", Epoch: 3, Seq: 17, AtUnix: 1_800_000_000}
	var shapes Shapes
	var deployment string
	for i := range pods {
		if i%40 == 0 {
			deployment = fmt.Sprintf("service-%d-%s", i/40, suffix(9))
		}
		shape, _ := shapes.Intern(&model.PodShape{
			Namespace: fmt.Sprintf("team-%d", i/400), Labels: map[string]string{"app": deployment, "pod-template-hash": "7d4b9c6f8"},
			Requests:    model.Resources{model.CPU: 250, model.Memory: 512 << 20, model.Pods: 1},
			Tolerations: []model.Toleration{{Key: "node.kubernetes.io/not-ready", Operator: "Exists", Effect: model.NoExecute}},
			OwnerKind:   "ReplicaSet", OwnerName: deployment, GraceSeconds: 30,
		})
		created := int64(1_799_000_000) + random.Int64N(900_000)
		s.Pods = append(s.Pods, model.Pod{
			UID:       fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", random.Uint32(), random.IntN(1<<16), random.IntN(1<<12), random.IntN(1<<12), random.Int64N(1<<48)),
			Namespace: fmt.Sprintf("team-%d", i/400), Name: deployment + "-" + suffix(5), Shape: shape,
			NodeName: fmt.Sprintf("ip-10-%d-%d-%d.us-west-2.compute.internal", i%3, random.IntN(pods/20+1)/250, random.IntN(pods/20+1)%250),
			Phase:    model.Running, Ready: true, CreatedUnix: created, StartedUnix: created + random.Int64N(60),
		})
	}
	s.Shapes = shapes.From(0)
	slices.SortFunc(s.Pods, func(a, b model.Pod) int { return podKey(&a).compare(podKey(&b)) })
	return s
}
