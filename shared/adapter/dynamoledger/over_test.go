package dynamoledger_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	dynamodel "github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
	"github.com/joiner-sh/joiner/testenv/local/cloud/once"
)

var web = model.Registration{Cluster: "web", Account: "123456789012", Region: "us-west-2"}

// metered is a ledger in a model of DynamoDB that counts the pages of queries.
func metered(t *testing.T) (l *dynamoledger.Ledger, m *dynamodel.Model, pages *atomic.Int64) {
	t.Helper()
	m, pages = dynamodel.NewModel(dynamodel.Options{}), &atomic.Int64{}
	inner := dynamodel.NewHandler(m)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Query") {
			pages.Add(1)
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	l = dynamoledger.New(dynamodb.NewFromConfig(once.Config(server.URL)), "joiner")
	if err := l.EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l, m, pages
}

// failedLaunch is an intent of two claims of 15 pods each with a request as 400 offerings take, and its claims.
func failedLaunch(n int) (model.Intent, []model.Claim) {
	intent, claims := launch(fmt.Sprintf("%04d", n), 1500)
	claims = append(claims, claims[0])
	claims[1].Name += "-b"
	intent.Claims = append(intent.Claims, claims[1].Name)
	for i := range claims {
		for pod := range 15 {
			claims[i].Pods = append(claims[i].Pods, model.PodRef{Namespace: "default", Name: fmt.Sprintf("web-%05d", n*31+pod), UID: fmt.Sprintf("%08x-5d4f-%012x", n*2654435761, pod*40503)})
		}
	}
	return intent, claims
}

// reads returns what a read takes in pages and read units.
func reads(t *testing.T, m *dynamodel.Model, pages *atomic.Int64, read func() error) (int64, float64) {
	t.Helper()
	pagesBefore, before := pages.Load(), m.Usage().ReadUnits
	if err := read(); err != nil {
		t.Fatal(err)
	}
	return pages.Load() - pagesBefore, m.Usage().ReadUnits - before
}

// noGrowth has so many launches settled as failed, twice, and wants a read to take no more than before any.
func noGrowth(t *testing.T, read func(l *dynamoledger.Ledger) error) {
	l, m, pages := metered(t)
	fence := acquire(t, l, model.LeasePlanner)
	settle := func(from, to int) {
		t.Helper()
		for n := from; n < to; n++ {
			intent, claims := failedLaunch(n)
			if err := l.Record(t.Context(), fence, intent, claims, nil); err != nil {
				t.Fatal(err)
			}
			for i := range claims {
				claims[i].State, claims[i].FailureCode = model.Gone, "InsufficientInstanceCapacity"
			}
			if err := l.Settle(t.Context(), fence, model.Settlement{Intent: intent, Failed: claims, AtUnix: time.Now().Unix()}); err != nil {
				t.Fatal(err)
			}
		}
	}
	settle(0, 1)
	wantPages, want := reads(t, m, pages, func() error { return read(l) })
	for from, to := 1, 500; to <= 2000; from, to = to, to*4 {
		settle(from, to)
		if gotPages, got := reads(t, m, pages, func() error { return read(l) }); gotPages != wantPages || got != want {
			t.Errorf("after %d settled launches: %d pages and %.1f read units, want %d and %.1f as after one", to, gotPages, got, wantPages, want)
		}
	}
}

// F9, T7: launches that are over are not read by who plans.
func TestF9ALoadReadsNothingOfWhatIsOver(t *testing.T) {
	noGrowth(t, func(l *dynamoledger.Ledger) error {
		ledger, err := l.Load(t.Context(), web)
		if err == nil && len(ledger.Claims)+len(ledger.Intents)+len(ledger.Ended)+len(ledger.Unread) != 0 {
			t.Errorf("%+v", ledger)
		}
		return err
	})
}

// F9: nor by who collects.
func TestF9ReadingRecordsReadsNothingOfLaunchesThatFailed(t *testing.T) {
	noGrowth(t, func(l *dynamoledger.Ledger) error {
		records, err := l.Records(t.Context(), web)
		if err == nil && len(records.Claims)+len(records.Intents)+len(records.Unread) != 0 {
			t.Errorf("%+v", records)
		}
		return err
	})
}

// F9: instances that ended longer than an hour ago are not read by who plans, and those of the last hour are.
func TestF9ALoadReadsOnlyTheInstancesThatEndedLately(t *testing.T) {
	l, m, pages := metered(t)
	now := time.Now().Unix()
	end := func(name string, atUnix int64) {
		t.Helper()
		adopt(t, l, name, "i-"+name)
		claim := model.Claim{Name: name, Pool: "default", State: model.Initialized, InstanceID: "i-" + name, Version: 1, FailureCode: model.EndedExpired}
		if err := l.CloseClaim(t.Context(), acquire(t, l, model.LeaseCollector), claim, atUnix); err != nil {
			t.Fatal(err)
		}
	}
	load := func() error {
		ledger, err := l.Load(t.Context(), web)
		if err == nil && (len(ledger.Ended) != 1 || ledger.Ended[0].Name != "late" || ledger.Ended[0].FailureCode != model.EndedExpired || len(ledger.Claims) != 0) {
			t.Errorf("ended %+v, claims %+v", ledger.Ended, ledger.Claims)
		}
		return err
	}
	end("late", now-60)
	wantPages, want := reads(t, m, pages, load)
	for n := range 500 {
		end(fmt.Sprintf("old-%03d", n), now-7200-int64(n))
	}
	if gotPages, got := reads(t, m, pages, load); gotPages != wantPages || got != want {
		t.Errorf("%d pages and %.1f read units, want %d and %.1f", gotPages, got, wantPages, want)
	}
	// Who collects has all of a day: a node or an object may be left of each.
	records, err := l.Records(t.Context(), web)
	if err != nil || len(records.Claims) != 501 || records.Claims[0].State != model.Gone || records.Claims[0].InstanceID != "i-late" {
		t.Errorf("surveyed %d claims, %v", len(records.Claims), err)
	}
	found, _, err := l.ByInstance(t.Context(), []string{"i-late", "i-old-007"})
	if err != nil || len(found) != 2 || found[0].Claim.State != model.Gone || found[1].Claim.Name != "old-007" {
		t.Errorf("found %+v, %v", found, err)
	}
}

// F9: an index of instances that does not know yet that a claim is gone finds it all the same.
func TestF9AClaimThatHasJustEndedIsFoundByALaggingIndex(t *testing.T) {
	l, m, _ := under(t)
	adopt(t, l, "default-1", "i-1")
	m.SetLags(dynamodel.Lags{Index: time.Hour})
	claim := model.Claim{Name: "default-1", Pool: "default", State: model.Initialized, InstanceID: "i-1", Version: 1}
	if err := l.CloseClaim(t.Context(), acquire(t, l, model.LeaseCollector), claim, 1020); err != nil {
		t.Fatal(err)
	}
	found, _, err := l.ByInstance(t.Context(), []string{"i-1"})
	if err != nil || len(found) != 1 || found[0].Claim.State != model.Gone || found[0].Claim.Name != "default-1" {
		t.Errorf("found %+v, %v", found, err)
	}
}

// F9: the id of an intent and the name of a claim are used once, though what had them has left the partition that is read.
func TestF9IdsAndNamesOfWhatIsOverAreNotUsedAgain(t *testing.T) {
	l, _, _ := under(t)
	fence := acquire(t, l, model.LeasePlanner)
	intent, claims := launch("1", 100)
	outcome := model.Settlement{Intent: intent, AtUnix: time.Now().Unix()}
	failed := claims[0]
	failed.State = model.Gone
	outcome.Failed = []model.Claim{failed}
	if err := l.Settle(t.Context(), fence, outcome); !fault.Is(err, fault.Conflict) {
		t.Errorf("settling what was never recorded: %v", err)
	}
	if err := l.Record(t.Context(), fence, intent, claims, nil); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := l.Settle(t.Context(), fence, outcome); err != nil {
			t.Errorf("settle: %v", err)
		}
	}
	other, others := launch("1", 100)
	others[0].Name, other.Claims = "default-other", []string{"default-other"}
	if err := l.Record(t.Context(), fence, other, others, nil); fault.CodeOf(err) != "IntentExists" {
		t.Errorf("the id of an intent that is done: %v", err)
	}
	other, others = launch("2", 100)
	others[0].Name, other.Claims = claims[0].Name, []string{claims[0].Name}
	for _, version := range []int64{1, 3} {
		others[0].Version = version
		if err := l.Record(t.Context(), fence, other, others, nil); fault.CodeOf(err) != provision.ClaimExists {
			t.Errorf("the name of a claim that is gone, at version %d: %v", version, err)
		}
	}
	err := l.Adopt(t.Context(), acquire(t, l, model.LeaseCollector), model.Claim{Name: claims[0].Name, Pool: "default", State: model.Launched, InstanceID: "i-1"})
	if !fault.Is(err, fault.Conflict) || fault.CodeOf(err) != "ClaimExists" {
		t.Errorf("adopted under the name of a claim that is gone: %v", err)
	}
	if ledger, err := l.Load(t.Context(), web); err != nil || len(ledger.Claims)+len(ledger.Intents) != 0 {
		t.Errorf("%+v, %v", ledger, err)
	}
}

// asEarlier writes a claim and an intent as a version before F9 left them: in their places, and over.
func asEarlier(t *testing.T, client *dynamodb.Client, claim model.Claim, goneUnix int64) {
	t.Helper()
	n := func(v int64) types.AttributeValue { return &types.AttributeValueMemberN{Value: fmt.Sprint(v)} }
	item := row{
		"PK": word(claimsPartition(claim.Name)), "SK": word("CLAIM#" + claim.Name), "state": word("Gone"), "ver": n(claim.Version), "intent": word(claim.Intent),
		"ttl": n(goneUnix + 24*3600),
		"doc": word(fmt.Sprintf(`{"name":%q,"pool":%q,"state":"Gone","version":%d,"intent":%q,"instanceId":%q,"gone":%d,"failureCode":"Why"}`,
			claim.Name, claim.Pool, claim.Version, claim.Intent, claim.InstanceID, goneUnix)),
	}
	if claim.InstanceID != "" {
		item["instanceId"] = word(claim.InstanceID)
	}
	intent := row{"PK": word("C#web#"), "SK": word("INTENT#" + claim.Intent), "state": word("Done"), "ttl": n(goneUnix + 24*3600), "doc": word(fmt.Sprintf(`{"id":%q,"state":"Done"}`, claim.Intent))}
	for _, item := range []row{item, intent} {
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("joiner"), Item: item}); err != nil {
			t.Fatal(err)
		}
	}
}

// F9: what an earlier version left is read as it was, until its time to live.
func TestF9WhatAnEarlierVersionLeftIsReadUntilItsTime(t *testing.T) {
	l, client := ledgerOn(t)
	ctx, now := t.Context(), time.Now().Unix()
	asEarlier(t, client, model.Claim{Name: "late", Pool: "default", Intent: "1", InstanceID: "i-late", Version: 4}, now-60)
	asEarlier(t, client, model.Claim{Name: "c-r0", Pool: "default", Intent: "2", Version: 2}, now-7200)
	asEarlier(t, client, model.Claim{Name: "expired", Pool: "default", Intent: "3", InstanceID: "i-x", Version: 2}, now-90_000)
	adopt(t, l, "target", "i-target")
	ledger, err := l.Load(ctx, web)
	if err != nil {
		t.Fatal(err)
	}
	command := model.Command{
		ID: "c", Version: 1, State: model.CommandCommitted, Reason: model.ReasonUnderutilized, SinceUnix: now,
		Targets:      []model.Target{{Claim: "target", Pool: "default", Node: "n"}},
		Replacements: []model.PlannedClaim{{Name: "c-r0", Pool: "default", Class: "default"}},
	}
	if err := l.Commit(ctx, acquire(t, l, model.LeaseDisrupt), command, ledger.Claims, []model.BudgetVersion{{Pool: "default"}}); err != nil {
		t.Fatal(err)
	}
	ledger, err = l.Load(ctx, web)
	if err != nil || len(ledger.Claims) != 1 || len(ledger.Intents) != 0 || len(ledger.Ended) != 1 || ledger.Ended[0].Name != "late" || len(ledger.Spent) != 1 || ledger.Spent[0].FailureCode != "Why" {
		t.Errorf("claims %+v, intents %+v, ended %+v, spent %+v, %v", ledger.Claims, ledger.Intents, ledger.Ended, ledger.Spent, err)
	}
	records, err := l.Records(ctx, web)
	if err != nil || len(records.Intents) != 0 || len(records.Claims) != 3 {
		t.Errorf("claims %+v, intents %+v, %v", records.Claims, records.Intents, err)
	}
	collector, planner := acquire(t, l, model.LeaseCollector), acquire(t, l, model.LeasePlanner)
	if err := l.CloseClaim(ctx, collector, model.Claim{Name: "late", Pool: "default", Version: 3, InstanceID: "i-late"}, now); err != nil {
		t.Errorf("closing what is gone: %v", err)
	}
	intent, claims := launch("1", 100)
	failed := claims[0]
	failed.State = model.Gone
	if err := l.Settle(ctx, planner, model.Settlement{Intent: intent, Failed: []model.Claim{failed}, AtUnix: now}); err != nil {
		t.Errorf("settling what is done: %v", err)
	}
	if err := l.Record(ctx, planner, intent, claims, nil); fault.CodeOf(err) != "IntentExists" {
		t.Errorf("the id of an intent that is done: %v", err)
	}
}

// F9: a replacement of an open command that failed is known however long ago that was, and so is one that cannot be read.
func TestF9ReplacementsThatFailedAreKnown(t *testing.T) {
	l, client := ledgerOn(t)
	ctx, now := t.Context(), time.Now().Unix()
	adopt(t, l, "target", "i-target")
	ledger, err := l.Load(ctx, web)
	if err != nil {
		t.Fatal(err)
	}
	command := model.Command{
		ID: "c", Version: 1, State: model.CommandCommitted, Reason: model.ReasonUnderutilized, SinceUnix: now,
		Targets: []model.Target{{Claim: "target", Pool: "default", Node: "n"}},
		Replacements: []model.PlannedClaim{
			{Name: "c-r0", Pool: "default", Class: "default"}, {Name: "c-r1", Pool: "default", Class: "default"}, {Name: "c-r2", Pool: "default", Class: "default"},
		},
	}
	if err := l.Commit(ctx, acquire(t, l, model.LeaseDisrupt), command, ledger.Claims, []model.BudgetVersion{{Pool: "default"}}); err != nil {
		t.Fatal(err)
	}
	collector := acquire(t, l, model.LeaseCollector)
	for _, name := range []string{"c-r0", "c-r1"} {
		claim := model.Claim{Name: name, Pool: "default", State: model.Launched, InstanceID: "i-" + name, Version: 1}
		if err := l.Adopt(ctx, collector, claim); err != nil {
			t.Fatal(err)
		}
		claim.FailureCode = model.EndedNeverRegistered
		if err := l.CloseClaim(ctx, collector, claim, now-7200); err != nil {
			t.Fatal(err)
		}
	}
	out, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("joiner"), Key: row{"PK": word(claimsPartition("c-r1")), "SK": word("~CLAIM#c-r1")}})
	if err != nil || out.Item == nil {
		t.Fatalf("%+v, %v", out, err)
	}
	breakDoc(t, client, claimsPartition("c-r1"), out.Item["at"].(*types.AttributeValueMemberS).Value, "{")
	ledger, err = l.Load(ctx, web)
	if err != nil || len(ledger.Spent) != 1 || ledger.Spent[0].Name != "c-r0" || ledger.Spent[0].FailureCode != model.EndedNeverRegistered || len(ledger.Claims) != 1 {
		t.Errorf("spent %+v, claims %+v, %v", ledger.Spent, ledger.Claims, err)
	}
	if len(ledger.Unread) != 1 || !ledger.Unread.Has(model.UnreadClaim, "c-r1") || !ledger.Unread[0].Gone {
		t.Errorf("unread %+v", ledger.Unread)
	}
}
