package autoscalingv1beta1

import "fmt"

// Validate returns everything an API server with our definition would refuse of a buffer, each a sentence naming field, value and
// remedy; empty where there is nothing.
func Validate(buffer *CapacityBuffer) []string {
	var out []string
	complain := func(format string, values ...any) { out = append(out, fmt.Sprintf(format, values...)) }
	spec := &buffer.Spec
	switch {
	case spec.PodTemplateRef != nil && spec.ScalableRef != nil:
		complain("spec.podTemplateRef, spec.scalableRef: both are set; name a PodTemplate or a workload")
	case spec.PodTemplateRef == nil && spec.ScalableRef == nil:
		complain("spec.podTemplateRef, spec.scalableRef: neither is set; name a PodTemplate or a workload")
	case spec.PodTemplateRef != nil && spec.PodTemplateRef.Name == "":
		complain("spec.podTemplateRef.name: not set; name a PodTemplate")
	case spec.PodTemplateRef != nil && spec.Replicas == nil && spec.Limits == nil:
		complain("spec.replicas, spec.limits: neither is set beside spec.podTemplateRef; set the number of pods, or an amount")
	case spec.ScalableRef != nil && (spec.ScalableRef.Kind == "" || spec.ScalableRef.Name == ""):
		complain("spec.scalableRef: kind %q, name %q: set both", spec.ScalableRef.Kind, spec.ScalableRef.Name)
	}
	for _, number := range []struct {
		field string
		value *int32
	}{{"replicas", spec.Replicas}, {"percentage", spec.Percentage}} {
		if number.value != nil && *number.value < 0 {
			complain("spec.%s: %d: must be 0 or more", number.field, *number.value)
		}
	}
	return out
}
