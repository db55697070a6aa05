package interruption

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/work"
)

// session is one invocation at work on one cluster, with what every phase needs.
type session struct {
	*work.Invocation
	flow     *Flow
	settings Settings
	reg      model.Registration
	clients  Clients
}

// begin begins an invocation that ends at a deadline.
func (f *Flow) session(deadline time.Time) *session {
	s := &session{flow: f, settings: f.Settings.withDefaults()}
	s.Invocation = (&work.Invocation{
		Clock: f.Now, Deadline: deadline, Hook: f.Effects, LeaseMargin: s.settings.LeaseMargin, StopBefore: s.settings.StopBefore,
	}).Begin()
	return s
}

// each calls do(0) … do(n-1), Settings.Parallel of them side by side, and returns when all have. Each call writes only to its own
// index, so that results stand in order whatever the timing. A panic of one is the caller's, once the others have returned.
func (r *session) each(n int, do func(i int)) { r.atOnce(n, r.settings.Parallel, do) }

// atOnce is each with so many side by side.
func (r *session) atOnce(n, most int, do func(i int)) {
	panics := make([]any, n)
	contained := func(i int) {
		defer func() { panics[i] = recover() }()
		do(i)
	}
	if r.flow.Parallel != nil {
		r.flow.Parallel(n, contained)
	} else {
		work.Parallel(n, most, contained)
	}
	for _, reason := range panics {
		if reason != nil {
			panic(reason)
		}
	}
}

// report publishes events, if there are any. Where that fails the problem begins with text.
func (r *session) report(ctx context.Context, text string, events []model.Event) {
	if len(events) > 0 {
		r.Try(ctx, EffectReport, text, func() error { return r.clients.Reporter.Report(ctx, model.Report{Events: events}) })
	}
}

// taint keeps new pods off a node; a node that is gone, or another of its name, needs none.
func (r *session) taint(ctx context.Context, patch model.NodePatch) error {
	err := r.Effect(ctx, EffectTaint, func() error { return r.clients.Objects.PatchNode(ctx, patch) })
	if absent(err) {
		return nil
	}
	return err
}

// terminate ends instances in few calls, as long as there may be another and EC2 does not ask for less. Each is named by its
// id, and the fleet reads its tags once more. It returns those that were asked to end.
func (r *session) terminate(ctx context.Context, ids []string, may func() bool) (ended []string) {
	const most = 50 // in one call
	throttled := false
	for len(ids) > 0 && !throttled && may() {
		some := ids[:min(most, len(ids))]
		ids = ids[len(some):]
		err := r.Effect(ctx, EffectTerminate, func() error {
			reported, err := r.clients.Fleet.Terminate(ctx, r.reg.Cluster, some)
			ended = append(ended, reported...)
			return err
		})
		if err != nil {
			r.Problem("terminate %d instances: %v", len(some), err)
			throttled = fault.Is(err, fault.Throttled)
		}
	}
	return ended
}

// requestDisruption tells the disruption function that claims of commands have ended: what budgets kept back may have room now, and a roll need not
// wait for the tick of each minute between two nodes. One hint reports all of them.
func (r *session) requestDisruption(ctx context.Context, freed []string) {
	if r.flow.RequestDisruption == nil || len(freed) == 0 {
		return
	}
	slices.Sort(freed)
	sum := sha256.Sum256([]byte(strings.Join(freed, " ")))
	key := "freed/" + hex.EncodeToString(sum[:12])
	text := fmt.Sprintf("send a hint that %d nodes of commands have terminated; the next scheduled disruption run finds it", len(freed))
	r.Try(ctx, EffectDisrupt, text, func() error { return r.flow.RequestDisruption(ctx, r.reg.Cluster, key) })
}

// absent reports whether an error says that an object is gone, or another has its name: nothing is left to do to it.
func absent(err error) bool { return fault.Is(err, fault.NotFound) || fault.Is(err, fault.Conflict) }

// earliest is the earliest of some times, of which 0 is none.
func earliest(times ...int64) int64 {
	var first int64
	for _, at := range times {
		if at != 0 && (first == 0 || at < first) {
			first = at
		}
	}
	return first
}
