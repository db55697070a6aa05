// Package samples reads what a function measured, for its tests.
package samples

import (
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/boot"
)

// Reported returns the samples that are not 0, each as "Name[dimensions] value", sorted.
func Reported(samples []boot.Sample) []string {
	var out []string
	for _, s := range samples {
		if s.Value != 0 {
			out = append(out, fmt.Sprintf("%s%v %g", s.Series.Name, s.Values, s.Value))
		}
	}
	slices.Sort(out)
	return out
}
