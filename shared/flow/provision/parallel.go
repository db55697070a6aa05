package provision

import "github.com/joiner-sh/joiner/shared/work"

// parallel calls do(0) … do(n-1), at most settings.Parallel at once, and returns when all have. Each call writes only to
// its own index, so results stand in order whatever the timing. Problems noted meanwhile are kept in order of arrival.
func (r *run) parallel(n int, do func(i int)) {
	if r.Abreast != nil {
		r.Abreast(n, do)
		return
	}
	work.Abreast(n, r.settings.Parallel, do)
}
