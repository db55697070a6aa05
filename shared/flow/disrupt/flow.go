package disrupt

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/work"
)

// Flow is the disruption function with its ports and its clock. It keeps nothing between runs: what it remembers is in the ledger.
type Flow struct {
	Registry  Registry
	Leases    Leases
	Ledger    Ledger
	Commands  Commands
	Snapshots Snapshots
	Losses    work.LossReporter // nil = the watcher finds by itself what of its snapshot is gone
	Catalogs  Catalogs
	Plans     PlanHints
	Drains    DrainHints
	Hints     Hints
	Decisions Decisions
	Connector Connector

	// Now is this process's own clock. It dates the lease and measures how long things take; how old anything is comes from
	// the ledger's clock.
	Now   func() time.Time
	NewID func() string // unique and sorted by time, such as a ULID

	// Nil = those of core/disruption; a test may put something else in their place.
	Plan       func(disruption.Input) model.DisruptPlan
	Revalidate func(disruption.Input, *model.Command) []model.KeptReason

	// Parallel calls do(0) … do(n-1) side by side and returns when all have; nil = on goroutines, at most Settings.Parallel
	// at once. Tests replace it to have one order.
	Parallel func(n int, do func(i int))
	Settings Settings
	Effects  EffectHook // nil but where a test wants to see or stop effects
}

// Settings are the flow's numbers. The zero value of a field means the default named with it.
type Settings struct {
	Build          string        // version of the binary, for decision records
	LeaseMargin    time.Duration // how long the lease outlives the invocation's deadline: 2 s
	StopBefore     time.Duration // what must be left of the invocation to begin another step: 3 s
	FreshFor       time.Duration // age of the watcher's heartbeat up to which its snapshot is decided by: 10 s
	SilentAfter    time.Duration // age of the watcher's heartbeat from which nobody waits for the next: 45 s
	ValidateAfter  time.Duration // between a command to save money and its second check: 15 s
	ValidateWithin time.Duration // for a command to be found to hold: 5 min
	ReplaceWithin  time.Duration // for its replacements to be initialized: 20 min
	RecheckAfter   time.Duration // between two looks at a command that waits for replacements: 20 s
	PassEvery      time.Duration // at least, between two looks this flow asks itself for because time has passed: 10 s
	MemoFor        time.Duration // how long a check that found nothing is good for, whatever else: 5 min
	CatalogAfter   time.Duration // age of the region's instance catalog from which nothing is decided by it: 25 h
	ClassAfter     time.Duration // age of what a class resolves to from which nothing is launched by it: 15 min
	ReportAfter    time.Duration // between two events that say why a node stays: 15 min
	MaxReported    int           // nodes of which it is remembered what events said: 500
	MaxEvents      int           // about nodes that stay, in one run: 100
	Parallel       int           // commands, and nodes of each, at work at once: 20

	Disruption disruption.Settings // what people choose
	Offerings  offering.Settings   // what instance types hold; Region is the cluster's, the time the run's
}

func (s Settings) withDefaults() Settings {
	s.LeaseMargin = cmp.Or(s.LeaseMargin, 2*time.Second)
	s.StopBefore = cmp.Or(s.StopBefore, 3*time.Second)
	s.FreshFor = cmp.Or(s.FreshFor, 10*time.Second)
	s.SilentAfter = cmp.Or(s.SilentAfter, 45*time.Second)
	s.ValidateAfter = cmp.Or(s.ValidateAfter, 15*time.Second)
	s.ValidateWithin = cmp.Or(s.ValidateWithin, 5*time.Minute)
	s.ReplaceWithin = cmp.Or(s.ReplaceWithin, 20*time.Minute)
	s.RecheckAfter = cmp.Or(s.RecheckAfter, 20*time.Second)
	s.PassEvery = cmp.Or(s.PassEvery, 10*time.Second)
	s.MemoFor = cmp.Or(s.MemoFor, 5*time.Minute)
	s.CatalogAfter = cmp.Or(s.CatalogAfter, 25*time.Hour)
	s.ClassAfter = cmp.Or(s.ClassAfter, 15*time.Minute)
	s.ReportAfter = cmp.Or(s.ReportAfter, 15*time.Minute)
	s.MaxReported = cmp.Or(s.MaxReported, 500)
	s.MaxEvents = cmp.Or(s.MaxEvents, 100)
	s.Parallel = cmp.Or(s.Parallel, 20)
	return s
}

// Request is one hint to look at one cluster.
type Request struct {
	Cluster      string
	Owner        string    // of the lease: unique to the invocation
	Deadline     time.Time // when the invocation is killed
	Changed      bool      // somebody has seen something change, so that it is looked even where the snapshot is the same
	Redeliveries int       // how often the hint has come back because another run was at work
}

// Outcome is what one run did, for one log line.
type Outcome struct {
	Cluster     string            `json:"cluster"`
	Skipped     string            `json:"skipped,omitempty"`   // why nothing was looked at
	Undecided   string            `json:"undecided,omitempty"` // why nothing new was decided
	Open        int               `json:"open"`                // commands on their way, at the start
	Nodes       int               `json:"nodes,omitempty"`     // of pools
	Planned     int               `json:"planned,omitempty"`   // commands
	Committed   []string          `json:"committed,omitempty"` // command ids
	Decided     []Decided         `json:"decided,omitempty"`   // the same by reason and by what they do
	Conflicts   int               `json:"conflicts,omitempty"` // writes that came too late
	Replacing   int               `json:"replacing,omitempty"` // commands found to hold, whose replacements were asked for
	Done        int               `json:"done,omitempty"`
	Drained     int               `json:"drained,omitempty"` // claims made Draining
	Undoing     int               `json:"undoing,omitempty"` // commands found not to hold, or whose replacements failed
	Undone      int               `json:"undone,omitempty"`
	Strays      int               `json:"strays,omitempty"` // taints nobody answers for, taken off
	Kept        map[string]int    `json:"kept,omitempty"`   // nodes that stay, by the first reason's code
	Constrained bool              `json:"constrained,omitempty"`
	Savings     float64           `json:"savings,omitempty"`     // per hour, of what was committed, USD
	PriceBefore float64           `json:"priceBefore,omitempty"` // per hour, USD
	PriceAfter  float64           `json:"priceAfter,omitempty"`  // once the plan is carried out
	Decision    string            `json:"decision,omitempty"`    // id of the record
	DueUnix     int64             `json:"again,omitempty"`       // when the next check is due, by the ledger's clock; 0 = when something changes
	Catalog     *model.CatalogUse `json:"machines,omitempty"`    // what catalog was decided by
	Millis      map[string]int64  `json:"millis,omitempty"`      // since the start of the run, by what was reached
	Problems    []string          `json:"problems,omitempty"`
}

// Decided is how many commands were committed for one reason that do the same.
type Decided struct {
	Reason   string `json:"reason"`             // model.ReasonEmpty and the like
	Replaces bool   `json:"replaces,omitempty"` // instances are launched in the place of those disrupted
	Commands int    `json:"commands"`
}

// Run looks at one cluster: it moves open commands on, takes off taints nobody answers for, and decides what to disrupt. An
// error means that it could not look: nothing was changed then.
func (f *Flow) Run(ctx context.Context, request Request) (Outcome, error) {
	r := &pass{Flow: f, settings: f.Settings.withDefaults(), request: request, started: f.Now()}
	r.out = Outcome{Cluster: request.Cluster, Millis: map[string]int64{}}
	err := r.reconcile(ctx)
	r.reached("done")
	r.out.DueUnix = r.next
	return r.out, err
}

// pass is one invocation at work on one cluster.
type pass struct {
	*Flow
	settings Settings
	request  Request
	started  time.Time
	out      Outcome

	reg           model.Registration
	fence         model.Fence
	clients       Clients
	ledger        model.Ledger
	clockOffset   int64 // of this process's clock is the ledger's, in seconds
	notes         model.DisruptNotes
	renoted       bool                    // notes are not as they are stored
	claims        map[string]*model.Claim // the ledger's, by name, as this run has written them; gone ones too
	snapshot      *model.Snapshot         // shared, never written to; nil = there is none that may be decided by
	heartbeatUnix int64                   // when the watcher last confirmed it
	unseen        string                  // why there is no snapshot
	catalog       *model.InstanceCatalog  // nil = not read yet
	manifest      model.Manifest          // to it
	plannerInput  model.DisruptionInput   // without what changes during the run
	input         *disruption.Input       // what it comes to; nil = not made yet
	plannedInput  *model.DisruptionInput  // what plan answers
	named         map[string]string       // names that replacements have got, by those they were planned with
	plan          *model.DisruptPlan      // nil = nothing was planned
	record        string                  // id under which it is kept; empty = it is not
	fresh         []*step                 // commands this run committed

	revalidating sync.Mutex // held while a command is evaluated once more
	mutex        sync.Mutex // guards what steps side by side write: out, claims, next, events and what follows
	next         int64      // when the next check is due; 0 = nobody asks
	events       []model.Event
	replace      []string        // ids of commands provision has yet to launch for
	drained      []string        // ids of commands that were Done
	freed        map[string]bool // UIDs of nodes whose taints this run took off
}

func (r *pass) reconcile(ctx context.Context) error {
	// 1. Who is asked about, and has anything changed. An idle cluster costs what this reads.
	reg, err := r.Registry.Cluster(ctx, r.request.Cluster)
	if fault.Is(err, fault.NotFound) {
		r.out.Skipped = "the cluster is not attached"
		return nil
	}
	if err != nil {
		return fmt.Errorf("read registration of cluster %s: %w", r.request.Cluster, err)
	}
	r.reg = reg
	manifest, notes, nowUnix, err := r.Ledger.Peek(ctx, reg.Cluster)
	if err != nil {
		return fmt.Errorf("read the manifest and the notes of cluster %s: %w", reg.Cluster, err)
	}
	r.notes, r.clockOffset = notes, nowUnix-r.Now().Unix()
	settled := r.settled(manifest)
	if settled {
		r.out.Skipped = "nothing has changed since a run that found nothing to do"
		if r.later(notes.DueUnix); !r.hintMissing() {
			return nil
		}
	}

	// 2. One run at a time.
	until := r.request.Deadline.Add(r.settings.LeaseMargin)
	r.fence, err = r.Leases.AcquireLease(ctx, reg.Cluster, model.LeaseDisrupt, r.request.Owner, r.Now().Unix(), until.Unix()+1)
	if fault.Is(err, fault.Conflict) {
		r.out.Skipped = "another disruption run has the lease"
		return r.requestAnother(ctx)
	}
	if err != nil {
		return fmt.Errorf("acquire the disruption lease of cluster %s: %w", reg.Cluster, err)
	}
	released := false
	release := func() {
		if !released {
			released = true
			r.release(ctx)
		}
	}
	defer release()
	if settled {
		r.remember(ctx)
		return nil
	}

	// 3. What is, as the ledger and the snapshot say.
	if err := r.load(ctx); err != nil {
		return err
	}
	if r.clients, err = r.Connector.Connect(ctx, reg); err != nil {
		return fmt.Errorf("connect to cluster %s: %w", reg.Cluster, err)
	}
	for _, text := range r.ledger.Unread.Texts() {
		r.problem("%s", text)
	}
	r.readSnapshot(ctx)
	r.reached("seen")

	// 4. What is on its way goes first: it has waited longest, and what it disrupts is not to be evaluated again.
	r.advance(ctx, r.openCommands())
	r.reached("advanced")
	r.strays(ctx)

	// 5. What else could go, and its first steps.
	r.propose(ctx)
	r.advance(ctx, r.fresh)
	r.reached("proposed")

	// 6. Whoever has to do something about it is notified, and what was found is remembered.
	r.announce(ctx)
	r.keepDecision(ctx)
	r.reportKept()
	r.remember(ctx)

	// 7. Tell people. Nobody waits for that, so that the next run need not either.
	release()
	r.publishEvents(ctx)
	return nil
}

// release releases the lease even when the invocation's own context is over.
func (r *pass) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := r.Leases.Release(ctx, r.fence); err != nil {
		r.problem("release the disruption lease: %v", err)
	}
}

// requestAnother asks for another check, since another run is at work: soon where somebody has seen something change that the other
// may not have seen, else later: it may have died with the lease, and the next tick would be a minute away. Either comes back as often as it
// takes for that lease to be over, and no more often, so that hints that meet each other do not breed.
func (r *pass) requestAnother(ctx context.Context) error {
	const often, seldom = 8, 2
	key, after, most := delayedKey, 5*time.Second, often
	if !r.request.Changed {
		key, after, most = busyKey, 17*time.Second, seldom
	}
	if r.request.Redeliveries >= most {
		return nil
	}
	key = fmt.Sprintf("%s%d/%d", key, r.request.Redeliveries+1, r.now())
	err := r.effect(ctx, EffectHint, func() error { return r.Hints.RequestDisruption(ctx, r.reg.Cluster, key, after) })
	if err != nil {
		return fmt.Errorf("send a hint to check cluster %s again: %w", r.reg.Cluster, err)
	}
	return nil
}

// load reads the ledger, and what time it is there.
func (r *pass) load(ctx context.Context) error {
	ledger, err := r.Ledger.Load(ctx, r.reg)
	if err != nil {
		return fmt.Errorf("load the ledger of cluster %s: %w", r.reg.Cluster, err)
	}
	r.ledger, r.clockOffset = ledger, ledger.NowUnix-r.Now().Unix()
	if !r.renoted {
		r.notes = ledger.Disrupt
	}
	r.claims = make(map[string]*model.Claim, len(ledger.Claims)+len(ledger.Ended))
	for _, list := range [][]model.Claim{ledger.FormerClaims, ledger.Ended, ledger.Spent, ledger.Claims} {
		for i := range list {
			r.claims[list[i].Name] = &list[i]
		}
	}
	return nil
}

// openCommands returns the ledger's open commands, to be moved on.
func (r *pass) openCommands() []*step {
	var open []*step
	for _, command := range r.ledger.Commands {
		if command.State.Open() {
			open = append(open, &step{pass: r, command: command})
		}
	}
	r.out.Open = len(open)
	return open
}

// hasTime reports whether there is time to begin something else.
func (r *pass) hasTime() bool { return r.request.Deadline.Sub(r.Now()) > r.settings.StopBefore }

// now is the time by the ledger's clock: whatever is written down with a time is compared with times others wrote, and their
// clocks may be minutes off.
func (r *pass) now() int64 { return r.Now().Unix() + r.clockOffset }

// later asks for another check at a time; 0 asks for none.
func (r *pass) later(unix int64) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if unix != 0 && (r.next == 0 || unix < r.next) {
		r.next = unix
	}
}

// soon asks for another check after some seconds.
func (r *pass) soon(seconds int64) { r.later(r.now() + seconds) }

func (r *pass) reached(what string) { r.out.Millis[what] = r.Now().Sub(r.started).Milliseconds() }

// problem notes something that went wrong and stops nothing else.
func (r *pass) problem(format string, args ...any) {
	const most = 20
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if len(r.out.Problems) < most {
		r.out.Problems = append(r.out.Problems, fmt.Sprintf(format, args...))
	}
}

// count adds one to a number of the outcome.
func (r *pass) count(n *int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	*n++
}

// seconds of a duration.
func seconds(d time.Duration) int64 { return int64(d / time.Second) }
