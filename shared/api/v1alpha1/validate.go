package v1alpha1

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
)

// The forms of prices, as the schema has them.
var (
	price      = regexp.MustCompile(`^\d+(\.\d+)?$`)
	adjustment = regexp.MustCompile(`^([+-]\d*\.?\d+|\+\d*\.?\d+%|-\d{1,2}(\.\d+)?%|-100%)$`)
)

// fixed are the resources that instance types decide.
var fixed = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage,
	corev1.ResourcePods}

const (
	maxWeight       = 10_000
	maxRequirements = 100
)

// Validate returns what keeps the overlay from being applied, what the schema refuses included: objects of files have
// seen no API server. None for a usable overlay; always the same, in the order of the fields.
func Validate(overlay *NodeOverlay) []apiv1.FieldError {
	spec := &overlay.Spec
	problems := validateRequirements(spec.Requirements)
	switch {
	case spec.Price != nil && spec.PriceAdjustment != nil:
		problems = append(problems, apiv1.FieldError{Path: "spec.priceAdjustment", Value: *spec.PriceAdjustment,
			Message: "price is set too", Remedy: "Remove spec.price or spec.priceAdjustment."})
	case spec.Price != nil && !price.MatchString(*spec.Price):
		problems = append(problems, apiv1.FieldError{Path: "spec.price", Value: *spec.Price,
			Message: "not an amount of dollars", Remedy: `Write digits, such as "0.085", without a sign.`})
	case spec.PriceAdjustment != nil && !adjustment.MatchString(*spec.PriceAdjustment):
		problems = append(problems, apiv1.FieldError{Path: "spec.priceAdjustment", Value: *spec.PriceAdjustment,
			Message: "not a signed amount or percentage",
			Remedy:  `Write "+0.02", "-0.02", "+10%" or "-10%"; the most to take off is "-100%".`})
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Capacity)) {
		path, amount := fmt.Sprintf("spec.capacity[%s]", name), spec.Capacity[name]
		switch {
		case slices.Contains(fixed, name):
			problems = append(problems, apiv1.FieldError{Path: path, Value: amount.String(),
				Message: "instance types decide " + string(name),
				Remedy:  "Remove it: an overlay adds extended resources and huge pages."})
		case amount.Sign() < 0:
			problems = append(problems, apiv1.FieldError{Path: path, Value: amount.String(), Message: "below 0",
				Remedy: "Use 0 or more."})
		}
	}
	if w := spec.Weight; w != nil && (*w < 1 || *w > maxWeight) {
		problems = append(problems, apiv1.FieldError{Path: "spec.weight", Value: fmt.Sprint(*w),
			Message: "out of range", Remedy: fmt.Sprintf("Use 1 to %d, or remove it, which is 0.", maxWeight)})
	}
	return problems
}

func validateRequirements(list []Requirement) []apiv1.FieldError {
	var problems []apiv1.FieldError
	if len(list) > maxRequirements {
		problems = append(problems, apiv1.FieldError{Path: "spec.requirements", Value: fmt.Sprint(len(list)),
			Message: "too many requirements",
			Remedy:  fmt.Sprintf("Use at most %d; one with operator In takes several values.", maxRequirements)})
	}
	for i := range list {
		r, path := &list[i], fmt.Sprintf("spec.requirements[%d]", i)
		problems = append(problems, apiv1.ValidateRequirement(path, apiv1.Requirement{Key: r.Key, Operator: r.Operator,
			Values: r.Values})...)
		if r.Operator == corev1.NodeSelectorOpNotIn && len(r.Values) == 0 {
			problems = append(problems, apiv1.FieldError{Path: path + ".values",
				Message: "operator NotIn needs at least one value",
				Remedy:  "Add the values that are not acceptable, or remove the requirement."})
		}
	}
	return problems
}
