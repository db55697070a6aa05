package ekscluster

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/joiner-sh/joiner/shared/model"
)

// quantities writes amounts the way people do: CPU in cores, bytes in powers of two, dollars with their fractions, the
// rest as plain numbers.
func quantities(amounts model.Resources) corev1.ResourceList {
	if len(amounts) == 0 {
		return nil
	}
	out := make(corev1.ResourceList, len(amounts))
	for name, amount := range amounts {
		out[corev1.ResourceName(name)] = quantity(name, amount)
	}
	return out
}

func quantity(name string, amount int64) resource.Quantity {
	switch {
	case name == model.CPU:
		return *resource.NewMilliQuantity(amount, resource.DecimalSI)
	case name == model.Memory, name == model.EphemeralStorage, strings.HasPrefix(name, corev1.ResourceHugePagesPrefix):
		return *resource.NewQuantity(amount, resource.BinarySI)
	case name == model.Dollars:
		return *resource.NewScaledQuantity(amount, resource.Micro)
	}
	return *resource.NewQuantity(amount, resource.DecimalSI)
}
