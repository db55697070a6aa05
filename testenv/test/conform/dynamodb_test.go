package conform_test

import (
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
	"github.com/joiner-sh/joiner/testenv/test/conform"
)

func TestDynamoDB(t *testing.T) {
	model := dynamodb.NewModel(dynamodb.Options{Region: conform.Region})
	conform.Each(t, conform.Services{"dynamodb": dynamodb.NewHandler(model)}, conform.DynamoDB)
}
