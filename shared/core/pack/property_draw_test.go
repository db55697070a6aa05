package pack

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/joiner-sh/joiner/shared/model"
)

// oneIn draws true once in n times, and false where rapid simplifies.
func oneIn(t *rapid.T, n int, what string) bool {
	return rapid.IntRange(1, n).Draw(t, what) == n && n > 0
}

func pick[T any](t *rapid.T, what string, from ...T) T { return rapid.SampledFrom(from).Draw(t, what) }

// drawRules draws a world and lays rules between pods over it, all in small name spaces so that they meet.
func drawRules(t *rapid.T) *world {
	w := drawWorld(t)
	s := w.in.Snapshot
	s.Namespaces = []model.Namespace{{Name: "default", Labels: map[string]string{"team": "x"}}, {Name: "other", Labels: map[string]string{"team": "y"}},
		{Name: "kube-system"}}
	for i := range s.Pools {
		switch pick(t, "racks", 0, 0, 1, 2) {
		case 1:
			s.Pools[i].Template.Requirements = append(s.Pools[i].Template.Requirements, oneOf("rack", "1", "2"))
		case 2:
			if s.Pools[i].Template.Labels == nil {
				s.Pools[i].Template.Labels = make(map[string]string)
			}
			s.Pools[i].Template.Labels["rack"] = "3"
		}
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		n.Labels[model.LabelCapacityType] = pick(t, "node capacity type", model.Spot, model.OnDemand)
		if oneIn(t, 4, "no zone") {
			delete(n.Labels, model.LabelZone)
		}
		if rapid.Bool().Draw(t, "node has a rack") {
			n.Labels["rack"] = pick(t, "node rack", "1", "4")
		}
		if oneIn(t, 6, "node leaves") {
			n.Taints = append(n.Taints, model.Taint{Key: model.TaintDisrupted, Effect: model.NoSchedule})
		}
		if oneIn(t, 3, "CSI limit") {
			s.CSINodes = append(s.CSINodes, model.CSINode{Node: n.Name, Limits: map[string]int64{"ebs.csi.aws.com": rapid.Int64Range(0, 3).Draw(t, "limit of volumes")}})
		}
	}
	daemons := make(map[int]bool)
	for _, d := range s.DaemonSets {
		daemons[d.Shape] = true
	}
	for i := range s.Shapes {
		drawShapeRules(t, &s.Shapes[i], daemons[i])
	}
	for i := range s.Pods {
		s.Pods[i].Namespace = s.Shapes[s.Pods[i].Shape].Namespace
	}
	w.drawVolumes(t)
	w.drawMoving(t)
	w.in.IgnorePreferences = oneIn(t, 8, "ignore preferences")
	w.in.BestEffortMinValues = oneIn(t, 3, "best effort")
	return w
}

func drawShapeRules(t *rapid.T, s *model.PodShape, daemon bool) {
	s.Labels = map[string]string{"app": pick(t, "app", "a", "b", "c")}
	if rapid.Bool().Draw(t, "revised") {
		s.Labels["rev"] = pick(t, "rev", "1", "2")
	}
	if oneIn(t, 6, "port") {
		s.HostPorts = append(s.HostPorts, model.HostPort{Port: pick(t, "port number", int32(80), 81), Protocol: pick(t, "protocol", "TCP", "UDP", ""), IP: pick(t, "address", "", "0.0.0.0", "10.0.0.1", "10.0.0.2")})
	}
	if daemon {
		s.Namespace = "kube-system"
		return
	}
	if oneIn(t, 4, "other namespace") {
		s.Namespace = "other"
	}
	s.Priority = pick(t, "priority", int32(0), 0, 10)
	for range pick(t, "spreads", 0, 0, 0, 1, 1, 2) {
		s.Spread = append(s.Spread, drawSpread(t, s))
	}
	if oneIn(t, 4, "affinity") {
		s.PodAffinity = append(s.PodAffinity, drawTerm(t, s))
	}
	if oneIn(t, 4, "anti-affinity") {
		s.PodAntiAffinity = append(s.PodAntiAffinity, drawTerm(t, s))
	}
	if oneIn(t, 5, "preferred affinity") {
		s.PreferredPodAffinity = append(s.PreferredPodAffinity, model.WeightedPodTerm{Weight: rapid.Int32Range(1, 100).Draw(t, "weight"), Term: drawTerm(t, s)})
	}
	if oneIn(t, 5, "preferred anti-affinity") {
		s.PreferredPodAntiAffinity = append(s.PreferredPodAntiAffinity, model.WeightedPodTerm{Weight: rapid.Int32Range(1, 100).Draw(t, "weight"), Term: drawTerm(t, s)})
	}
	if oneIn(t, 4, "preferred node affinity") {
		s.PreferredNodeAffinity = append(s.PreferredNodeAffinity, model.WeightedTerm{Weight: rapid.Int32Range(1, 100).Draw(t, "weight"), Term: model.NodeTerm{Requirements: []model.Requirement{drawRequirement(t)}}})
	}
}

func drawTopologyKey(t *rapid.T) string {
	return pick(t, "key", model.LabelZone, model.LabelHostname, model.LabelZone, model.LabelHostname, model.LabelCapacityType, "rack")
}

func drawSpread(t *rapid.T, s *model.PodShape) model.Spread {
	out := model.Spread{TopologyKey: drawTopologyKey(t), MaxSkew: rapid.Int32Range(1, 3).Draw(t, "maxSkew"), Anyway: oneIn(t, 4, "anyway"), Selector: drawSelector(t, s)}
	out.MinDomains = pick(t, "minDomains", int32(0), 0, 0, 2, 4)
	out.IgnoreNodeAffinity, out.HonorNodeTaints = oneIn(t, 4, "ignore affinity"), oneIn(t, 4, "honour taints")
	if oneIn(t, 4, "match keys") {
		out.MatchLabelKeys = []string{"rev"}
	}
	return out
}

// drawSelector draws one that mostly matches the pod itself.
func drawSelector(t *rapid.T, s *model.PodShape) *model.Selector {
	switch pick(t, "selector", 0, 0, 0, 0, 1, 2, 3, 4, 5) {
	case 1:
		return ofApp(pick(t, "other app", "a", "b", "c"))
	case 2:
		return exprSelector(model.NotIn, "app", pick(t, "not app", "a", "b"))
	case 3:
		return exprSelector(model.Exists, "rev")
	case 4:
		return &model.Selector{}
	case 5:
		return nil
	}
	return ofApp(s.Labels["app"])
}

func drawTerm(t *rapid.T, s *model.PodShape) model.PodTerm {
	term := model.PodTerm{TopologyKey: drawTopologyKey(t), Selector: drawSelector(t, s)}
	switch pick(t, "namespaces", 0, 0, 0, 1, 2, 3) {
	case 1:
		term.Namespaces = []string{pick(t, "listed", "default", "other")}
	case 2:
		term.NamespaceSelector = &model.Selector{}
	case 3:
		term.NamespaceSelector = &model.Selector{MatchLabels: map[string]string{"team": pick(t, "team of namespaces", "x", "y")}}
	}
	if term.Selector != nil && oneIn(t, 5, "match keys") {
		term.MatchLabelKeys = []string{"rev"}
	} else if term.Selector != nil && oneIn(t, 5, "mismatch keys") {
		term.MismatchLabelKeys = []string{"rev"}
	}
	return term
}

// drawVolumes gives some pods claims: bound in a zone, to a node, unbound, of every kind of class, shared, broken.
func (w *world) drawVolumes(t *rapid.T) {
	s := w.in.Snapshot
	w.storage("standard", nil).storage("zonal", zonesAllowed("a", "b")).storage("now", func(c *model.Storage) { c.Immediate = true })
	s.Storage[0].Default = rapid.Bool().Draw(t, "default class")
	for i := range s.Shapes {
		if oneIn(t, 8, "ephemeral") {
			s.Shapes[i].Ephemeral = []model.EphemeralClaim{{Volume: "tmp", Class: pick(t, "ephemeral class", "standard", "zonal", "", "none")}}
		}
	}
	kind := make(map[int]int)
	for i := range s.Shapes {
		kind[i] = pick(t, "volumes", 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7)
	}
	for i := range s.Pods {
		pod := &s.Pods[i]
		if len(s.Shapes[pod.Shape].Ephemeral) > 0 {
			pod.Claims = append(pod.Claims, pod.Name+"-tmp")
		}
		v := model.Volume{Namespace: pod.Namespace, Name: "data-" + pod.Name, Phase: "Pending", Class: "standard"}
		switch kind[pod.Shape] {
		case 0:
			continue
		case 1, 2:
			boundIn(testZones[i%3], &v)
		case 3:
			v.Class = "zonal"
		case 4:
			v.Name = "shared"
			v.OncePod = len(pod.Name)%2 == 0
			boundIn("a", &v)
		case 5:
			v.Class = "now"
		case 6:
			if len(s.Nodes) == 0 {
				continue // a local volume of a node that is gone: see TestF073
			}
			v.Phase, v.VolumeName, v.Local, v.Driver = "Bound", "pv-"+v.Name, true, "local"
			v.Affinity = []model.NodeTerm{{Requirements: []model.Requirement{oneOf(model.LabelHostname, "node0")}}}
		}
		pod.Claims = append(pod.Claims, v.Name)
		if !slices.ContainsFunc(s.Volumes, func(x model.Volume) bool { return x.Namespace == v.Namespace && x.Name == v.Name }) {
			s.Volumes = append(s.Volumes, v)
		}
	}
}

// drawMoving sometimes lists the pods to place, with some that run.
func (w *world) drawMoving(t *rapid.T) {
	if !oneIn(t, 4, "moving") {
		return
	}
	for i := range w.in.Snapshot.Pods {
		if ok, _ := Provisionable(w.in.Snapshot, i); ok || w.in.Snapshot.Pods[i].NodeName != "" && rapid.Bool().Draw(t, "moves") {
			w.in.Pending = append(w.in.Pending, i)
		}
	}
}

// describe writes down a world and what was planned for it, for failures.
func (w *world) describe(plan model.Plan) string {
	var out strings.Builder
	write := func(what string, value any) {
		text, err := json.Marshal(value)
		if err != nil {
			text = []byte(err.Error())
		}
		fmt.Fprintf(&out, "\n%s: %s", what, text)
	}
	for i, s := range w.in.Snapshot.Shapes {
		write(fmt.Sprintf("shape %d", i), s)
	}
	for _, p := range w.in.Snapshot.Pools {
		write("pool "+p.Name, p)
	}
	for _, n := range w.in.Snapshot.Nodes {
		write("node "+n.Name, []any{n.Labels, n.Taints, n.Allocatable})
	}
	for _, p := range w.in.Snapshot.Pods {
		write("pod "+p.Key(), []any{p.Shape, p.NodeName, p.Claims})
	}
	for _, d := range w.in.Snapshot.DaemonSets {
		write("daemon "+d.Name, d.Shape)
	}
	write("pending", w.in.Pending)
	for _, n := range plan.Nominations {
		write("to node "+n.Node, n.Pods)
	}
	for _, c := range plan.Claims {
		write("claim "+c.Name, []any{c.InstanceTypes, c.Zones, c.CapacityTypes, c.Labels, c.Pods})
	}
	write("refused", plan.Unschedulable)
	return out.String()
}
