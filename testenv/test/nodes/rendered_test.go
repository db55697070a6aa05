package nodes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/joiner-sh/joiner/shared/core/userdata"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/machine"
)

const gibibyte = 1 << 30

// imageOf is an image for each family.
var imageOf = map[string]string{
	"AL2":          "amazon-eks-node-1.32-v20251120",
	"AL2023":       "amazon-eks-node-al2023-x86_64-standard-1.36-v20251120",
	"Bottlerocket": "bottlerocket-aws-k8s-1.36-x86_64-v1.50.0-1a2b3c4d",
	"Windows2022":  "Windows_Server-2022-English-Core-EKS_Optimized-1.36-2025.11.14",
}

// rendered is user data as core/userdata writes it for a family.
func rendered(t testing.TB, family string, edit func(*userdata.Input)) machine.Instance {
	t.Helper()
	in := userdata.Input{
		Class:   model.Class{Name: "default", Family: family, InstanceStorePolicy: "RAID0"},
		Cluster: "demo", Endpoint: "https://10.0.0.1", CA: []byte("ca"),
		ServiceCIDR: "10.96.0.0/12", ClusterDNS: "10.96.0.10",
		Labels:  map[string]string{"team": "a", "kubernetes.io/arch": "amd64"},
		Taints:  []model.Taint{{Key: "dedicated", Value: "gpu", Effect: model.NoSchedule}},
		MaxPods: 42, ImageName: imageOf[family],
	}
	if strings.HasPrefix(family, "Windows") {
		in.Class.InstanceStorePolicy = ""
	}
	if edit != nil {
		edit(&in)
	}
	text, err := userdata.Render(in)
	if err != nil {
		t.Fatal(err)
	}
	return machine.Instance{
		ID: "i-1", PrivateDNSName: "ip-10-0-0-1.internal", Architecture: "x86_64",
		ImageName: imageOf[family], UserData: text,
		VCPUs: 4, MemoryBytes: 16 * gibibyte, ENIMaxPods: 58, InstanceStoreBytes: 500 * gibibyte,
	}
}

// What is written for a family is what its image makes of it: the same cluster, labels, taints and pods, and no more
// reserved than planning reckons with.
func TestRenderedUserDataMakesTheNodeThatWasPlanned(t *testing.T) {
	const plannedOf = 11*58 + 255 // MiB that the image reserves by itself, by what its interfaces could carry
	cases := map[string]struct {
		memoryMiB int64 // reserved
		os        string
		disks     bool
	}{
		"AL2": {plannedOf, "linux", true}, "AL2023": {plannedOf, "linux", true},
		"Bottlerocket": {11*42 + 255, "linux", true},
		"Windows2022":  {11*42 + 255, "windows", false},
	}
	for family, c := range cases {
		t.Run(family, func(t *testing.T) {
			i := rendered(t, family, nil)
			config, err := machine.ReadUserDataOf(i)
			if err != nil {
				t.Fatal(err)
			}
			got := config.Spec.Cluster
			if got.Name != "demo" || got.APIServerEndpoint != "https://10.0.0.1" ||
				string(got.CertificateAuthority) != "ca" {
				t.Errorf("cluster %+v", got)
			}
			node, kubelet, err := machine.NodeOf(i)
			if err != nil {
				t.Fatal(err)
			}
			labels := node.Labels
			if labels["team"] != "a" || labels[model.LabelDoNotSync] != "true" || labels[corev1.LabelOSStable] != c.os {
				t.Errorf("labels %v", labels)
			}
			if build := labels[corev1.LabelWindowsBuild]; (build == "10.0.20348") != (family == "Windows2022") {
				t.Errorf("build %q", build)
			}
			var taints []string
			for _, taint := range kubelet.RegisterWithTaints {
				taints = append(taints, taint.ToString())
			}
			slices.Sort(taints)
			want := []string{"dedicated=gpu:NoSchedule", "karpenter.sh/unregistered:NoExecute"}
			if !slices.Equal(taints, want) {
				t.Errorf("taints %q, want %q", taints, want)
			}
			capacity := node.Status.Capacity
			if pods := capacity[corev1.ResourcePods]; pods.Value() != 42 {
				t.Errorf("%d pods", pods.Value())
			}
			memory, left := capacity[corev1.ResourceMemory], node.Status.Allocatable[corev1.ResourceMemory]
			if got := (memory.Value() - left.Value()) >> 20; got != c.memoryMiB+100 {
				t.Errorf("%d MiB are kept, want %d and 100 for eviction", got, c.memoryMiB)
			}
			storage := capacity[corev1.ResourceEphemeralStorage]
			if array := storage.Value() > 400*gibibyte; array != c.disks {
				t.Errorf("%d bytes of storage", storage.Value())
			}
		})
	}
}

// What a class reserves reaches the node on every family.
func TestReservationsReachEveryNode(t *testing.T) {
	for family := range imageOf {
		t.Run(family, func(t *testing.T) {
			_, kubelet, err := machine.NodeOf(rendered(t, family, func(in *userdata.Input) {
				in.Class.Kubelet.JSON = `{"evictionHard":{"memory.available":"5%","nodefs.available":"10%"},
					"evictionSoft":{"memory.available":"10%"},"evictionSoftGracePeriod":{"memory.available":"1m"}}`
				in.KubeReserved = map[string]string{"cpu": "480m", "memory": "640Mi", "ephemeral-storage": "3Gi"}
				in.SystemReserved = map[string]string{"memory": "100Mi"}
			}))
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(kubelet.KubeReserved, kubelet.SystemReserved,
				kubelet.EvictionSoft, kubelet.EvictionSoftGracePeriod)
			const want = "map[cpu:480m ephemeral-storage:3Gi memory:640Mi] map[memory:100Mi] " +
				"map[memory.available:10%] map[memory.available:1m]"
			if got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if kubelet.EvictionHard["memory.available"] != "5%" {
				t.Errorf("eviction %v", kubelet.EvictionHard)
			}
		})
	}
}

func FuzzReadUserDataOf(f *testing.F) {
	for family := range imageOf {
		i := rendered(f, family, nil)
		f.Add(i.ImageName, i.UserData)
	}
	f.Add("bottlerocket-aws-k8s-1.36-x86_64-v1.45.0-1a2b3c4d",
		[]byte("[settings.bootstrap-commands.a]\ncommands = [1, ['apiclient', 2, []]]\n"+
			"[settings.kubernetes]\nnode-taints = {a = [1]}"))
	f.Fuzz(func(t *testing.T, image string, data []byte) {
		i := machine.Instance{
			ID: "i-1", ImageName: image, UserData: data,
			VCPUs: 2, MemoryBytes: 8 * gibibyte, ENIMaxPods: 29, InstanceStoreBytes: gibibyte,
		}
		c, err := machine.ReadUserDataOf(i)
		if err != nil {
			return
		}
		if c.Spec.Cluster.Name == "" || len(c.Spec.Cluster.CertificateAuthority) == 0 {
			t.Errorf("joins an unknown cluster: %+v", c.Spec.Cluster)
		}
		node, _, err := machine.NodeOf(i)
		if err != nil {
			return
		}
		for name, amount := range node.Status.Allocatable {
			if amount.Sign() < 0 {
				t.Errorf("allocatable %s is %s", name, amount.String())
			}
		}
		os := node.Status.NodeInfo.OperatingSystem
		if (os == "windows") != strings.HasPrefix(image, "Windows_Server-") {
			t.Errorf("%s runs %s", image, os)
		}
	})
}
