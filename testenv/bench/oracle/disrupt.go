package oracle

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/bench/converge"
	"github.com/joiner-sh/joiner/testenv/bench/oracle/problem"
	"github.com/joiner-sh/joiner/testenv/bench/oracle/scheduler"
)

// The checks of plans about giving nodes back; the package's documentation says what each means.
const (
	Moved    Check = "Moved"
	Kept     Check = "Kept"
	Stranded Check = "Stranded"
	Doubted  Check = "Doubted"
)

// Settled returns the cluster of a seed, of which nodes may be given back: the scheduler has placed the pods that waited, as
// far as it could, and the others are gone.
func Settled(seed uint64) (*problem.Problem, error) {
	return settle(problem.New(seed, problem.Settled))
}

func settle(p *problem.Problem) (*problem.Problem, error) {
	c, err := scheduler.New(p.Cluster()...)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := addDaemons(c, p, p.Nodes); err != nil {
		return nil, err
	}
	nodes := staying(p)
	var running []*corev1.Pod
	for _, pod := range p.Pods {
		if pod.Spec.NodeName == "" {
			if !p.Stored(pod) {
				continue
			}
			node, err := c.Choose(pod, nodes)
			if err != nil {
				return nil, err
			}
			if node == "" {
				continue
			}
			pod = pod.DeepCopy()
			pod.Spec.NodeName = node
		}
		start := metav1.Unix(problem.Now-1800, 0)
		if pod.Status.Phase == corev1.PodPending {
			pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &start, Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
		}
		running = append(running, pod)
	}
	p.Pods = running
	p.Settle()
	return p, nil
}

// DisruptVerdict is what came of one cluster.
type DisruptVerdict struct {
	Findings []Finding
	Nodes    int // of pools
	Commands int
	Removed  int // nodes given back
	Added    int
	Moved    int // pods
	Doubted  int // commands that hold only once others of their plan are carried out
	Reasons  map[string]int
}

// EvaluateDisrupt plans what to give back of the cluster of a seed and evaluates the plan.
func EvaluateDisrupt(seed uint64, depth Depth) (DisruptVerdict, error) {
	p, err := Settled(seed)
	if err != nil {
		return DisruptVerdict{}, fmt.Errorf("seed %d: settle: %w", seed, err)
	}
	return evaluateDisrupt(p, depth)
}

// EvaluateSpread is EvaluateDisrupt of a cluster whose pods are spread.
func EvaluateSpread(seed uint64, depth Depth) (DisruptVerdict, error) {
	p, err := SpreadOut(seed)
	if err != nil {
		return DisruptVerdict{}, fmt.Errorf("seed %d: settle: %w", seed, err)
	}
	return evaluateDisrupt(p, depth)
}

func evaluateDisrupt(p *problem.Problem, depth Depth) (DisruptVerdict, error) {
	seed, in := p.Seed, p.Running()
	plan := disruption.Plan(in)
	v, err := EvaluateDisruptPlan(p, &plan, depth)
	n, found := doubted(in, &plan)
	v.Doubted = n
	for _, f := range found {
		f.Seed = seed
		v.Findings = append(v.Findings, f)
	}
	return v, err
}

// doubted counts the commands that do not hold once all are committed and nothing else has happened. Some wait for others:
// what is moved by one command keeps a pod of another away until it has moved. Where none holds nothing would ever be given
// back: then it returns a finding for each.
func doubted(in disruption.Input, plan *model.DisruptPlan) (int, []Finding) {
	var out []Finding
	later, commands := converge.Committed(in, plan)
	n := 0
	for i := range commands {
		why := disruption.Revalidate(later, &commands[i])
		if len(why) == 0 {
			continue
		}
		n++
		out = append(out, Finding{Check: Doubted, Kind: why[0].Code, Node: commands[i].Targets[0].Node, Message: fmt.Sprintf("command %d (%s): %s", i, commands[i].Reason, why[0].Message)})
	}
	if n < len(commands) {
		return n, nil
	}
	return n, out
}

// EvaluateDisruptPlan evaluates a plan about giving nodes back, whoever made it: command by command, each on the cluster that those
// before it have led to.
func EvaluateDisruptPlan(p *problem.Problem, plan *model.DisruptPlan, depth Depth) (DisruptVerdict, error) {
	v := DisruptVerdict{Reasons: map[string]int{}}
	if w := newWay(p, plan); w != nil {
		found, err := w.evaluate(depth.Orders)
		if err != nil {
			return v, fmt.Errorf("seed %d: on the way: %w", p.Seed, err)
		}
		v.Findings = append(v.Findings, found...)
	}
	for _, node := range p.Nodes {
		if node.Labels[model.LabelNodePool] != "" {
			v.Nodes++
		}
	}
	for i := range plan.Commands {
		c := &plan.Commands[i]
		v.Commands++
		v.Reasons[c.Reason]++
		v.Removed, v.Added = v.Removed+len(c.Nodes), v.Added+len(c.Replacements)
		v.Findings = append(v.Findings, blocked(p, c)...)
		next, found, err := carryOut(p, c, depth)
		if err != nil {
			return v, fmt.Errorf("seed %d: command %d: %w", p.Seed, i, err)
		}
		v.Moved += next.moved
		for j := range found {
			found[j].Message = fmt.Sprintf("command %d (%s): %s", i, c.Reason, found[j].Message)
		}
		v.Findings = append(v.Findings, found...)
		if next.problem == nil {
			break
		}
		p = next.problem
	}
	for i := range v.Findings {
		v.Findings[i].Seed = p.Seed
	}
	return v, nil
}

// carried is a cluster after a command.
type carried struct {
	problem *problem.Problem // nil where it cannot be told
	moved   int
}

// static reports whether a command is about nodes of a NodePool with replicas: nodes are replaced one by one whatever runs on them, and
// kube-scheduler places their pods.
func static(p *problem.Problem, c *model.PlannedCommand) bool {
	return slices.ContainsFunc(p.Nodes, func(n *corev1.Node) bool {
		return slices.Contains(c.Nodes, n.Name) && slices.ContainsFunc(p.Pools, func(pool *apiv1.NodePool) bool {
			return pool.Name == n.Labels[model.LabelNodePool] && pool.Spec.Replicas != nil
		})
	})
}

// carryOut takes the command's nodes away, adds its replacements, and lets the displaced pods arrive: in random orders, each
// is offered its planned node first.
func carryOut(p *problem.Problem, c *model.PlannedCommand, depth Depth) (carried, []Finding, error) {
	during, displaced := taken(p, c)
	if static(p, c) {
		return carried{moved: displaced}, nil, nil
	}
	plan := model.Plan{Claims: c.Replacements, Nominations: c.Moves}
	for _, m := range c.Moves {
		if !slices.ContainsFunc(during.Nodes, func(n *corev1.Node) bool { return n.Name == m.Node }) {
			return carried{moved: displaced}, []Finding{{Check: Moved, Kind: "node", Pod: m.Pods[0].Key(), Node: m.Node, Message: "it is to go to a node that is not there"}}, nil
		}
	}
	if found := whole(during, &plan); len(found) > 0 {
		for i := range found {
			found[i].Check = Moved
		}
		return carried{moved: displaced}, found, nil
	}
	w, err := newWorld(during, &plan)
	if err != nil {
		return carried{moved: displaced}, []Finding{{Check: Moved, Kind: "plan", Message: err.Error()}}, nil
	}
	var v Verdict
	if err := w.holds(&v, depth); err != nil {
		return carried{}, nil, err
	}
	for i := range v.Findings {
		v.Findings[i].Check = Moved
	}
	if len(v.Findings) > 0 {
		stranded, err := w.stranded()
		if err != nil {
			return carried{}, nil, err
		}
		v.Findings = append(v.Findings, stranded...)
	}
	after, err := w.after()
	return carried{after, displaced}, v.Findings, err
}

// taken returns the cluster without the command's nodes, in which the pods that are made anew elsewhere wait; and how many.
func taken(p *problem.Problem, c *model.PlannedCommand) (*problem.Problem, int) {
	out := *p
	out.Nodes = slices.DeleteFunc(slices.Clone(p.Nodes), func(n *corev1.Node) bool { return slices.Contains(c.Nodes, n.Name) })
	out.CSINodes = slices.DeleteFunc(slices.Clone(p.CSINodes), func(n *storagev1.CSINode) bool { return slices.Contains(c.Nodes, n.Name) })
	out.Pods = nil
	displaced := 0
	for _, pod := range p.Pods {
		if !slices.Contains(c.Nodes, pod.Spec.NodeName) {
			out.Pods = append(out.Pods, pod)
			continue
		}
		if problem.Daemon(pod) || pod.DeletionTimestamp != nil {
			continue // it ends with the node, or has been made anew already
		}
		displaced++
		again := pod.DeepCopy()
		again.Spec.NodeName = ""
		again.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}}
		out.Pods = append(out.Pods, again)
	}
	return &out, displaced
}

// stranded returns a finding for each pod that finds no node at all, in one order, where the planned ones refuse some.
func (w *world) stranded() ([]Finding, error) {
	c, err := w.cluster()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	left, why, err := bind(c, shuffled(w.planned, 0))
	if err != nil || len(left) == 0 {
		return nil, err
	}
	var out []Finding
	for i, a := range left {
		node, err := c.Choose(a.pod, w.nodes())
		if err != nil {
			return nil, err
		}
		if node == "" {
			out = append(out, Finding{Check: Stranded, Kind: why[i].Plugin, Pod: a.key(), Node: a.node, Message: why[i].Message})
		}
	}
	return out, nil
}

// after returns the cluster in which everything is where it was planned.
func (w *world) after() (*problem.Problem, error) {
	out := *w.problem
	out.Nodes, out.CSINodes = slices.Clone(out.Nodes), slices.Clone(out.CSINodes)
	for i := range w.plan.Claims {
		made := nodeOf(&w.plan.Claims[i], w.instances[i])
		out.Nodes = append(out.Nodes, made[0].(*corev1.Node))
		out.CSINodes = append(out.CSINodes, made[1].(*storagev1.CSINode))
	}
	to := make(map[string]string)
	for _, a := range w.planned {
		to[a.key()] = a.node
	}
	out.Pods = nil
	for _, pod := range w.problem.Pods {
		if node := to[pod.Namespace+"/"+pod.Name]; node != "" {
			pod = pod.DeepCopy()
			pod.Spec.NodeName, pod.Status.Phase = node, corev1.PodRunning
		}
		out.Pods = append(out.Pods, pod)
	}
	return &out, nil
}

// blocked returns a finding for each node of the command that something keeps: its annotation, or a pod that may not be
// evicted. No pool of these clusters waives that.
func blocked(p *problem.Problem, c *model.PlannedCommand) []Finding {
	var out []Finding
	bad := func(kind, pod, node, message string) {
		out = append(out, Finding{Check: Kept, Kind: kind, Pod: pod, Node: node, Message: message})
	}
	for _, node := range p.Nodes {
		if !slices.Contains(c.Nodes, node.Name) {
			continue
		}
		if node.Labels[model.LabelNodePool] == "" || node.DeletionTimestamp != nil || node.Annotations[model.AnnotationNotDisrupt] == "true" {
			bad("node", "", node.Name, "it is not to be given back")
		}
		for _, pod := range p.Pods {
			if pod.Spec.NodeName != node.Name || pod.DeletionTimestamp != nil {
				continue
			}
			if pod.Annotations[model.AnnotationNotDisrupt] == "true" {
				bad("annotation", pod.Namespace+"/"+pod.Name, node.Name, "it is not to be disrupted")
			}
			if tolerated(pod) || problem.Daemon(pod) {
				continue
			}
			if allowed := allows(p, pod); allowed <= 0 {
				bad("budget", pod.Namespace+"/"+pod.Name, node.Name, "its PodDisruptionBudget lets it not go")
			}
		}
	}
	return out
}

// tolerated reports whether the pod stays on nodes that are being emptied, so that it is never evicted.
func tolerated(pod *corev1.Pod) bool {
	taint := &corev1.Taint{Key: model.TaintDisrupted, Effect: corev1.TaintEffectNoSchedule}
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
		return (t.Key == "" || t.Key == taint.Key) && (t.Effect == "" || t.Effect == taint.Effect) && (t.Operator == corev1.TolerationOpExists || t.Key == taint.Key && t.Value == taint.Value)
	})
}

// allows returns how many evictions the pod's budget allows; none where two name it. One that always allows pods that are not healthy
// to go says nothing of such a pod.
func allows(p *problem.Problem, pod *corev1.Pod) int32 {
	out, matching := int32(math.MaxInt32), 0
	for _, b := range p.Budgets {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if policy := b.Spec.UnhealthyPodEvictionPolicy; policy != nil && *policy == policyv1.AlwaysAllow && !healthy(pod) {
			continue
		}
		if err == nil && b.Namespace == pod.Namespace && selector.Matches(labels.Set(pod.Labels)) {
			matching++
			out = min(out, b.Status.DisruptionsAllowed)
		}
	}
	if matching > 1 {
		return 0
	}
	return out
}

func healthy(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue })
}
