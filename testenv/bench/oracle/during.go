package oracle

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/bench/oracle/problem"
	"github.com/joiner-sh/joiner/testenv/bench/oracle/scheduler"
)

// The checks of the states on the way; the package's documentation says what each means.
const (
	During Check = "During"
	Skewed Check = "Skewed"
)

// way is all commands of a plan being carried out together: their nodes are tainted and still there, with the pods that have not left.
type way struct {
	before  *problem.Problem
	world   *world       // the cluster during it: pods that move wait in it, bound ones stay
	moved   []assignment // pods that move, as they are bound before, with where each is to go
	leaving map[string]bool
}

// newWay returns nil where the plan cannot be read: other checks say so.
func newWay(p *problem.Problem, plan *model.DisruptPlan) *way {
	w := &way{before: p, leaving: map[string]bool{}}
	all := model.Plan{}
	for i := range plan.Commands {
		c := &plan.Commands[i]
		for _, name := range c.Nodes {
			w.leaving[name] = true
		}
		all.Claims, all.Nominations = append(all.Claims, c.Replacements...), append(all.Nominations, c.Moves...)
	}
	bound := make(map[string]*corev1.Pod)
	during := *p
	during.Nodes = slices.Clone(p.Nodes)
	for i, node := range during.Nodes {
		if w.leaving[node.Name] {
			node = node.DeepCopy()
			node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: model.TaintDisrupted, Effect: corev1.TaintEffectNoSchedule})
			during.Nodes[i] = node
		}
	}
	during.Pods = nil
	for _, pod := range p.Pods {
		if w.leaving[pod.Spec.NodeName] && !problem.Daemon(pod) && pod.DeletionTimestamp == nil {
			bound[pod.Namespace+"/"+pod.Name] = pod
			pod = pod.DeepCopy()
			pod.Spec.NodeName, pod.Status.Phase = "", corev1.PodPending
		}
		during.Pods = append(during.Pods, pod)
	}
	var err error
	if w.world, err = newWorld(&during, &all); err != nil {
		return nil
	}
	for _, a := range w.world.planned {
		if bound[a.key()] == nil {
			return nil
		}
		w.moved = append(w.moved, assignment{bound[a.key()], a.node})
	}
	return w
}

// evaluate looks at the states of a plan being carried out, in so many orders of eviction, and at the last of them.
func (w *way) evaluate(orders int) ([]Finding, error) {
	for order := range orders {
		if found, err := w.drain(uint64(order)); err != nil || len(found) > 0 {
			return found, err
		}
	}
	return w.skewed(), nil
}

// drain evicts the pods in one order, the last of the orders all at once. After each eviction every pod that waits is offered its
// node. One that a spread constraint keeps off it, and every other node that stays off too, is a finding: provisioning would buy a
// node for it.
func (w *way) drain(order uint64) ([]Finding, error) {
	c, err := w.world.cluster()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for _, a := range w.moved {
		if err := c.Bind(a.pod, a.pod.Spec.NodeName); err != nil {
			return nil, err
		}
	}
	queue := shuffled(w.moved, order)
	step := 1 + int(order)%3
	if order%4 == 3 {
		step = max(1, len(queue))
	}
	to := make(map[string]assignment)
	for _, a := range w.world.planned {
		to[a.key()] = a
	}
	var waiting []assignment
	for len(queue) > 0 {
		n := min(step, len(queue))
		for _, a := range queue[:n] {
			if err := c.Unbind(a.pod); err != nil {
				return nil, err
			}
			waiting = append(waiting, to[a.key()])
		}
		queue = queue[n:]
		var why []scheduler.Refusal
		if waiting, why, err = bind(c, waiting); err != nil {
			return nil, err
		}
		var found []Finding
		for i, a := range waiting {
			if why[i].Plugin != names.PodTopologySpread {
				continue
			}
			elsewhere, err := w.fitsElsewhere(c, a)
			if err != nil {
				return nil, err
			}
			if !elsewhere {
				found = append(found, Finding{Check: During, Kind: why[i].Plugin, Pod: a.key(), Node: a.node,
					Message: fmt.Sprintf("order %d, with %d pods yet to leave: %s, and no other node takes it", order, len(queue), why[i].Message)})
			}
		}
		if len(found) > 0 {
			return found, nil
		}
	}
	return nil, nil
}

func (w *way) fitsElsewhere(c *scheduler.Cluster, a assignment) (bool, error) {
	for _, node := range w.world.nodes() {
		if w.leaving[node] {
			continue
		}
		refused, err := c.Fits(a.pod, node)
		if err != nil || !refused.Refused() {
			return err == nil, err
		}
	}
	return false, nil
}

// skewed returns a finding for each pod that ends where a DoNotSchedule constraint of its own has more of its pods than upstream would
// let it add: the nodes that go count as domains, and no host has fewer than none. It shares no code with the planner.
func (w *way) skewed() []Finding {
	at := make(map[string]string)
	for _, a := range w.world.planned {
		at[a.key()] = a.node
	}
	nodes := make(map[string]*corev1.Node)
	for _, node := range w.before.Nodes { // as they were, without the taint
		nodes[node.Name] = node
	}
	for i := range w.world.plan.Claims {
		made := nodeOf(&w.world.plan.Claims[i], w.world.instances[i])[0].(*corev1.Node)
		nodes[made.Name] = made
	}
	var out []Finding
	for _, a := range w.moved {
		for n := range a.pod.Spec.TopologySpreadConstraints {
			s := &a.pod.Spec.TopologySpreadConstraints[n]
			if s.WhenUnsatisfiable != corev1.DoNotSchedule {
				continue
			}
			selector := selectorOf(s, a.pod)
			if selector.Empty() { // the scheduler counts no pod by it
				continue
			}
			counts := make(map[string]int32)
			for _, node := range nodes { // into a map
				if counted(node, a.pod, s) {
					counts[node.Labels[s.TopologyKey]] += 0
				}
			}
			own := int32(0)
			for _, pod := range w.before.Pods {
				key := pod.Namespace + "/" + pod.Name
				where := pod.Spec.NodeName
				if to, moves := at[key]; moves {
					where = to
				}
				node := nodes[where]
				if node == nil || pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed ||
					pod.Namespace != a.pod.Namespace || !selector.Matches(labels.Set(pod.Labels)) || !counted(node, a.pod, s) {
					continue
				}
				counts[node.Labels[s.TopologyKey]]++
				if key == a.key() {
					own = 1
				}
			}
			low := int32(0)
			if len(counts) > 0 && s.TopologyKey != corev1.LabelHostname && (s.MinDomains == nil || len(counts) >= int(*s.MinDomains)) {
				low = slices.Min(slices.Collect(maps.Values(counts)))
			}
			domain := nodes[a.node].Labels[s.TopologyKey]
			if have := counts[domain]; own > 0 && have-low > s.MaxSkew {
				out = append(out, Finding{Check: Skewed, Kind: s.TopologyKey, Pod: a.key(), Node: a.node,
					Message: fmt.Sprintf("%d of its pods would be in %q, the emptiest of %d domains has %d, and maxSkew is %d", have, domain, len(counts), low, s.MaxSkew)})
			}
		}
	}
	return out
}

// selectorOf returns the pods that the constraint counts.
func selectorOf(s *corev1.TopologySpreadConstraint, pod *corev1.Pod) labels.Selector {
	if s.LabelSelector == nil {
		return labels.Nothing()
	}
	full := s.LabelSelector.DeepCopy()
	for _, key := range s.MatchLabelKeys {
		if value, has := pod.Labels[key]; has {
			full.MatchExpressions = append(full.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value}})
		}
	}
	out, err := metav1.LabelSelectorAsSelector(full)
	if err != nil {
		return labels.Nothing()
	}
	return out
}

// counted reports whether the constraint looks at the node.
func counted(node *corev1.Node, pod *corev1.Pod, s *corev1.TopologySpreadConstraint) bool {
	for i := range pod.Spec.TopologySpreadConstraints { // of all hard ones
		other := &pod.Spec.TopologySpreadConstraints[i]
		if _, has := node.Labels[other.TopologyKey]; !has && other.WhenUnsatisfiable == corev1.DoNotSchedule {
			return false
		}
	}
	if s.NodeAffinityPolicy == nil || *s.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor {
		if match, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); err != nil || !match {
			return false
		}
	}
	if s.NodeTaintsPolicy != nil && *s.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor {
		for i := range node.Spec.Taints {
			t := &node.Spec.Taints[i]
			if t.Effect == corev1.TaintEffectPreferNoSchedule {
				continue
			}
			if !slices.ContainsFunc(pod.Spec.Tolerations, func(o corev1.Toleration) bool { return tolerates(o, t) }) {
				return false
			}
		}
	}
	return true
}

func tolerates(o corev1.Toleration, t *corev1.Taint) bool {
	return (o.Key == "" || o.Key == t.Key) && (o.Effect == "" || o.Effect == t.Effect) &&
		(o.Operator == corev1.TolerationOpExists || o.Key != "" && (o.Operator == "" || o.Operator == corev1.TolerationOpEqual) && o.Value == t.Value)
}

// SpreadOut returns the cluster of a seed whose pods are spread, of which nodes may be given back.
func SpreadOut(seed uint64) (*problem.Problem, error) {
	r := rand.New(rand.NewPCG(seed, 6))
	features := []problem.Feature{problem.Spread}
	for _, f := range []problem.Feature{problem.Selectors, problem.Taints, problem.AntiAffinity, problem.States} {
		if r.IntN(3) == 0 {
			features = append(features, f)
		}
	}
	return settle(problem.NewWith(seed, problem.Settled, features))
}
