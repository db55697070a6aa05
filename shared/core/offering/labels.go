package offering

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
	nitroSandbox = model.LabelNitroSandbox
)

// labels returns the values a node of the type can carry. Only what the launch decides has several: zone, zone id,
// capacity type, what is said of a reservation, tenancy, partition. A label without a value is left out: nodes do not have it.
func (v *view) labels(m *model.InstanceTypeInfo, offerings []model.Offering) map[string][]string {
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
		model.LabelTenancy:                               {"dedicated", "default"}, // as the claim asks
		nitroSandbox:                                     {strconv.FormatBool(m.NitroEnclaves)},
		model.LabelRegion:                                text(v.settings.Region),
	}
	addName(labels, m.Name)
	v.addSystem(labels, m)
	addDevices(labels, m)
	v.addGroup(labels)
	v.addOfferings(labels, m, offerings)
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

func (v *view) addSystem(labels map[string][]string, m *model.InstanceTypeInfo) {
	switch {
	case !v.family.windows:
		labels[model.LabelOS] = []string{"linux"}
	case m.Arch == "amd64":
		labels[model.LabelOS] = []string{"windows"}
		labels[model.LabelWindowsBuild] = text(v.family.build)
	}
}

func addDevices(labels map[string][]string, m *model.InstanceTypeInfo) {
	if m.GPUCount > 0 { // of several kinds there is no name and no memory
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

// addGroup adds the placement group every node is in, and the partitions of it a launch may choose among.
func (v *view) addGroup(labels map[string][]string) {
	group := v.class.Status.PlacementGroup
	if group == nil {
		return
	}
	labels[model.LabelPlacementGroup] = text(group.ID)
	if group.Strategy != "partition" {
		return
	}
	for n := int64(1); n <= min(group.Partitions, maxPartitions); n++ {
		labels[model.LabelPartition] = append(labels[model.LabelPartition], strconv.FormatInt(n, 10))
	}
}

// maxPartitions is how many partitions a placement group has in a zone (EC2 user guide, placement groups). Below ten their
// numbers sort as texts do.
const maxPartitions = 7

// decided are the labels whose values follow from the offering.
var decided = []string{
	model.LabelZone, model.LabelZoneID, model.LabelCapacityType, model.LabelReservationID, model.LabelReservationType, model.LabelInterruptible,
}

// addOfferings adds what the launch decides, as far as the class has a subnet there and the type is sold in that way.
func (v *view) addOfferings(labels map[string][]string, m *model.InstanceTypeInfo, offerings []model.Offering) {
	for i := range offerings {
		o := &offerings[i]
		if _, reachable := v.zones[o.Zone]; !reachable || o.CapacityType != model.Reserved && !soldAs(m, o.CapacityType) {
			continue
		}
		for _, key := range decided {
			labels[key] = append(labels[key], text(ValueOf(o, key))...)
		}
	}
	for _, key := range decided {
		slices.Sort(labels[key])
		labels[key] = slices.Compact(labels[key])
	}
}

// ValueOf returns the value of a label that is decided by the offering (DecidedByOffering) on nodes bought by this one; "" where they
// do not have it.
func ValueOf(o *model.Offering, key string) string {
	switch key {
	case model.LabelZone:
		return o.Zone
	case model.LabelZoneID:
		return o.ZoneID
	case model.LabelCapacityType:
		return o.CapacityType
	case model.LabelReservationID:
		return o.ReservationID
	}
	if o.CapacityType != model.Reserved {
		return ""
	}
	switch key {
	case model.LabelReservationType:
		return ReservationType(o.ReservationBlock)
	case model.LabelInterruptible:
		return strconv.FormatBool(o.Interruptible)
	}
	return ""
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
