package main

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/model"
)

// instances returns what the sandbox catalog holds, by name, as the command line reads it.
func instances(t *testing.T) map[string]model.InstanceTypeInfo {
	t.Helper()
	data, err := sandbox()
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Machines []model.InstanceTypeInfo }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	out := map[string]model.InstanceTypeInfo{}
	for _, m := range file.Machines {
		out[m.Name] = m
	}
	return out
}

// The figures are those AWS's own table of AL2023 nodes gives for the types, without block device mappings.
func TestIT01SandboxTypesHoldWhatAWSPublishes(t *testing.T) {
	const branches = "vpc.amazonaws.com/pod-eni"
	all := instances(t)
	class := model.Class{Name: "default", Family: "AL2023", Status: model.ClassStatus{Subnets: []model.Subnet{{ID: "subnet-a", Zone: "us-west-2a"}}}}
	for name, tt := range map[string]struct {
		milliCPU, memoryMiB, pods int64
		devices                   model.Resources
	}{
		"a1.medium":    {940, 1392, 8, model.Resources{branches: 10}},
		"t3.micro":     {1930, 548, 4, nil},
		"m5.large":     {1930, 6903, 29, model.Resources{branches: 9}},
		"m6g.xlarge":   {3920, 14103, 58, model.Resources{branches: 18}},
		"g4dn.xlarge":  {3920, 14481, 29, model.Resources{"nvidia.com/gpu": 1, branches: 39}},
		"i4i.4xlarge":  {15890, 118312, 234, model.Resources{branches: 52}},
		"m5.24xlarge":  {95690, 355262, 737, model.Resources{branches: 107}},
		"p4d.24xlarge": {95690, 1082712, 737, model.Resources{"nvidia.com/gpu": 8, "vpc.amazonaws.com/efa": 4, branches: 62}},
		"inf2.xlarge":  {3920, 14162, 58, model.Resources{"aws.amazon.com/neuron": 1, "aws.amazon.com/neuroncore": 2}},
	} {
		info, ok := all[name]
		if !ok {
			t.Errorf("%s is missing", name)
			continue
		}
		got := offering.Catalog([]model.InstanceTypeInfo{info}, class, offering.Settings{})[0]
		want := model.Resources{model.CPU: tt.milliCPU, model.Memory: tt.memoryMiB << 20, model.Pods: tt.pods, model.EphemeralStorage: 17 << 30}
		maps.Copy(want, tt.devices)
		allocatable := got.Allocatable()
		maps.DeleteFunc(allocatable, func(_ string, n int64) bool { return n == 0 })
		if name == "inf2.xlarge" {
			delete(allocatable, branches) // the table the figures are from leaves it out
		}
		if !maps.Equal(allocatable, want) {
			t.Errorf("%s: allocatable %v, want %v", name, allocatable, want)
		}
	}
}

func TestSandboxHasEveryKindOfInstance(t *testing.T) {
	all := instances(t)
	if len(all) < 300 {
		t.Errorf("%d types, want at least 300", len(all))
	}
	for kind, is := range map[string]func(m model.InstanceTypeInfo) bool{
		"arm":                   func(m model.InstanceTypeInfo) bool { return m.Arch == "arm64" },
		"bare metal":            func(m model.InstanceTypeInfo) bool { return m.BareMetal && m.Hypervisor == "" },
		"Xen":                   func(m model.InstanceTypeInfo) bool { return m.Hypervisor == "xen" },
		"without ENA":           func(m model.InstanceTypeInfo) bool { return !m.ENA },
		"NVIDIA":                func(m model.InstanceTypeInfo) bool { return m.GPUManufacturer == "nvidia" && m.GPUMemoryMiB > 0 },
		"AMD GPU":               func(m model.InstanceTypeInfo) bool { return m.GPUManufacturer == "amd" },
		"Gaudi":                 func(m model.InstanceTypeInfo) bool { return m.GPUManufacturer == "habana" },
		"Inferentia":            func(m model.InstanceTypeInfo) bool { return m.NeuronName == "inferentia2" },
		"Trainium":              func(m model.InstanceTypeInfo) bool { return m.NeuronName == "trainium2" && m.NeuronCores == 8 },
		"several cards":         func(m model.InstanceTypeInfo) bool { return len(m.Cards) > 1 && m.EFAInterfaces == int64(len(m.Cards)) },
		"enclaves":              func(m model.InstanceTypeInfo) bool { return m.NitroEnclaves },
		"nested virtualisation": func(m model.InstanceTypeInfo) bool { return m.Nested },
		"never near others":     func(m model.InstanceTypeInfo) bool { return len(m.Strategies) == 2 },
		"on demand only": func(m model.InstanceTypeInfo) bool {
			return len(m.UsageClasses) == 1 && m.UsageClasses[0] == model.OnDemand
		},
		"disks of its own":              func(m model.InstanceTypeInfo) bool { return m.InstanceStoreGB > 0 },
		"branch interfaces":             func(m model.InstanceTypeInfo) bool { return m.BranchInterfaces > 0 },
		"not in every zone":             func(m model.InstanceTypeInfo) bool { return len(m.Offerings) < 6 },
		"three zones, both ways to buy": func(m model.InstanceTypeInfo) bool { return len(m.Offerings) == 6 },
	} {
		n := 0
		for _, m := range all {
			if is(m) {
				n++
			}
		}
		if n == 0 || n == len(all) {
			t.Errorf("%d of %d types are %s", n, len(all), kind)
		}
	}
}
