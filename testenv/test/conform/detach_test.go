package conform_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/attach"
	"github.com/joiner-sh/joiner/shared/model"
	dynamodel "github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
	"github.com/joiner-sh/joiner/testenv/local/cloud/once"
)

// T3 of F2: whoever read the registration before a cluster was detached gets no lease of it for as long as an invocation can last, and
// records no launch.
func TestF2NobodyLaunchesByARegistrationReadBeforeDetach(t *testing.T) {
	server := httptest.NewServer(dynamodel.NewHandler(dynamodel.NewModel(dynamodel.Options{})))
	t.Cleanup(server.Close)
	ledger := dynamoledger.New(dynamodb.NewFromConfig(once.Config(server.URL)), "joiner")
	ctx, now := t.Context(), time.Now()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(ledger.EnsureTable(ctx))
	must(ledger.Register(ctx, model.Registration{Cluster: "web", Account: "1", Region: "us-west-2"}))
	reg, err := ledger.Cluster(ctx, "web")
	must(err)

	flow := &attach.Flow{
		Registry: ledger, Leases: ledger, Ledger: ledger, Now: func() time.Time { return now },
		Pause: func(_ context.Context, d time.Duration) error { now = now.Add(d); return nil },
	}
	_, err = flow.Detach(ctx, attach.DetachRequest{Cluster: "web", Owner: "people"})
	must(err)
	ended := now.Unix()
	for _, after := range []int64{0, 1, 10, 33, 60, 110} {
		for _, asks := range []int64{13, 31, 58} {
			fence, err := ledger.Acquire(ctx, reg.Cluster, "late", ended+after, ended+after+asks)
			if !fault.Is(err, fault.Conflict) {
				t.Errorf("%d s after detach the planner's lease was given away for %d s: %+v, %v", after, asks, fence, err)
			}
			// Nor does it help not to have the lease.
			claim := model.Claim{Name: "default-1", Pool: "default", State: model.Intended, Version: 1, Intent: "1", Reserved: model.Resources{model.Nodes: 1}}
			fence.Owner = "late"
			err = ledger.Record(ctx, fence, model.Intent{ID: "1", Cluster: "web", Pool: "default", Claims: []string{"default-1"}, State: model.IntentCalling}, []model.Claim{claim}, nil)
			if !fault.Is(err, fault.Conflict) {
				t.Errorf("%d s after detach a launch was recorded: %v", after, err)
			}
		}
	}
	if left, err := ledger.Load(ctx, reg); err != nil || len(left.Claims)+len(left.Intents) != 0 {
		t.Errorf("the ledger of a detached cluster has %+v, %v", left, err)
	}
}
