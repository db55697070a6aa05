package dynamoledger_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	dynamodel "github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
	"github.com/joiner-sh/joiner/testenv/local/cloud/once"
	"github.com/joiner-sh/joiner/testenv/test/conform"
)

// start returns a ledger in a new table of our model of DynamoDB, spoken to by the unmodified SDK. through stands between
// the two where it is not nil.
func start(t *testing.T, through func(http.Handler) http.Handler) *dynamoledger.Ledger {
	t.Helper()
	handler := http.Handler(dynamodel.NewHandler(dynamodel.NewModel(dynamodel.Options{})))
	if through != nil {
		handler = through(handler)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client := dynamodb.NewFromConfig(once.Config(server.URL))
	ledger := dynamoledger.New(client, "joiner")
	for range 2 { // the second time it is there already
		if err := ledger.EnsureTable(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return ledger
}

func TestLedgerKeepsTheContract(t *testing.T) {
	conform.Ledger(t, func(t *testing.T) conform.LedgerPort { return start(t, nil) })
}

func TestLedgerKeepsTheCollectorsContract(t *testing.T) {
	conform.LedgerCollect(t, func(t *testing.T) conform.LedgerCollectPort { return start(t, nil) })
}

func TestLedgerKeepsTheContractOfNotices(t *testing.T) {
	conform.LedgerFind(t, func(t *testing.T) conform.LedgerFindPort { return start(t, nil) })
}

func TestLedgerKeepsTheDisruptContract(t *testing.T) {
	conform.LedgerDisrupt(t, func(t *testing.T) conform.LedgerDisruptPort { return start(t, nil) })
}

// The same where transactions take their time, so that those of several processes meet at the lease, the turns and the claims.
func TestB3LedgerKeepsTheDisruptContractWhereTransactionsMeet(t *testing.T) {
	conform.LedgerDisrupt(t, func(t *testing.T) conform.LedgerDisruptPort {
		m := dynamodel.NewModel(dynamodel.Options{})
		ledger, _ := on(t, m)
		if err := ledger.EnsureTable(t.Context()); err != nil {
			t.Fatal(err)
		}
		m.SetDurations(dynamodel.Durations{Transaction: 3 * time.Millisecond})
		return ledger
	})
}

// TestW7APartitionWithoutEndIsRefused: a table that has always one more page is read for so long and no longer.
func TestW7APartitionWithoutEndIsRefused(t *testing.T) {
	var pages atomic.Int64
	ledger := start(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Amz-Target") != "DynamoDB_20120810.Query" {
				next.ServeHTTP(w, r)
				return
			}
			pages.Add(1)
			_, _ = io.WriteString(w, `{"Count":0,"Items":[],"LastEvaluatedKey":{"PK":{"S":"C#a#"},"SK":{"S":"CLAIM#a"}}}`)
		})
	})
	_, err := ledger.Load(t.Context(), model.Registration{Cluster: "a", Account: "111111111111", Region: "us-west-2"})
	if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "partition C#a# has more than 128 pages") {
		t.Errorf("got %v", err)
	}
	if n := pages.Load(); n > 128*20 {
		t.Errorf("%d pages were read", n)
	}
}
