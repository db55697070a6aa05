package translate

import (
	"fmt"
	"slices"

	"gopkg.in/inf.v0"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/joiner-sh/joiner/shared/model"
)

// What is asked for is rounded up, and what a limit allows down.
var (
	roundUp   = inf.RoundCeil
	roundDown = inf.RoundFloor
)

// scaleOf returns how many decimal places of a quantity are counted.
func scaleOf(name corev1.ResourceName) inf.Scale {
	switch name {
	case corev1.ResourceCPU:
		return 3
	case model.Dollars:
		return 6
	}
	return 0
}

// count returns a quantity in the model's units, rounded; false where it does not fit. Quantity's own conversions wrap
// around.
func count(q resource.Quantity, scale inf.Scale, rounder inf.Rounder) (int64, bool) {
	if v, ok := q.AsInt64(); ok && (scale == 0 || v == 0) {
		return v, true
	}
	exact := q.DeepCopy() // AsDec changes its receiver, and copies of a Quantity share what it points to
	rounded := new(inf.Dec).Round(exact.AsDec(), scale, rounder)
	unscaled := rounded.UnscaledBig()
	return unscaled.Int64(), unscaled.IsInt64()
}

// names returns the names of a list, sorted.
func names(list corev1.ResourceList) []corev1.ResourceName {
	out := make([]corev1.ResourceName, 0, len(list))
	for name := range list {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// amounts turns what a class or limit allows into model units, rounded down. Zero amounts are kept, because a limit of
// nothing is not no limit. An amount that is negative or does not fit is left out and reported as a sentence
// about the field.
func amounts(list corev1.ResourceList, field string) (out model.Resources, problems []string) {
	return rounded(list, field, roundDown)
}

func rounded(list corev1.ResourceList, field string, rounder inf.Rounder) (out model.Resources, problems []string) {
	if list == nil {
		return nil, nil
	}
	out = make(model.Resources, len(list))
	for _, name := range names(list) {
		q := list[name]
		v, ok := count(q, scaleOf(name), rounder)
		if !ok || v < 0 {
			problems = append(problems,
				fmt.Sprintf("%s[%s]: %q: must be a quantity from 0 to what 64 bits hold", field, name, q.String()))
			continue
		}
		out[string(name)] = v
	}
	return out, problems
}
