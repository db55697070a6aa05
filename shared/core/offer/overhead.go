package offer

import (
	"math/big"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

const (
	evictionMemoryBytes    = 100 * mib
	evictionStoragePercent = 10
	reservedStorageBytes   = 1 * gib
)

// overheadOf returns what of capacity pods cannot have: reserved for the kubelet, reserved for the system, and kept
// free so that eviction starts in time.
func overheadOf(m *model.MachineType, class *model.Class, capacity model.Resources) model.Resources {
	overhead := kubeReserved(m, class, capacity)
	for name, amount := range class.Kubelet.SystemReserved {
		overhead[name] += amount
	}
	hard := class.Kubelet.EvictionHard
	overhead[model.Memory] += threshold(hard["memory.available"], capacity[model.Memory], evictionMemoryBytes)
	overhead[model.EphemeralStorage] += threshold(hard["nodefs.available"], capacity[model.EphemeralStorage],
		ceilDiv(capacity[model.EphemeralStorage]*evictionStoragePercent, 100))
	return overhead
}

// kubeReserved returns what the node keeps for the kubelet and the container runtime; the class's word per resource.
func kubeReserved(m *model.MachineType, class *model.Class, capacity model.Resources) model.Resources {
	pods := addressablePods(m, 0)
	if familyOf(class).reservesFor {
		pods = capacity[model.Pods]
	}
	reserved := model.Resources{
		model.CPU:              reservedCPUMilli(m.VCPUs),
		model.Memory:           (11*pods + 255) * mib,
		model.EphemeralStorage: reservedStorageBytes,
	}
	for name, amount := range class.Kubelet.KubeReserved {
		reserved[name] = amount
	}
	return reserved
}

// reservedCPUMilli returns 6 % of the first core, 1 % of the second, 0.5 % of the next two and 0.25 % of every further
// one, each band in whole milli-CPU.
func reservedCPUMilli(cores int64) int64 {
	bands := []struct{ cores, hundredthsMilliPerCore int64 }{{1, 6000}, {1, 1000}, {2, 500}, {cores, 250}}
	total := int64(0)
	for _, band := range bands {
		taken := max(0, min(cores, band.cores))
		total += taken * band.hundredthsMilliPerCore / 100
		cores -= taken
	}
	return total
}

// threshold returns the bytes of an eviction signal: a percentage of capacity rounded up (100 % turns the signal off) or
// a quantity; standard where it is unset or cannot be read.
func threshold(text string, capacity, standard int64) int64 {
	percentage, isPercentage := strings.CutSuffix(text, "%")
	value, ok := quantity(percentage)
	switch {
	case text == "" || !ok:
		return standard
	case !isPercentage:
		return ceiling(value, standard)
	case value.Cmp(big.NewRat(100, 1)) == 0:
		return 0
	}
	value.Mul(value, big.NewRat(capacity, 100))
	return ceiling(value, standard)
}

// quantity reads a number with one of the units people write bytes in; false for anything else.
func quantity(text string) (*big.Rat, bool) {
	const maxLength = 32 // what a person may write; big.Rat would take anything
	digits := strings.TrimRight(text, "KMGTPEikmn")
	multiplier, known := map[string]float64{
		"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
		"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50, "Ei": 1 << 60,
	}[text[len(digits):]]
	if !known || len(text) > maxLength || strings.Trim(digits, "0123456789.") != "" {
		return nil, false
	}
	value, ok := new(big.Rat).SetString(digits)
	if !ok {
		return nil, false
	}
	return value.Mul(value, new(big.Rat).SetFloat64(multiplier)), true
}

// ceiling rounds up to whole bytes; standard where that does not fit.
func ceiling(value *big.Rat, standard int64) int64 {
	quotient, rest := new(big.Int).QuoRem(value.Num(), value.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		quotient.Add(quotient, big.NewInt(1))
	}
	if !quotient.IsInt64() {
		return standard
	}
	return quotient.Int64()
}
