package dynamoledger_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	dynamodel "github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
	"github.com/joiner-sh/joiner/testenv/local/cloud/once"
)

// on returns a ledger in a table of a model of DynamoDB, and a client of that.
func on(t *testing.T, m *dynamodel.Model) (*dynamoledger.Ledger, *dynamodb.Client) {
	t.Helper()
	server := httptest.NewServer(dynamodel.NewHandler(m))
	t.Cleanup(server.Close)
	client := dynamodb.NewFromConfig(once.Config(server.URL))
	return dynamoledger.New(client, "joiner"), client
}

// adopt records a claim with an instance.
func adopt(t *testing.T, l *dynamoledger.Ledger, name, instance string) {
	t.Helper()
	fence, err := l.AcquireLease(t.Context(), "web", model.LeaseCollector, "a", 1000, 1030)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Adopt(t.Context(), fence, model.Claim{Name: name, Pool: "default", State: model.Initialized, InstanceID: instance}); err != nil {
		t.Fatal(err)
	}
}

// A table that was made before there was an index gets it, and the claims in it are found.
func TestTableOfAnEarlierReleaseGetsTheIndex(t *testing.T) {
	l, client := on(t, dynamodel.NewModel(dynamodel.Options{}))
	old := dynamoledger.Table("joiner")
	old.GlobalSecondaryIndexes, old.AttributeDefinitions = nil, old.AttributeDefinitions[:2]
	if _, err := client.CreateTable(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	adopt(t, l, "default-1", "i-1")
	if _, _, err := l.ByInstance(t.Context(), []string{"i-1"}); !fault.Is(err, fault.Invalid) {
		t.Errorf("without the index: %v, want Invalid", err)
	}
	for range 2 {
		if err := l.EnsureTable(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if found, _, err := l.ByInstance(t.Context(), []string{"i-1"}); err != nil || len(found) != 1 || found[0].Claim.Name != "default-1" {
		t.Errorf("found %+v, %v", found, err)
	}
}

// The index is read as it was a moment ago, and what it names as it is now.
func TestClaimOfALaggingIndexIsMissedAndNeverStale(t *testing.T) {
	m := dynamodel.NewModel(dynamodel.Options{})
	l, _ := on(t, m)
	if err := l.EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	adopt(t, l, "default-1", "i-1")
	m.SetLags(dynamodel.Lags{Index: time.Hour, Read: time.Hour})
	adopt(t, l, "default-2", "i-2")
	claim := model.Claim{Name: "default-1", Pool: "default", State: model.Draining, Version: 1, InstanceID: "i-1", Drain: &model.Drain{SinceUnix: 7}}
	if _, err := l.Advance(t.Context(), "web", claim); err != nil {
		t.Fatal(err)
	}
	found, _, err := l.ByInstance(t.Context(), []string{"i-1", "i-2"})
	if err != nil || len(found) != 1 || found[0].Claim.State != model.Draining || found[0].Claim.Version != 2 {
		t.Errorf("found %+v, %v; want default-1 as it is now, and default-2 not yet", found, err)
	}
}

// A claim that cannot be looked up is no claim that is not there: nobody may take a warning for a stranger's (law 7).
func TestLookUpThatFailsFindsNothingAndSaysSo(t *testing.T) {
	for _, action := range []string{"Query", "BatchGetItem"} {
		lost := &loser{}
		l := start(t, func(inner http.Handler) http.Handler { lost.inner = inner; return lost })
		adopt(t, l, "default-1", "i-1")
		lost.action.Store(action)
		if found, _, err := l.ByInstance(t.Context(), []string{"i-1"}); err == nil {
			t.Errorf("%s failed and the answer is %+v", action, found)
		}
	}
}
