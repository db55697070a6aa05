package conform_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/joiner-sh/joiner/shared/adapter/s3catalog"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/iam"
	"github.com/joiner-sh/joiner/testenv/local/cloud/pricing"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
	"github.com/joiner-sh/joiner/testenv/test/conform"
)

// The functions as they are deployed, built and run by the runtime's protocol, take the tick of a minute: all they do then
// needs no API server.
func TestBuiltFunctions(t *testing.T) {
	if os.Getenv(conform.MotoEndpointVariable) == "" {
		t.Skip("it builds four functions; testenv/test/e2e runs them on the model with a cluster")
	}
	paths := map[string]string{}
	for _, name := range []string{"provision", "interruption", "catalog", "disrupt"} {
		path, err := lambdaruntime.Build(t.Context(), filepath.Join("..", "..", ".."), "./functions/"+name, filepath.Join(t.TempDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		paths[name] = path
	}
	instances := ec2.New(ec2.Options{Clock: clock.System()})
	services := conform.Services{
		"ec2": ec2.NewHandler(instances), "iam": iam.NewHandler(instances), "pricing": pricing.NewHandler(pricing.New(pricing.Options{})),
		"dynamodb": dynamodb.NewHandler(dynamodb.NewModel(dynamodb.Options{})),
	}
	conform.Each(t, services, func(t *testing.T, target conform.Target) {
		target.Run(t, "built functions", []conform.Case{
			{Name: "a tick becomes a hint in each function's queue", Run: func(t conform.T) {
				a := newAccount(t, target)
				runner := a.deploy(paths)
				for name, its := range map[string]struct {
					url    string
					reason wire.HintReason
				}{
					"provision": {a.planURL, wire.ReasonResync}, "interruption": {a.checksURL, wire.ReasonResync},
					"catalog": {a.catalogURL, wire.ReasonResync}, "disrupt": {a.disruptURL, wire.ReasonDisrupt},
				} {
					a.invoke(runner, name)
					if hint := a.receive(its.url); hint.Cluster != a.reg.Cluster || hint.Reason != its.reason {
						t.Errorf("%s: the queue got %+v", name, hint)
					}
				}
			}},
			{Name: "a tick of the catalogue puts the region's machines into the bucket", Run: func(t conform.T) {
				a := newAccount(t, target)
				a.invoke(a.deploy(paths), "catalog")
				kept, err := s3catalog.New(a.objects(), a.bucket, s3catalog.Settings{}).RegionCatalog(t.Context(), a.reg)
				if err != nil || len(kept.Types) < 100 {
					t.Errorf("%d types are kept, %v", len(kept.Types), err)
				}
			}},
		})
	})
}

// deploy deploys the functions with the settings the stack gives them.
func (a *account) deploy(paths map[string]string) *lambdaruntime.Runner {
	a.t.Helper()
	runner, err := lambdaruntime.New(lambdaruntime.Config{
		Region: conform.Region, EndpointURL: aws.ToString(a.config.BaseEndpoint),
		Credentials: func(ctx context.Context, _ lambdaruntime.Function) (aws.Credentials, error) {
			return a.config.Credentials.Retrieve(ctx)
		},
	})
	a.must(err)
	a.t.Cleanup(runner.Stop)
	env := map[string]string{
		"JOINER_TABLE": a.table, "JOINER_BUCKET": a.bucket, "JOINER_QUEUE_URL": a.planURL,
		"JOINER_NOTICES_QUEUE_ARN": "arn:aws:sqs:us-east-1:123456789012:joiner-notices", "JOINER_INTERRUPTION_QUEUE_URL": a.checksURL, "JOINER_CATALOG_QUEUE_URL": a.catalogURL, "JOINER_DISRUPTION_QUEUE_URL": a.disruptURL,
	}
	for name, path := range paths {
		a.must(runner.Deploy(lambdaruntime.Function{Name: name, Path: path, Env: env, MemoryMB: 1769, Timeout: time.Minute}))
	}
	return runner
}

// invoke hands a function the tick of a minute.
func (a *account) invoke(runner *lambdaruntime.Runner, name string) {
	a.t.Helper()
	result, err := runner.Invoke(a.t.Context(), name, []byte(`{"sweep":"`+time.Now().UTC().Format(time.RFC3339)+`"}`))
	if err != nil || result.FunctionError != "" {
		a.t.Fatalf("%s: %s %s, %v\n%+v", name, result.FunctionError, result.Payload, err, runner.Logs(name))
	}
}
