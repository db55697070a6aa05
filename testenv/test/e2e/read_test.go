package e2e

import (
	"context"
	"fmt"
	"sort"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
)

// cheapest orders instance types by their on-demand price and returns the n first.
func cheapest(t *testing.T, n int, names ...string) []string {
	t.Helper()
	price := map[string]int64{}
	for _, name := range names {
		kind, ok := catalog.Lookup(name)
		if !ok {
			t.Fatalf("the sandbox has no %s", name)
		}
		price[name] = kind.OnDemandMicroUSDPerHour
	}
	sort.Slice(names, func(i, j int) bool { return price[names[i]] < price[names[j]] })
	return names[:n]
}

// appRuns says what is missing for n pods of an app to run.
func (c *cluster) appRuns(ctx context.Context, namespace, app string, n int) string {
	list, err := c.kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		return err.Error()
	}
	running := 0
	for _, pod := range list.Items {
		if pod.Status.Phase == corev1.PodRunning {
			running++
		}
	}
	if running >= n {
		return ""
	}
	return fmt.Sprintf("%d of %d run", running, n)
}

// podOf returns the name of a pod of the app, "" where there is none.
func (c *cluster) podOf(ctx context.Context, namespace, app string) string {
	list, err := c.kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil || len(list.Items) == 0 {
		return ""
	}
	return list.Items[0].Name
}
