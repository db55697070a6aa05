package main

import (
	"context"
	"log/slog"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const leaseName = "joiner-watcher"

// campaign stands for leader until ctx is done, and leads whenever it holds the lease. The lease keeps replicas from
// working against each other; that two who both think they hold it do no harm is the epoch's doing.
func campaign(
	ctx context.Context, kube *rest.Config, s *settings, lead func(context.Context) error, logger *slog.Logger,
) {
	client, err := kubernetes.NewForConfig(kube)
	if err != nil {
		fatal(logger, "connect to the cluster", err)
	}
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: s.Namespace, Name: leaseName},
		Client:     client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: s.identity()},
	}
	var leading sync.Mutex // one leadership at a time, also while the one before is coming to its end
	for ctx.Err() == nil {
		term, resign := context.WithCancel(ctx)
		leaderelection.RunOrDie(term, leaderelection.LeaderElectionConfig{
			Lock: lock, Name: leaseName, ReleaseOnCancel: true,
			LeaseDuration: s.LeaseDuration, RenewDeadline: s.LeaseDuration * 2 / 3,
			RetryPeriod: s.LeaseDuration * 2 / 15,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(term context.Context) {
					leading.Lock()
					defer leading.Unlock()
					defer resign()
					if err := lead(term); err != nil {
						logger.Warn("another replica leads", "error", err.Error())
					}
					logger.Info("no longer leading")
				},
				OnStoppedLeading: func() {},
			},
		})
		resign()
	}
	leading.Lock() // wait for the last one
}
