package oracle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/bench/oracle/problem"
	"github.com/joiner-sh/joiner/testenv/bench/oracle/scheduler"
)

// boundless reports whether the pool may become as large as it likes: it has no limits, or such as the waiting pods never reach with a
// node each. Nodes of many types (minValues) are not tried.
func (w *world) boundless(pool *apiv1.NodePool) bool {
	if slices.ContainsFunc(pool.Spec.Template.Spec.Requirements, func(r apiv1.Requirement) bool { return r.MinValues != nil }) {
		return false
	}
	if len(pool.Spec.Limits) == 0 {
		return true
	}
	in := w.problem.Input()
	at := slices.IndexFunc(in.Snapshot.Pools, func(p model.Pool) bool { return p.Name == pool.Name })
	for name, limit := range in.Snapshot.Pools[at].Limits { // each on its own
		if name == model.Dollars {
			return false
		}
		most := int64(1) // of "nodes", and of what is no instance's to have
		for i := range w.problem.Catalog {
			most = max(most, w.problem.Catalog[i].Capacity[name])
		}
		if limit-in.Usage[pool.Name][name] < most*int64(len(w.problem.Pending())+1) {
			return false
		}
	}
	return true
}

// fresh is the name of a node that no plan has.
const fresh = "fresh"

// givenUp looks for a pod that was given up on and could be on a new node, alone, all else as planned. Only pools without
// limits are tried, and of each category the largest instance that can be had: it holds what any smaller one holds.
func (w *world) givenUp(v *Verdict) error {
	tried := make(map[string]bool)
	for _, u := range w.plan.Unschedulable {
		pod := w.waiting(u.Pod.Key())
		if kind := pod.Namespace + problem.Workload(pod); len(pod.Spec.Volumes) == 0 && tried[kind] {
			continue
		} else {
			tried[kind] = true
		}
		node, err := w.newNodeFor(pod)
		if err != nil {
			return err
		}
		if node != nil {
			v.Findings = append(v.Findings, Finding{
				Check: GivenUp, Kind: u.Reasons[0].Code, Pod: u.Pod.Key(), Node: node.Labels[model.LabelInstanceType],
				Message: "it could be on a new node of " + node.Labels[model.LabelNodePool] + " in " + node.Labels[model.LabelZone] + "; the plan says: " + u.Reasons[0].Message,
			})
		}
	}
	return nil
}

func (w *world) waiting(key string) *corev1.Pod {
	for _, pod := range w.problem.Pending() {
		if pod.Namespace+"/"+pod.Name == key {
			return pod
		}
	}
	return nil
}

// newNodeFor returns a node that could be bought and that takes the pod; nil where there is none.
func (w *world) newNodeFor(pod *corev1.Pod) (*corev1.Node, error) {
	c, err := w.cluster()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	left, _, err := bind(c, w.planned)
	if err != nil || len(left) > 0 {
		return nil, err // what does not hold is found by Holds
	}
	for _, pool := range w.problem.Pools {
		if pool.DeletionTimestamp != nil || pool.Spec.Replicas != nil || !w.boundless(pool) {
			continue
		}
		nodes, err := candidates(w.problem, pool)
		if err != nil {
			return nil, err
		}
		for _, node := range nodes {
			takes, err := nodeTakes(c, w.problem, node, pod)
			if err != nil {
				return nil, err
			}
			if !takes {
				continue
			}
			held, err := w.holdsWith(assignment{pod, fresh}, []*corev1.Node{node})
			if err != nil || held {
				return node, err
			}
		}
	}
	return nil, nil
}

// nodeTakes reports whether the scheduler puts the pod on the node, beside its daemons, when that joins after everything else is bound. The
// cluster is afterwards as it was.
func nodeTakes(c *scheduler.Cluster, p *problem.Problem, node *corev1.Node, pod *corev1.Pod) (bool, error) {
	if matches, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); err != nil || !matches {
		return false, err // a first look, to save the rest
	}
	if err := c.Add(node); err != nil {
		return false, err
	}
	daemons, err := offerDaemons(c, p, []*corev1.Node{node})
	if err != nil {
		return false, err
	}
	refused, err := c.Fits(pod, node.Name)
	if err != nil {
		return false, err
	}
	return daemons && !refused.Refused(), c.RemoveNode(node.Name)
}

// candidates returns nodes the pool could have: one of each category, architecture, zone, capacity type and rack that it
// allows and that can be had, as large as they come.
func candidates(p *problem.Problem, pool *apiv1.NodePool) ([]*corev1.Node, error) {
	accepts, err := poolSelector(pool)
	if err != nil {
		return nil, err
	}
	largest := make(map[string]*corev1.Node)
	var order []string
	for i := range p.Catalog {
		t := &p.Catalog[i] // of a category, later ones are larger
		for _, o := range t.Offerings {
			if !o.Available {
				continue
			}
			for _, rack := range problem.Racks() {
				node := poolNode(pool, instance{t, o}, rack)
				if !accepts.Match(node) || !rackAllowed(pool, rack) {
					continue
				}
				key := familyOf(t) + o.Zone + o.CapacityType + rack
				if largest[key] == nil {
					order = append(order, key)
				}
				largest[key] = node
			}
		}
	}
	out := make([]*corev1.Node, 0, len(order))
	for _, key := range order {
		out = append(out, largest[key])
	}
	return out, nil
}

// familyOf returns what types of one kind and several sizes have in common; a type that does not say is its own kind.
func familyOf(t *model.InstanceType) string {
	if family := t.Labels["karpenter.k8s.aws/instance-family"]; len(family) > 0 {
		return family[0]
	}
	return t.Name
}

// offered reports whether instances say what the label is.
func offered(m instance, key string) bool {
	_, says := problem.Labels(m.instanceType, m.offering.Zone, m.offering.CapacityType)[key]
	return says || key == model.LabelHostname
}

func poolSelector(pool *apiv1.NodePool) (*nodeaffinity.NodeSelector, error) {
	var term corev1.NodeSelectorTerm
	for _, r := range pool.Spec.Template.Spec.Requirements {
		term.MatchExpressions = append(term.MatchExpressions, expressions(model.Requirement{Key: r.Key, Operator: model.Operator(r.Operator), Values: r.Values})...)
	}
	if len(term.MatchExpressions) == 0 {
		term.MatchExpressions = []corev1.NodeSelectorRequirement{{Key: model.LabelHostname, Operator: corev1.NodeSelectorOpExists}}
	}
	return nodeaffinity.NewNodeSelector(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}})
}

// rackAllowed reports whether nodes of the pool carry the rack ("" = no rack at all): that of its template, or one of those
// its requirements list. What a label may be that a pool only wants to exist is not for us to say: no such node is tried.
func rackAllowed(pool *apiv1.NodePool, rack string) bool {
	if own := pool.Spec.Template.Metadata.Labels[problem.RackLabel]; own != "" {
		return rack == own
	}
	for _, r := range pool.Spec.Template.Spec.Requirements {
		if r.Key == problem.RackLabel {
			return slices.Contains(r.Values, rack) && r.Operator == corev1.NodeSelectorOpIn
		}
	}
	return rack == ""
}

func poolNode(pool *apiv1.NodePool, m instance, rack string) *corev1.Node {
	claim := &model.PlannedClaim{Name: fresh, Pool: pool.Name, Class: pool.Spec.Template.Spec.NodeClassRef.Name, Labels: map[string]string{}}
	for _, r := range pool.Spec.Template.Spec.Requirements {
		if r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1 && r.Key != problem.RackLabel && !offered(m, r.Key) {
			claim.Labels[r.Key] = r.Values[0] // a label of the pool's own
		}
	}
	for key, value := range pool.Spec.Template.Metadata.Labels {
		claim.Labels[key] = value
	}
	if rack != "" {
		claim.Labels[problem.RackLabel] = rack
	}
	node := nodeOf(claim, m)[0].(*corev1.Node)
	node.Spec.Taints = pool.Spec.Template.Spec.Taints
	node.ObjectMeta = metav1.ObjectMeta{Name: fresh, UID: types.UID(fresh), Labels: node.Labels}
	return node
}
