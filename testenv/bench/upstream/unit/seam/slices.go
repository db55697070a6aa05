package seam

import (
	"github.com/onsi/ginkgo/v2"
	"github.com/samber/lo"
	resourcev1 "k8s.io/api/resource/v1"

	"sigs.k8s.io/karpenter/pkg/cloudprovider"
)

// published is what drivers publish on a node of a type, as a catalog says it.
func published(t *cloudprovider.InstanceType) []resourcev1.ResourceSliceSpec {
	if len(t.DynamicResources.AttributeBindings) > 0 {
		ginkgo.Skip("not runnable: devices of which it is known that they share an attribute and not which value, " +
			"which a catalogue of `joiner plan` cannot say")
	}
	var out []resourcev1.ResourceSliceSpec
	for _, template := range t.DynamicResources.ResourceSliceTemplates {
		slice := resourcev1.ResourceSliceSpec{
			Driver: template.Driver.Value(), Pool: resourcev1.ResourcePool{Name: template.Pool.Name.Value()},
			SharedCounters: template.SharedCounters,
		}
		for _, d := range template.Devices {
			device := resourcev1.Device{
				Name: d.Name.Value(), Attributes: d.Attributes, Capacity: d.Capacity,
				ConsumesCounters: d.ConsumesCounters,
			}
			if d.AllowMultipleAllocations {
				device.AllowMultipleAllocations = lo.ToPtr(true)
			}
			slice.Devices = append(slice.Devices, device)
		}
		out = append(out, slice)
	}
	return out
}
