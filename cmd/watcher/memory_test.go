package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/joiner-sh/joiner/shared/wire"
)

const (
	manyNodes   = 1_000
	manyPods    = 10_000
	memoryLimit = 100_000_000 // bytes, of the whole process, at its peak
)

// The goal is 100 MB for 1,000 nodes and 10,000 pods, the first list of all of them and scrapes by Prometheus included. It is a benchmark because
// making the pods takes a minute: go test -run '^$' -bench Memory -benchtime 1x ./cmd/watcher
func BenchmarkMemoryOfAThousandNodesAndTenThousandPods(b *testing.B) {
	p := newPlace(b)
	begun := time.Now()
	fill(b, p)
	b.Logf("made %d nodes and %d pods in %s", manyNodes, manyPods, time.Since(begun).Round(time.Second))

	r := p.start("watcher-0", "JOINER_METRICS_ADDRESS=127.0.0.1:0")
	p.hint("the first leadership", func(h wire.Hint) bool { return h.Epoch == 1 })
	_, s := p.published()
	if len(s.Nodes) != manyNodes || len(s.Pods) < manyPods {
		b.Errorf("published are %d nodes and %d pods", len(s.Nodes), len(s.Pods))
	}
	listed, _ := memory(b, r.command.Process.Pid)
	for range 5 {
		b.ReportMetric(float64(scraped(b, r.served("serving metrics")))/1e6, "scrape-MB")
	}
	b.ReportMetric(float64(listed)/1e6, "unscraped-MB")
	peak, now := memory(b, r.command.Process.Pid)
	b.ReportMetric(float64(peak)/1e6, "peak-MB")
	b.ReportMetric(float64(now)/1e6, "MB")
	b.ReportMetric(0, "ns/op") // the time is the API server's
	if peak > memoryLimit {
		b.Errorf("the watcher took %d bytes, at most %d are promised", peak, memoryLimit)
	}
}

// scraped asks for the metrics at an address and returns how many bytes they are.
func scraped(t testing.TB, address string) int64 {
	t.Helper()
	answer, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	n, err := io.Copy(io.Discard, answer.Body)
	if err != nil || n < 1e6 {
		t.Fatalf("a scrape of %d bytes: %v", n, err)
	}
	return n
}

// fill makes nodes with the labels of real ones, and pods bound to them, of 250 workloads.
func fill(t testing.TB, p *place) {
	config := p.plane.Config()
	config.QPS = -1
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	p.apply([]byte("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: default, namespace: default}"))
	inParallel(t, manyNodes, func(i int) error {
		_, err := client.CoreV1().Nodes().Create(t.Context(), bigNode(i), metav1.CreateOptions{})
		return err
	})
	inParallel(t, manyPods, func(i int) error {
		_, err := client.CoreV1().Pods("default").Create(t.Context(), bigPod(i), metav1.CreateOptions{})
		return err
	})
}

func inParallel(t testing.TB, n int, do func(i int) error) {
	t.Helper()
	var wg sync.WaitGroup
	errs := make(chan error, 32)
	for worker := range 32 {
		wg.Go(func() {
			for i := worker; i < n; i += 32 {
				if err := do(i); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		t.Fatal(err)
	default:
	}
}

func nodeName(i int) string {
	return fmt.Sprintf("ip-10-0-%d-%d.us-west-2.compute.internal", i/250, i%250)
}

func bigNode(i int) *corev1.Node {
	labels := map[string]string{"karpenter.sh/nodepool": "general", "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true", "kubernetes.io/hostname": nodeName(i)}
	for j := range 25 {
		labels[fmt.Sprintf("karpenter.k8s.aws/instance-property-%d", j)] = fmt.Sprintf("value-%d", i%7)
	}
	capacity := corev1.ResourceList{"cpu": resource.MustParse("16"), "memory": resource.MustParse("64Gi"), "pods": resource.MustParse("110"), "ephemeral-storage": resource.MustParse("100Gi")}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: nodeName(i), Labels: labels},
		Spec:       corev1.NodeSpec{ProviderID: fmt.Sprintf("aws:///us-west-2a/i-%017x", i)},
		Status:     corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
	}
}

// bigPod is as large as pods of real workloads are: two containers with environment, probes left out.
func bigPod(i int) *corev1.Pod {
	workload := fmt.Sprintf("service-%d", i/40)
	var env []corev1.EnvVar
	for j := range 30 {
		env = append(env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", j), Value: strings.Repeat("value ", 12)})
	}
	container := func(name string) corev1.Container {
		return corev1.Container{Name: name, Image: "registry.example.com/" + workload + ":v1", Env: env, Args: []string{"--flag=value", "--other=value"},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("128Mi")}}}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: fmt.Sprintf("%s-7d4b9c6f8-%05d", workload, i), Labels: map[string]string{"app": workload, "pod-template-hash": "7d4b9c6f8"},
		},
		Spec: corev1.PodSpec{NodeName: nodeName(i % manyNodes), Containers: []corev1.Container{container("main"), container("sidecar")}},
	}
}

// memory returns the most the process ever had resident, and what it has now, in bytes.
func memory(t testing.TB, pid int) (peak, now int64) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatalf("ask for the process's memory, which takes Linux: %v", err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		var kib int64
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kib); err == nil {
			peak = kib << 10
		}
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &kib); err == nil {
			now = kib << 10
		}
	}
	return peak, now
}
