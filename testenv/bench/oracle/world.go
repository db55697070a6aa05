package oracle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/daemon"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/bench/oracle/problem"
	"github.com/joiner-sh/joiner/testenv/bench/oracle/scheduler"
)

// assignment is one pod on one node.
type assignment struct {
	pod  *corev1.Pod
	node string
}

func (a assignment) key() string { return a.pod.Namespace + "/" + a.pod.Name }

// world is a problem with a plan in place, before the planned pods are bound.
type world struct {
	problem   *problem.Problem
	plan      *model.Plan
	instances []instance   // of each claim
	planned   []assignment // nominations first, then claims
	extra     []runtime.Object
}

// newWorld reads a plan against its problem. It fails where the plan names what does not exist.
func newWorld(p *problem.Problem, plan *model.Plan) (*world, error) {
	w := &world{problem: p, plan: plan}
	pods := make(map[string]*corev1.Pod)
	for _, pod := range p.Pending() {
		pods[pod.Namespace+"/"+pod.Name] = pod
	}
	assign := func(node string, refs []model.PodRef) error {
		for _, ref := range refs {
			if pods[ref.Key()] == nil {
				return fmt.Errorf("the plan puts pod %s on %s, which does not wait", ref.Key(), node)
			}
			w.planned = append(w.planned, assignment{pods[ref.Key()], node})
		}
		return nil
	}
	for _, n := range plan.Nominations {
		if err := assign(n.Node, n.Pods); err != nil {
			return nil, err
		}
	}
	for i := range plan.Claims {
		claim := &plan.Claims[i]
		m, err := cheapest(p, claim)
		if err != nil {
			return nil, fmt.Errorf("buy claim %s: %w", claim.Name, err)
		}
		w.instances = append(w.instances, m)
		if err := assign(claim.Name, claim.Pods); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// cluster returns a cluster of the problem in which every claim is a node, with the daemons of all nodes and nothing of
// what is planned bound yet.
func (w *world) cluster() (*scheduler.Cluster, error) {
	objects := append(w.problem.Cluster(), w.extra...)
	var nodes []*corev1.Node
	for _, node := range w.problem.Nodes {
		ready := started(w.problem, node)
		nodes = append(nodes, ready)
		if ready != node {
			objects = append(objects, ready) // the later of two counts
		}
	}
	for i := range w.plan.Claims {
		made := nodeOf(&w.plan.Claims[i], w.instances[i])
		nodes = append(nodes, made[0].(*corev1.Node))
		objects = append(objects, made...)
	}
	c, err := scheduler.New(objects...)
	if err != nil {
		return nil, err
	}
	if err := addDaemons(c, w.problem, nodes); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// started returns the node as it is once its start is over: a plan counts on the instances that are on their way. What goes
// away by itself then are the taints of the start, of Kubernetes and of the node's pool.
func started(p *problem.Problem, node *corev1.Node) *corev1.Node {
	claim := p.ClaimOf(node)
	if claim == nil && node.Labels[model.LabelNodePool] == "" || node.Labels[model.LabelInitialized] != "" {
		return node
	}
	out := node.DeepCopy()
	if claim != nil {
		complete(out, claim)
	}
	out.Labels[model.LabelInitialized] = "true"
	out.Spec.Taints = slices.DeleteFunc(out.Spec.Taints, func(t corev1.Taint) bool {
		for _, pool := range p.Pools {
			for _, s := range pool.Spec.Template.Spec.StartupTaints {
				if pool.Name == out.Labels[model.LabelNodePool] && s.MatchTaint(&t) {
					return true
				}
			}
		}
		if claim != nil && slices.ContainsFunc(claim.Spec.StartupTaints, func(s corev1.Taint) bool { return s.MatchTaint(&t) }) {
			return true
		}
		return model.EphemeralTaint(t.Key, string(t.Effect))
	})
	return out
}

// complete fills in what a node will say once it has started, by its NodeClaim: amounts that it does not have yet, labels and taints.
func complete(node *corev1.Node, claim *apiv1.NodeClaim) {
	for name, amount := range claim.Status.Allocatable { // each on its own
		if has := node.Status.Allocatable[name]; has.IsZero() {
			if node.Status.Allocatable == nil {
				node.Status.Allocatable = corev1.ResourceList{}
			}
			node.Status.Allocatable[name] = amount
		}
	}
	registered := node.Labels[model.LabelRegistered] != ""
	for key, value := range claim.Labels { // each on its own
		if _, has := node.Labels[key]; !has || !registered {
			node.Labels[key] = value
		}
	}
	if !registered {
		node.Labels[model.LabelRegistered] = "true"
		for i := range claim.Spec.Taints {
			if !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return claim.Spec.Taints[i].MatchTaint(&t) }) {
				node.Spec.Taints = append(node.Spec.Taints, claim.Spec.Taints[i])
			}
		}
	}
}

// addDaemons puts the daemons that are not there yet on the nodes that take them, by the judgment of their controller.
func addDaemons(c *scheduler.Cluster, p *problem.Problem, nodes []*corev1.Node) error {
	_, err := offerDaemons(c, p, nodes)
	return err
}

// offerDaemons is addDaemons that says whether all of them found room.
func offerDaemons(c *scheduler.Cluster, p *problem.Problem, nodes []*corev1.Node) (all bool, err error) {
	all = true
	running := make(map[string]bool)
	for _, pod := range p.Pods {
		running[pod.Namespace+"/"+pod.Name] = true
		for _, owner := range pod.OwnerReferences {
			if owner.Kind == "DaemonSet" && pod.Spec.NodeName != "" {
				running[pod.Namespace+"/"+owner.Name+"-"+pod.Spec.NodeName] = true // as problem.DaemonPod names it
			}
		}
	}
	for _, node := range nodes {
		for _, set := range p.DaemonSets {
			pod := problem.DaemonPod(set, node.Name)
			run, _ := daemon.NodeShouldRunDaemonPod(klog.Background(), node, set)
			if !run || running[pod.Namespace+"/"+pod.Name] {
				continue
			}
			refused, err := c.Offer(pod, node.Name)
			if err != nil {
				return false, err
			}
			all = all && !refused.Refused()
		}
	}
	return all, nil
}

// bind lets the planned pods arrive in the order given and offers each its node until nothing changes any more. It
// returns those that were never bound, with the last refusal of each.
func bind(c *scheduler.Cluster, queue []assignment) (left []assignment, why []scheduler.Refusal, err error) {
	for {
		left, why = nil, nil
		for _, a := range queue {
			refused, err := c.Offer(a.pod, a.node)
			if err != nil {
				return nil, nil, err
			}
			if refused.Refused() {
				left, why = append(left, a), append(why, refused)
			}
		}
		if len(left) == 0 || len(left) == len(queue) {
			return left, why, nil
		}
		queue = left
	}
}

// shuffled returns the assignments in an order that the number decides.
func shuffled(list []assignment, order uint64) []assignment {
	out := append([]assignment(nil), list...)
	r := rand.New(rand.NewPCG(order, 1))
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// beside returns the number so far from the one given as text.
func beside(text string, by int64) string {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return text
	}
	return strconv.FormatInt(n+by, 10)
}
