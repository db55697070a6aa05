package dynamoledger

import (
	"context"
	"fmt"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	dynamodel "github.com/joiner-sh/joiner/testenv/cloud/dynamodb"
)

// start returns a ledger in a new table of our model of DynamoDB, spoken to by the unmodified SDK.
func start(t *testing.T) *Ledger {
	t.Helper()
	server := httptest.NewServer(dynamodel.NewHandler(dynamodel.NewModel(dynamodel.Options{})))
	t.Cleanup(server.Close)
	client := dynamodb.NewFromConfig(aws.Config{
		Region: "us-west-2", BaseEndpoint: aws.String(server.URL),
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	})
	ledger := New(client, "joiner")
	if err := ledger.EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := ledger.EnsureTable(t.Context()); err != nil {
		t.Fatalf("a second time: %v", err)
	}
	return ledger
}

var web = model.Registration{Cluster: "web", Account: "123456789012", Region: "us-west-2"}

const begin, soon = int64(1_900_000_000), int64(1_900_000_030)

func acquire(t *testing.T, l *Ledger, owner string) model.Fence {
	t.Helper()
	fence, err := l.Acquire(t.Context(), "web", owner, begin, soon)
	if err != nil {
		t.Fatal(err)
	}
	return fence
}

// launch returns an intent with n claims that hold one node and 1000 milli-CPU each.
func launch(id string, n int) (model.Intent, []model.Claim) {
	intent := model.Intent{ID: id, Cluster: "web", Pool: "default", State: model.IntentCalling, Request: []byte("bytes of " + id), Token: "t-" + id, Attempt: 1, CreatedUnix: begin, DueUnix: soon}
	var claims []model.Claim
	for i := range n {
		name := fmt.Sprintf("default-%s-%02d", id, i)
		intent.Claims = append(intent.Claims, name)
		claims = append(claims, model.Claim{
			Name: name, Pool: "default", State: model.Intended, Version: 1, Intent: id, Held: model.Resources{model.CPU: 1000, model.Nodes: 1},
		})
	}
	return intent, claims
}

func load(t *testing.T, l *Ledger) model.Ledger {
	t.Helper()
	ledger, err := l.Load(t.Context(), web)
	if err != nil {
		t.Fatal(err)
	}
	return ledger
}

func TestLeaseIsHeldByOneAndItsTokenOnlyGrows(t *testing.T) {
	l := start(t)
	first := acquire(t, l, "a")
	if _, err := l.Acquire(t.Context(), "web", "b", begin, soon); !fault.Is(err, fault.Conflict) {
		t.Fatalf("a second holder got %v, want Conflict", err)
	}
	if other, err := l.Acquire(t.Context(), "shop", "b", begin, soon); err != nil || other.Token != 1 {
		t.Fatalf("another cluster's lease: %v %v", other, err)
	}
	again := acquire(t, l, "a")
	if again.Token <= first.Token {
		t.Errorf("renewed token %d is not above %d", again.Token, first.Token)
	}
	if err := l.Release(t.Context(), first); err != nil { // not the newest: left alone
		t.Fatal(err)
	}
	if _, err := l.Acquire(t.Context(), "web", "b", begin, soon); !fault.Is(err, fault.Conflict) {
		t.Fatalf("an old fence released the lease: %v", err)
	}
	if err := l.Release(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	if next := acquire(t, l, "b"); next.Token <= again.Token {
		t.Errorf("token %d is not above %d", next.Token, again.Token)
	}
	if late, err := l.Acquire(t.Context(), "web", "c", soon+1, soon+30); err != nil || late.Token < 4 {
		t.Errorf("a lease that ran out: %v %v", late, err)
	}
}

func TestDeposedPlannerWritesNothing(t *testing.T) {
	l := start(t)
	old := acquire(t, l, "a")
	intent, claims := launch("1", 2)
	if err := l.Record(t.Context(), old, intent, claims, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Acquire(t.Context(), "web", "b", soon+1, soon+60); err != nil {
		t.Fatal(err)
	}
	other, otherClaims := launch("2", 1)
	for what, err := range map[string]error{
		"record":  l.Record(t.Context(), old, other, otherClaims, nil),
		"calling": l.Calling(t.Context(), old, intent),
		"settle":  l.Settle(t.Context(), old, model.Settlement{Intent: intent, Failed: claims, AtUnix: begin}),
	} {
		if !fault.Is(err, fault.Conflict) {
			t.Errorf("%s under an old fence: %v, want Conflict", what, err)
		}
	}
	ledger := load(t, l)
	if len(ledger.Claims) != 2 || len(ledger.Intents) != 1 || ledger.Usage[0].Held[model.Nodes] != 2 {
		t.Errorf("something was written: %+v", ledger)
	}
}

func TestRecordReachesALimitExactlyAndNeverPassesIt(t *testing.T) {
	l := start(t)
	fence := acquire(t, l, "a")
	limits := model.Resources{model.Nodes: 10, model.CPU: 1_000_000}
	var recorded atomic.Int64
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 4 {
				intent, claims := launch(fmt.Sprintf("%d-%d", worker, i), 1)
				err := l.Record(t.Context(), fence, intent, claims, limits)
				switch {
				case err == nil:
					recorded.Add(1)
				case fault.Is(err, fault.Exhausted):
				default:
					t.Errorf("worker %d: %v", worker, err)
				}
			}
		})
	}
	group.Wait()
	ledger := load(t, l)
	if recorded.Load() != 10 || len(ledger.Claims) != 10 || ledger.Usage[0].Held[model.Nodes] != 10 {
		t.Errorf("%d recorded, %d claims, usage %v; the limit is 10 nodes", recorded.Load(), len(ledger.Claims), ledger.Usage)
	}
}

func TestSettleTakesWhatWasUsedAndRefundsTheRestOnce(t *testing.T) {
	l := start(t)
	fence := acquire(t, l, "a")
	intent, claims := launch("1", 3)
	if err := l.Record(t.Context(), fence, intent, claims, model.Resources{model.CPU: 3000}); err != nil {
		t.Fatal(err)
	}
	launched, failed := claims[:2], claims[2:]
	for i := range launched {
		launched[i].State, launched[i].InstanceID = model.Launched, fmt.Sprintf("i-%d", i)
		launched[i].Capacity = model.Resources{model.CPU: 600}
	}
	failed[0].State, failed[0].FailureCode = model.Gone, "InsufficientInstanceCapacity"
	outcome := model.Settlement{Intent: intent, Launched: launched, Failed: failed, AtUnix: begin}
	for range 2 { // the second time nothing changes
		if err := l.Settle(t.Context(), fence, outcome); err != nil {
			t.Fatal(err)
		}
	}
	ledger := load(t, l)
	if len(ledger.Claims) != 2 || len(ledger.Intents) != 0 {
		t.Fatalf("%d live claims and %d open intents, want 2 and 0", len(ledger.Claims), len(ledger.Intents))
	}
	if held := ledger.Usage[0].Held; held[model.CPU] != 1200 || held[model.Nodes] != 2 {
		t.Errorf("the pool holds %v, want cpu 1200 and 2 nodes", held)
	}
	if c := ledger.Claims[0]; c.Version != 2 || c.Held[model.CPU] != 600 || c.InstanceID != "i-0" {
		t.Errorf("claim %+v", c)
	}
}

func TestAdvanceNeedsTheStoredVersion(t *testing.T) {
	l := start(t)
	fence := acquire(t, l, "a")
	intent, claims := launch("1", 1)
	if err := l.Record(t.Context(), fence, intent, claims, nil); err != nil {
		t.Fatal(err)
	}
	next, err := l.Advance(t.Context(), "web", claims[0])
	if err != nil || next.Version != 2 {
		t.Fatalf("%+v %v", next, err)
	}
	if _, err := l.Advance(t.Context(), "web", claims[0]); !fault.Is(err, fault.Conflict) {
		t.Errorf("an old version was written: %v", err)
	}
}

func TestMarkKeepsTheLongerTime(t *testing.T) {
	l := start(t)
	offer := model.OfferKey{InstanceType: "m7g.large", Zone: "us-west-2a", CapacityType: model.Spot}
	far := int64(4_000_000_000)
	marks := []model.Mark{
		{OfferKey: offer, UntilUnix: far, Reason: "InsufficientInstanceCapacity"},
		{OfferKey: offer, UntilUnix: far - 60, Reason: "UnfulfillableCapacity"},
		{SubnetID: "subnet-1", UntilUnix: far, Reason: "InsufficientFreeAddressesInSubnet"},
		{OfferKey: offer, UntilUnix: 1, Reason: "long over"},
	}
	if err := l.Mark(t.Context(), web, marks); err != nil {
		t.Fatal(err)
	}
	kept := load(t, l).Marks
	if len(kept) != 2 {
		t.Fatalf("%d marks: %+v", len(kept), kept)
	}
	for _, mark := range kept {
		if mark.UntilUnix != far {
			t.Errorf("mark %+v, want it until %d", mark, far)
		}
	}
	elsewhere, err := l.Load(t.Context(), model.Registration{Cluster: "shop", Account: web.Account, Region: web.Region})
	if err != nil || len(elsewhere.Marks) != 2 {
		t.Errorf("another cluster of the region sees %d marks, %v", len(elsewhere.Marks), err)
	}
}

func TestPointerBelongsToTheNewestEpoch(t *testing.T) {
	l := start(t)
	ctx := context.Background()
	if err := l.Heartbeat(ctx, "web", 1, begin); !fault.Is(err, fault.NotFound) {
		t.Errorf("a heartbeat without a pointer: %v, want NotFound", err)
	}
	first, err := l.NextEpoch(ctx, "web", "a")
	if err != nil {
		t.Fatal(err)
	}
	second, err := l.NextEpoch(ctx, "web", "b")
	if err != nil || second <= first {
		t.Fatalf("epochs %d, %d, %v", first, second, err)
	}
	at := func(epoch, head int64) error {
		return l.AdvancePointer(ctx, model.Pointer{Cluster: "web", Epoch: epoch, HeadSeq: head, BaseKey: "k", HeartbeatAt: begin})
	}
	if err := at(second, 1); err != nil {
		t.Fatal(err)
	}
	if err := at(first, 9); !fault.Is(err, fault.Conflict) {
		t.Errorf("a deposed watcher moved the pointer: %v", err)
	}
	if err := l.Heartbeat(ctx, "web", first, begin+5); !fault.Is(err, fault.Conflict) {
		t.Errorf("a deposed watcher beat: %v", err)
	}
	if err := at(second, 3); err != nil {
		t.Fatal(err)
	}
	if err := at(second, 2); !fault.Is(err, fault.Conflict) {
		t.Errorf("the pointer went back: %v", err)
	}
	if err := l.Heartbeat(ctx, "web", second, begin+9); err != nil {
		t.Fatal(err)
	}
	pointer := load(t, l).Pointer
	if pointer == nil || pointer.Epoch != second || pointer.HeadSeq != 3 || pointer.HeartbeatAt != begin+9 {
		t.Errorf("pointer %+v", pointer)
	}
}

func TestRegistryKnowsWhoIsAttached(t *testing.T) {
	l := start(t)
	if _, err := l.Cluster(t.Context(), "web"); !fault.Is(err, fault.NotFound) {
		t.Errorf("got %v, want NotFound", err)
	}
	for _, name := range []string{"web", "shop"} {
		if err := l.Register(t.Context(), model.Registration{Cluster: name, Region: "us-west-2", CA: []byte("pem")}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := l.Clusters(t.Context())
	if err != nil || len(all) != 2 || all[0].Cluster != "shop" || string(all[1].CA) != "pem" {
		t.Errorf("%+v %v", all, err)
	}
}
