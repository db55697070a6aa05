package provision

import "github.com/joiner-sh/joiner/shared/work"

// parallel calls do(0) … do(n-1), at most settings.Parallel at once, and returns when all have. Each call writes only to
// its own index, so results stand in order whatever the timing. Problems noted meanwhile are kept in order of arrival.
func (r *pass) parallel(n int, do func(i int)) {
	if r.Parallel != nil {
		r.Parallel(n, do)
		return
	}
	work.Parallel(n, r.settings.Parallel, do)
}
