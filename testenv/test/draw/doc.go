// Package draw makes random values of any plain type, every field drawn, so that a test of what carries such values speaks
// of fields that are added later, too.
//
//	rapid.Check(t, func(t *rapid.T) {
//		pod := draw.Any[model.PodShape](t, "shape", draw.Options{})
//	})
package draw
