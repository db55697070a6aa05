package eventsource

import (
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/bounds"
)

// FuzzItemFailures: whatever a function answers, what failed is part of the batch, or all of it is.
func FuzzItemFailures(f *testing.F) {
	f.Add([]byte(`{"batchItemFailures":[{"itemIdentifier":"1"}]}`))
	f.Add([]byte(`{"batchItemFailures":[{"itemIdentifier":null},{}]}`))
	f.Add([]byte(` null `))
	f.Fuzz(func(t *testing.T, payload []byte) {
		bounds.Check(t, len(payload), func() {
			batch := []string{"1", "2"}
			failed, err := itemFailures(payload, batch)
			if err != nil && failed != nil {
				t.Errorf("got %q together with %v", failed, err)
			}
			for _, id := range failed {
				if !slices.Contains(batch, id) {
					t.Errorf("%q is not in the batch", id)
				}
			}
		})
	})
}
