package disrupt

import (
	"fmt"
	"runtime/debug"

	"github.com/joiner-sh/joiner/shared/work"
)

// parallel calls do(0) … do(n-1), Parallel of them side by side, and returns when all have. Each call writes only to its own
// index, so that results stand in order whatever the timing. One that panics stops no other; problem is called with it.
func (r *pass) parallel(n int, do func(i int)) {
	contained := func(i int) {
		defer r.contain("")
		do(i)
	}
	if r.Parallel != nil {
		r.Parallel(n, contained)
		return
	}
	work.Parallel(n, r.settings.Parallel, contained)
}

// contain turns a panic of whoever defers it into a problem.
func (r *pass) contain(what string) {
	if p := recover(); p != nil {
		r.problem("%spanic: %v\n%s", what, p, clip(string(debug.Stack())))
	}
}

func clip(text string) string {
	const most = 2000
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s … %d bytes more", text[:most], len(text)-most)
}
