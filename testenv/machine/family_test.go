package machine_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/joiner-sh/joiner/shared/core/userdata"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/machine"
)

// An instance of each family joins a real API server with the user data that is written for it: as a kubelet, with the
// rights of one.
func TestInstancesOfEveryFamilyJoin(t *testing.T) {
	t.Parallel()
	cases := []struct {
		family, image, os string
		pods              int64
	}{
		{"AL2", "amazon-eks-node-1.32-v20251120", "linux", 21},
		{"AL2023", "amazon-eks-node-al2023-x86_64-standard-1.36-v20251120", "linux", 22},
		{"Bottlerocket", "bottlerocket-aws-k8s-1.36-x86_64-v1.50.0-1a2b3c4d", "linux", 23},
		{"Windows2025", "Windows_Server-2025-English-Core-EKS_Optimized-1.36-2025.11.14", "windows", 24},
	}
	for n, c := range cases {
		t.Run(c.family, func(t *testing.T) {
			t.Parallel()
			text, err := userdata.Render(userdata.Input{
				Class:   model.Class{Name: "default", Family: c.family},
				Cluster: clusterName, Endpoint: plane.Endpoint(), CA: plane.CertificateAuthority(), ServiceCIDR: "10.96.0.0/12", ClusterDNS: "10.96.0.10",
				Labels:  map[string]string{"family": c.family, "kubernetes.io/os": c.os, model.LabelNodePool: "web", model.LabelCapacityType: model.Spot},
				Taints:  []model.Taint{{Key: "dedicated", Value: "web", Effect: model.NoSchedule}},
				MaxPods: c.pods, ImageName: c.image,
			})
			if err != nil {
				t.Fatal(err)
			}
			i := instance(90 + n)
			i.Architecture, i.ImageName, i.UserData = "x86_64", c.image, text
			boot(t, fleet, events, i, machine.Ready)
			got := node(t, i.PrivateDNSName)
			for key, want := range map[string]string{
				"family": c.family, corev1.LabelOSStable: c.os, model.LabelNodePool: "web", model.LabelCapacityType: model.Spot, model.LabelDoNotSync: "true",
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
}
