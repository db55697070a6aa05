// Command provision is the function that owns a claim's registration: it turns hints from the queue and the tick of each minute
// into launched, registered and initialized nodes. What it does is flow/provision; this wires it.
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
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/wire"
)

type settings struct {
	Table           string        `env:"JOINER_TABLE,required"`
	Bucket          string        `env:"JOINER_BUCKET,required"`
	QueueURL        string        `env:"JOINER_QUEUE_URL,required"`     // of plan queues, FIFO: a cluster's is beside it by its name
	CatalogURL      string        `env:"JOINER_CATALOG_QUEUE_URL"`      // of who resolves classes, standard; empty = its own tick finds what has changed
	EndsURL         string        `env:"JOINER_INTERRUPTION_QUEUE_URL"` // of who empties nodes, standard; the same
	DisruptURL      string        `env:"JOINER_DISRUPTION_QUEUE_URL"`   // of the disruption function, standard; empty = its own tick finds what became of replacements
	IsolatedVPC     bool          `env:"JOINER_ISOLATED_VPC"`           // no call to the price list and to IAM
	RecoverAfter    time.Duration `env:"JOINER_RECOVER_AFTER"`          // 0 = the flow's default
	OfferingBackOff time.Duration `env:"JOINER_OFFER_BACKOFF"`          // 0 = the flow's default
	JoinWithin      time.Duration `env:"JOINER_JOIN_WITHIN"`            // the same as interruption's
	StopSwitch      string        `env:"JOINER_STOP_PARAMETER"`         // name of the SSM parameter that is the stop switch; empty = there is none
	CrashFile       string        `env:"JOINER_CRASH_FILE"`             // tests only: see boot.Crash
	boot.InstanceSettings
	boot.Policies
	boot.Measures
}

func main() {
	var s settings
	config := boot.Start(&s)
	ledger := dynamoledger.New(dynamodb.NewFromConfig(config), s.Table)
	objects, queues := s3.NewFromConfig(config), sqs.NewFromConfig(config)
	store := s3snapshot.New(objects, s.Bucket).Within(boot.MemoryBytes())
	logger := boot.Logger("provision")
	flow := &provision.Flow{
		Registry: boot.SwitchedRegistry{Registry: ledger, Switch: boot.StopSwitch(ssmswitch.New(ssm.NewFromConfig(config)), s.StopSwitch, logger)}, Leases: ledger, Claims: ledger, ClaimStates: ledger, Unavailable: ledger, Allowances: ledger, Memory: ledger, Peeks: ledger,
		Decisions: store, Snapshots: store, Catalogs: s3catalog.New(objects, s.Bucket, s3catalog.Settings{}), Memories: ledger, UsageRecounts: ledger, Losses: ledger,
		Connector:     newConnector(config, relay.New(config, s.Table, s.Bucket), s.IsolatedVPC),
		RequestResync: sqsqueue.PlanRequests{PlanQueues: sqsqueue.NewPlanQueues(queues, s.QueueURL)}.Resync,
		Now:           time.Now, Effects: boot.CrashFrom(s.CrashFile),
		NewID: func() string { return ulid.MustNew(ulid.Now(), rand.Reader).String() },
		Settings: provision.Settings{
			IgnorePreferences: s.Preferences == boot.Ignore, BestEffortMinValues: s.MinValues == boot.MinValuesPolicyBestEffort,
			Build: boot.Version(), RecoverAfter: s.RecoverAfter, OfferingBackOff: s.OfferingBackOff,
			JoinWithin: s.JoinWithin,
			Offerings:  offering.Settings{MemoryOverheadPPM: int64(s.Overhead), ReservedENIs: int64(s.ReservedENIs), NodeClassCEL: s.NodeClassCEL},
		},
	}
	if s.DisruptURL != "" {
		disruptions := sqsqueue.Disruptions{DelayQueue: sqsqueue.NewDelayQueue(queues, s.DisruptURL)}
		flow.RequestDisruption = disruptions.RequestDisruption
	}
	reported := provision.Forwarder{Dues: ledger, Now: time.Now, Queues: map[wire.HintReason]provision.DelayedHints{}}
	for reason, url := range map[wire.HintReason]string{wire.ReasonConfig: s.CatalogURL, wire.ReasonEnd: s.EndsURL, wire.ReasonDisrupt: s.DisruptURL} {
		if url != "" {
			reported.Queues[reason] = sqsqueue.NewDelayQueue(queues, url)
		}
	}
	lambda.Start((&handler{flow: flow, reported: reported, logger: logger, metrics: boot.NewMetrics(s.Metrics)}).handle)
}
