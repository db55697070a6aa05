package provision

import (
	"maps"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// S31: what a claim is compared with later is what it was planned from.
func TestS31ClaimCarriesTheHashesOfItsPoolAndClass(t *testing.T) {
	planned := model.PlannedClaim{Annotations: map[string]string{"team": "a"}}
	class, ca := model.Class{Hash: "2"}, []byte("-----BEGIN CERTIFICATE-----")
	got := annotations(planned, model.Pool{Hash: "1"}, class, ca)
	want := map[string]string{
		"team": "a", "karpenter.sh/nodepool-hash": "1", "karpenter.sh/nodepool-hash-version": "joiner-v1",
		"karpenter.k8s.aws/ec2nodeclass-hash": class.HashFor(ca), "karpenter.k8s.aws/ec2nodeclass-hash-version": "joiner-v1",
	}
	if !maps.Equal(got, want) || len(planned.Annotations) != 1 {
		t.Errorf("got %v, want %v; the plan has %v", got, want, planned.Annotations)
	}
}
