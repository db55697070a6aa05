package dayone

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// until asks each second until nothing is missing. When ctx is done the error says what was.
func until(ctx context.Context, missing func(context.Context) error) error {
	for {
		err := missing(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			if again := missing(context.WithoutCancel(ctx)); again != nil {
				err = again
			}
			return err
		}
	}
}

// AwaitRunning waits until so many pods of a Deployment of namespace default run, and nodes of a NodePool are there. The error says what there is instead when
// ctx is done.
func (w *World) AwaitRunning(ctx context.Context, app string, pods int) error {
	client, err := kubernetes.NewForConfig(w.Cluster.Kube.Config())
	if err != nil {
		return err
	}
	return until(ctx, func(ctx context.Context) error {
		list, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
		if err != nil {
			return err
		}
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "karpenter.sh/nodepool"})
		if err != nil {
			return err
		}
		if running := count(list.Items); running < pods || len(nodes.Items) == 0 {
			return fmt.Errorf("%d of %d pods of %s run, and there are %d nodes of NodePools; watcher: %q; refused by policies: %v", running, pods, app, len(nodes.Items), w.watcher.reason(), w.Stack.Cloud.Policies.Denied())
		}
		return nil
	})
}

// count is how many pods run.
func count(pods []corev1.Pod) (running int) {
	for i := range pods {
		if pods[i].Status.Phase == corev1.PodRunning {
			running++
		}
	}
	return running
}

// AwaitWatcher waits until the watcher leads: its process runs and renews its lease.
func (w *World) AwaitWatcher(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(w.Cluster.Kube.Config())
	if err != nil {
		return err
	}
	return until(ctx, func(ctx context.Context) error {
		if why := w.watcher.reason(); why != "" {
			return errors.New("no watcher runs: " + why)
		}
		lease, err := client.CoordinationV1().Leases("joiner").Get(ctx, "joiner-watcher", metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("no watcher leads: %w", err)
		}
		if renewed := lease.Spec.RenewTime; renewed == nil || time.Since(renewed.Time) > time.Minute {
			return fmt.Errorf("no watcher leads: the lease was renewed last at %v", renewed)
		}
		return nil
	})
}

// AwaitNoInstances waits until EC2 has no machine of a NodePool that runs.
func (w *World) AwaitNoInstances(ctx context.Context) error {
	model := w.Stack.EC2
	if w.Foreign != nil {
		model = w.Foreign.EC2
	}
	return until(ctx, func(context.Context) error {
		alive := 0
		for _, i := range model.Instances() {
			if i.State != "terminated" && i.Tags["karpenter.sh/nodepool"] != "" {
				alive++
			}
		}
		if alive > 0 {
			return fmt.Errorf("%d machines are still there", alive)
		}
		return nil
	})
}
