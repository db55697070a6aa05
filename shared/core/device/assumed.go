package device

import (
	"fmt"
	"strconv"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// templateNode is the name that a node yet to be made goes by.
const templateNode = "joiner-new-node"

// Drivers that are assumed to publish what an instance type has.
const (
	nvidiaDriver = "gpu.nvidia.com"
	neuronDriver = "neuron.aws.com"
)

// gpu is what is known of a kind of GPU by its name at EC2. Each is as NVIDIA's driver publishes it.
type gpu struct{ architecture, capability string }

var gpus = map[string]gpu{
	"t4": {"Turing", "7.5.0"}, "t4g": {"Turing", "7.5.0"},
	"v100": {"Volta", "7.0.0"},
	"a10g": {"Ampere", "8.6.0"}, "a100": {"Ampere", "8.0.0"},
	"l4": {"Ada Lovelace", "8.9.0"}, "l40s": {"Ada Lovelace", "8.9.0"},
	"h100": {"Hopper", "9.0.0"}, "h200": {"Hopper", "9.0.0"},
	"b200": {"Blackwell", "10.0.0"}, "b300": {"Blackwell", "10.3.0"},
}

// assumed returns the devices that a type of which there was no node yet is taken to have.
func assumed(labels map[string][]string) []*resourceapi.ResourceSlice {
	var out []*resourceapi.ResourceSlice
	if one(labels, requirement.InstanceGPUManufacturer) == "nvidia" {
		if slice := assumedGPUs(labels); slice != nil {
			out = append(out, slice)
		}
	}
	if one(labels, requirement.InstanceAcceleratorManufacturer) == "aws" {
		if slice := assumedNeurons(labels); slice != nil {
			out = append(out, slice)
		}
	}
	return out
}

func assumedGPUs(labels map[string][]string) *resourceapi.ResourceSlice {
	attributes := map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
		"type": text("gpu"), "brand": text("Nvidia")}
	if known, is := gpus[one(labels, requirement.InstanceGPUName)]; is {
		attributes["architecture"] = text(known.architecture)
		attributes["cudaComputeCapability"] = resourceapi.DeviceAttribute{VersionValue: ptr.To(known.capability)}
	}
	capacity := map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{}
	if mib, err := strconv.ParseInt(one(labels, requirement.InstanceGPUMemory), 10, 64); err == nil && mib > 0 {
		capacity["memory"] = resourceapi.DeviceCapacity{Value: *resource.NewQuantity(mib<<20, resource.BinarySI)}
	}
	return alike(nvidiaDriver, "gpu", one(labels, requirement.InstanceGPUCount), attributes, capacity)
}

func assumedNeurons(labels map[string][]string) *resourceapi.ResourceSlice {
	attributes := map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
		"instanceType": text(one(labels, model.LabelInstanceType))}
	return alike(neuronDriver, "neuron-device", one(labels, requirement.InstanceAcceleratorCount), attributes, nil)
}

// alike returns a slice of so many devices that are alike; nil where the count cannot be read.
func alike(driver, name, count string, attributes map[resourceapi.QualifiedName]resourceapi.DeviceAttribute,
	capacity map[resourceapi.QualifiedName]resourceapi.DeviceCapacity) *resourceapi.ResourceSlice {
	n, err := strconv.Atoi(count)
	if err != nil || n <= 0 || n > resourceapi.ResourceSliceMaxDevices {
		return nil
	}
	slice := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: driver},
		Spec: resourceapi.ResourceSliceSpec{Driver: driver, NodeName: ptr.To(templateNode),
			Pool: resourceapi.ResourcePool{Name: templateNode, ResourceSliceCount: 1}}}
	for i := range n {
		slice.Spec.Devices = append(slice.Spec.Devices,
			resourceapi.Device{Name: fmt.Sprintf("%s-%d", name, i), Attributes: attributes, Capacity: capacity})
	}
	return slice
}

func text(value string) resourceapi.DeviceAttribute {
	return resourceapi.DeviceAttribute{StringValue: ptr.To(value)}
}

// one returns the label's value; empty where it has none or several.
func one(labels map[string][]string, key string) string {
	if len(labels[key]) != 1 {
		return ""
	}
	return labels[key][0]
}
