package nodes

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/joiner-sh/joiner/shared/core/userdata"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/kube"
	"github.com/joiner-sh/joiner/testenv/local/machine"
)

// An instance of each family joins a real API server with the user data that is written for it: as a kubelet, with
// the rights of one.
func TestInstancesOfEveryFamilyJoin(t *testing.T) {
	plane, err := kube.Start(t.Context(), kube.Options{Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Stop)
	fleet, err := machine.Start(t.Context(), machine.Options{
		Config: plane.Config(), Kwok: plane.Assets().Kwok, Dir: plane.LogDir(),
		Cluster: machine.Cluster{
			Name: "demo", Endpoint: plane.Endpoint(), CertificateAuthority: plane.CertificateAuthority(),
			Version: kube.KubernetesVersion(),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fleet.Stop)
	client, err := kubernetes.NewForConfig(plane.Config())
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		family, image, os string
		pods              int64
	}{
		{"AL2", "amazon-eks-node-1.32-v20251120", "linux", 21},
		{"AL2023", "amazon-eks-node-al2023-x86_64-standard-1.36-v20251120", "linux", 22},
		{"Bottlerocket", "bottlerocket-aws-k8s-1.36-x86_64-v1.50.0-1a2b3c4d", "linux", 23},
		{"Windows2025", "Windows_Server-2025-English-Core-EKS_Optimized-1.36-2025.11.14", "windows", 24},
	}
	t.Run("families", func(t *testing.T) { // ends when all of them have
		for n, c := range cases {
			t.Run(c.family, func(t *testing.T) {
				t.Parallel()
				text, err := userdata.Render(userdata.Input{
					Class:   model.Class{Name: "default", Family: c.family},
					Cluster: "demo", Endpoint: plane.Endpoint(), CA: plane.CertificateAuthority(),
					ServiceCIDR: "10.96.0.0/12", ClusterDNS: "10.96.0.10",
					Labels: map[string]string{
						"family": c.family, "kubernetes.io/os": c.os,
						model.LabelNodePool: "web", model.LabelCapacityType: model.Spot,
					},
					Taints:  []model.Taint{{Key: "dedicated", Value: "web", Effect: model.NoSchedule}},
					MaxPods: c.pods, ImageName: c.image,
				})
				if err != nil {
					t.Fatal(err)
				}
				got := boot(t, fleet, client, machine.Instance{
					ID: fmt.Sprintf("i-%017d", n), Type: "m7i.large",
					Zone: "us-west-2a", ZoneID: "usw2-az1", Region: "us-west-2",
					PrivateDNSName: fmt.Sprintf("ip-10-0-0-%d.us-west-2.compute.internal", n),
					PrivateIP:      fmt.Sprintf("10.0.0.%d", n),
					Architecture:   "x86_64", ImageName: c.image, VCPUs: 2, MemoryBytes: 8 << 30, ENIMaxPods: 29,
					UserData: text, LaunchTime: time.Now(),
				})
				for key, want := range map[string]string{
					"family": c.family, corev1.LabelOSStable: c.os, model.LabelNodePool: "web",
					model.LabelCapacityType: model.Spot, model.LabelDoNotSync: "true",
				} {
					if got.Labels[key] != want {
						t.Errorf("label %s is %q, want %q", key, got.Labels[key], want)
					}
				}
				taints := map[string]bool{}
				for _, taint := range got.Spec.Taints {
					taints[taint.ToString()] = true
				}
				if !taints["dedicated=web:NoSchedule"] || !taints["karpenter.sh/unregistered:NoExecute"] {
					t.Errorf("taints %v", got.Spec.Taints)
				}
				if pods := got.Status.Capacity.Pods().Value(); pods != c.pods {
					t.Errorf("%d pods, want %d", pods, c.pods)
				}
			})
		}
	})
}

// boot boots an instance, ends it with the test, and returns its Node once that is ready.
func boot(t *testing.T, fleet *machine.Fleet, client kubernetes.Interface, i machine.Instance) *corev1.Node {
	t.Helper()
	fleet.Booted(i)
	t.Cleanup(func() { fleet.Terminated(i.ID) })
	var node *corev1.Node
	ready := func(ctx context.Context) (bool, error) {
		var err error
		if node, err = client.CoreV1().Nodes().Get(ctx, i.PrivateDNSName, metav1.GetOptions{}); err != nil {
			return false, nil // not there yet
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady {
				return condition.Status == corev1.ConditionTrue, nil
			}
		}
		return false, nil
	}
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 2*time.Minute, true, ready); err != nil {
		t.Fatalf("%s is no ready node: %v", i.ID, err)
	}
	return node
}
