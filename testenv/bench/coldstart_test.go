package bench

import (
	"context"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdkdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ssm"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
)

// coldStarts is how often each function is started at least.
const coldStarts = 10

// BenchmarkColdStart starts each function as Lambda does and has it answer its first event: a tick with no cluster attached, which
// reads the ledger once, or a review with the wrong secret. It tells how long that takes from the start of the process to the
// answer, 60 ms at most on a quiet machine, how much of it passes before the function asks for its event, and the CPU time of the
// process, which goes by whatever else the machine does.
func BenchmarkColdStart(b *testing.B) {
	model := dynamodb.NewModel(dynamodb.Options{})
	services := cloud.New(cloud.Options{})
	services.Register("dynamodb", dynamodb.NewHandler(model))
	services.Register("ssm", ssm.NewHandler(ssm.New(ssm.Options{})))
	server := httptest.NewServer(services)
	b.Cleanup(server.Close)
	config := services.Config()
	config.BaseEndpoint = aws.String(server.URL)
	if err := dynamoledger.New(sdkdynamodb.NewFromConfig(config), "joiner").EnsureTable(b.Context()); err != nil {
		b.Fatal(err)
	}
	tick := []byte(`{"sweep":"2026-03-01T12:00:00Z"}`)
	for _, f := range []struct {
		name     string
		memoryMB int
		event    []byte
	}{
		{"provision", 1769, tick}, {"interruption", 884, tick}, {"catalog", 1024, tick}, {"disrupt", 1769, tick},
		{"webhook", 512, []byte(`{"rawPath":"/nothing","requestContext":{"http":{"method":"POST"}}}`)},
	} {
		path, err := lambdaruntime.Build(b.Context(), filepath.Join("..", ".."), "./functions/"+f.name, filepath.Join(b.TempDir(), f.name))
		if err != nil {
			b.Fatal(err)
		}
		function := lambdaruntime.Function{Name: f.name, Path: path, MemoryMB: f.memoryMB, Timeout: time.Minute, Env: map[string]string{
			"JOINER_TABLE": "joiner", "JOINER_BUCKET": "joiner-data", "JOINER_QUEUE_URL": server.URL + "/own", "JOINER_NOTICES_QUEUE_ARN": "arn:aws:sqs:us-east-1:123456789012:joiner-notices", "JOINER_INTERRUPTION_QUEUE_URL": server.URL + "/ends",
			"JOINER_CATALOG_QUEUE_URL": server.URL + "/catalog", "JOINER_DISRUPTION_QUEUE_URL": server.URL + "/judge",
		}}
		b.Run(f.name, func(b *testing.B) { coldStart(b, function, f.event, server.URL, config.Credentials) })
	}
}

// coldStart starts one function again and again.
func coldStart(b *testing.B, function lambdaruntime.Function, event []byte, url string, credentials aws.CredentialsProvider) {
	runner, err := lambdaruntime.New(lambdaruntime.Config{
		Region: "us-west-2", EndpointURL: url,
		Credentials: func(ctx context.Context, _ lambdaruntime.Function) (aws.Credentials, error) {
			return credentials.Retrieve(ctx)
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	var inits, totals []float64
	before := childrenMillis(b)
	for range max(b.N, coldStarts) {
		if err := runner.Deploy(function); err != nil { // a new deployment starts new sandboxes
			b.Fatal(err)
		}
		result, err := runner.Invoke(b.Context(), function.Name, event)
		if err != nil || result.Err() != nil || !result.ColdStart {
			b.Fatal(err, result.Err(), fmt.Sprintf("%s %+v", result.Payload, runner.Logs(function.Name)))
		}
		inits = append(inits, result.InitDuration.Seconds()*1000)
		totals = append(totals, (result.InitDuration+result.Duration).Seconds()*1000)
	}
	runner.Stop()
	b.ReportMetric(median(inits), "ms-init")
	b.ReportMetric(median(totals), "ms-median")
	b.ReportMetric(quantile(totals, 0.95), "ms-p95")
	b.ReportMetric((childrenMillis(b)-before)/float64(len(totals)), "cpu-ms")
	b.ReportMetric(0, "ns/op")
}

func median(values []float64) float64 { return quantile(values, 0.5) }

// quantile returns the value that the share of the others is not above.
func quantile(values []float64, share float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return values[min(len(values)-1, int(share*float64(len(values))))]
}

// childrenMillis is the CPU time of all processes that were started from this one and have ended.
func childrenMillis(b *testing.B) float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &used); err != nil {
		b.Fatal(err)
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e6
}
