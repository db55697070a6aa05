package fault

import "errors"

// Each calls do for every item, in order and whatever becomes of the others. It returns for how many it went well, and
// the errors of the rest joined; nil where there are none.
func Each[T any](items []T, do func(T) error) (done int, err error) {
	var failures []error
	for _, item := range items {
		if failure := do(item); failure != nil {
			failures = append(failures, failure)
			continue
		}
		done++
	}
	return done, errors.Join(failures...)
}
