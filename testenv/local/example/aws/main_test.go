package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambda"
)

// TestMain is also the function: the test deploys its own binary.
func TestMain(m *testing.M) {
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") != "" {
		lambda.Start(keep)
	}
	os.Exit(m.Run())
}

func TestAMessageGoesThroughQueueAndFunctionIntoTheTable(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), os.Args[0], false, &out); err != nil {
		t.Fatal(err)
	}
	const denied = "denied: dynamodb:DeleteItem on arn:aws:dynamodb:us-west-2:123456789012:table/orders\n"
	text := out.String()
	if !strings.Contains(text, "order-1 went through") || !strings.HasSuffix(text, denied) ||
		strings.Count(text, "denied:") != 1 {
		t.Errorf("it printed\n%s", text)
	}
}
