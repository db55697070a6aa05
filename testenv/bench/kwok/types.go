package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/joiner-sh/joiner/cmd/joiner/catalogfile"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/machine"
)

// What Karpenter's kwok provider reads of a file of instance types. Source: sigs.k8s.io/karpenter/kwok/cloudprovider, InstanceTypeOptions.
type (
	instanceType struct {
		Name             string            `json:"name"`
		Offerings        []offering        `json:"offerings"`
		Architecture     string            `json:"architecture"`
		OperatingSystems []string          `json:"operatingSystems"`
		Resources        map[string]string `json:"resources"` // with what the provider takes off
	}
	offering struct {
		Price        float64 // USD an hour
		Available    bool
		Requirements []requirement
	}
	requirement struct {
		Key      string   `json:"key"`
		Operator string   `json:"operator"`
		Values   []string `json:"values"`
	}
)

// keptMemory is what the provider keeps of every instance's memory, in bytes. It keeps 100m of CPU, too. Source: the same, newInstanceType.
const keptMemory = 10 << 20

// writeTypes writes what Joiner's stack sells as the provider reads it.
func writeTypes(path string) error {
	region, err := catalogfile.BuiltIn()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(typesOf(region), "", " ")
	if err != nil {
		return fmt.Errorf("write instance types: %w", err)
	}
	return os.WriteFile(path, text, 0o644)
}

// typesOf returns the general instance types of recent generations: the provider's labels do not say which those are, so that no NodePool can. What an
// instance holds is what testenv's instances turn out to hold.
func typesOf(region *catalogfile.Region) (out []instanceType) {
	class := model.Class{Name: "default", Family: "AL2023"}
	sees := map[string]int64{}
	for _, m := range region.InstanceTypes {
		sees[m.Name] = machine.VisibleMemory(m.MemoryMiB << 20)
	}
	for _, t := range region.Types(class) {
		generation, err := strconv.Atoi(strings.Join(t.Labels["karpenter.k8s.aws/instance-generation"], ""))
		if err != nil || generation <= 4 || !slices.Contains([]string{"c", "m", "r"}, strings.Join(t.Labels["karpenter.k8s.aws/instance-category"], "")) {
			continue
		}
		room := t.Allocatable()
		memory := room[model.Memory] + sees[t.Name] - t.Capacity[model.Memory]
		u := instanceType{
			Name: nameOf(t.Name), Architecture: strings.Join(t.Labels[model.LabelArch], ""), OperatingSystems: []string{"linux"},
			Resources: map[string]string{
				string(corev1.ResourceCPU):              resource.NewMilliQuantity(t.Capacity[model.CPU], resource.DecimalSI).String(),
				string(corev1.ResourceMemory):           resource.NewQuantity(memory+keptMemory, resource.BinarySI).String(),
				string(corev1.ResourceEphemeralStorage): resource.NewQuantity(room[model.EphemeralStorage], resource.BinarySI).String(),
				string(corev1.ResourcePods):             strconv.FormatInt(room[model.Pods], 10),
			},
		}
		for _, o := range t.Offerings {
			if !o.Available || o.CapacityType != model.OnDemand && o.CapacityType != model.Spot {
				continue
			}
			u.Offerings = append(u.Offerings, offering{Price: float64(o.Price) / 1e6, Available: true, Requirements: []requirement{
				{model.LabelCapacityType, "In", []string{o.CapacityType}}, {model.LabelZone, "In", []string{o.Zone}},
			}})
		}
		if len(u.Offerings) > 0 {
			out = append(out, u)
		}
	}
	return out
}

// nameOf is a type's name without the dot: of names as AWS writes them the provider takes the size from behind the dot, and of others the number
// of CPUs, which upstream's suites compare with 32.
func nameOf(name string) string { return strings.ReplaceAll(name, ".", "-") }
