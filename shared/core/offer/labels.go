package offer

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

const (
	aws          = "karpenter.k8s.aws/"
	nitroSandbox = "eks.amazonaws.com/nitro-sandbox"
	reservation  = aws + "capacity-reservation-id"
)

// labelsOf returns the values a node of the type can carry. Only what the launch decides has several: zone, zone id,
// capacity type, reservation. A label without a value is left out.
func labelsOf(m *model.MachineType, class *model.Class, zones map[string]string, region string) map[string][]string {
	labels := map[string][]string{
		model.LabelInstanceType:                          {m.Name},
		model.LabelArch:                                  {m.Arch},
		aws + "instance-cpu":                             number(m.VCPUs),
		aws + "instance-cpu-manufacturer":                text(m.CPUManufacturer),
		aws + "instance-cpu-sustained-clock-speed-mhz":   number(int64(math.Round(m.ClockSpeedGHz * 1000))),
		aws + "instance-memory":                          number(m.MemoryMiB),
		aws + "instance-hypervisor":                      {m.Hypervisor}, // empty on bare metal
		aws + "instance-encryption-in-transit-supported": {strconv.FormatBool(m.EncryptedTransit)},
		aws + "instance-local-nvme":                      number(m.LocalNVMeGB),
		aws + "instance-ebs-bandwidth":                   number(m.EBSMbps),
		aws + "instance-network-bandwidth":               number(m.NetworkMbps),
		aws + "instance-tenancy":                         {"default"}, // a launch asks for no other
		nitroSandbox:                                     {strconv.FormatBool(m.NitroEnclaves)},
		model.LabelRegion:                                text(region),
	}
	addName(labels, m.Name)
	addSystem(labels, m, class)
	addDevices(labels, m)
	addOffers(labels, m, zones)
	maps.DeleteFunc(labels, func(_ string, values []string) bool { return len(values) == 0 })
	return labels
}

// addName adds what an instance type's name says: "m5d.large" is of category m, generation 5, family m5d, size large.
func addName(labels map[string][]string, name string) {
	familyName, size, _ := strings.Cut(name, ".")
	labels[aws+"instance-family"] = text(familyName)
	labels[aws+"instance-size"] = text(size)
	labels[aws+"instance-capability-flex"] = []string{strconv.FormatBool(strings.Contains(familyName, "-flex"))}

	category, rest := leading(familyName, func(c byte) bool { return c >= 'a' && c <= 'z' })
	if memory, after, found := strings.Cut(rest, "tb"); found && strings.HasPrefix(memory, "-") {
		rest = after // "u-6tb1": the memory comes before the generation
	}
	generation, _ := leading(rest, func(c byte) bool { return c >= '0' && c <= '9' })
	labels[aws+"instance-category"] = text(category)
	labels[aws+"instance-generation"] = text(generation)
}

func addSystem(labels map[string][]string, m *model.MachineType, class *model.Class) {
	f := familyOf(class)
	switch {
	case !f.windows:
		labels[model.LabelOS] = []string{"linux"}
	case m.Arch == "amd64":
		labels[model.LabelOS] = []string{"windows"}
		labels[model.LabelWindowsBuild] = text(f.build)
	}
}

func addDevices(labels map[string][]string, m *model.MachineType) {
	if m.GPUCount > 0 {
		labels[aws+"instance-gpu-name"] = text(kebab(m.GPUName))
		labels[aws+"instance-gpu-manufacturer"] = text(kebab(m.GPUManufacturer))
		labels[aws+"instance-gpu-count"] = number(m.GPUCount)
		labels[aws+"instance-gpu-memory"] = number(m.GPUMemoryMiB)
	}
	if m.NeuronCount > 0 {
		labels[aws+"instance-accelerator-name"] = text(kebab(m.NeuronName))
		labels[aws+"instance-accelerator-manufacturer"] = []string{"aws"}
		labels[aws+"instance-accelerator-count"] = number(m.NeuronCount)
	}
}

// addOffers adds what the launch decides, as far as the class has a subnet there.
func addOffers(labels map[string][]string, m *model.MachineType, zones map[string]string) {
	for i := range m.Offers {
		o := &m.Offers[i]
		zoneID, reachable := zones[o.Zone]
		if !reachable {
			continue
		}
		if o.ZoneID != "" {
			zoneID = o.ZoneID
		}
		labels[model.LabelZone] = append(labels[model.LabelZone], o.Zone)
		labels[model.LabelZoneID] = append(labels[model.LabelZoneID], text(zoneID)...)
		labels[model.LabelCapacityType] = append(labels[model.LabelCapacityType], o.CapacityType)
		labels[reservation] = append(labels[reservation], text(o.ReservationID)...)
	}
	for _, key := range []string{model.LabelZone, model.LabelZoneID, model.LabelCapacityType, reservation} {
		slices.Sort(labels[key])
		labels[key] = slices.Compact(labels[key])
	}
}

// kebab writes a device's name as a label value: "Radeon Pro V520" becomes "radeon-pro-v520".
func kebab(name string) string { return strings.Join(strings.Fields(strings.ToLower(name)), "-") }

func text(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

func number(n int64) []string {
	if n <= 0 {
		return nil
	}
	return []string{strconv.FormatInt(n, 10)}
}

// leading cuts off the longest prefix of bytes that satisfy is.
func leading(s string, is func(c byte) bool) (prefix, rest string) {
	end := 0
	for end < len(s) && is(s[end]) {
		end++
	}
	return s[:end], s[end:]
}
