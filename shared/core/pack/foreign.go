package pack

import (
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// Foreign returns the field of a NodePool's template, as it is now, by which the NodePool would not have a claim that
// was planned a while ago; empty = it would.
func Foreign(planned *model.PlannedClaim, template *model.Template) string {
	const spec, metadata = "spec.template.spec.", "spec.template.metadata."
	own := func(annotations map[string]string) map[string]string {
		annotations = maps.Clone(annotations)
		for _, planners := range []string{model.AnnotationMinValuesRelaxed, model.AnnotationPriceOverlaid,
			model.AnnotationCapacityOverlaid, model.AnnotationDrivers} {
			delete(annotations, planners)
		}
		return annotations
	}
	allowed, err := requirement.From(template.Requirements)
	asked, wrong := requirement.From(planned.Requirements)
	switch {
	case err != nil || wrong != nil:
		return spec + "requirements"
	case !slices.Equal(planned.Taints, template.Taints):
		return spec + "taints"
	case !slices.Equal(planned.StartupTaints, template.StartupTaints):
		return spec + "startupTaints"
	case !maps.Equal(own(planned.Annotations), own(template.Annotations)):
		return metadata + "annotations"
	}
	for _, key := range allowed.Keys() {
		if !asked.Get(key).Within(allowed.Get(key)) {
			return spec + "requirements[" + key + "]"
		}
	}
	for _, key := range slices.Sorted(maps.Keys(template.Labels)) {
		if planned.Labels[key] != template.Labels[key] {
			return metadata + "labels[" + key + "]"
		}
	}
	for _, key := range slices.Sorted(maps.Keys(planned.Labels)) {
		_, has := template.Labels[key]
		if named := allowed.Has(key); !has && (named && !allowed.Get(key).Has(planned.Labels[key]) || !named && !requirement.WellKnown(key)) {
			return metadata + "labels[" + key + "]"
		}
	}
	return ""
}
