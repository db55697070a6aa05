package dynamoledger_test

import (
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/testenv/test/conform"
)

// EndpointsVariable names the environment variable with the URLs of running implementations of DynamoDB that are not ours,
// as name=URL, separated by commas. `make conform` sets it.
const EndpointsVariable = "JOINER_DYNAMODB_ENDPOINTS"

// What the adapter asks of DynamoDB must mean the same to those who did not write our model of it.
func TestLedgerKeepsItsContractsElsewhere(t *testing.T) {
	endpoints := os.Getenv(EndpointsVariable)
	if endpoints == "" {
		t.Skipf("%s is empty; make conform runs this", EndpointsVariable)
	}
	for _, endpoint := range strings.Split(endpoints, ",") {
		name, url, _ := strings.Cut(endpoint, "=")
		begin := func(t *testing.T) *dynamoledger.Ledger {
			client := dynamodb.NewFromConfig(aws.Config{
				Region: conform.Region, BaseEndpoint: aws.String(url), Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
			})
			ledger := dynamoledger.New(client, conform.Unique("joiner"))
			if err := ledger.EnsureTable(t.Context()); err != nil {
				t.Fatal(err)
			}
			return ledger
		}
		t.Run(name, func(t *testing.T) {
			conform.Ledger(t, func(t *testing.T) conform.LedgerPort { return begin(t) })
			conform.LedgerCollect(t, func(t *testing.T) conform.LedgerCollectPort { return begin(t) })
			conform.LedgerFind(t, func(t *testing.T) conform.LedgerFindPort { return begin(t) })
			conform.LedgerDisrupt(t, func(t *testing.T) conform.LedgerDisruptPort { return begin(t) })
		})
	}
}
