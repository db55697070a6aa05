package v1

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func newPool(change func(*NodeClaimTemplate)) *NodePool {
	pool := &NodePool{}
	pool.Spec.Template.Spec.NodeClassRef = NodeClassReference{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Name: "default"}
	change(&pool.Spec.Template)
	return pool
}

func requiring(requirements ...Requirement) *NodePool {
	return newPool(func(t *NodeClaimTemplate) { t.Spec.Requirements = requirements })
}

func labeled(key, value string) *NodePool {
	return newPool(func(t *NodeClaimTemplate) { t.Metadata.Labels = map[string]string{key: value} })
}

func tainted(taints, startup []corev1.Taint) *NodePool {
	return newPool(func(t *NodeClaimTemplate) { t.Spec.Taints, t.Spec.StartupTaints = taints, startup })
}

func ptr[T any](v T) *T { return &v }

func TestValidateNodePool(t *testing.T) {
	const (
		in, notIn, exists, gt = corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpGt
		capacityType          = "karpenter.sh/capacity-type"
		requirements          = "spec.template.spec.requirements"
		labels                = "spec.template.metadata.labels"
	)
	noSchedule := func(key string) corev1.Taint { return corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule} }
	tests := []struct {
		name string
		pool *NodePool
		// want is the path of each problem that is expected, in order, and message is in the first of them.
		want    []string
		message string
	}{
		{name: "nothing said", pool: requiring()},
		{name: "usable requirements", pool: requiring(
			Requirement{Key: "beta.kubernetes.io/arch", Operator: in, Values: []string{"amd64"}},
			Requirement{Key: "karpenter.k8s.aws/instance-cpu", Operator: OperatorGte, Values: []string{"0"}},
			Requirement{Key: "example.com/team", Operator: notIn},
			Requirement{Key: "example.com/tier", Operator: exists, MinValues: ptr(50)},
		)},
		{name: "requirement on the pool", pool: requiring(Requirement{Key: "karpenter.sh/nodepool", Operator: exists}), want: []string{requirements + "[0].key"}, message: "cannot require a NodePool"},
		{name: "requirement on hostname", pool: requiring(Requirement{Key: "kubernetes.io/hostname", Operator: exists}), want: []string{requirements + "[0].key"}, message: "restricted"},
		{name: "requirement on the domain", pool: requiring(Requirement{Key: "karpenter.sh/initialized", Operator: exists}), want: []string{requirements + "[0].key"}, message: "restricted"},
		{name: "requirement on a domain that ends alike", pool: requiring(Requirement{Key: "fookarpenter.sh/x", Operator: exists})},
		{name: "key that no label can have", pool: requiring(Requirement{Key: "a/b/c", Operator: exists}), want: []string{requirements + "[0].key"}},
		{name: "unknown operator", pool: requiring(Requirement{Key: "a", Operator: "Near"}), want: []string{requirements + "[0].operator"}},
		{name: "values that no label can have", pool: requiring(Requirement{Key: "a", Operator: notIn, Values: []string{"ok", "a b", "-"}}), want: []string{requirements + "[0].values[1]", requirements + "[0].values[2]"}},
		{name: "In without values", pool: requiring(Requirement{Key: "a", Operator: exists}, Requirement{Key: "b", Operator: in}), want: []string{requirements + "[1].values"}, message: "at least one"},
		{name: "In with fewer values than minValues", pool: requiring(Requirement{Key: "a", Operator: in, Values: []string{"x"}, MinValues: ptr(2)}), want: []string{requirements + "[0].values"}, message: "minValues 2"},
		{name: "Gt without value", pool: requiring(Requirement{Key: "a", Operator: gt}), want: []string{requirements + "[0].values"}, message: "exactly one"},
		{name: "Lte with two", pool: requiring(Requirement{Key: "a", Operator: OperatorLte, Values: []string{"1", "2"}}), want: []string{requirements + "[0].values"}, message: "exactly one"},
		{name: "Gt with a word", pool: requiring(Requirement{Key: "a", Operator: gt, Values: []string{"many"}}), want: []string{requirements + "[0].values[0]"}, message: "whole number"},
		{name: "Gt beyond 64 bits", pool: requiring(Requirement{Key: "a", Operator: gt, Values: []string{"9223372036854775808"}}), want: []string{requirements + "[0].values[0]"}, message: "whole number"},

		{name: "F016 only unknown capacity types", pool: requiring(Requirement{Key: capacityType, Operator: in, Values: []string{"on_demand", "cheap"}}), want: []string{requirements + "[0].values"}, message: "no known capacity type"},
		{name: "F016 a known capacity type among others", pool: requiring(Requirement{Key: capacityType, Operator: in, Values: []string{"cheap", "spot"}})},
		{name: "F016 fewer known capacity types than minValues", pool: requiring(Requirement{Key: capacityType, Operator: in, Values: []string{"cheap", "spot"}, MinValues: ptr(2)}), want: []string{requirements + "[0].values"}, message: "fewer than minValues"},
		{name: "F016 NotIn does not count", pool: requiring(Requirement{Key: capacityType, Operator: notIn, Values: []string{"cheap"}})},

		{name: "label of one's own", pool: labeled("example.com/team", "a")},
		{name: "label for the pool", pool: labeled("karpenter.sh/nodepool", "a"), want: []string{labels + "[karpenter.sh/nodepool]"}, message: "restricted"},
		{name: "label that is a requirement", pool: labeled("karpenter.sh/capacity-type", "spot")},
		{name: "label with a bad key", pool: labeled("a b", "c"), want: []string{labels + "[a b]"}},
		{name: "label with a bad value", pool: labeled("a", "b c"), want: []string{labels + "[a]"}},

		{name: "taints of different effects", pool: tainted([]corev1.Taint{noSchedule("a"), {Key: "a", Effect: corev1.TaintEffectNoExecute}}, []corev1.Taint{noSchedule("b"), {Key: "c"}})},
		{name: "F015 the same taint twice", pool: tainted([]corev1.Taint{noSchedule("a"), noSchedule("a")}, nil), want: []string{"spec.template.spec.taints[1]"}, message: "the same key and effect as spec.template.spec.taints[0]"},
		{name: "F015 the same taint in both lists", pool: tainted([]corev1.Taint{noSchedule("a")}, []corev1.Taint{noSchedule("b"), noSchedule("a")}), want: []string{"spec.template.spec.startupTaints[1]"}, message: "spec.template.spec.taints[0]"},
		{name: "taint with another effect", pool: tainted([]corev1.Taint{{Key: "a", Effect: "Evict"}}, nil), want: []string{"spec.template.spec.taints[0].effect"}},
		{name: "taint with a bad key and value", pool: tainted([]corev1.Taint{{Key: "a b", Value: "c d"}}, nil), want: []string{"spec.template.spec.taints[0].key", "spec.template.spec.taints[0].value"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			problems := ValidateNodePool(tt.pool)
			var got []string
			for _, problem := range problems {
				got = append(got, problem.Path)
				if problem.Message == "" || problem.Remedy == "" {
					t.Errorf("%+v has no message or no remedy", problem)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Fatalf("problems at %q, want %q\n%v", got, tt.want, problems)
			}
			if len(problems) > 0 && !strings.Contains(problems[0].Message, tt.message) {
				t.Errorf("message = %q, want %q in it", problems[0].Message, tt.message)
			}
		})
	}
}

func TestFieldErrorsReadAsOneLine(t *testing.T) {
	err := FieldError{Path: "spec.a", Value: "b", Message: "is wrong", Remedy: "Write c."}
	if got, want := err.Error(), `spec.a: "b": is wrong. Remedy: Write c.`; got != want {
		t.Errorf("Error() = %s, want %s", got, want)
	}
	err.Value = ""
	if got, want := err.Error(), `spec.a: is wrong. Remedy: Write c.`; got != want {
		t.Errorf("Error() = %s, want %s", got, want)
	}
}
