package wellknown

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestRestrictedReasonChecksDomainsNotSuffixes(t *testing.T) {
	tests := []struct {
		key        string
		restricted bool
	}{
		{LabelHostname, true},
		{"karpenter.sh/anything", true},
		{"sub.karpenter.sh/anything", true},
		{"karpenter.k8s.aws/anything", true},
		{"sub.karpenter.k8s.aws/anything", true},
		{LabelRegistered, true},
		{LabelCapacityType, false},
		{LabelNodePool, false},
		{LabelInstanceCategory, false},
		{"fookarpenter.sh/anything", false},
		{"karpenter.sh", false},
		{"team", false},
		{"example.com/team", false},
		{"kubernetes.io/anything", false},
	}
	for _, tt := range tests {
		t.Run(tt.key, func(t *testing.T) {
			if reason := RestrictedReason(tt.key); (reason != "") != tt.restricted {
				t.Errorf("RestrictedReason(%q) = %q, want restricted %v", tt.key, reason, tt.restricted)
			}
		})
	}
}

func TestNormalizeKnowsEveryDeprecatedKey(t *testing.T) {
	tests := map[string]string{
		"failure-domain.beta.kubernetes.io/zone":   LabelZone,
		"failure-domain.beta.kubernetes.io/region": LabelRegion,
		"beta.kubernetes.io/arch":                  LabelArch,
		"beta.kubernetes.io/os":                    LabelOS,
		"beta.kubernetes.io/instance-type":         LabelInstanceType,
		"topology.ebs.csi.aws.com/zone":            LabelZone,
		"example.com/team":                         "example.com/team",
	}
	for key, want := range tests {
		if got := Normalize(key); got != want {
			t.Errorf("Normalize(%q) = %q, want %q", key, got, want)
		}
	}
}

func TestLabelsAreSortedAndDistinct(t *testing.T) {
	keys := Labels()
	if !slices.IsSorted(keys) {
		t.Errorf("Labels() is not sorted: %q", keys)
	}
	if distinct := slices.Compact(slices.Clone(keys)); len(distinct) != len(keys) {
		t.Errorf("Labels() repeats a key: %q", keys)
	}
	for _, key := range keys {
		if !IsWellKnown(key) {
			t.Errorf("IsWellKnown(%q) = false, but Labels() lists it", key)
		}
	}
}

func TestEphemeralTaintsMatchByKeyAndEffectOnly(t *testing.T) {
	tests := []struct {
		name  string
		taint corev1.Taint
		want  bool
	}{
		{"not ready", corev1.Taint{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoExecute}, true},
		{"value is ignored", corev1.Taint{Key: TaintUnregistered, Value: "x", Effect: corev1.TaintEffectNoExecute}, true},
		{"other effect", corev1.Taint{Key: TaintUnregistered, Effect: corev1.TaintEffectNoSchedule}, false},
		{"unreachable is ephemeral only for scheduling", corev1.Taint{Key: "node.kubernetes.io/unreachable", Effect: corev1.TaintEffectNoExecute}, false},
		{"readiness gate", corev1.Taint{Key: "readiness.k8s.io/network", Effect: corev1.TaintEffectNoSchedule}, true},
		{"disrupted", DisruptedTaint(), false},
		{"unregistered", UnregisteredTaint(), true},
		{"of a user", corev1.Taint{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := IsEphemeralTaint(tt.taint); got != tt.want {
				t.Errorf("IsEphemeralTaint(%v) = %v, want %v", tt.taint, got, tt.want)
			}
		})
	}
}

func TestRestrictedTagsAreThoseSetAtLaunch(t *testing.T) {
	for _, key := range []string{
		"", "eks:eks-cluster-name", "kubernetes.io/cluster/mine", "kubernetes.io/cluster", "karpenter.sh/nodepool",
		"karpenter.sh/nodeclaim", "karpenter.k8s.aws/ec2nodeclass",
	} {
		if RestrictedTagReason(key) == "" {
			t.Errorf("RestrictedTagReason(%q) is empty, want a reason", key)
		}
	}
	for _, key := range []string{"Name", "team", "karpenter.sh/discovery"} {
		if reason := RestrictedTagReason(key); reason != "" {
			t.Errorf("RestrictedTagReason(%q) = %q, want none", key, reason)
		}
	}
}
