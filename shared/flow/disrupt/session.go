package disrupt

import (
	"context"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/work"
)

// session is one invocation at work on one cluster, with what every phase needs.
type session struct {
	*work.Invocation
	flow     *Flow
	settings Settings
	request  Request
	reg      model.Registration
	fence    model.Fence
	clients  Clients
	memo     memo
	state    state
	out      Outcome

	// Guarded by the invocation's mutex while steps are side by side, as what out counts is.
	next   int64 // when the next check is due; 0 = nobody asks
	events []model.Event
	freed  map[string]bool // UIDs of nodes whose taints this run took off
}

// later asks for another check at a time; 0 asks for none.
func (r *session) later(unix int64) {
	r.Mutex.Lock()
	defer r.Mutex.Unlock()
	if unix != 0 && (r.next == 0 || unix < r.next) {
		r.next = unix
	}
}

// soon asks for another check after some seconds.
func (r *session) soon(seconds int64) { r.later(r.NowUnix() + seconds) }

// each calls do(0) … do(n-1), Settings.Parallel of them side by side, and returns when all have.
func (r *session) each(n int, do func(i int)) { r.Parallel(n, r.settings.Parallel, do) }

// absent reports whether what was to be written to is gone, or another has its name.
func absent(err error) bool { return fault.Is(err, fault.NotFound) }

// load takes what the ledger says, and what time it is there.
func (r *session) load(ctx context.Context) error {
	read, err := r.flow.load(ctx, r.reg)
	if err != nil {
		return err
	}
	r.state = read
	if r.SetNow(read.NowUnix); !r.memo.changed {
		r.memo.notes = read.Disrupt
	}
	return nil
}
