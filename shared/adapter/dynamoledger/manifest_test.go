package dynamoledger_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/model"
	dynamodel "github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
)

// W4: a manifest that names another cluster is none, and the ledger says why; everything else of the cluster is read.
func TestW4AManifestThatNamesAnotherClusterIsNone(t *testing.T) {
	ledger, _, reg, write := hostile(t)
	for doc, says := range map[string]string{
		`{"cluster":"victim","epoch":1,"baseKey":"snap/victim/1/base-1","baseSeq":1,"headSeq":1}`: "victim",
		`{"epoch":1}`:   "names the cluster",
		`{"epoch":"x"}`: "decode",
		`{`:             "decode",
	} {
		write("SNAP", doc)
		got, err := ledger.Load(t.Context(), reg)
		if err != nil || got.Manifest != nil || !strings.Contains(got.ManifestFault, says) {
			t.Errorf("%s: pointer %+v, fault %q, %v", doc, got.Manifest, got.ManifestFault, err)
		}
		if manifest, _, _, err := ledger.Peek(t.Context(), reg.Cluster); err != nil || manifest != nil {
			t.Errorf("%s: at a glance %+v, %v", doc, manifest, err)
		}
		if manifest, err := ledger.Manifest(t.Context(), reg.Cluster); err == nil || manifest != nil {
			t.Errorf("%s: read alone %+v, %v", doc, manifest, err)
		}
	}
}

// W6: of what stands in the watcher's partition the manifest alone is part of the ledger, whatever it is called.
func TestW6NothingButTheManifestIsReadOfTheWatchersPartition(t *testing.T) {
	ledger, client, reg, write := hostile(t)
	for sk, doc := range map[string]string{
		"CLAIM#a": `{"name":"a","state":"Launched"}`, "INTENT#a": `{"id":"a"}`, "COMMAND#a": `{"id":"a","state":"Replacing"}`, "CLASS#a": `{"name":"a"}`,
		"NOTES": `{}`, "STOP": `{"scope":"cluster"}`, "USE#a": `{}`, "JUDGE": `{"epoch":9}`, "SNAP#": `{"cluster":"web"}`, "SNAP": `{"cluster":"` + reg.Cluster + `","epoch":3}`,
	} {
		write(sk, doc)
	}
	got, err := ledger.Load(t.Context(), reg)
	if err != nil || got.Manifest == nil || got.Manifest.Epoch != 3 {
		t.Fatalf("pointer %+v, %v", got.Manifest, err)
	}
	if n := len(got.Claims) + len(got.Intents) + len(got.Commands) + len(got.Classes) + len(got.Stops) + len(got.Usage); n != 0 || got.Disrupt.Epoch != 0 {
		t.Errorf("%d of the watcher's items are part of the ledger: %+v", n, got)
	}
	// And they go with the cluster.
	if err := ledger.Forget(t.Context(), reg.Cluster, got.NowUnix); err != nil {
		t.Fatal(err)
	}
	if left, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("joiner")}); err != nil || left.Count != 0 {
		t.Errorf("%+v is left of a cluster that was forgotten, %v", left, err)
	}
}

// W3: however many hints of one cluster and reason come, they are passed on two seconds apart, and the first one at once.
func TestW3HintsArePassedOnApart(t *testing.T) {
	ledger, _, reg, _ := hostile(t)
	type answer struct {
		after time.Duration
		due   bool
	}
	ask := func(what string, now int64) answer {
		t.Helper()
		after, due, err := ledger.ScheduleHint(t.Context(), reg.Cluster, what, now, 2000)
		if err != nil {
			t.Fatal(err)
		}
		return answer{after, due}
	}
	const t0 = 1_900_000_000_000
	for _, c := range []struct {
		what string
		at   int64
		want answer
	}{
		{"end", t0, answer{0, true}},
		{"end", t0 + 1, answer{2 * time.Second, true}}, // arrives at 2,001
		{"end", t0 + 2, answer{}},
		{"end", t0 + 2000, answer{}},
		{"judge", t0 + 2000, answer{0, true}},
		{"end", t0 + 2001, answer{2 * time.Second, true}}, // at 4,001
		{"end", t0 + 4000, answer{}},
		{"end", t0 + 5500, answer{time.Second, true}}, // at 6,500
		{"end", t0 + 60_000, answer{0, true}},
		{"end", t0 - 7_200_000, answer{0, true}}, // a clock was ahead by hours
	} {
		if got := ask(c.what, c.at); got != c.want {
			t.Errorf("%s at %d ms: %+v, want %+v", c.what, c.at-t0, got, c.want)
		}
	}
}

// hostile is a ledger, a cluster's registration, and what writes an item with a document into the partition of the cluster's watcher.
func hostile(t *testing.T) (ledger *dynamoledger.Ledger, client *dynamodb.Client, reg model.Registration, write func(sk, doc string)) {
	t.Helper()
	ledger, client = on(t, dynamodel.NewModel(dynamodel.Options{}))
	if err := ledger.EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	return ledger, client, model.Registration{Cluster: "attacker", Account: "123456789012", Region: "us-west-2"}, func(sk, doc string) {
		t.Helper()
		one := &types.AttributeValueMemberN{Value: "1"}
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("joiner"), Item: map[string]types.AttributeValue{
			"PK": text("C#attacker#W#"), "SK": text(sk), "doc": text(doc), "epoch": one, "headSeq": one, "heartbeat": one,
		}}); err != nil {
			t.Fatal(err)
		}
	}
}
