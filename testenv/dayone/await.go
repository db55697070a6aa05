package dayone

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// AwaitRunning waits until so many pods of a Deployment of namespace default run on nodes of NodePools. The error says what there is instead when ctx is done.
func (w *World) AwaitRunning(ctx context.Context, app string, pods int) error {
	client, err := kubernetes.NewForConfig(w.Stack.Kube.Config())
	if err != nil {
		return err
	}
	for {
		list, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
		if err == nil && count(list.Items) >= pods {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			nodes, _ := client.CoreV1().Nodes().List(context.WithoutCancel(ctx), metav1.ListOptions{})
			w.watcher.mutex.Lock()
			defer w.watcher.mutex.Unlock()
			return fmt.Errorf("%d of %d pods of %s run on %d nodes; watcher: %q; refused by policies: %v", count(listed(list)), pods, app, len(nodes.Items), w.watcher.why, w.Stack.Denied())
		}
	}
}

func listed(list *corev1.PodList) []corev1.Pod {
	if list == nil {
		return nil
	}
	return list.Items
}

func count(pods []corev1.Pod) (running int) {
	for _, p := range pods {
		if p.Status.Phase == corev1.PodRunning && p.Spec.NodeName != "" {
			running++
		}
	}
	return running
}

// AwaitNoMachines waits until EC2 has no machine that runs.
func (w *World) AwaitNoMachines(ctx context.Context) error {
	for {
		alive := 0
		for _, i := range w.Stack.EC2.Instances() {
			if i.State != "terminated" {
				alive++
			}
		}
		if alive == 0 {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return fmt.Errorf("%d machines are still there", alive)
		}
	}
}
