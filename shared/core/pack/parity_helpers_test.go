package pack

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// asPod applies changes one after another.
func asPod(changes ...func(*model.PodShape)) func(*model.PodShape) {
	return func(s *model.PodShape) {
		for _, change := range changes {
			change(s)
		}
	}
}

// appPod labels a pod and keeps it small.
func appPod(name string) func(*model.PodShape) {
	return func(s *model.PodShape) {
		s.Requests = model.Resources{model.CPU: 500, model.Memory: 1 << 29, model.Pods: 1}
		s.Labels = map[string]string{"app": name}
	}
}

func ofApp(name string) *model.Selector {
	return &model.Selector{MatchLabels: map[string]string{"app": name}}
}

func labeled(key, value string) func(*model.PodShape) {
	return func(s *model.PodShape) { s.Labels[key] = value }
}

func selecting(key, value string) func(*model.PodShape) {
	return func(s *model.PodShape) {
		if s.NodeSelector == nil {
			s.NodeSelector = make(map[string]string)
		}
		s.NodeSelector[key] = value
	}
}

// needing adds one required node-affinity term.
func needing(requirements ...model.Requirement) func(*model.PodShape) {
	return func(s *model.PodShape) {
		s.RequiredNodeAffinity = append(s.RequiredNodeAffinity, model.NodeTerm{Requirements: requirements})
	}
}

// preferring adds one preferred node-affinity term.
func preferring(weight int32, requirements ...model.Requirement) func(*model.PodShape) {
	return func(s *model.PodShape) {
		s.PreferredNodeAffinity = append(s.PreferredNodeAffinity, model.WeightedTerm{Weight: weight, Term: model.NodeTerm{Requirements: requirements}})
	}
}

func oneOf(key string, values ...string) model.Requirement {
	return model.Requirement{Key: key, Operator: model.In, Values: values}
}

func tolerating(key string) func(*model.PodShape) {
	return func(s *model.PodShape) {
		s.Tolerations = append(s.Tolerations, model.Toleration{Key: key, Operator: "Exists"})
	}
}

// spreadBy adds a DoNotSchedule constraint over the pod's own app.
func spreadBy(key string, maxSkew int32, changes ...func(*model.Spread)) func(*model.PodShape) {
	return func(s *model.PodShape) {
		spread := model.Spread{TopologyKey: key, MaxSkew: maxSkew, Selector: ofApp(s.Labels["app"])}
		for _, change := range changes {
			change(&spread)
		}
		s.Spread = append(s.Spread, spread)
	}
}

func ifItCan(s *model.Spread) { s.Anyway = true }

func nearApp(key, app string, changes ...func(*model.PodTerm)) func(*model.PodShape) {
	return func(s *model.PodShape) { s.PodAffinity = append(s.PodAffinity, termOver(key, app, changes)) }
}

func apartFrom(key, app string, changes ...func(*model.PodTerm)) func(*model.PodShape) {
	return func(s *model.PodShape) { s.PodAntiAffinity = append(s.PodAntiAffinity, termOver(key, app, changes)) }
}

func termOver(key, app string, changes []func(*model.PodTerm)) model.PodTerm {
	term := model.PodTerm{TopologyKey: key, Selector: ofApp(app)}
	for _, change := range changes {
		change(&term)
	}
	return term
}

// inNamespace puts all pods of a shape elsewhere.
func (w *world) inNamespace(namespace string, labels map[string]string) *world {
	last := len(w.in.Snapshot.Shapes) - 1
	w.in.Snapshot.Shapes[last].Namespace = namespace
	for i := range w.in.Snapshot.Pods {
		if pod := &w.in.Snapshot.Pods[i]; pod.Shape == last {
			pod.Namespace = namespace
		}
	}
	if !slices.ContainsFunc(w.in.Snapshot.Namespaces, func(n model.Namespace) bool { return n.Name == namespace }) {
		w.in.Snapshot.Namespaces = append(w.in.Snapshot.Namespaces, model.Namespace{Name: namespace, Labels: labels})
	}
	return w
}

// zoned adds nodes named after their zones, with room for cpuMilli.
func (w *world) zoned(cpuMilli int64, zones ...string) *world {
	for _, zone := range zones {
		w.node("node-"+zone, func(n *model.Node) {
			n.Labels[model.LabelZone] = zone
			n.Allocatable[model.CPU] = cpuMilli
		})
	}
	return w
}

// withClaim gives pods of a workload a PersistentVolumeClaim each, named after the pod.
func (w *world) withClaim(workload string, change func(i int, v *model.Volume)) *world {
	n := 0
	for i := range w.in.Snapshot.Pods {
		pod := &w.in.Snapshot.Pods[i]
		if !strings.HasPrefix(pod.Name, workload) {
			continue
		}
		v := model.Volume{Namespace: pod.Namespace, Name: "data-" + pod.Name, Class: "standard", Phase: "Pending"}
		change(n, &v)
		pod.Claims = append(pod.Claims, v.Name)
		w.in.Snapshot.Volumes = append(w.in.Snapshot.Volumes, v)
		n++
	}
	return w
}

// boundIn makes a claim one that is bound to a volume of a zone.
func boundIn(zone string, v *model.Volume) {
	v.Phase, v.VolumeName, v.Driver = "Bound", "pv-"+v.Name, "ebs.csi.aws.com"
	v.Affinity = []model.NodeTerm{{Requirements: []model.Requirement{oneOf("topology.ebs.csi.aws.com/zone", zone)}}}
}

func (w *world) storage(name string, change func(*model.Storage)) *world {
	s := model.Storage{Name: name, Provisioner: "ebs.csi.aws.com"}
	if change != nil {
		change(&s)
	}
	w.in.Snapshot.Storage = append(w.in.Snapshot.Storage, s)
	return w
}

// sound plans and fails where the plan breaks a rule.
func (w *world) sound(t *testing.T) model.Plan {
	t.Helper()
	plan := w.plan()
	for _, problem := range problems(w.in, plan) {
		t.Error(problem)
	}
	return plan
}

// complete plans and fails where the plan breaks a rule or leaves a pod out.
func (w *world) complete(t *testing.T) model.Plan {
	t.Helper()
	plan := w.sound(t)
	for _, u := range plan.Unschedulable {
		t.Errorf("pod %s is left out: %+v", u.Pod.Key(), u.Reasons)
	}
	return plan
}

// domainOf returns, by pod name, the value of a label of the node it will be on, several joined by "|".
func (w *world) domainOf(plan model.Plan, key string) map[string]string {
	c := checker{in: w.in, shapeOf: make(map[string]*model.PodShape), moving: make(map[int]bool)}
	for _, i := range w.in.Pending {
		c.moving[i] = true
	}
	out := make(map[string]string)
	for _, h := range c.hosts(plan, key) {
		value, _ := h.domain(key)
		for _, r := range h.pods {
			out[r.pod.Name] = value
		}
	}
	return out
}

// perDomain counts a workload's pods by the value of a label.
func (w *world) perDomain(plan model.Plan, key, workload string) map[string]int {
	out := make(map[string]int)
	for pod, value := range w.domainOf(plan, key) {
		if strings.HasPrefix(pod, workload+"-") {
			out[value]++
		}
	}
	return out
}

// countsOf returns the numbers of a count by domain, ascending, as text.
func countsOf(perDomain map[string]int) string {
	var out []int
	for _, n := range perDomain {
		out = append(out, n)
	}
	slices.Sort(out)
	return strings.Trim(fmt.Sprint(out), "[]")
}

// claimOf returns the planned claim that holds the pod, nil where none does.
func claimOf(plan model.Plan, pod string) *model.PlannedClaim {
	for i := range plan.Claims {
		if slices.ContainsFunc(plan.Claims[i].Pods, func(ref model.PodRef) bool { return ref.Name == pod }) {
			return &plan.Claims[i]
		}
	}
	return nil
}

// nodeOf returns what the pod is nominated to, "" where it is not.
func nodeOf(plan model.Plan, pod string) string {
	for _, n := range plan.Nominations {
		if slices.ContainsFunc(n.Pods, func(ref model.PodRef) bool { return ref.Name == pod }) {
			return n.Node
		}
	}
	return ""
}

// refusedWith fails unless the pod is left out and every reason has the code.
func refusedWith(t *testing.T, plan model.Plan, pod, code string) {
	t.Helper()
	got := codes(plan, pod)
	if len(got) == 0 {
		t.Errorf("%s is placed, want it refused with %s", pod, code)
	}
	for _, c := range got {
		if c != code {
			t.Errorf("%s is refused with %v, want %s", pod, got, code)
		}
	}
}

// typesOf returns the instance types of a claim.
func (w *world) typesOf(claim *model.PlannedClaim) []*model.InstanceType {
	var out []*model.InstanceType
	for _, name := range claim.InstanceTypes {
		out = append(out, typeNamed(w.in.Catalogs[claim.Class], name))
	}
	return out
}

// carriedOut returns the world after the plan: claims have become initialized nodes at their cheapest offering, with
// their daemons, and every planned pod is bound.
func (w *world) carriedOut(plan model.Plan) *world {
	s := *w.in.Snapshot
	out := &world{w.in}
	out.in.Snapshot = &s
	s.Pods, s.Nodes = slices.Clone(s.Pods), slices.Clone(s.Nodes)
	bind := func(node string, pods []model.PodRef) {
		for i := range s.Pods {
			if slices.ContainsFunc(pods, func(ref model.PodRef) bool { return ref.UID == s.Pods[i].UID }) {
				s.Pods[i].NodeName, s.Pods[i].Phase, s.Pods[i].Unschedulable = node, model.Running, false
			}
		}
	}
	for i := range plan.Claims {
		claim := &plan.Claims[i]
		t := typeNamed(w.in.Catalogs[claim.Class], claim.Offering.InstanceType)
		k := slices.IndexFunc(t.Offerings, func(o model.Offering) bool {
			return o.Zone == claim.Offering.Zone && o.CapacityType == claim.Offering.CapacityType
		})
		node := model.Node{Name: claim.Name, UID: "uid-" + claim.Name, Ready: true, Labels: nodeLabels(claim.Name, claim.Labels, t, t.Offerings[k]),
			Taints: claim.Taints, Allocatable: t.Allocatable(), Capacity: t.Capacity}
		node.Labels[model.LabelNodePool] = claim.Pool
		s.Nodes = append(s.Nodes, node)
		for _, d := range s.DaemonSets {
			shape := s.Shapes[d.Shape]
			if !selects(&shape, node.Labels) || !toleratesAll(&shape, node.Taints) {
				continue
			}
			shape.OwnerKind, shape.OwnerName, shape.Namespace = "DaemonSet", d.Name, d.Namespace
			s.Shapes = append(slices.Clone(s.Shapes), shape)
			name := d.Name + "-on-" + claim.Name
			s.Pods = append(s.Pods, model.Pod{Namespace: d.Namespace, Name: name, UID: "uid-" + name, NodeName: claim.Name, Phase: model.Running, Shape: len(s.Shapes) - 1})
		}
		bind(claim.Name, claim.Pods)
	}
	for _, n := range plan.Nominations {
		bind(n.Node, n.Pods)
	}
	return out
}
