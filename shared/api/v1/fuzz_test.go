package v1

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/joiner-sh/joiner/testenv/bench/speccases"
	"github.com/joiner-sh/joiner/testenv/local/bounds"
)

func FuzzDuration(f *testing.F) {
	for _, seed := range []string{"1h", "Never", "99999999999999999999s", "1h1m1s", "é", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parseDuration(text)
		if err == nil && d < 0 {
			t.Errorf("%q reads as %d, below zero", text, d)
		}
	})
}

// FuzzNodePool: a pool that can be read can be validated and written, and reads back the same.
func FuzzNodePool(f *testing.F) {
	f.Add([]byte(`{"metadata":{"name":"a"},"spec":{"weight":5,"limits":{"cpu":"1"},"template":{"spec":{"requirements":[{"key":"a","operator":"Gt","values":["1"],"minValues":2}],"nodeClassRef":{"group":"g","kind":"k","name":"n"},"expireAfter":"Never","taints":[{"key":"a","effect":"NoSchedule"}]}},"disruption":{"consolidateAfter":"30s","budgets":[{"nodes":"10%","schedule":"@daily","duration":"1h"}]}}}`))
	f.Add([]byte(`{"spec":{"replicas":-1,"disruption":{"budgets":[{"nodes":"-5%","schedule":"* * * * * *","duration":"1s"},null]}}}`))
	f.Add([]byte(`{"spec":{"template":{"metadata":{"labels":{"kubernetes.io/hostname":"x","":""}},"spec":{"requirements":[{"key":"karpenter.sh/capacity-type","operator":"In","values":["x"]}]}}}}`))
	kept, err := speccases.Kept()
	if err != nil {
		f.Fatal(err)
	}
	for _, pool := range kept.NodePools {
		f.Add([]byte(pool))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		bounds.Check(t, len(data), func() {
			var pool NodePool
			if json.Unmarshal(data, &pool) != nil {
				return
			}
			pool.SetDefaults()
			_ = ValidateNodePool(&pool)
			hash := pool.Hash()
			written, err := json.Marshal(&pool)
			if err != nil {
				t.Fatalf("what was read cannot be written: %v", err)
			}
			var again NodePool
			if err := json.Unmarshal(written, &again); err != nil {
				t.Fatalf("what was written cannot be read: %v\n%s", err, written)
			}
			if again.Hash() != hash {
				t.Errorf("read back it has another hash: %s", written)
			}
			var object map[string]any
			if err := json.Unmarshal(written, &object); err != nil {
				t.Fatal(err)
			}
			var claim NodeClaim
			if runtime.DefaultUnstructuredConverter.FromUnstructured(object, &claim) == nil {
				claim.SetDefaults()
			}
		})
	})
}
