package problem

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/joiner-sh/joiner/shared/model"
)

// CarryOut returns the problem once the commands are carried out: their nodes gone, their replacements there as the offerings
// planned, each displaced pod on the node planned for it; and how many pods moved. What the commands say is taken at its
// word: an error is what cannot be carried out at all, a node or offer there is not, or a pod without a place.
func (p *Problem) CarryOut(commands []model.PlannedCommand) (after *Problem, moved int, err error) {
	after = &Problem{Spec: p.Spec, Types: p.Types, Pools: p.Pools, DaemonSets: p.DaemonSets, Budgets: p.Budgets, Pods: p.Pods}
	gone, there, target := map[string]bool{}, map[string]bool{}, map[types.UID]string{}
	for _, node := range p.Nodes {
		there[node.Name] = true
	}
	var made []*corev1.Node
	for i := range commands {
		c := &commands[i]
		for _, name := range c.Nodes {
			if !there[name] || gone[name] {
				return nil, 0, fmt.Errorf("command %d gives back node %s, which is not there", i, name)
			}
			gone[name] = true
		}
		for j := range c.Replacements {
			node, err := p.Launched(&c.Replacements[j])
			if err != nil {
				return nil, 0, fmt.Errorf("command %d: %w", i, err)
			}
			if there[node.Name] {
				return nil, 0, fmt.Errorf("command %d: a node is called %s already", i, node.Name)
			}
			there[node.Name] = true
			made = append(made, node)
			for _, pod := range c.Replacements[j].Pods {
				target[types.UID(pod.UID)] = node.Name
			}
		}
		for _, m := range c.Moves {
			for _, pod := range m.Pods {
				target[types.UID(pod.UID)] = m.Node
			}
		}
	}
	after.Nodes = append(slices.DeleteFunc(slices.Clone(p.Nodes), func(n *corev1.Node) bool { return gone[n.Name] }), made...)
	for _, pod := range p.Bound {
		if !gone[pod.Spec.NodeName] {
			after.Bound = append(after.Bound, pod)
			continue
		}
		if IsDaemon(pod) {
			continue
		}
		to := target[pod.UID]
		if !there[to] || gone[to] {
			return nil, 0, fmt.Errorf("pod %s/%s of node %s has no place: it is to go to %q", pod.Namespace, pod.Name, pod.Spec.NodeName, to)
		}
		settled := pod.DeepCopy()
		settled.Spec.NodeName = to
		after.Bound = append(after.Bound, settled)
		moved++
	}
	for _, node := range made {
		after.Bound = append(after.Bound, p.daemonsOf(node)...)
	}
	return after, moved, nil
}

// Launched returns the node that a claim becomes when it is bought as planned.
func (p *Problem) Launched(claim *model.PlannedClaim) (*corev1.Node, error) {
	i := slices.IndexFunc(p.Types, func(t model.InstanceType) bool { return t.Name == claim.Offering.InstanceType })
	if i < 0 {
		return nil, fmt.Errorf("claim %s: there is no instance type %q", claim.Name, claim.Offering.InstanceType)
	}
	t := &p.Types[i]
	j := slices.IndexFunc(t.Offerings, func(o model.Offering) bool {
		return o.Available && o.Zone == claim.Offering.Zone && o.CapacityType == claim.Offering.CapacityType
	})
	if j < 0 {
		return nil, fmt.Errorf("claim %s: %s cannot be bought in %s as %s", claim.Name, t.Name, claim.Offering.Zone, claim.Offering.CapacityType)
	}
	node := nodeNamed(claim.Name, claim.Pool, t, t.Offerings[j])
	for key, value := range claim.Labels {
		if node.Labels[key] == "" {
			node.Labels[key] = value
		}
	}
	return node, nil
}

// daemonsOf returns the pods of daemons on a new node: the daemons of problems run everywhere.
func (p *Problem) daemonsOf(node *corev1.Node) []*corev1.Pod {
	var out []*corev1.Pod
	controller := true
	for _, set := range p.DaemonSets {
		name := set.Name + "-" + node.Name
		out = append(out, &corev1.Pod{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: name, UID: types.UID("uid-" + name), Labels: set.Spec.Template.Labels, CreationTimestamp: node.CreationTimestamp,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: set.Name, UID: set.UID, Controller: &controller}}},
			Spec:   corev1.PodSpec{NodeName: node.Name, Containers: set.Spec.Template.Spec.Containers, Tolerations: set.Spec.Template.Spec.Tolerations},
			Status: running(),
		})
	}
	return out
}
