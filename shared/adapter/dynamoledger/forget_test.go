package dynamoledger_test

import (
	"fmt"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

const now = int64(1_900_000_000)

// What is kept of one cluster goes, with its registration last, and nothing of another whose name begins alike.
func TestForgetDeletesOneClusterAndNothingElse(t *testing.T) {
	ledger := start(t, nil)
	ctx := t.Context()
	clusters := []model.Registration{{Cluster: "web", ARN: "arn:web", Account: "1", Region: "r"}, {Cluster: "web2", ARN: "arn:web2", Account: "1", Region: "r"}}
	for _, reg := range clusters {
		if err := ledger.Register(ctx, reg); err != nil {
			t.Fatal(err)
		}
		fence, err := ledger.AcquireLease(ctx, reg.Cluster, model.LeaseCollector, "sweep", now, now+60)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 40 {
			claim := model.Claim{Name: fmt.Sprintf("c-%d", i), Pool: "p", State: model.Launched, InstanceID: fmt.Sprintf("i-%s-%d", reg.Cluster, i), Reserved: model.Resources{model.Nodes: 1}, Version: 1}
			if err := ledger.Adopt(ctx, fence, claim); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := ledger.AdvanceManifest(ctx, model.Manifest{Cluster: reg.Cluster, Epoch: 1, HeadSeq: 1, HeartbeatAt: now}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // it may be repeated
		if err := ledger.Forget(ctx, "web", now); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []int{0, 40} {
		got, err := ledger.Load(ctx, clusters[i])
		if err != nil || len(got.Claims) != want || (got.Manifest != nil) != (want > 0) || (len(got.Usage) > 0) != (want > 0) {
			t.Errorf("%s: %d claims, pointer %v, usage %v, %v", clusters[i].Cluster, len(got.Claims), got.Manifest, got.Usage, err)
		}
	}
	found, _, err := ledger.ByInstance(ctx, []string{"i-web-3", "i-web2-3"})
	if err != nil || len(found) != 1 || found[0].Cluster != "web2" {
		t.Errorf("found %+v %v", found, err)
	}
	// Its lease is held still, by whoever held it.
	if _, err := ledger.AcquireLease(ctx, "web", model.LeaseCollector, "late", now+30, now+60); !fault.Is(err, fault.Conflict) {
		t.Errorf("the lease was taken: %v", err)
	}
	if _, err := ledger.AcquireLease(ctx, "web", model.LeaseCollector, "next", now+61, now+90); err != nil {
		t.Errorf("the lease cannot be taken: %v", err)
	}
	if err := ledger.Unregister(ctx, model.Registration{Cluster: "web", ARN: "arn:other"}); !fault.Is(err, fault.Conflict) {
		t.Errorf("another cluster's registration: %v", err)
	}
	if err := ledger.Unregister(ctx, clusters[0]); err != nil {
		t.Error(err)
	}
	if err := ledger.Unregister(ctx, clusters[0]); !fault.Is(err, fault.NotFound) {
		t.Errorf("twice: %v", err)
	}
	if left, err := ledger.Clusters(ctx); err != nil || len(left) != 1 || left[0].Cluster != "web2" {
		t.Errorf("left %+v %v", left, err)
	}
}
