package oracle

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/bench/oracle/problem"
)

// instance is what a claim is bought as.
type instance struct {
	instanceType *model.InstanceType
	offering     model.Offering
}

// nodeOf returns the node a claim becomes when it is bought so, and its CSINode. An instance that has just come says of no
// driver how many volumes it can attach.
func nodeOf(claim *model.PlannedClaim, m instance) []runtime.Object {
	labels := problem.Labels(m.instanceType, m.offering.Zone, m.offering.CapacityType)
	labels[model.LabelNodePool], labels[model.LabelNodeClass], labels[model.LabelHostname] = claim.Pool, claim.Class, claim.Name
	labels[model.LabelRegistered], labels[model.LabelInitialized] = "true", "true"
	if m.offering.ReservationID != "" {
		labels[model.LabelReservationID] = m.offering.ReservationID
	}
	for key, value := range claim.Labels {
		labels[key] = value
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: claim.Name, UID: types.UID(claim.Name), Labels: labels}}
	for _, t := range claim.Taints {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
	}
	node.Status.Capacity = problem.List(m.instanceType.Capacity)
	node.Status.Allocatable = problem.List(m.instanceType.Allocatable())
	attach := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: claim.Name}}
	return []runtime.Object{node, attach}
}

// cheapest returns the instance the plan counts on.
func cheapest(p *problem.Problem, claim *model.PlannedClaim) (instance, error) {
	t, err := p.Type(claim.Offering.InstanceType)
	if err != nil {
		return instance{}, err
	}
	for _, o := range t.Offerings {
		if o.Zone == claim.Offering.Zone && o.CapacityType == claim.Offering.CapacityType {
			return instance{t, o}, nil
		}
	}
	return instance{}, fmt.Errorf("type %s has no %s offer in %s", t.Name, claim.Offering.CapacityType, claim.Offering.Zone)
}

// acceptable returns every instance that the claim may be bought as.
func acceptable(p *problem.Problem, claim *model.PlannedClaim) ([]instance, error) {
	term := corev1.NodeSelectorTerm{}
	for _, r := range claim.Requirements {
		if _, custom := claim.Labels[r.Key]; !custom && r.Key != model.LabelNodePool && r.Key != model.LabelNodeClass {
			term.MatchExpressions = append(term.MatchExpressions, expressions(r)...)
		}
	}
	accepts, err := nodeaffinity.NewNodeSelector(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}})
	if err != nil {
		return nil, fmt.Errorf("read the requirements of claim %s: %w", claim.Name, err)
	}
	var out []instance
	for _, name := range claim.InstanceTypes {
		t, err := p.Type(name)
		if err != nil {
			return nil, err
		}
		for _, o := range t.Offerings {
			m := instance{t, o}
			node := nodeOf(claim, m)[0].(*corev1.Node)
			if o.Available && slices.Contains(claim.Zones, o.Zone) && slices.Contains(claim.CapacityTypes, o.CapacityType) && accepts.Match(node) {
				out = append(out, m)
			}
		}
	}
	return out, nil
}

// expressions returns a requirement as a node selector has it: without the operators of pools alone.
func expressions(r model.Requirement) []corev1.NodeSelectorRequirement {
	operator, values := corev1.NodeSelectorOperator(r.Operator), r.Values
	switch r.Operator {
	case model.Gte:
		operator, values = corev1.NodeSelectorOpGt, []string{beside(r.Values[0], -1)}
	case model.Lte:
		operator, values = corev1.NodeSelectorOpLt, []string{beside(r.Values[0], 1)}
	}
	return []corev1.NodeSelectorRequirement{{Key: r.Key, Operator: operator, Values: values}}
}
