package offering

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

const (
	evictionMemoryBytes    = 100 * mib
	evictionStoragePercent = 10
	reservedStorageBytes   = 1 * gib
)

// overhead returns what of capacity pods cannot have: reserved for the kubelet, reserved for the system, and kept
// free so that eviction starts in time.
func (v *view) overhead(m *model.InstanceTypeInfo, d density, capacity model.Resources) model.Resources {
	overhead := v.kubeReserved(m, d)
	for name, amount := range d.system {
		overhead[name] += amount
	}
	hard := v.class.Kubelet.EvictionHard
	overhead[model.Memory] += threshold(hard["memory.available"], capacity[model.Memory], evictionMemoryBytes)
	overhead[model.EphemeralStorage] += threshold(hard["nodefs.available"], capacity[model.EphemeralStorage],
		ceilDiv(capacity[model.EphemeralStorage]*evictionStoragePercent, 100))
	return overhead
}

// kubeReserved returns what the node keeps for the kubelet and the container runtime; the class's word per resource.
func (v *view) kubeReserved(m *model.InstanceTypeInfo, d density) model.Resources {
	pods := v.addressable(m, 0)
	if v.family.reservesFor {
		pods = d.pods
	}
	reserved := model.Resources{
		model.CPU:              reservedCPUMilli(m.VCPUs),
		model.Memory:           (11*pods + 255) * mib,
		model.EphemeralStorage: reservedStorageBytes,
	}
	for name, amount := range d.kube {
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

// quantity reads a number as Kubernetes writes quantities, with a unit or an exponent; false for anything else.
//
// Source: the grammar of resource.Quantity in k8s.io/apimachinery.
func quantity(text string) (*big.Rat, bool) {
	const maxLength, maxExponent = 32, 30 // what a person may write; big.Rat would take anything
	digits := strings.TrimRight(text, "KMGTPEiknmu")
	unit := text[len(digits):]
	exponent := 0
	if at := strings.IndexAny(digits, "eE"); at >= 0 && unit == "" {
		n, err := strconv.Atoi(digits[at+1:])
		if err != nil || n < -maxExponent || n > maxExponent {
			return nil, false
		}
		digits, exponent = digits[:at], n
	}
	digits = strings.TrimPrefix(digits, "+")
	scale, known := units[unit]
	if !known || len(text) > maxLength || strings.Trim(digits, "0123456789.") != "" {
		return nil, false
	}
	value, ok := new(big.Rat).SetString(digits)
	if !ok {
		return nil, false
	}
	return value.Mul(value, power(scale.first, scale.exponent)).Mul(value, power(10, exponent)), true
}

// units are powers by the unit they are written as.
var units = map[string]struct {
	first    int64
	exponent int
}{
	"n": {10, -9}, "u": {10, -6}, "m": {10, -3}, "": {10, 0}, "k": {10, 3}, "M": {10, 6}, "G": {10, 9}, "T": {10, 12}, "P": {10, 15}, "E": {10, 18},
	"Ki": {2, 10}, "Mi": {2, 20}, "Gi": {2, 30}, "Ti": {2, 40}, "Pi": {2, 50}, "Ei": {2, 60},
}

// power returns base to the exponent, which may be below zero.
func power(base int64, exponent int) *big.Rat {
	n := new(big.Int).Exp(big.NewInt(base), big.NewInt(int64(max(exponent, -exponent))), nil)
	if exponent < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), n)
	}
	return new(big.Rat).SetInt(n)
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
