package work

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
)

// Invocation is one invocation of a flow at work: its clock, its deadline, and what it notes on the way. What runs side
// by side may ask for the time, note problems, add to numbers and carry out effects at once; all else is for one at a
// time.
type Invocation struct {
	Clock    func() time.Time // this process's own; how old anything is comes from the ledger's
	Deadline time.Time        // when the invocation is killed
	Hook     EffectHook       // nil but where a test wants to see or stop effects

	LeaseMargin time.Duration // how long a lease outlives the deadline
	StopBefore  time.Duration // what must be left of the invocation to begin something else

	// SideBySide calls do(0) … do(n-1) side by side and returns when all have; nil = on goroutines.
	SideBySide func(n int, do func(i int))

	Mutex sync.Mutex // of what is written side by side, by whoever has the invocation

	started  time.Time
	ahead    int64 // seconds the ledger's clock is ahead of this process's
	problems []string
	millis   map[string]int64
}

// Begin starts the clock of an invocation and returns it.
func (i *Invocation) Begin() *Invocation {
	i.started, i.millis = i.Clock(), map[string]int64{}
	return i
}

// SetNow takes what time the ledger says it is now.
func (i *Invocation) SetNow(ledgerUnix int64) { i.ahead = ledgerUnix - i.Clock().Unix() }

// NowUnix is the time by the ledger's clock: whatever is written down with a time is compared with times others wrote,
// and their clocks may be minutes off. Until the ledger has said what time it is, it is this process's.
func (i *Invocation) NowUnix() int64 { return i.Clock().Unix() + i.ahead }

// Left is what is left of the invocation.
func (i *Invocation) Left() time.Duration { return i.Deadline.Sub(i.Clock()) }

// HasTime reports whether there is time to begin something else.
func (i *Invocation) HasTime() bool { return i.Left() > i.StopBefore }

// Reached notes after how many milliseconds something was reached.
func (i *Invocation) Reached(what string) { i.millis[what] = i.Clock().Sub(i.started).Milliseconds() }

// Millis is when things were reached, since the start.
func (i *Invocation) Millis() map[string]int64 { return i.millis }

// Problem notes something that went wrong and stops nothing else. Of very many problems the first are kept.
func (i *Invocation) Problem(format string, args ...any) {
	const most = 20
	i.Mutex.Lock()
	defer i.Mutex.Unlock()
	if len(i.problems) < most {
		i.problems = append(i.problems, fmt.Sprintf(format, args...))
	}
}

// Problems are those that were noted.
func (i *Invocation) Problems() []string { return i.problems }

// Unread notes each item of the ledger that cannot be read, once.
func (i *Invocation) Unread(items model.UnreadItems) {
	for _, text := range items.Texts() {
		if !slices.Contains(i.problems, text) {
			i.Problem("%s", text)
		}
	}
}

// Add adds to a number that is counted side by side.
func (i *Invocation) Add(number *int, by int) {
	i.Mutex.Lock()
	defer i.Mutex.Unlock()
	*number += by
}

// Effect carries out one effect under the eyes of the hook.
func (i *Invocation) Effect(ctx context.Context, name string, do func() error) error {
	return RunEffect(ctx, i.Hook, name, do)
}

// Try carries out one effect. Where it fails, that is a problem that begins with text; false then.
func (i *Invocation) Try(ctx context.Context, name, text string, do func() error) bool {
	err := i.Effect(ctx, name, do)
	if err != nil {
		i.Problem("%s: %v", text, err)
	}
	return err == nil
}

// Parallel calls do(0) … do(n-1), at most so many at once, and returns when all have. Each call writes only to its own
// index, so that results stand in order whatever the timing. One that panics stops no other; what it panicked with is a
// problem.
func (i *Invocation) Parallel(n, most int, do func(k int)) {
	contained := func(k int) {
		defer i.Contain("")
		do(k)
	}
	if i.SideBySide != nil {
		i.SideBySide(n, contained)
		return
	}
	Parallel(n, most, contained)
}

// Contain turns a panic of whoever defers it into a problem, which begins with what.
func (i *Invocation) Contain(what string) {
	const most = 2000
	if reason := recover(); reason != nil {
		stack := string(debug.Stack())
		if len(stack) > most {
			stack = fmt.Sprintf("%s … %d bytes more", stack[:most], len(stack)-most)
		}
		i.Problem("%spanic: %v\n%s", what, reason, stack)
	}
}

// Lease is a lease that an invocation holds.
type Lease struct {
	Fence model.Fence

	leases   port.Leases
	what     string
	released bool
}

// Acquire takes one of a cluster's leases for owner, until the invocation is surely dead. what names it in errors and
// problems ("the planner lease"). Conflict where another owner has it; then the fence is what is known of that one's.
func (i *Invocation) Acquire(ctx context.Context, leases port.Leases, cluster, lease, owner, what string) (*Lease, error) {
	until := i.Deadline.Add(i.LeaseMargin)
	fence, err := leases.AcquireLease(ctx, cluster, lease, owner, i.Clock().Unix(), until.Unix()+1)
	if err != nil {
		err = fmt.Errorf("acquire %s of cluster %s: %w", what, cluster, err)
	}
	return &Lease{Fence: fence, leases: leases, what: what}, err
}

// Release releases a lease, unless it was, even when the invocation's own context is over.
func (i *Invocation) Release(ctx context.Context, lease *Lease) {
	if lease.released {
		return
	}
	lease.released = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := lease.leases.Release(ctx, lease.Fence); err != nil {
		i.Problem("release %s: %v", lease.what, err)
	}
}

// Registration reads the registration of a cluster, and says why it is skipped where it is not attached.
func Registration(ctx context.Context, registry port.Registry, cluster string) (reg model.Registration, skipped string, err error) {
	reg, err = registry.Cluster(ctx, cluster)
	if fault.Is(err, fault.NotFound) {
		return reg, "the cluster is not attached", nil
	}
	if err != nil {
		return reg, "", fmt.Errorf("read registration of cluster %s: %w", cluster, err)
	}
	return reg, "", nil
}

// ActiveRegistration is Registration, and a cluster that is paused is skipped too.
func ActiveRegistration(ctx context.Context, registry port.Registry, cluster string) (reg model.Registration, skipped string, err error) {
	reg, skipped, err = Registration(ctx, registry, cluster)
	if err == nil && skipped == "" && reg.Paused {
		skipped = "the cluster is paused"
	}
	return reg, skipped, err
}
