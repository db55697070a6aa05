package interruption

import "github.com/joiner-sh/joiner/shared/work"

// parallel calls do(0) … do(n-1), Parallel of them side by side, and returns when all have. Each call writes only to its own
// index, so that results stand in order whatever the timing. A panic of one is the caller's, once the others have returned.
func (f *Flow) parallel(n int, do func(i int)) { f.atOnce(n, f.Settings.withDefaults().Parallel, do) }

// atOnce is parallel with so many side by side.
func (f *Flow) atOnce(n, most int, do func(i int)) {
	panics := make([]any, n)
	contained := func(i int) {
		defer func() { panics[i] = recover() }()
		do(i)
	}
	if f.Parallel != nil {
		f.Parallel(n, contained)
	} else {
		work.Parallel(n, most, contained)
	}
	for _, reason := range panics {
		if reason != nil {
			panic(reason)
		}
	}
}
