package wellknown

import (
	"slices"
	"testing"
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
