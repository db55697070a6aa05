package stack

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/joiner-sh/joiner/infra/examples"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
)

// Where AWS is read the other way in every doubt, a stack comes up, a class becomes ready, and pods that wait get a node that is Ready. The
// instance profile alone is there at once: else the class is tried a second time after 50 s, which is for `make readings`.
func TestUnderOtherReadingsPodsGetANodeThatIsReady(t *testing.T) {
	s, err := Start(t.Context(), Options{Readings: reading.AllOther().Without(reading.ProfileLag)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	client, err := kubernetes.NewForConfig(s.Kube.Config())
	if err != nil {
		t.Fatal(err)
	}
	for _, manifest := range [][]byte{examples.NodePool, examples.Inflate} {
		if err := s.Kube.Apply(t.Context(), manifest); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.AppsV1().Deployments("default").Patch(t.Context(), "inflate", types.MergePatchType, []byte(`{"spec": {"replicas": 3}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	running := func() (n int) {
		pods, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range pods.Items {
			if pod.Spec.NodeName != "" {
				n++
			}
		}
		return n
	}
	began := time.Now()
	for end := began.Add(5 * time.Minute); running() < 3; time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d of 3 pods are bound; denied were %v", running(), s.Cloud.Policies.Denied())
		}
	}
	nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ready := 0
	for _, node := range nodes.Items {
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				ready++
			}
		}
	}
	if ready == 0 || len(s.EC2.Launches()) == 0 {
		t.Errorf("%d of %d nodes are ready, %d machines were launched", ready, len(nodes.Items), len(s.EC2.Launches()))
	}
	t.Logf("3 pods were bound %v after they were made", time.Since(began).Round(time.Second))
}
