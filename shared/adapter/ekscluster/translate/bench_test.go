package translate

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// BenchmarkBuilder adds 1,000 pods of 50 workloads and makes the snapshot.
func BenchmarkBuilder(b *testing.B) {
	pods := make([]*corev1.Pod, 1000)
	for i := range pods {
		pods[i] = parsePod(b, fullPod)
		pods[i].Name = fmt.Sprintf("web-%d", i)
		pods[i].Labels["app"] = fmt.Sprintf("web-%d", i%50)
	}
	b.ReportAllocs()
	for b.Loop() {
		var builder Builder
		for _, pod := range pods {
			builder.Add(pod)
		}
		if s := builder.Snapshot("c", 1); len(s.Pods) != 1000 || len(s.Shapes) != 50 {
			b.Fatalf("%d pods of %d shapes", len(s.Pods), len(s.Shapes))
		}
	}
}
