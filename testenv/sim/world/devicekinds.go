package world

import (
	"fmt"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
)

// DeviceDriver is the one driver of devices there is. It publishes NVIDIA's GPUs.
const DeviceDriver = "gpu.nvidia.com"

// GPUResource is the extended resource that the DeviceClass of all GPUs stands for.
const GPUResource = "nvidia.com/gpu"

// LargeGPU is the DeviceClass of GPUs with at least 20 GiB.
const LargeGPU = "large.gpu.nvidia.com"

// The ResourceClaimTemplates there are, by name.
const (
	TemplateOne   = "one-gpu"
	TemplateTwo   = "two-gpus"
	TemplateLarge = "large-gpu"
	TemplateT4    = "turing-gpu"
	TemplateMixed = "any-and-large-gpu"
)

// Device is one device of a node.
type Device struct {
	Name         string
	Architecture string
	MemoryMiB    int64
}

// DeviceNeed is what one request of a claim asks for: so many devices of a kind. No architecture is any of them.
type DeviceNeed struct {
	Class        string
	Architecture string
	Count        int
}

// templates are what claims are made of.
var templates = map[string][]DeviceNeed{
	TemplateOne:   {{Class: DeviceDriver, Count: 1}},
	TemplateTwo:   {{Class: DeviceDriver, Count: 2}},
	TemplateLarge: {{Class: LargeGPU, Count: 1}},
	TemplateT4:    {{Class: DeviceDriver, Architecture: "Turing", Count: 1}},
	TemplateMixed: {{Class: DeviceDriver, Count: 1}, {Class: LargeGPU, Count: 1}},
}

// deviceClassSpecs are the DeviceClasses there are, by name.
var deviceClassSpecs = map[string]string{
	DeviceDriver: `{"selectors":[{"cel":{"expression":"device.driver == 'gpu.nvidia.com'"}}],` +
		`"extendedResourceName":"nvidia.com/gpu"}`,
	LargeGPU: `{"selectors":[{"cel":{"expression":"device.driver == 'gpu.nvidia.com' && ` +
		`device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('20Gi')) >= 0"}}]}`,
}

// takes reports whether a device is of the kind.
func (n *DeviceNeed) takes(d *Device) bool {
	return (n.Class != LargeGPU || d.MemoryMiB >= 20<<10) && (n.Architecture == "" || n.Architecture == d.Architecture)
}

// NeedsOf returns what the claims of a pod of the shape ask for, in order.
func NeedsOf(shape *model.PodShape) []DeviceNeed {
	var out []DeviceNeed
	for i := range shape.DeviceClaims {
		out = append(out, templates[shape.DeviceClaims[i].Template]...)
	}
	return append(out, extendedNeeds(shape)...)
}

// extendedNeeds are the devices that are asked for as an extended resource.
func extendedNeeds(shape *model.PodShape) []DeviceNeed {
	n := shape.Requests[GPUResource]
	if n == 0 {
		return nil
	}
	return []DeviceNeed{{Class: DeviceDriver, Count: int(n)}}
}

// architectures are those of the GPUs that worlds with devices sell.
var architectures = map[string]string{"T4": "Turing", "A10G": "Ampere"}

// DevicesOf returns the devices that a node of an instance type has, in order; nil where it has none.
func DevicesOf(instanceType string) []Device {
	t, _ := catalog.Lookup(instanceType)
	if t.GPU == nil || t.GPU.Manufacturer != "NVIDIA" {
		return nil
	}
	out := make([]Device, t.GPU.Count)
	for i := range out {
		out[i] = Device{fmt.Sprintf("gpu-%d", i), architectures[t.GPU.Name], t.GPU.MemoryMiB}
	}
	return out
}

// Allot returns a device for each that is needed, by their names, of those that are not taken; false where they do not
// suffice. What comes first is given the first that does, as far as something is left for the rest.
func Allot(devices []Device, taken func(name string) bool, needs []DeviceNeed) ([]string, bool) {
	var each []*DeviceNeed
	for i := range needs {
		for range needs[i].Count {
			each = append(each, &needs[i])
		}
	}
	given, names := map[string]bool{}, make([]string, 0, len(each))
	var next func() bool
	next = func() bool {
		if len(names) == len(each) {
			return true
		}
		for i := range devices {
			d := &devices[i]
			if given[d.Name] || taken(d.Name) || !each[len(names)].takes(d) {
				continue
			}
			given[d.Name], names = true, append(names, d.Name)
			if next() {
				return true
			}
			given[d.Name], names = false, names[:len(names)-1]
		}
		return false
	}
	return names, next()
}

// claimSpec is a claim for devices as the API server has it.
func claimSpec(needs []DeviceNeed) string {
	requests := make([]string, 0, len(needs))
	for i, n := range needs {
		selectors := ""
		if n.Architecture != "" {
			selectors = fmt.Sprintf(`,"selectors":[{"cel":{"expression":`+
				`"device.attributes['gpu.nvidia.com'].architecture == '%s'"}}]`, n.Architecture)
		}
		requests = append(requests, fmt.Sprintf(`{"name":"r%d","exactly":{"deviceClassName":%q,`+
			`"allocationMode":"ExactCount","count":%d%s}}`, i, n.Class, n.Count, selectors))
	}
	return `{"devices":{"requests":[` + strings.Join(requests, ",") + `]}}`
}

// sliceSpec is some of the devices of a node, whose driver publishes them in so many slices.
func sliceSpec(node string, generation int64, slices int, devices []Device) string {
	list := make([]string, 0, len(devices))
	for _, d := range devices {
		list = append(list, fmt.Sprintf(`{"name":%q,"attributes":{"type":{"string":"gpu"},"brand":{"string":"Nvidia"},`+
			`"architecture":{"string":%q},"uuid":{"string":"GPU-%s-%s"}},"capacity":{"memory":{"value":"%dMi"}}}`,
			d.Name, d.Architecture, node, d.Name, d.MemoryMiB))
	}
	return fmt.Sprintf(`{"driver":%q,"nodeName":%q,"pool":{"name":%q,"generation":%d,"resourceSliceCount":%d},`+
		`"devices":[%s]}`, DeviceDriver, node, node, generation, slices, strings.Join(list, ","))
}

// allocationOf is what was allocated for a claim, as the API server has it: devices of a node, by request in order.
func allocationOf(node string, needs []DeviceNeed, names []string) string {
	var results []string
	for i, n := range needs {
		for range n.Count {
			results = append(results, fmt.Sprintf(`{"request":"r%d","driver":%q,"pool":%q,"device":%q}`, i,
				DeviceDriver, node, names[len(results)]))
		}
	}
	return `{"devices":{"results":[` + strings.Join(results, ",") + `]}}`
}
