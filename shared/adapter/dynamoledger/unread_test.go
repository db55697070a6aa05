package dynamoledger_test

import (
	"hash/fnv"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/catalog"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/work"
	dynamodel "github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
	"github.com/joiner-sh/joiner/testenv/test/conform"
)

type row = map[string]types.AttributeValue

func word(value string) types.AttributeValue { return &types.AttributeValueMemberS{Value: value} }

// claimsPartition is the partition of a claim of cluster web.
func claimsPartition(name string) string {
	hash := fnv.New32a()
	hash.Write([]byte(name))
	return "C#web#N#" + strconv.Itoa(int(hash.Sum32()%8))
}

// breakDoc makes the doc of an item what it says.
func breakDoc(t *testing.T, client *dynamodb.Client, pk, sk, doc string) {
	t.Helper()
	_, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String("joiner"), Key: row{"PK": word(pk), "SK": word(sk)},
		UpdateExpression: aws.String("SET #doc = :doc REMOVE #packed"), ConditionExpression: aws.String("attribute_exists(PK)"),
		ExpressionAttributeNames: map[string]string{"#doc": "doc", "#packed": "packed"}, ExpressionAttributeValues: row{":doc": word(doc)},
	})
	if err != nil {
		t.Fatalf("break %s %s: %v", pk, sk, err)
	}
}

// ledgerOn returns a ledger in a table of its own, and a client of that.
func ledgerOn(t *testing.T) (*dynamoledger.Ledger, *dynamodb.Client) {
	t.Helper()
	ledger, client := on(t, dynamodel.NewModel(dynamodel.Options{}))
	if err := ledger.EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	return ledger, client
}

func TestF3LedgerKeepsTheContractOfItemsThatCannotBeRead(t *testing.T) {
	for _, doc := range []string{"{", `{}`, `[]`} {
		t.Run(doc, func(t *testing.T) {
			conform.LedgerUnread(t, func(t *testing.T) (conform.LedgerDisruptPort, func(kind, name string)) {
				ledger, client := ledgerOn(t)
				return ledger, func(kind, name string) {
					switch kind {
					case model.UnreadClaim:
						breakDoc(t, client, claimsPartition(name), "CLAIM#"+name, doc)
					case model.UnreadIntent:
						breakDoc(t, client, "C#web#", "INTENT#"+name, doc)
					case model.UnreadCommand:
						breakDoc(t, client, "C#web#", "COMMAND#"+name, doc)
					case model.UnreadUsage:
						_, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
							TableName: aws.String("joiner"), Key: row{"PK": word("C#web#"), "SK": word("USE#" + name)},
							UpdateExpression: aws.String("SET #r = :r"), ExpressionAttributeNames: map[string]string{"#r": "r:nodes"}, ExpressionAttributeValues: row{":r": word("two")},
						})
						if err != nil {
							t.Fatal(err)
						}
					}
				}
			})
		})
	}
}

func TestCT07LedgerKeepsTheContractOfZonalShifts(t *testing.T) {
	conform.LedgerShifts(t, func(t *testing.T) (conform.LedgerPort, catalog.ShiftRecords) {
		ledger, _ := ledgerOn(t)
		return ledger, ledger
	})
}

func TestF5LedgerKeepsTheContractOfUsageRecounts(t *testing.T) {
	conform.LedgerRecount(t, func(t *testing.T) (conform.LedgerDisruptPort, provision.UsageRecounts) {
		ledger, _ := ledgerOn(t)
		return ledger, ledger
	})
}

func TestF4LedgerKeepsTheContractOfLosses(t *testing.T) {
	conform.LedgerLoss(t, func(t *testing.T) (conform.LedgerDisruptPort, work.LossReporter) {
		ledger, _ := ledgerOn(t)
		return ledger, ledger
	})
}

// F3: the very item that stopped a cluster, and a command whose version in the doc is not the one beside it.
func TestF3AnItemThatCannotBeReadStopsNobody(t *testing.T) {
	ledger, client := ledgerOn(t)
	reg := model.Registration{Cluster: "web", Account: "1", Region: "us-west-2"}
	adopt(t, ledger, "default-1", "i-1")
	put := func(item row) {
		t.Helper()
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("joiner"), Item: item}); err != nil {
			t.Fatal(err)
		}
	}
	put(row{"PK": word("C#web#N#0"), "SK": word("CLAIM#bad"), "doc": word("{"), "state": word("Gone")})
	put(row{"PK": word("C#web#"), "SK": word("COMMAND#c"), "doc": word(`{"id":"c","version":2,"state":"Replacing"}`), "ver": &types.AttributeValueMemberN{Value: "3"}})
	got, err := ledger.Load(t.Context(), reg)
	if err != nil || len(got.Claims) != 1 || len(got.Unread) != 2 {
		t.Fatalf("claims %+v, unread %+v, %v", got.Claims, got.Unread, err)
	}
	if u := got.Unread[0]; u.Kind != model.UnreadCommand || u.Name != "c" || !strings.Contains(u.Why, "version 2 in its doc and 3 beside it") {
		t.Errorf("%+v", u)
	}
	u := got.Unread[1]
	if u.Kind != model.UnreadClaim || u.Name != "bad" || !u.Gone || u.Key != "C#web#N#0 CLAIM#bad" || got.Unread.Claims() != 0 {
		t.Errorf("%+v", u)
	}
	if text := u.Text(); !strings.Contains(text, "C#web#N#0 CLAIM#bad") || !strings.Contains(text, "unexpected end of JSON input") {
		t.Errorf("told %q", text)
	}
	records, err := ledger.Records(t.Context(), reg)
	if err != nil || len(records.Claims) != 1 || len(records.Unread) != 2 {
		t.Errorf("claims %+v, unread %+v, %v", records.Claims, records.Unread, err)
	}
}

// F3: what is found out or counted anew is written anew where it cannot be read, and a stop that cannot be read stops.
func TestF3RecordsThatCannotBeReadAreWrittenAnew(t *testing.T) {
	ledger, client := ledgerOn(t)
	ctx, reg := t.Context(), model.Registration{Cluster: "web", Account: "1", Region: "us-west-2"}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	fence, err := ledger.AcquireLease(ctx, "web", model.LeaseCollector, "a", 1000, 1030)
	must(err)
	record, err := ledger.PutClass(ctx, "web", model.ClassRecord{Name: "default", UID: "u"})
	must(err)
	must(ledger.Spend(ctx, reg, model.Allowance{CallsMilli: 7}))
	_, err = ledger.Recall(ctx, fence, model.DisruptNotes{Epoch: 3})
	must(err)
	_, err = ledger.PutCollectorState(ctx, fence, model.CollectorState{AtUnix: 5})
	must(err)
	must(ledger.Remember(ctx, fence, model.Notes{LostUnix: 4}))
	must(ledger.MarkUnavailable(ctx, reg, []model.UnavailableOffering{{SubnetID: "s", UntilUnix: 1 << 40, ForgetUnix: 1 << 40, Failures: 1}}))
	must(ledger.Stop(ctx, reg, model.Stop{Scope: model.StopPool, Pool: "default"}))
	must(ledger.Stop(ctx, reg, model.Stop{Scope: model.StopCluster}))
	must(ledger.Stop(ctx, reg, model.Stop{Scope: model.StopRegion}))
	for _, at := range [][2]string{
		{"C#web#", "CLASS#default"}, {"R#1#us-west-2#", "ALLOWANCE"}, {"C#web#", "JUDGE"}, {"C#web#", "CASES"}, {"C#web#", "NOTES"}, {"R#1#us-west-2#", "MARK#subnet#s"},
		{"C#web#", "STOP#default"}, {"C#web#", "STOP"}, {"R#1#us-west-2#", "STOP"},
	} {
		breakDoc(t, client, at[0], at[1], `{"version":"x"`)
	}
	got, err := ledger.Load(ctx, reg)
	must(err)
	if len(got.Unread) != 8 || got.Unread.Any(model.UnreadClaim, model.UnreadUsage, model.UnreadCommand) { // all but the collector's state
		t.Errorf("unread %+v", got.Unread)
	}
	records, err := ledger.Records(ctx, reg)
	must(err)
	if len(records.Unread) != 3 || records.Collector.Version != 1 || records.Collector.AtUnix != 0 { // collector state, notes and the class
		t.Errorf("unread %+v, %+v", records.Unread, records.Collector)
	}
	stops, err := ledger.Stops(ctx, reg)
	must(err)
	for _, list := range [][]model.Stop{stops, got.Stops} {
		if len(list) != 3 || list[0].Scope != model.StopPool || list[0].Pool != "default" || list[1].Scope != model.StopCluster || list[2].Scope != model.StopRegion {
			t.Errorf("stops %+v", list)
		}
	}
	_, notes, _, err := ledger.Peek(ctx, "web")
	must(err)
	if notes.Epoch != 0 || notes.Version != 1 || len(got.Classes) != 1 || got.Classes[0].UID != "" || got.Classes[0].Version != record.Version || len(got.UnavailableOfferings) != 0 {
		t.Errorf("notes %+v, classes %+v, marks %+v", notes, got.Classes, got.UnavailableOfferings)
	}

	allowance, err := ledger.Allowance(ctx, reg)
	must(err)
	if allowance != got.Allowance {
		t.Errorf("%+v, loaded %+v", allowance, got.Allowance)
	}
	must(ledger.Spend(ctx, reg, allowance))
	_, err = ledger.PutClass(ctx, "web", got.Classes[0])
	must(err)
	_, err = ledger.Recall(ctx, fence, notes)
	must(err)
	_, err = ledger.PutCollectorState(ctx, fence, records.Collector)
	must(err)
	must(ledger.Remember(ctx, fence, got.Notes))
	if got, err = ledger.Load(ctx, reg); err != nil || len(got.Unread) != 4 { // the mark, which goes in its time, and the stops, which people take back
		t.Errorf("unread %+v, %v", got.Unread, err)
	}
}

// F3: a registration that cannot be read stops its own cluster alone.
func TestF3ARegistrationThatCannotBeReadHidesNoOther(t *testing.T) {
	ledger, client := ledgerOn(t)
	for _, cluster := range []string{"a", "c"} {
		if err := ledger.Register(t.Context(), model.Registration{Cluster: cluster, Account: "1", Region: "us-west-2"}); err != nil {
			t.Fatal(err)
		}
	}
	spoilt := row{"PK": word("CLUSTERS"), "SK": word("b"), "doc": word(`{"cluster":"b","paused":"no"}`)}
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("joiner"), Item: spoilt}); err != nil {
		t.Fatal(err)
	}
	all, err := ledger.Clusters(t.Context())
	if len(all) != 2 || all[0].Cluster != "a" || all[1].Cluster != "c" || !fault.Is(err, fault.Invalid) || fault.CodeOf(err) != model.CodeUnreadCluster {
		t.Errorf("%+v, %v", all, err)
	}
	for _, part := range []string{"1 of 3", "CLUSTERS b", "paused", "--take-over"} {
		if err != nil && !strings.Contains(err.Error(), part) {
			t.Errorf("%v; want %q in it", err, part)
		}
	}
	if _, err := ledger.Cluster(t.Context(), "b"); !fault.Is(err, fault.Invalid) || fault.CodeOf(err) != model.CodeUnreadCluster {
		t.Errorf("asked for by name: %v", err)
	}
	if reg, err := ledger.Cluster(t.Context(), "a"); err != nil || reg.Cluster != "a" {
		t.Errorf("another: %+v, %v", reg, err)
	}
}

// Records of classes, budgets and disruption that have no version are not overwritten by who knows of none.
func TestF3ARecordWithoutItsVersionIsNotOverwritten(t *testing.T) {
	ledger, client := ledgerOn(t)
	ctx := t.Context()
	for _, sk := range []string{"CLASS#default", "TURN#default", "JUDGE"} {
		_, err := client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: aws.String("joiner"), Item: row{"PK": word("C#web#"), "SK": word(sk), "doc": word("{}")},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	fence, err := ledger.AcquireLease(ctx, "web", model.LeaseDisrupt, "a", 1000, 1030)
	if err != nil {
		t.Fatal(err)
	}
	_, class := ledger.PutClass(ctx, "web", model.ClassRecord{Name: "default", UID: "u"})
	_, notes := ledger.Recall(ctx, fence, model.DisruptNotes{Epoch: 3})
	adopt(t, ledger, "a", "i-1")
	claim := model.Claim{Name: "a", Pool: "default", State: model.Initialized, InstanceID: "i-1", Version: 1}
	command := model.Command{ID: "c", Version: 1, State: model.CommandCommitted}
	command.Targets = []model.Target{{Claim: "a", Pool: "default"}}
	commit := ledger.Commit(ctx, fence, command, []model.Claim{claim}, []model.BudgetVersion{{Pool: "default"}})
	for what, err := range map[string]error{"class": class, "notes": notes, "budget": commit} {
		if !fault.Is(err, fault.Conflict) {
			t.Errorf("%s: %v, want a conflict", what, err)
		}
	}
}
