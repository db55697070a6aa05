package dynamoledger_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// loser carries requests out and, once told to, answers the next of an action with a server error.
type loser struct {
	inner  http.Handler
	action atomic.Value // string
}

func (l *loser) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	action, _ := l.action.Load().(string)
	if action == "" || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+action) {
		l.inner.ServeHTTP(w, r)
		return
	}
	l.action.Store("")
	l.inner.ServeHTTP(httptest.NewRecorder(), r)
	http.Error(w, `{"__type":"InternalServerError"}`, http.StatusInternalServerError)
}

// A transaction whose answer is lost has happened; carrying it out again finds that out and changes nothing.
func TestTransactionWhoseAnswerIsLostMayBeRepeated(t *testing.T) {
	lost := &loser{}
	l := start(t, func(inner http.Handler) http.Handler { lost.inner = inner; return lost })
	ctx := t.Context()
	fence, err := l.Acquire(ctx, "web", "a", 1000, 1030)
	if err != nil {
		t.Fatal(err)
	}
	intent := model.Intent{ID: "1", Cluster: "web", Pool: "default", Claims: []string{"c"}, State: model.IntentCalling, Request: []byte("bytes"), Token: "t"}
	claims := []model.Claim{{Name: "c", Pool: "default", State: model.Intended, Version: 1, Intent: "1", Reserved: model.Resources{model.Nodes: 1}}}
	launched := claims[0]
	launched.State, launched.InstanceID = model.Launched, "i-1"
	limits := model.Resources{model.Nodes: 1}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"record", func() error { return l.Record(ctx, fence, intent, claims, limits) }},
		{"calling", func() error { return l.Calling(ctx, fence, intent) }},
		{"settle", func() error {
			return l.Settle(ctx, fence, model.Settlement{Intent: intent, Launched: []model.Claim{launched}, AtUnix: 1000})
		}},
	} {
		lost.action.Store("TransactWriteItems")
		if err := step.do(); !fault.Is(err, fault.Internal) {
			t.Errorf("%s without an answer: %v, want Internal", step.name, err)
		}
		if err := step.do(); err != nil {
			t.Errorf("%s again: %v", step.name, err)
		}
	}
	ledger, err := l.Load(ctx, model.Registration{Cluster: "web"})
	if err != nil || len(ledger.Claims) != 1 || len(ledger.Intents) != 0 || ledger.Usage[0].Reserved[model.Nodes] != 1 {
		t.Errorf("%+v %v", ledger, err)
	}
	if c := ledger.Claims[0]; c.InstanceID != "i-1" || c.Version != 2 {
		t.Errorf("claim %+v", c)
	}
}

// A command whose commit's answer is lost is committed once, and its claims and turns are as one commit leaves them.
func TestCommitWhoseAnswerIsLostMayBeRepeated(t *testing.T) {
	lost := &loser{}
	l := start(t, func(inner http.Handler) http.Handler { lost.inner = inner; return lost })
	ctx := t.Context()
	adopt(t, l, "default-1", "i-1")
	fence, err := l.AcquireLease(ctx, "web", model.LeaseDisrupt, "a", 1000, 1030)
	if err != nil {
		t.Fatal(err)
	}
	command := model.Command{
		ID: "c", Version: 1, State: model.CommandCommitted, Reason: model.ReasonEmpty, SinceUnix: 1000,
		Targets: []model.Target{{Claim: "default-1", Pool: "default", Node: "n"}},
	}
	ledger, err := l.Load(ctx, model.Registration{Cluster: "web"})
	if err != nil {
		t.Fatal(err)
	}
	commit := func() error {
		return l.Commit(ctx, fence, command, ledger.Claims, []model.BudgetVersion{{Pool: "default"}})
	}
	lost.action.Store("TransactWriteItems")
	if err := commit(); !fault.Is(err, fault.Internal) {
		t.Errorf("without an answer: %v, want Internal", err)
	}
	for range 2 {
		if err := commit(); err != nil {
			t.Errorf("again: %v", err)
		}
	}
	ledger, err = l.Load(ctx, model.Registration{Cluster: "web"})
	if err != nil || len(ledger.Commands) != 1 || ledger.Commands[0].Version != 1 || ledger.BudgetVersions[0].Version != 1 || ledger.Claims[0].Version != 2 || ledger.Claims[0].Command != "c" {
		t.Errorf("%+v %v", ledger, err)
	}
}

// The lease taken by an invocation that never heard of it is taken again by the same one.
func TestLeaseWhoseAnswerIsLostIsTakenAgain(t *testing.T) {
	lost := &loser{}
	l := start(t, func(inner http.Handler) http.Handler { lost.inner = inner; return lost })
	lost.action.Store("UpdateItem")
	if _, err := l.Acquire(t.Context(), "web", "a", 1000, 1030); !fault.Is(err, fault.Internal) {
		t.Fatalf("%v, want Internal", err)
	}
	if fence, err := l.Acquire(t.Context(), "web", "a", 1000, 1030); err != nil || fence.Token != 2 {
		t.Errorf("%+v %v", fence, err)
	}
	if _, err := l.Acquire(t.Context(), "web", "b", 1000, 1030); !fault.Is(err, fault.Conflict) {
		t.Errorf("another: %v, want Conflict", err)
	}
}
