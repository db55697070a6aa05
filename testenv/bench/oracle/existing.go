package oracle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/bench/oracle/problem"
	"github.com/joiner-sh/joiner/testenv/bench/oracle/scheduler"
)

// staying returns the names of the nodes that exist and are not on their way out: a pod that is bound to one that is
// being deleted or drained has to be moved at once, so that the planner takes them for nothing.
func staying(p *problem.Problem) []string {
	var out []string
	for _, node := range p.Nodes {
		drained := slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == model.TaintDisrupted })
		claim := p.ClaimOf(node)
		if node.DeletionTimestamp == nil && !drained && (claim == nil || claim.DeletionTimestamp == nil) {
			out = append(out, node.Name)
		}
	}
	return out
}

// arrivals is in how many orders the scheduler may place the waiting pods by itself, and holdOrders in how many of arrival
// what it did must hold.
const (
	arrivals   = 3
	holdOrders = 8
)

// existingFirst lets the scheduler place the waiting pods on what exists, by its scores, higher priorities first. Where it
// places all, and would with the same pods on the same nodes whatever the order they arrive in, the plan must ask for
// nothing: a plan is not told the order, so that it need not count on a lucky one.
func (w *world) existingFirst(v *Verdict) error {
	for order := range uint64(arrivals) {
		placed, err := w.byItself(order)
		if err != nil {
			return err
		}
		if placed == nil {
			continue
		}
		v.ByItself = true
		asked := w.asked()
		if len(asked) == 0 {
			return nil
		}
		alone := world{problem: w.problem, plan: &model.Plan{}, planned: placed}
		if held, err := alone.holdsInOrders(holdOrders); err != nil {
			return err
		} else if held {
			v.Findings = append(v.Findings, asked...)
			return nil
		}
	}
	return nil
}

// byItself returns where the scheduler places the waiting pods among the nodes that exist; nil where it does not place all.
// Order 0 is that of the problem, others are random.
func (w *world) byItself(order uint64) ([]assignment, error) {
	c, err := scheduler.New(w.problem.Cluster()...)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := addDaemons(c, w.problem, w.problem.Nodes); err != nil {
		return nil, err
	}
	var queue []assignment
	for _, pod := range w.problem.Pending() {
		queue = append(queue, assignment{pod: pod})
	}
	if order > 0 {
		queue = shuffled(queue, order)
	}
	slices.SortStableFunc(queue, func(a, b assignment) int { return int(*b.pod.Spec.Priority) - int(*a.pod.Spec.Priority) })
	return place(c, queue, staying(w.problem))
}

// place lets the scheduler choose among the nodes for one pod after the other, until nothing changes any more; nil where
// some are left.
func place(c *scheduler.Cluster, queue []assignment, nodes []string) ([]assignment, error) {
	placed := []assignment{}
	for before := -1; len(queue) != before; {
		before = len(queue)
		var left []assignment
		for _, a := range queue {
			node, err := c.Choose(a.pod, nodes)
			if err != nil {
				return nil, err
			}
			if node == "" {
				left = append(left, a)
			} else {
				placed = append(placed, assignment{a.pod, node})
			}
		}
		queue = left
	}
	if len(queue) > 0 {
		return nil, nil
	}
	return placed, nil
}

// asked returns a finding for every claim of the plan and every pod it gave up on.
func (w *world) asked() []Finding {
	var out []Finding
	for i := range w.plan.Claims {
		claim := &w.plan.Claims[i]
		out = append(out, Finding{Check: ExistingFirst, Kind: "claim", Pod: claim.Pods[0].Key(), Node: claim.Name, Message: "the scheduler needs no new node"})
	}
	for _, u := range w.plan.Unschedulable {
		out = append(out, Finding{Check: ExistingFirst, Kind: u.Reasons[0].Code, Pod: u.Pod.Key(), Message: "the scheduler needs no new node, the plan gives up: " + u.Reasons[0].Message})
	}
	return out
}

// holdsInOrders reports whether what is planned is bound as planned in each of so many random orders of arrival, and with
// any one pod after all others.
func (w *world) holdsInOrders(random uint64) (bool, error) {
	var orders [][]assignment
	for order := range random {
		orders = append(orders, shuffled(w.planned, order))
	}
	for i := range w.planned {
		orders = append(orders, append(slices.Delete(slices.Clone(w.planned), i, i+1), w.planned[i]))
	}
	for _, queue := range orders {
		c, err := w.cluster()
		if err != nil {
			return false, err
		}
		left, _, err := bind(c, queue)
		c.Close()
		if err != nil || len(left) > 0 {
			return false, err
		}
	}
	return true, nil
}

// movable looks for a pod on a claim, or one that was given up on, that could be on a node that exists.
func (w *world) movable(v *Verdict) error {
	nodes := staying(w.problem)
	if len(nodes) == 0 {
		return nil
	}
	for _, pod := range w.elsewhere() {
		c, err := w.without(pod)
		if err != nil || c == nil {
			return err // what does not hold is found by Holds
		}
		defer c.Close()
		for _, node := range nodes {
			refused, err := c.Fits(pod, node)
			if err != nil {
				return err
			}
			if refused.Refused() {
				continue
			}
			held, err := w.holdsWith(assignment{pod, node}, nil)
			if err != nil {
				return err
			}
			if held {
				v.Findings = append(v.Findings, Finding{Check: Movable, Kind: w.place(pod), Pod: pod.Namespace + "/" + pod.Name, Node: node, Message: "it could be on this node"})
				break
			}
		}
	}
	return nil
}

// elsewhere returns the pods that are on claims or were given up on. Pods that cannot be told apart are asked for once.
func (w *world) elsewhere() []*corev1.Pod {
	existing := make(map[string]bool)
	for _, n := range w.plan.Nominations {
		for _, ref := range n.Pods {
			existing[ref.Key()] = true
		}
	}
	seen := make(map[string]bool)
	var out []*corev1.Pod
	for _, pod := range w.problem.Pending() {
		if existing[pod.Namespace+"/"+pod.Name] {
			continue
		}
		kind := w.place(pod) + pod.Namespace + problem.Workload(pod)
		if len(pod.Spec.Volumes) == 0 && seen[kind] {
			continue
		}
		seen[kind] = true
		out = append(out, pod)
	}
	return out
}

// place says where the plan has the pod: a claim's name, or the code of why nowhere.
func (w *world) place(pod *corev1.Pod) string {
	key := pod.Namespace + "/" + pod.Name
	for _, a := range w.planned {
		if a.key() == key {
			return "claim"
		}
	}
	for _, u := range w.plan.Unschedulable {
		if u.Pod.Key() == key {
			return u.Reasons[0].Code
		}
	}
	return ""
}

// without returns a cluster in which all that is planned is bound but the pod; nil where that cannot be.
func (w *world) without(pod *corev1.Pod) (*scheduler.Cluster, error) {
	c, err := w.cluster()
	if err != nil {
		return nil, err
	}
	rest := slices.DeleteFunc(slices.Clone(w.planned), func(a assignment) bool { return a.pod == pod })
	left, _, err := bind(c, rest)
	if err != nil || len(left) > 0 && len(rest) == len(w.planned) {
		c.Close()
		return nil, err
	}
	return c, nil
}

// holdsWith reports whether the plan holds with one pod assigned otherwise: with that pod the first to arrive, the last,
// and in some random orders.
func (w *world) holdsWith(change assignment, extra []*corev1.Node) (bool, error) {
	changed := *w
	changed.planned = slices.DeleteFunc(slices.Clone(w.planned), func(a assignment) bool { return a.pod == change.pod })
	changed.planned = append(changed.planned, change)
	for _, node := range extra {
		changed.extra = append(slices.Clone(changed.extra), node)
	}
	for order := range uint64(8) {
		queue := shuffled(changed.planned, order)
		switch order {
		case 0:
			slices.SortStableFunc(queue, func(a, b assignment) int { return is(b.pod == change.pod) - is(a.pod == change.pod) })
		case 1:
			slices.SortStableFunc(queue, func(a, b assignment) int { return is(a.pod == change.pod) - is(b.pod == change.pod) })
		}
		c, err := changed.cluster()
		if err != nil {
			return false, err
		}
		if err := addDaemons(c, w.problem, extra); err != nil {
			c.Close()
			return false, err
		}
		left, _, err := bind(c, queue)
		c.Close()
		if err != nil || len(left) > 0 {
			return false, err
		}
	}
	return true, nil
}

func is(what bool) int {
	if what {
		return 1
	}
	return 0
}
