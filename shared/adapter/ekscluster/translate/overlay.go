package translate

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/joiner-sh/joiner/shared/api/v1alpha1"
	"github.com/joiner-sh/joiner/shared/model"
)

// OverlayOf returns the NodeOverlay an untyped object is. One that cannot be read is one that is not applied.
func OverlayOf(object *unstructured.Unstructured) model.Overlay {
	var typed v1alpha1.NodeOverlay
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &typed); err != nil {
		return model.Overlay{
			Name: object.GetName(), UID: string(object.GetUID()), Generation: object.GetGeneration(),
			Invalid: []string{cannotBeRead(err)},
		}
	}
	return Overlay(&typed)
}

// Overlay returns a NodeOverlay. What keeps it from being applied is in Invalid.
func Overlay(overlay *v1alpha1.NodeOverlay) model.Overlay {
	spec := &overlay.Spec
	out := model.Overlay{Name: overlay.Name, UID: string(overlay.UID), Generation: overlay.Generation}
	if spec.Weight != nil {
		out.Weight = *spec.Weight
	}
	if spec.Price != nil {
		out.Price = *spec.Price
	}
	if spec.PriceAdjustment != nil {
		out.PriceAdjustment = *spec.PriceAdjustment
	}
	for i := range spec.Requirements {
		r := &spec.Requirements[i]
		out.Requirements = append(out.Requirements,
			model.Requirement{Key: r.Key, Operator: model.Operator(r.Operator), Values: slices.Clone(r.Values)})
	}
	for _, problem := range v1alpha1.Validate(overlay) {
		out.Invalid = append(out.Invalid, problem.Error())
	}
	capacity, problems := amounts(spec.Capacity, "spec.capacity")
	if len(capacity) > 0 {
		out.Capacity = capacity
	}
	if len(out.Invalid) == 0 { // which says the same of amounts below 0
		out.Invalid = problems
	}
	if c := meta.FindStatusCondition(overlay.Status.Conditions, v1alpha1.ConditionValidationSucceeded); c != nil {
		out.Status = model.OverlayStatus{Status: string(c.Status), Reason: c.Reason, Message: c.Message,
			Generation: c.ObservedGeneration}
	}
	return out
}
