package boot

import (
	"runtime/debug"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/work"
)

// Parallel does something about each of a batch's n clusters, all side by side, so that a slow one keeps no other waiting, and
// returns what each came to. One that panics is an error of its own: a batch has no more than ten clusters, and none of them
// may take the others along.
func Parallel(n int, do func(i int) error) []error {
	errs := make([]error, n)
	work.Parallel(n, n, func(i int) {
		defer func() {
			if v := recover(); v != nil {
				errs[i] = fault.New(fault.Internal, "Panic", "handling a cluster panicked: %v\n%s", v, debug.Stack())
			}
		}()
		errs[i] = do(i)
	})
	return errs
}
