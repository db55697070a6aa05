package nodes

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/api/awsv1"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/userdata"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/machine"
)

// From the class as it is written to the node as it reports itself: a node never offers less than was planned with, for
// each family and what its kubelet may be told. Storage is an exception of 1 %, which file systems keep.
func TestNodesOfferNoLessThanWasPlanned(t *testing.T) {
	facts := model.InstanceTypeInfo{
		Name: "m5d.xlarge", Arch: "amd64", VCPUs: 4, MemoryMiB: 16384, Interfaces: 4, IPv4PerInterface: 15, InstanceStoreGB: 150, LocalNVMeGB: 150,
	}
	kubelets := map[string]string{
		"nothing said":         `{}`,
		"few pods":             `{maxPods: 20}`,
		"many pods":            `{maxPods: 200}`,
		"reserved in part":     `{kubeReserved: {cpu: 200m}, systemReserved: {memory: 300Mi, cpu: 50m}}`,
		"reserved in whole":    `{kubeReserved: {cpu: 200m, memory: 1Gi, ephemeral-storage: 2Gi}}`,
		"eviction in part":     `{evictionHard: {memory.available: 5%}}`,
		"eviction in whole":    `{evictionHard: {memory.available: 300Mi, nodefs.available: 15%, nodefs.inodesFree: 5%}}`,
		"eviction of files":    `{evictionHard: {nodefs.available: 20%}, evictionSoft: {memory.available: 10%}, evictionSoftGracePeriod: {memory.available: 1m}}`,
		"worked out by type":   `{maxPods: "max_pods - 8", kubeReserved: {cpu: "vcpus * 50", memory: "memory_mib / 20"}, systemReserved: {memory: "100 + max_pods"}}`,
		"worked out by amount": `{kubeReserved: {ephemeral-storage: "3"}}`,
	}
	for _, family := range []string{"AL2", "AL2023", "Bottlerocket", "Windows2022"} {
		for name, config := range kubelets {
			for _, policy := range []string{"", "instanceStorePolicy: RAID0, "} {
				if policy != "" && family == "Windows2022" {
					continue
				}
				t.Run(family+"/"+name+"/"+policy, func(t *testing.T) {
					var object awsv1.EC2NodeClass
					if err := yaml.Unmarshal([]byte("spec: {amiFamily: "+family+", "+policy+"amiSelectorTerms: [{id: ami-1}], kubelet: "+config+"}"), &object); err != nil {
						t.Fatal(err)
					}
					class := translate.Class(&object)
					if len(class.Unsupported)+len(class.Invalid) > 0 {
						t.Fatalf("the class cannot be used: %v %v", class.Unsupported, class.Invalid)
					}
					planned := offering.Catalog([]model.InstanceTypeInfo{facts}, class, offering.Settings{Region: "us-west-2", NodeClassCEL: true})[0]
					compare(t, planned, nodeOf(t, family, class, facts, planned))
				})
			}
		}
	}
}

// nodeOf is what an instance of the type reports that boots the class's image with the class's user data.
func nodeOf(t *testing.T, family string, class model.Class, facts model.InstanceTypeInfo, planned model.InstanceType) corev1.NodeStatus {
	t.Helper()
	i := rendered(t, family, func(in *userdata.Input) {
		in.Class = class
		in.MaxPods, in.KubeReserved, in.SystemReserved = planned.Capacity[model.Pods], planned.KubeReserved, planned.SystemReserved
	})
	i.VCPUs, i.MemoryBytes, i.InstanceStoreBytes = int(facts.VCPUs), facts.MemoryMiB<<20, facts.InstanceStoreGB*1e9
	i.ENIMaxPods = int(facts.Interfaces*(facts.IPv4PerInterface-1) + 2)
	node, _, err := machine.NodeOf(i)
	if err != nil {
		t.Fatal(err)
	}
	return node.Status
}

func compare(t *testing.T, planned model.InstanceType, node corev1.NodeStatus) {
	t.Helper()
	room := planned.Allocatable()
	cpu, memory, storage := node.Allocatable[corev1.ResourceCPU], node.Allocatable[corev1.ResourceMemory], node.Allocatable[corev1.ResourceEphemeralStorage]
	pods := node.Capacity[corev1.ResourcePods]
	if cpu.MilliValue() < room[model.CPU] || memory.Value() < room[model.Memory] || storage.Value() < room[model.EphemeralStorage]*99/100 {
		t.Errorf("the node offers %dm, %d MiB, %d MiB of storage; planned were %dm, %d MiB, %d MiB", cpu.MilliValue(), memory.Value()>>20, storage.Value()>>20,
			room[model.CPU], room[model.Memory]>>20, room[model.EphemeralStorage]>>20)
	}
	if pods.Value() != room[model.Pods] {
		t.Errorf("%d pods, planned were %d", pods.Value(), room[model.Pods])
	}
}
