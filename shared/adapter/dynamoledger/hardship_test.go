package dynamoledger_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/model"
	dynamodel "github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
	"github.com/joiner-sh/joiner/testenv/test/conform"
)

// under is a ledger in a model of DynamoDB that is then made as hard to use as DynamoDB may be.
func under(t *testing.T) (*dynamoledger.Ledger, *dynamodel.Model, *dynamodb.Client) {
	t.Helper()
	m := dynamodel.NewModel(dynamodel.Options{})
	l, client := on(t, m)
	if err := l.EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l, m, client
}

// launch is an intent of one claim, with a request of so many bytes that no packing makes smaller.
func launch(id string, bytes int) (model.Intent, []model.Claim) {
	request, draw := make([]byte, bytes), rand.New(rand.NewPCG(1, uint64(len(id))))
	for i := range request {
		request[i] = byte(draw.Uint32())
	}
	claim := model.Claim{Name: "default-" + id, Pool: "default", State: model.Intended, Version: 1, Intent: id, Reserved: model.Resources{model.Nodes: 1}}
	return model.Intent{
		ID: id, Cluster: "web", Pool: "default", State: model.IntentCalling, Request: request, Token: "t-" + id, Attempt: 1,
		Claims: []string{claim.Name}, CreatedUnix: 1000, DueUnix: 1100,
	}, []model.Claim{claim}
}

func acquire(t *testing.T, l *dynamoledger.Ledger, lease string) model.Fence {
	t.Helper()
	fence, err := l.AcquireLease(t.Context(), "web", lease, "a", 1000, 1030)
	if err != nil {
		t.Fatal(err)
	}
	return fence
}

// F12, X1: whatever a protocol rests on is read consistently. Reads that are not see the table as it was an hour ago. What launches are
// made by is tried by itself, since the rest of that contract has what may be old: memory that nodes taught, and the list of clusters.
func TestX1TheContractsHoldWhereEventuallyConsistentReadsAreOld(t *testing.T) {
	lagging := func(t *testing.T) *dynamoledger.Ledger {
		l, m, _ := under(t)
		m.SetLags(dynamodel.Lags{Read: time.Hour})
		return l
	}
	l := lagging(t)
	fence := acquire(t, l, model.LeasePlanner)
	intent, claims := launch("1", 5000)
	if err := l.Record(t.Context(), fence, intent, claims, nil); err != nil {
		t.Fatal(err)
	}
	ledger, err := l.Load(t.Context(), model.Registration{Cluster: "web", Account: "123456789012", Region: "us-west-2"})
	if err != nil || len(ledger.Intents) != 1 || len(ledger.Claims) != 1 || len(ledger.Usage) != 1 {
		t.Errorf("loaded %d intents, %d claims, %d usages, %v; want one of each", len(ledger.Intents), len(ledger.Claims), len(ledger.Usage), err)
	}
	conform.LedgerCollect(t, func(t *testing.T) conform.LedgerCollectPort { return lagging(t) })
	conform.LedgerDisrupt(t, func(t *testing.T) conform.LedgerDisruptPort { return lagging(t) })
}

// F13, X2: a partition of several megabytes is read to its end.
func TestX2PartitionsOfManyPagesAreReadToTheirEnd(t *testing.T) {
	l, _, _ := under(t)
	fence := acquire(t, l, model.LeasePlanner)
	const launches = 20
	for n := range launches {
		intent, claims := launch(fmt.Sprintf("%02d", n), 150_000)
		if err := l.Record(t.Context(), fence, intent, claims, nil); err != nil {
			t.Fatal(err)
		}
	}
	ledger, err := l.Load(t.Context(), model.Registration{Cluster: "web", Account: "123456789012", Region: "us-west-2"})
	if err != nil || len(ledger.Intents) != launches || len(ledger.Claims) != launches || len(ledger.Usage) != 1 || ledger.Usage[0].Reserved[model.Nodes] != launches {
		t.Errorf("%d intents, %d claims, usage %+v, %v; want %d of each", len(ledger.Intents), len(ledger.Claims), ledger.Usage, err, launches)
	}
}

// F13, X3: what DynamoDB puts off of a batch is asked for again.
func TestX3ItemsThatABatchLeavesOutAreAskedForAgain(t *testing.T) {
	l, m, _ := under(t)
	ids := []string{"i-1", "i-2", "i-3", "i-4"}
	for _, id := range ids {
		adopt(t, l, "default-"+id, id)
	}
	put := 0
	m.SetFaults(dynamodel.Faults{Batch: func(n int, _ dynamodel.ItemRef) bool {
		if n%2 == 0 && put < 3 {
			put++
			return true
		}
		return false
	}})
	found, _, err := l.ByInstance(t.Context(), ids)
	if err != nil || len(found) != len(ids) || put == 0 {
		t.Errorf("found %d of %d, %d put off, %v", len(found), len(ids), put, err)
	}
}

// F13, X4: a transaction that only met another one is tried again.
func TestX4TransactionsThatMeetOthersAreTriedAgain(t *testing.T) {
	l, m, _ := under(t)
	fence := acquire(t, l, model.LeasePlanner)
	m.SetFaults(dynamodel.Faults{Transaction: func(n int, _ []dynamodel.ItemRef) []int {
		if n <= 3 {
			return []int{0}
		}
		return nil
	}})
	intent, claims := launch("1", 100)
	if err := l.Record(t.Context(), fence, intent, claims, nil); err != nil {
		t.Errorf("after three conflicts: %v", err)
	}
}

// F14, X5 to X7: failed claims, closed claims and done intents have a time to live, and nothing else of a launch has.
func TestX5X6X7WhatIsOverHasATimeToLive(t *testing.T) {
	l, _, client := under(t)
	fence := acquire(t, l, model.LeasePlanner)
	for _, id := range []string{"done", "failed", "open"} {
		intent, claims := launch(id, 100)
		if err := l.Record(t.Context(), fence, intent, claims, nil); err != nil {
			t.Fatal(err)
		}
		outcome := model.Settlement{Intent: intent, AtUnix: 1010}
		switch id {
		case "done":
			claims[0].State, claims[0].InstanceID = model.Launched, "i-1"
			outcome.Launched = claims
		case "failed":
			claims[0].State = model.Gone
			outcome.Failed = claims
		default:
			continue
		}
		if err := l.Settle(t.Context(), fence, outcome); err != nil {
			t.Fatal(err)
		}
	}
	adopt(t, l, "closed", "i-2")
	if err := l.CloseClaim(t.Context(), acquire(t, l, model.LeaseCollector), model.Claim{Name: "closed", Pool: "default", State: model.Initialized, InstanceID: "i-2", Version: 1}, 1020); err != nil {
		t.Fatal(err)
	}
	out, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("joiner"), ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	var mortal []string
	for _, entry := range out.Items {
		key := entry["SK"].(*types.AttributeValueMemberS).Value
		if entry["ttl"] != nil && strings.ContainsAny(key, "#") && !strings.HasPrefix(key, "LEASE#") {
			mortal = append(mortal, key+" "+entry["ttl"].(*types.AttributeValueMemberN).Value)
		}
	}
	slices.Sort(mortal)
	const day = 24 * 3600
	want := []string{
		fmt.Sprintf("ENDED#9999998979#closed %d", 1020+day), fmt.Sprintf("~CLAIM#closed %d", 1020+day), fmt.Sprintf("~CLAIM#default-failed %d", 1010+day),
		fmt.Sprintf("~INTENT#done %d", 1010+day), fmt.Sprintf("~INTENT#failed %d", 1010+day),
	}
	if !slices.Equal(mortal, want) {
		t.Errorf("with a time to live: %v, want %v", mortal, want)
	}
}
