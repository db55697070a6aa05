// Command interruption is the function that owns a claim's death: AWS tells it of instances that are about to end, each
// minute, and when it asked itself for another check, it finds what else is to end, and step by step it empties the nodes of
// that, ends their instances and closes their claims. What it does is flow/interruption; this wires it.
package main

import (
	"context"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/adapter/relay"
	"github.com/joiner-sh/joiner/shared/adapter/s3snapshot"
	"github.com/joiner-sh/joiner/shared/adapter/sqsqueue"
	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/wire"
)

type settings struct {
	Table       string        `env:"JOINER_TABLE,required"`
	Bucket      string        `env:"JOINER_BUCKET,required"`
	QueueURL    string        `env:"JOINER_INTERRUPTION_QUEUE_URL,required"` // the function's own, standard
	NoticesARN  string        `env:"JOINER_NOTICES_QUEUE_ARN,required"`      // of the queue in which what AWS says is believed
	PlanURL     string        `env:"JOINER_QUEUE_URL,required"`              // of plan queues, FIFO: a cluster's is beside it by its name
	DisruptURL  string        `env:"JOINER_DISRUPTION_QUEUE_URL"`            // of the disruption function, standard; empty = its own tick finds what has ended
	CatalogURL  string        `env:"JOINER_CATALOG_QUEUE_URL"`               // empty = its own tick
	Confirm     time.Duration `env:"JOINER_CONFIRM_AFTER"`                   // 0 = the flow's default
	JoinWithin  time.Duration `env:"JOINER_JOIN_WITHIN"`                     // 0 = the flow's default
	RepairAfter time.Duration `env:"JOINER_REPAIR_AFTER"`                    // 0 = the flow's default
	RepairMost  boot.Percent  `env:"JOINER_REPAIR_PERCENT"`                  // 0 = the flow's default
	CrashFile   string        `env:"JOINER_CRASH_FILE"`                      // tests only: see boot.Crash
	boot.Measures
}

func main() {
	var s settings
	config := boot.Start(&s)
	ledger := dynamoledger.New(dynamodb.NewFromConfig(config), s.Table)
	queues := sqs.NewFromConfig(config)
	own := sqsqueue.Requests{DelayQueue: sqsqueue.NewDelayQueue(queues, s.QueueURL)}
	flow := &interruption.Flow{
		Registry: ledger, Leases: ledger, Collector: ledger, Claims: ledger, Removals: s3snapshot.New(s3.NewFromConfig(config), s.Bucket), Finder: ledger, Steps: ledger, Unavailable: ledger,
		Peeks: ledger, RequestPass: own.RequestPass, RequestDrain: own.Drain,
		RequestPlan: sqsqueue.PlanRequests{PlanQueues: sqsqueue.NewPlanQueues(queues, s.PlanURL)}.Plan,
		Connector:   newConnector(config, relay.New(config, s.Table, s.Bucket)),
		Now:         time.Now, Effects: boot.CrashFrom(s.CrashFile),
		Settings: interruption.Settings{
			Confirm: s.Confirm, JoinWithin: s.JoinWithin, RepairAfter: s.RepairAfter, RepairPercent: int(s.RepairMost),
		},
	}
	if s.DisruptURL != "" {
		disruptions := sqsqueue.Disruptions{DelayQueue: sqsqueue.NewDelayQueue(queues, s.DisruptURL)}
		flow.RequestDisruption = disruptions.RequestDisruption
	}
	if s.CatalogURL != "" {
		catalog := sqsqueue.Requests{DelayQueue: sqsqueue.NewDelayQueue(queues, s.CatalogURL)}
		flow.RequestShift = func(ctx context.Context, cluster, key string) error {
			return catalog.RequestShift(ctx, cluster, key, 0)
		}
	}
	lambda.Start((&handler{flow: flow, hints: wire.QueueName(s.QueueURL), notices: s.NoticesARN, logger: boot.Logger("interruption"), metrics: boot.NewMetrics(s.Metrics)}).handle)
}
