package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/adapter/s3snapshot"
	"github.com/joiner-sh/joiner/shared/adapter/sqsqueue"
	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/publish"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

type settings struct {
	Cluster       string        `env:"JOINER_CLUSTER,required"`
	QueueURL      string        `env:"JOINER_QUEUE_URL,required"`
	Bucket        string        `env:"JOINER_BUCKET,required"`
	Table         string        `env:"JOINER_TABLE,required"`
	Namespace     string        `env:"JOINER_NAMESPACE" envDefault:"joiner"`
	Identity      string        `env:"JOINER_IDENTITY"`
	HealthAddress string        `env:"JOINER_HEALTH_ADDRESS" envDefault:":8081"`
	BatchQuiet    time.Duration `env:"JOINER_BATCH_QUIET"`
	BatchMax      time.Duration `env:"JOINER_BATCH_MAX"`
	IdlePublish   time.Duration `env:"JOINER_IDLE_PUBLISH"`
	LeaseDuration time.Duration `env:"JOINER_LEASE_DURATION" envDefault:"15s"`
	DefaultSpread string        `env:"JOINER_DEFAULT_SPREAD"`

	MetricsAddress string `env:"JOINER_METRICS_ADDRESS"`
	ClusterState   bool   `env:"JOINER_METRICS_CLUSTER_STATE" envDefault:"true"`

	Kubeconfig string `env:"KUBECONFIG"`

	RelayURL     string  `env:"JOINER_RELAY_QUEUE_URL"`
	RelaySenders senders `env:"JOINER_RELAY_SENDERS"`
	CrashFile    string  `env:"JOINER_CRASH_FILE"` // tests only: see boot.Crash

	CertDir               string `env:"JOINER_WEBHOOK_CERT_DIR"`
	WebhookAddress        string `env:"JOINER_WEBHOOK_ADDRESS" envDefault:":8443"`
	Account               string `env:"JOINER_ACCOUNT"`
	boot.InstanceSettings        // as the functions have them
}

func (s *settings) identity() string {
	if s.Identity != "" {
		return s.Identity
	}
	host, err := os.Hostname()
	if err != nil {
		return "watcher"
	}
	return host
}

func (s *settings) kubeConfig(logger *slog.Logger) *rest.Config {
	load := rest.InClusterConfig
	if s.Kubeconfig != "" {
		load = func() (*rest.Config, error) { return clientcmd.BuildConfigFromFlags("", s.Kubeconfig) }
	}
	config, err := load()
	if err != nil {
		fatal(logger, "read the client configuration of the cluster", err)
	}
	return config
}

// watch follows the cluster, and hands each change of it to observe.
func (s *settings) watch(kube *rest.Config, observe func(wire.Change), logger *slog.Logger) *ekscluster.Watch {
	out, err := ekscluster.NewWatch(kube, ekscluster.WatchOptions{
		Observe: observe,
		Undefined: func(resource string) {
			logger.Warn("its CustomResourceDefinition is missing in the cluster; apply it", "resource", resource)
		},
		Forbidden: func(resource string) {
			logger.Warn("may not be listed, so it counts as empty; apply the watcher's ClusterRole",
				"resource", resource)
		},
		DefaultSpread: s.defaultSpread(logger),
	})
	if err != nil {
		fatal(logger, "connect to the cluster", err)
	}
	return out
}

func (s *settings) defaultSpread(logger *slog.Logger) []model.Spread {
	constraints, err := translate.ParseDefaultSpread(s.DefaultSpread)
	if err != nil {
		fatal(logger, "read JOINER_DEFAULT_SPREAD", err)
	}
	return constraints
}

func (s *settings) forwardConfig(ctx context.Context, logger *slog.Logger) publish.Config {
	config := awsChain(ctx)
	ledger, objects := dynamoledger.New(dynamodb.NewFromConfig(config), s.Table), s3.NewFromConfig(config)
	plan := sqsqueue.New(sqs.NewFromConfig(config), s.QueueURL)
	store := s3snapshot.New(objects, s.Bucket)
	return publish.Config{
		Cluster: s.Cluster, Owner: s.identity(),
		Publisher:  store,
		Manifests:  ledger,
		Queue:      routes(plan, logger),
		Ends:       sqsqueue.Forwarder{Queue: plan},
		EmptyNodes: sqsqueue.Forwarder{Queue: plan},
		Previous:   publish.NewestSnapshot{Ledger: ledger, Snapshots: store},
		Now:        time.Now, Wait: wait,
		Log:      func(note publish.Note) { log(logger, note) },
		Settings: publish.Settings{QuietWindow: s.BatchQuiet, MaxWindow: s.BatchMax, IdleWindow: s.IdlePublish},
	}
}

// routes sends hints to whoever plans, and has those of changed configuration passed on to whoever resolves classes.
func routes(plan *sqsqueue.Queue, logger *slog.Logger) publish.Queue {
	return &sqsqueue.Router{Plan: plan, Lost: func(err error) {
		logger.Warn(
			"a hint of changed configuration did not reach joiner-catalog; its next scheduled run finds the change",
			"error", err)
	}}
}

// wait waits for d, for something to wake it, or for the end of ctx.
func wait(ctx context.Context, wake <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-timer.C:
	}
}
