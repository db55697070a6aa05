package dynamodb_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is a model behind the wire, the clock it runs on and an SDK client for it.
type world struct {
	*sdk.Client
	model *dynamodb.Model
	clock *clock.Fake
}

// newWorld starts a model with the table of the ledger: key pk and sk, the sparse index due (g1pk, g1sk), and
// the keys-only index node (g2pk). The client repeats nothing.
func newWorld(t testing.TB) *world {
	t.Helper()
	fake := clock.NewFake(start)
	model := dynamodb.NewModel(dynamodb.Options{Clock: fake})
	server := httptest.NewServer(unhurried(dynamodb.NewHandler(model)))
	t.Cleanup(server.Close)
	w := &world{model: model, clock: fake, Client: sdk.New(sdk.Options{
		Region: "us-west-2", BaseEndpoint: aws.String(server.URL), Retryer: aws.NopRetryer{},
		Credentials: credentials.NewStaticCredentialsProvider("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""),
	})}
	_, err := w.CreateTable(t.Context(), ledger("ledger"))
	if err != nil {
		t.Fatalf("create table: %v", err)
	}
	return w
}

// unhurried answers after a millisecond, as the local AWS of the stack does: the SDK sometimes drops the connection of an
// answer that comes before its own write has returned, and these clients repeat nothing.
func unhurried(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Millisecond)
		handler.ServeHTTP(w, r)
	})
}

func ledger(name string) *sdk.CreateTableInput {
	attributes := []types.AttributeDefinition{}
	for _, attribute := range []string{"pk", "sk", "g1pk", "g1sk", "g2pk"} {
		attributes = append(attributes, types.AttributeDefinition{AttributeName: aws.String(attribute), AttributeType: types.ScalarAttributeTypeS})
	}
	return &sdk.CreateTableInput{
		TableName: aws.String(name), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: attributes, KeySchema: keys("pk", "sk"),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{
			{IndexName: aws.String("due"), KeySchema: keys("g1pk", "g1sk"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll}},
			{IndexName: aws.String("node"), KeySchema: keys("g2pk"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}},
		},
	}
}

func keys(names ...string) []types.KeySchemaElement {
	roles := []types.KeyType{types.KeyTypeHash, types.KeyTypeRange}
	var elements []types.KeySchemaElement
	for i, name := range names {
		elements = append(elements, types.KeySchemaElement{AttributeName: aws.String(name), KeyType: roles[i]})
	}
	return elements
}

type item = map[string]types.AttributeValue

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func num(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }

func key(pk, sk string) item { return item{"pk": str(pk), "sk": str(sk)} }

// with returns the item with more attributes, given as name, value, name, value….
func with(base item, more ...any) item {
	for i := 0; i < len(more); i += 2 {
		base[more[i].(string)] = more[i+1].(types.AttributeValue)
	}
	return base
}

func (w *world) put(t testing.TB, it item) {
	t.Helper()
	_, err := w.PutItem(t.Context(), &sdk.PutItemInput{TableName: aws.String("ledger"), Item: it})
	if err != nil {
		t.Fatalf("put: %v", err)
	}
}

// get reads consistently; nil stands for no item.
func (w *world) get(t testing.TB, pk, sk string) item {
	t.Helper()
	out, err := w.GetItem(t.Context(), &sdk.GetItemInput{TableName: aws.String("ledger"), Key: key(pk, sk), ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatalf("get: %v", err)
	}
	return out.Item
}

// number returns an attribute of an item, "" when it is not there.
func number(it item, name string) string {
	n, ok := it[name].(*types.AttributeValueMemberN)
	if !ok {
		return ""
	}
	return n.Value
}

func text(it item, name string) string {
	s, ok := it[name].(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return s.Value
}

// wantError wants the error of the service with this code and message.
func wantError(t testing.TB, err error, code, message string) {
	t.Helper()
	var refusal smithy.APIError
	if !errors.As(err, &refusal) {
		t.Errorf("got %v, want %s: %s", err, code, message)
		return
	}
	if refusal.ErrorCode() != code || message != "" && refusal.ErrorMessage() != message {
		t.Errorf("got %s: %s\nwant %s: %s", refusal.ErrorCode(), refusal.ErrorMessage(), code, message)
	}
}

// wantReasons wants a canceled transaction with these codes and returns the reasons.
func wantReasons(t testing.TB, err error, codes ...string) []types.CancellationReason {
	t.Helper()
	var canceled *types.TransactionCanceledException
	if !errors.As(err, &canceled) {
		t.Fatalf("got %v, want a cancelled transaction", err)
	}
	var got []string
	for _, reason := range canceled.CancellationReasons {
		got = append(got, aws.ToString(reason.Code))
	}
	if len(got) != len(codes) {
		t.Fatalf("reasons %v, want %v", got, codes)
	}
	for i := range codes {
		if got[i] != codes[i] {
			t.Fatalf("reasons %v, want %v", got, codes)
		}
	}
	return canceled.CancellationReasons
}

// within runs f on a goroutine and returns its result once it has gone to sleep on the clock and the clock
// was advanced by d.
func (w *world) within(t testing.TB, d time.Duration, f func(context.Context) error, meanwhile func()) error {
	t.Helper()
	done := make(chan error, 1)
	asleep := w.clock.Pending()
	go func() { done <- f(t.Context()) }()
	if err := w.clock.AwaitPending(t.Context(), asleep+1); err != nil {
		t.Fatal(err)
	}
	meanwhile()
	w.clock.Advance(d)
	return <-done
}
