package problem

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/joiner-sh/joiner/shared/api/awsv1"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/api/wellknown"
	"github.com/joiner-sh/joiner/shared/model"
)

func (m *maker) pools() {
	for i := range pick(m.die, 1, 1, 2, 3) {
		pool := &apiv1.NodePool{ObjectMeta: meta("", fmt.Sprintf("pool-%d", i))}
		pool.Spec.Template.Spec.NodeClassRef = apiv1.NodeClassReference{Group: wellknown.AWSGroup, Kind: awsv1.KindEC2NodeClass, Name: Class}
		pool.Spec.Template.Spec.Requirements = m.poolRequirements()
		if m.chance(40) {
			pool.Spec.Template.Metadata.Labels = map[string]string{RackLabel: pick(m.die, racks...)}
		} else if m.chance(40) {
			pool.Spec.Template.Spec.Requirements = append(pool.Spec.Template.Spec.Requirements, m.rackRequirement())
		}
		if m.Has(Taints) && m.chance(40) {
			pool.Spec.Template.Spec.Taints = []corev1.Taint{m.taint()}
		}
		if m.Has(Taints) && m.chance(20) {
			pool.Spec.Template.Spec.StartupTaints = []corev1.Taint{{Key: "starting", Effect: corev1.TaintEffectNoSchedule}}
		}
		if m.chance(50) {
			weight := int32(m.between(1, 20))
			pool.Spec.Weight = &weight
		}
		if m.Has(Limits) {
			pool.Spec.Limits = m.limits()
		}
		m.Pools = append(m.Pools, pool)
	}
}

func (m *maker) poolRequirements() []apiv1.Requirement {
	out := []apiv1.Requirement{}
	add := func(key string, operator corev1.NodeSelectorOperator, values ...string) {
		out = append(out, apiv1.Requirement{Key: key, Operator: operator, Values: values})
	}
	if m.chance(30) {
		add(model.LabelZone, corev1.NodeSelectorOpIn, some(m.die, zones...)...)
	}
	if m.chance(30) {
		add(model.LabelCapacityType, corev1.NodeSelectorOpIn, some(m.die, capacityTypes...)...)
	}
	if m.chance(30) {
		add(model.LabelArch, corev1.NodeSelectorOpIn, pick(m.die, "amd64", "arm64"))
	}
	if m.chance(20) {
		add(labelCPU, pick(m.die, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt), pick(m.die, "2", "4", "8"))
	}
	if m.chance(15) {
		add(labelKind, corev1.NodeSelectorOpNotIn, pick(m.die, "c", "m", "r", "g"))
	}
	return out
}

func (m *maker) rackRequirement() apiv1.Requirement {
	r := apiv1.Requirement{Key: RackLabel}
	switch m.IntN(3) {
	case 0:
		r.Operator = corev1.NodeSelectorOpExists
	case 1:
		r.Operator, r.Values = corev1.NodeSelectorOpNotIn, []string{pick(m.die, racks...)}
	default:
		r.Operator, r.Values = corev1.NodeSelectorOpIn, some(m.die, racks...)
	}
	return r
}

func (m *maker) limits() corev1.ResourceList {
	out := corev1.ResourceList{}
	if m.chance(60) {
		out[corev1.ResourceCPU] = *resource.NewQuantity(int64(m.between(2, 24)), resource.DecimalSI)
	}
	if m.chance(30) {
		out[corev1.ResourceMemory] = *resource.NewQuantity(int64(m.between(8, 96))*gibi, resource.BinarySI)
	}
	if m.chance(30) {
		out[apiv1.LimitNodes] = *resource.NewQuantity(int64(m.between(1, 6)), resource.DecimalSI)
	}
	return out
}
