// Command watcher runs in the cluster. It follows pods, nodes and whatever else decisions look at, publishes the
// cluster's state to S3, and sends hints to the queue of the functions. It decides nothing and writes nothing to the
// cluster but its lease; of several replicas one leads, the others follow along and take over. What it does is
// flow/publish; this wires it.
//
// Settings come from the environment:
//
//	JOINER_CLUSTER         name of the EKS cluster; required
//	JOINER_QUEUE_URL       of this cluster's plan queue, to which all hints go; required
//	JOINER_BUCKET          of snapshots; required
//	JOINER_TABLE           of the ledger; required
//	JOINER_NAMESPACE       of the lease: joiner
//	JOINER_IDENTITY        of this replica: the host's name, which in a pod is the pod's
//	JOINER_HEALTH_ADDRESS  of /healthz (it runs) and /readyz (it has seen the cluster): :8081
//	JOINER_BATCH_QUIET     a batch closes when no new pod came for so long: 300ms
//	JOINER_BATCH_MAX       or when it has been open for so long: 5s
//	JOINER_IDLE_PUBLISH    how long a change nobody waits for may stay unpublished: 5s
//	JOINER_LEASE_DURATION  after which a leader that fell silent is replaced: 15s
//	JOINER_DEFAULT_SPREAD  defaultConstraints of the cluster's kube-scheduler, YAML or JSON: none
//	JOINER_WEBHOOK_CERT_DIR
//	                       folder with tls.crt and tls.key: admission reviews are answered at /admit. None, then
//	                       nothing is served
//	JOINER_WEBHOOK_ADDRESS of that: :8443
//	JOINER_ACCOUNT         whose instance catalog admission goes by, that of the cluster: none, then it is the
//	                       installation's own. JOINER_VM_MEMORY_OVERHEAD_PERCENT, JOINER_RESERVED_ENIS and
//	                       JOINER_NODE_CLASS_CEL are as the functions have them
//	JOINER_RELAY_QUEUE_URL of the queue of what functions ask this cluster's API server for: every replica carries
//	                       that out. None, then functions ask it themselves
//	JOINER_RELAY_SENDERS   who may ask, JSON: the unique ids of the functions' roles for this cluster, and for each
//	                       the group whose permissions they have: {"AROA…": "joiner:functions"}; required with the
//	                       queue
//	JOINER_METRICS_ADDRESS of /metrics, for Prometheus: none, then nothing is served
//	JOINER_METRICS_CLUSTER_STATE
//	                       false = no metrics of each node and pod, tens of thousands in a large cluster: true
//	JOINER_LOG_LEVEL       debug, info, warn or error: info
//	KUBECONFIG             path of a client configuration: that of the pod's service account
//
// AWS_REGION, AWS_ENDPOINT_URL and the rest of the AWS variables mean what they always do.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	_ "golang.org/x/crypto/x509roots/fallback" // its image holds nothing but the program
	"k8s.io/klog/v2"

	"github.com/joiner-sh/joiner/cmd/watcher/metrics"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster"
	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/publish"
	"github.com/joiner-sh/joiner/shared/flow/review"
	"github.com/joiner-sh/joiner/shared/wire"
)

func main() {
	var s settings
	boot.LoadSettings(&s)
	logger := boot.Logger("watcher").With("cluster", s.Cluster, "identity", s.identity())
	klog.SetSlogLogger(logger)
	debug.SetGCPercent(50) // memory is what people pay for here, and there is processor time to spare

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	kube := s.kubeConfig(logger)
	f := publish.New(s.forwardConfig(ctx, logger))
	var watch *ekscluster.Watch
	recorder := metrics.New(metrics.Options{
		Rows: f.Rows, Waiting: f.PendingPods, PodsOn: f.PodsOn, Synced: func() bool { return watch.Synced() },
		Now: time.Now, Version: boot.Version(), Detail: s.ClusterState,
	})
	cache := review.NewCache(func() bool { return watch.Synced() })
	watch = s.watch(kube, func(c wire.Change) {
		cache.Observe(c)
		f.Observe(c)
		if s.MetricsAddress != "" {
			recorder.Observe(c)
		}
	}, logger)

	// One actor follows the cluster, one leads when it may, one answers the kubelet, one the API server, one the
	// functions, one Prometheus. All end with ctx.
	var actors sync.WaitGroup
	if executor := s.executor(ctx, kube, logger); executor != nil {
		actors.Go(func() { executor.Run(ctx) })
	}
	if s.CertDir != "" {
		evaluate := s.evaluate(awsChain(ctx), cache, logger)
		actors.Go(func() {
			serveAdmission(ctx, s.WebhookAddress, &certificate{folder: s.CertDir, logger: logger}, evaluate, logger)
		})
	}
	actors.Go(func() { watch.Run(ctx) })
	if s.MetricsAddress != "" {
		actors.Go(func() { serveMetrics(ctx, s.MetricsAddress, recorder, logger) })
	}
	actors.Go(func() { serveHealth(ctx, s.HealthAddress, watch.Synced, logger) })
	actors.Go(func() {
		started := time.Now()
		if watch.WaitForSync(ctx) {
			logger.Info("seen the cluster", "millis", time.Since(started).Milliseconds(), "waiting", f.PendingPods())
			campaign(ctx, kube, &s, func(term context.Context) error {
				recorder.SetLeading(true)
				defer recorder.SetLeading(false)
				return f.Lead(term)
			}, logger)
		}
	})
	actors.Wait()
	logger.Info("stopped")
}
