// Command catalog is the function that knows what can be bought and what people's classes mean: each minute, and when a
// class changed, it resolves and validates what is due. What it does is flow/catalog; this wires it. It is also what a cluster's
// stack registers the cluster with (flow/attach).
package main

import (
	"context"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster"
	"github.com/joiner-sh/joiner/shared/adapter/relay"
	"github.com/joiner-sh/joiner/shared/adapter/s3catalog"
	"github.com/joiner-sh/joiner/shared/adapter/s3snapshot"
	"github.com/joiner-sh/joiner/shared/adapter/sqsqueue"
	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/flow/attach"
	"github.com/joiner-sh/joiner/shared/flow/catalog"
)

type settings struct {
	Table       string `env:"JOINER_TABLE,required"`
	Bucket      string `env:"JOINER_BUCKET,required"`
	QueueURL    string `env:"JOINER_CATALOG_QUEUE_URL,required"` // the function's own, standard
	PlanURL     string `env:"JOINER_QUEUE_URL,required"`         // of plan queues, FIFO: a cluster's is beside it by its name
	DisruptURL  string `env:"JOINER_DISRUPTION_QUEUE_URL"`       // of the disruption function, standard; empty = its own tick finds what has drifted
	IsolatedVPC bool   `env:"JOINER_ISOLATED_VPC"`               // no call to IAM and to the price list
	NoDryRun    bool   `env:"JOINER_DISABLE_DRY_RUN"`            // classes are not tried on EC2
	NoShift     bool   `env:"JOINER_DISABLE_ZONAL_SHIFT"`        // ARC is not asked for zonal shifts
	CrashFile   string `env:"JOINER_CRASH_FILE"`                 // tests only: see boot.Crash
	boot.InstanceSettings
	boot.Measures
}

func main() {
	var s settings
	config := boot.Start(&s)
	ledger := dynamoledger.New(dynamodb.NewFromConfig(config), s.Table)
	queues := sqs.NewFromConfig(config)
	objects := s3.NewFromConfig(config)
	cache := s3catalog.New(objects, s.Bucket, s3catalog.Settings{})
	own := sqsqueue.Requests{DelayQueue: sqsqueue.NewDelayQueue(queues, s.QueueURL)}
	flow := &catalog.Flow{
		Registry: ledger, Leases: ledger, Records: ledger, Allowances: ledger, Peeks: ledger, Catalogs: cache,
		Shifts:      ledger,
		ReportReady: sqsqueue.PlanRequests{PlanQueues: sqsqueue.NewPlanQueues(queues, s.PlanURL)}.Ready,
		RequestPass: func(ctx context.Context, cluster, key string) error {
			return own.RequestPass(ctx, cluster, key, 0)
		},
		RequestShift: own.RequestShift,
		Connector:    newConnector(config, relay.New(config, s.Table, s.Bucket), s.IsolatedVPC),
		Now:          time.Now, Effects: boot.CrashFrom(s.CrashFile),
		Settings: catalog.Settings{
			IsolatedVPC: s.IsolatedVPC, NoDryRun: s.NoDryRun, NoZonalShift: s.NoShift || s.IsolatedVPC,
			Offerings: offering.Settings{MemoryOverheadPPM: int64(s.Overhead), ReservedENIs: int64(s.ReservedENIs), NodeClassCEL: s.NodeClassCEL},
		},
	}
	if s.DisruptURL != "" {
		disruptions := sqsqueue.Disruptions{DelayQueue: sqsqueue.NewDelayQueue(queues, s.DisruptURL)}
		flow.RequestDisruption = disruptions.RequestDisruption
	}
	region := &catalog.Region{
		Registry: ledger, Ledgers: ledger, Snapshots: s3snapshot.New(objects, s.Bucket).Within(boot.MemoryBytes()), Losses: ledger, Catalogs: cache, Learnings: ledger, Allowances: ledger,
		CatalogSources: newMarkets(config, s.IsolatedVPC), Now: time.Now, Effects: boot.CrashFrom(s.CrashFile),
	}
	logger := boot.Logger("catalog")
	clusters := &attach.Flow{
		Registry: ledger, Clusters: planes{config}, Leases: ledger, Ledger: ledger, Now: time.Now, Pause: pause,
		Spread:   ekscluster.CheckDefaultSpread,
		Settings: attach.Settings{RightsIn: 45 * time.Second},
	}
	lambda.Start((&handler{
		flow: flow, region: region, custom: &custom{flow: clusters, client: newAnswers(), endpoint: aws.ToString(config.BaseEndpoint), logger: logger}, logger: logger, metrics: boot.NewMetrics(s.Metrics),
	}).handle)
}
