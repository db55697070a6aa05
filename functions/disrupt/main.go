// Command disrupt is the function that decides what to disrupt voluntarily: each minute, when something has changed, and when it
// asked itself for another check, it evaluates a cluster's nodes, records what is to go as commands, and moves those on until
// their claims are Draining. What it does is flow/disrupt; this wires it.
package main

import (
	"crypto/rand"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/oklog/ulid/v2"

	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/adapter/relay"
	"github.com/joiner-sh/joiner/shared/adapter/s3catalog"
	"github.com/joiner-sh/joiner/shared/adapter/s3snapshot"
	"github.com/joiner-sh/joiner/shared/adapter/sqsqueue"
	"github.com/joiner-sh/joiner/shared/adapter/ssmswitch"
	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/flow/disrupt"
	"github.com/joiner-sh/joiner/shared/model"
)

type settings struct {
	Table         string        `env:"JOINER_TABLE,required"`
	Bucket        string        `env:"JOINER_BUCKET,required"`
	QueueURL      string        `env:"JOINER_DISRUPTION_QUEUE_URL,required"`   // the function's own, standard
	PlanURL       string        `env:"JOINER_QUEUE_URL,required"`              // of plan queues, FIFO: a cluster's is beside it by its name
	DrainURL      string        `env:"JOINER_INTERRUPTION_QUEUE_URL,required"` // of who empties nodes, standard
	SpotToSpot    bool          `env:"JOINER_SPOT_TO_SPOT"`                    // spot nodes may be replaced by spot nodes
	ValidateAfter time.Duration `env:"JOINER_VALIDATE_AFTER"`                  // 0 = the flow's default
	ReplaceWithin time.Duration `env:"JOINER_REPLACE_WITHIN"`                  // 0 = the flow's default
	StopSwitch    string        `env:"JOINER_STOP_PARAMETER"`                  // name of the SSM parameter that is the stop switch; empty = there is none
	CrashFile     string        `env:"JOINER_CRASH_FILE"`                      // tests only: see boot.Crash
	boot.InstanceSettings
	boot.Policies
	boot.Measures
}

func main() {
	var s settings
	config := boot.Start(&s)
	ledger := dynamoledger.New(dynamodb.NewFromConfig(config), s.Table)
	queues := sqs.NewFromConfig(config)
	objects := s3.NewFromConfig(config)
	store := s3snapshot.New(objects, s.Bucket).Within(boot.MemoryBytes())
	logger := boot.Logger("disrupt")
	stop := boot.StopSwitch(ssmswitch.New(ssm.NewFromConfig(config)), s.StopSwitch, logger)
	flow := &disrupt.Flow{
		Registry: boot.SwitchedRegistry{Registry: ledger, Switch: stop}, Leases: ledger, Ledger: stoppable{ledger, stop}, Commands: ledger,
		Snapshots: store, Losses: ledger, Decisions: store, Catalogs: s3catalog.New(objects, s.Bucket, s3catalog.Settings{}),
		RequestDisruption:  sqsqueue.Requests{DelayQueue: sqsqueue.NewDelayQueue(queues, s.QueueURL)}.RequestDisruption,
		RequestReplacement: sqsqueue.PlanRequests{PlanQueues: sqsqueue.NewPlanQueues(queues, s.PlanURL)}.Replace,
		RequestDrain:       sqsqueue.Requests{DelayQueue: sqsqueue.NewDelayQueue(queues, s.DrainURL)}.Drain,
		Connector:          newConnector(config, relay.New(config, s.Table, s.Bucket)),
		Now:                time.Now, Effects: boot.CrashFrom(s.CrashFile),
		NewID: func() string { return ulid.MustNew(ulid.Now(), rand.Reader).String() },
		Settings: disrupt.Settings{
			Build: boot.Version(), ValidateAfter: s.ValidateAfter, ReplaceWithin: s.ReplaceWithin,
			Disruption: model.DisruptionSettings{
				SpotToSpot: s.SpotToSpot, IgnorePreferences: s.Preferences == boot.Ignore, BestEffortMinValues: s.MinValues == boot.MinValuesPolicyBestEffort,
			},
			Offerings: offering.Settings{MemoryOverheadPPM: int64(s.Overhead), ReservedENIs: int64(s.ReservedENIs), NodeClassCEL: s.NodeClassCEL},
		},
	}
	lambda.Start((&handler{flow: flow, logger: logger, metrics: boot.NewMetrics(s.Metrics)}).handle)
}
