package provision

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/work"
)

// invocation is one run for one cluster: whom it is for, until when, by which clock, and what it has to say. Every part
// of a run writes to out and report, and none decides by them.
type invocation struct {
	settings   Settings
	request    Request
	reg        model.Registration
	fence      model.Fence
	clock      func() time.Time // of this process
	offset     int64            // of this process's clock is the ledger's, in seconds
	started    time.Time
	newID      func() string
	effects    EffectHook
	sideBySide func(n int, do func(i int)) // nil = on goroutines

	mutex   sync.Mutex // guards what parallel calls write: out.Problems, report and awaited
	out     Outcome
	report  model.Report
	awaited map[string]bool // replacements of commands that were initialized, or failed, in this run, by name
}

// now is the time by the ledger's clock once that was read: whatever is written down with a time is compared with times
// others wrote, and their clocks may be minutes off. What concerns this invocation alone, its lease and its deadline,
// goes by its own.
func (v *invocation) now() int64 { return v.clock().Unix() + v.offset }

// timeIsUp reports whether too little is left of the invocation for another round of planning.
func (v *invocation) timeIsUp() bool {
	return v.request.Deadline.Sub(v.clock()) < v.settings.StopBefore
}

func (v *invocation) age(unix int64) time.Duration { return time.Duration(v.now()-unix) * time.Second }

// due is when a launch recorded now may be looked into by another run: this one is dead by then, and EC2 shows what it
// did.
func (v *invocation) due() int64 {
	return v.fence.UntilUnix + v.offset + int64(v.settings.RecoverAfter.Seconds())
}

// offeringSettings are the settings instance types are worked out by.
func (v *invocation) offeringSettings() offering.Settings {
	settings := v.settings.Offerings
	settings.Region, settings.NowUnix = v.reg.Region, v.now()
	return settings
}

// effect carries out one effect under the eyes of effects.
func (v *invocation) effect(ctx context.Context, name string, do func() error) error {
	return work.RunEffect(ctx, v.effects, name, do)
}

// parallel calls do(0) … do(n-1), at most settings.Parallel at once, and returns when all have. Each call writes only
// to its own index, so results stand in order whatever the timing. Problems noted meanwhile are kept in order of
// arrival.
func (v *invocation) parallel(n int, do func(i int)) {
	if v.sideBySide != nil {
		v.sideBySide(n, do)
		return
	}
	work.Parallel(n, v.settings.Parallel, do)
}

func (v *invocation) reached(what string) {
	v.out.Millis[what] = v.clock().Sub(v.started).Milliseconds()
}

// problem notes something that went wrong and stops nothing else.
func (v *invocation) problem(format string, args ...any) {
	const most = 20
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if len(v.out.Problems) < most {
		v.out.Problems = append(v.out.Problems, fmt.Sprintf(format, args...))
	}
}

// event has an event published at the end of the run.
func (v *invocation) event(event model.Event) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	v.report.Events = append(v.report.Events, event)
}

// warn has a warning published about an object that is in no namespace.
func (v *invocation) warn(kind, name, uid, reason, message string) {
	v.event(model.Event{Kind: kind, Name: name, UID: uid, Warning: true, Reason: reason, Message: message})
}

// poolCondition has a condition of a pool published.
func (v *invocation) poolCondition(pool *model.Pool, kind string,
	of func(*model.Pool) (status, reason, message string)) {
	status, reason, message := of(pool)
	v.report.Pools = append(v.report.Pools, model.Condition{
		Object: pool.Name, UID: pool.UID, Type: kind, Status: status, Reason: reason, Message: message,
	})
}

// moved notes that a replacement has become what its command waits for, or has failed.
func (v *invocation) moved(name string) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	v.awaited[name] = true
}

// Kinds of objects that warnings are about.
const (
	kindPool    = "NodePool"
	kindClass   = "EC2NodeClass"
	kindClaim   = "NodeClaim"
	kindOverlay = "NodeOverlay"
)

// passing reports whether err only means that this run came too late or too often, which the next run mends.
func passing(err error) bool {
	return fault.Is(err, fault.Conflict) || fault.Is(err, fault.NotFound)
}

func stamp(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }

// digest stands for a text, in so many bytes.
func digest(text []byte, bytes int) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:bytes])
}
