package interruption

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/joiner-sh/joiner/shared/core/drain"
	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/work"
)

// Flow is the resync with its ports and its clock. It keeps nothing between runs: what it remembers is in the ledger.
type Flow struct {
	Registry  Registry
	Leases    Leases
	Collector CollectorStore
	Claims    Claims
	Removals  Removals
	Hints     Hints
	Peeks     work.Peeks // nil = clusters are looked at each minute
	Connector Connector

	Finder      Finder
	Steps       Steps
	Plans       PlanHints
	Drains      DrainHints
	Unavailable UnavailableOfferings
	Disruptions DisruptHints // told that budgets have room again; nil = its own tick finds it

	// Now is this process's own clock. It dates the lease and measures how long things take; how old anything is comes from
	// the ledger's clock.
	Now func() time.Time
	// Parallel calls do(0) … do(n-1) side by side and returns when all have; nil = on goroutines, at most Settings.Parallel
	// at once. Tests replace it to have one order.
	Parallel func(n int, do func(i int))
	Settings Settings
	Effects  EffectHook // nil but where a test wants to see or stop effects
}

// Settings are the flow's numbers. The zero value of a field means the default named with it.
type Settings struct {
	Confirm      time.Duration // between the look that first sees something wrong and the one that acts: 30 s
	JoinWithin   time.Duration // for an instance's node to join: 15 min
	RepairAfter  time.Duration // for how long a condition of a node may be bad, whichever: 10 min of accelerators, 30 min of the others
	LeaseMargin  time.Duration // how long the lease outlives the invocation's deadline: 2 s
	StopBefore   time.Duration // what must be left of the invocation to begin another act: 3 s
	ActWithin    time.Duration // age of the look from which it is too old to act upon: 8 s
	Continuous   time.Duration // gap between two looks after which suspicions begin anew: 10 min
	BelieveOld   time.Duration // how long an API server must show a state older than one already seen to be believed: 30 min
	MaxSuspects  int           // that are remembered: 2,000
	MaxActs      int           // in one run: 200
	Parallel     int           // claims at work at once: 50, so that a thousand drains come round in two seconds
	ParallelPods int           // pods of each that are asked to leave at once: 10

	// Of drain runs.
	Drain         drain.Settings
	MaxMoves      int   // pods that are made to leave in one run: 2,000
	RetrySeconds  int64 // until a claim whose drain panicked is looked at again, and at most until one that could not be read or written is: 30
	ReportSeconds int64 // between two events that say what a drain waits for: 120

	// The removal limit: in RemovalWindow at most max(RemovalNodes, RemovalPercent of the cluster's nodes) are removed that EC2 does not
	// say have ended. The window is longer than the five minutes promised, because what was counted is done a little later.
	RemovalWindow  time.Duration // 6 min
	RemovalNodes   int           // 5
	RemovalPercent int           // 10
}

func (s Settings) withDefaults() Settings {
	s.Confirm = cmp.Or(s.Confirm, 30*time.Second)
	s.JoinWithin = cmp.Or(s.JoinWithin, 15*time.Minute)
	s.LeaseMargin = cmp.Or(s.LeaseMargin, 2*time.Second)
	s.StopBefore = cmp.Or(s.StopBefore, 3*time.Second)
	s.ActWithin = cmp.Or(s.ActWithin, 8*time.Second)
	s.Continuous = cmp.Or(s.Continuous, 10*time.Minute)
	s.BelieveOld = cmp.Or(s.BelieveOld, 30*time.Minute)
	s.RemovalWindow = cmp.Or(s.RemovalWindow, 6*time.Minute)
	s.MaxSuspects = cmp.Or(s.MaxSuspects, 2000)
	s.MaxActs = cmp.Or(s.MaxActs, 200)
	s.Parallel = cmp.Or(s.Parallel, 50)
	s.ParallelPods = cmp.Or(s.ParallelPods, 10)
	// Less than the drain's own: with what it takes to be reported and to come round, the first pod of an instance that EC2 warned of
	// is asked to leave within 8 seconds (C1).
	s.Drain.ReplaceSeconds = cmp.Or(s.Drain.ReplaceSeconds, 4)
	s.MaxMoves = cmp.Or(s.MaxMoves, 2000)
	s.RetrySeconds = cmp.Or(s.RetrySeconds, 30)
	s.ReportSeconds = cmp.Or(s.ReportSeconds, 120)
	s.RemovalNodes = cmp.Or(s.RemovalNodes, 5)
	s.RemovalPercent = cmp.Or(s.RemovalPercent, 10)
	return s
}

// Request is one hint to look at one cluster.
type Request struct {
	Cluster  string
	Owner    string    // of the lease: unique to the invocation
	Deadline time.Time // when the invocation is killed

	// Of a drain run, as its hints say.
	Dues  []int64 // when the steps they were sent for are due
	Tries int     // how often in a row it could not be done

	AsOfUnix int64 // all they are about was on record, or due, by then; 0 = not known
	Undated  bool  // of some that is not known
}

// Outcome is what one run did, for one log line.
type Outcome struct {
	Cluster    string           `json:"cluster"`
	Skipped    string           `json:"skipped,omitempty"`   // why nothing was done
	Undefined  string           `json:"undefined,omitempty"` // why no end began for how the cluster is
	Instances  int              `json:"instances"`           // ours, that EC2 shows
	Claims     int              `json:"claims"`              // live
	Nodes      int              `json:"nodes"`               // live claims with one
	Findings   map[string]int   `json:"findings,omitempty"`
	Waiting    int              `json:"waiting,omitempty"`    // findings that must be seen again first
	Limited    int              `json:"braked,omitempty"`     // findings put off because enough nodes were removed lately
	Adopted    int              `json:"adopted,omitempty"`    // instances that got a claim
	Terminated []string         `json:"terminated,omitempty"` // instance ids told to end
	Drained    int              `json:"drained,omitempty"`    // claims made Draining
	Vanished   int              `json:"vanished,omitempty"`   // claims whose NodeClaim object goes with a definition, and whose instance stays
	Hastened   int              `json:"hastened,omitempty"`   // drains whose deadline came forward
	Retired    int              `json:"retired,omitempty"`    // claims made Terminating
	Closed     int              `json:"closed,omitempty"`     // claims made Gone
	Ended      []Ended          `json:"ended,omitempty"`      // of the closed ones, those that had an instance
	Removed    int              `json:"removed,omitempty"`    // objects deleted
	Freed      int              `json:"freed,omitempty"`      // objects our finalizer was taken off
	Millis     map[string]int64 `json:"millis,omitempty"`     // since the start of the run, by what was reached
	Problems   []string         `json:"problems,omitempty"`

	Interrupted int            `json:"interrupted,omitempty"` // spot instances that EC2 says it takes back
	Impaired    map[string]int `json:"impaired,omitempty"`    // instances that EC2's checks find ill and that were not at the last look, by kind
}

// Ended is a claim whose instance has ended, and is reported once, by whoever closed it.
type Ended struct {
	Claim        string `json:"claim"`
	Pool         string `json:"pool,omitempty"` // "" = of none
	CapacityType string `json:"capacityType,omitempty"`
	Reason       string `json:"reason"`            // one of the Ended… codes
	Seconds      int64  `json:"seconds,omitempty"` // since its end began; 0 = it was found to have ended
}

// endedOf returns what is reported of a claim that was closed at a time, and whether it had an instance.
func endedOf(claim *model.Claim, atUnix int64) (ended Ended, had bool) {
	ended = Ended{Claim: claim.Name, Pool: claim.Pool, CapacityType: claim.CapacityType, Reason: claim.FailureCode}
	if claim.Drain != nil {
		ended.Seconds = max(1, atUnix-claim.Drain.SinceUnix)
	}
	return ended, claim.InstanceID != ""
}

// Run looks at one cluster and does what is to be done there. An error means that it could not look, or not write down
// what it saw; nothing was removed then.
func (f *Flow) Run(ctx context.Context, request Request) (Outcome, error) {
	r := &pass{Flow: f, settings: f.Settings.withDefaults(), request: request, started: f.Now()}
	r.out = Outcome{Cluster: request.Cluster, Findings: map[string]int{}, Millis: map[string]int64{}}
	err := r.reconcile(ctx)
	r.reached("done")
	return r.out, err
}

// pass is one invocation at work on one cluster.
type pass struct {
	*Flow
	settings Settings
	request  Request
	started  time.Time
	out      Outcome

	reg                  model.Registration
	fence                model.Fence
	clients              Clients
	spent                time.Duration // from the start of the first read of EC2 until the ledger had said what time it is
	readAt               time.Time     // by this process's clock, before the API server was read
	records              model.ClusterRecords
	live                 model.LiveState
	claims               map[string]bool             // names the ledger knows, live and gone
	doomed               []string                    // instances to terminate
	begun                int                         // claims whose end began, or was brought forward
	unavailableOfferings []model.UnavailableOffering // of offerings that EC2 takes instances back of
	events               []model.Event               // for people
	stopped              bool                        // no more acts in this run
	freed                []string                    // claims of commands that it closed

	polled polled // what EC2 said of instances that are about to end
}

func (r *pass) reconcile(ctx context.Context) error {
	// 1. Who is asked about, and may we.
	reg, err := r.Registry.Cluster(ctx, r.request.Cluster)
	if fault.Is(err, fault.NotFound) {
		r.out.Skipped = "the cluster is not attached"
		return nil
	}
	if err != nil {
		return fmt.Errorf("read registration of cluster %s: %w", r.request.Cluster, err)
	}
	r.reg = reg
	if reg.Paused {
		r.out.Skipped = "the cluster is paused"
		return nil
	}

	// 2. One collector at a time. Whoever holds the lease looks at everything, so there is nothing left for us.
	until := r.request.Deadline.Add(r.settings.LeaseMargin)
	r.fence, err = r.Leases.AcquireLease(ctx, reg.Cluster, model.LeaseCollector, r.request.Owner, r.Now().Unix(), until.Unix()+1)
	if fault.Is(err, fault.Conflict) {
		r.out.Skipped = "another collector run has the lease"
		return nil
	}
	if err != nil {
		return fmt.Errorf("acquire the collector's lease of cluster %s: %w", reg.Cluster, err)
	}
	defer r.release(ctx)

	// 3. What is, as EC2, the ledger and the API server say, in this order.
	view, err := r.readState(ctx)
	if err != nil || r.out.Skipped != "" {
		return err
	}
	r.reached("looked")
	if !r.believable() {
		return nil
	}

	// 4. What is wrong, and for how long it has been.
	findings := r.findings(ctx, view)
	for i := range findings {
		r.out.Findings[string(findings[i].Kind)]++
	}
	due, collector, again := r.confirm(findings)
	again = r.notePoll(&collector, again)
	due = r.limitRemovals(due, &collector)
	r.recordLate(ctx, &collector)
	r.recordUnknown(ctx, view, &collector)

	// 5. Written down before anything is done, and before it is forgotten.
	if !r.idle(findings, collector) {
		err = r.effect(ctx, EffectNote, func() (err error) {
			_, err = r.Collector.PutCollectorState(ctx, r.fence, collector)
			return err
		})
		if err != nil {
			return fmt.Errorf("write the collector state of cluster %s: %w", reg.Cluster, err)
		}
	}
	r.reached("noted")

	// 6. Done, one thing after another; what fails stops nothing else.
	for i := range due {
		if !r.hasTime(i) {
			again = time.Second
			break
		}
		r.act(ctx, &due[i])
	}
	r.terminate(ctx)
	r.announceEnds(ctx)
	if err := r.requestDisruption(ctx, r.reg.Cluster, r.freed); err != nil {
		r.problem("%v", err)
	}
	r.publishEvents(ctx)
	r.requestAnother(ctx, again)
	return nil
}

// announceEnds asks for what follows where the end of a claim began, and for a drain run where one is overdue: the message
// that asked for it was lost.
func (r *pass) announceEnds(ctx context.Context) {
	const late = 5 // seconds after which a step is overdue
	key := fmt.Sprintf("look/%d", r.fence.Token)
	if r.begun > 0 {
		if err := r.announce(ctx, r.reg.Cluster, key, r.begun); err != nil {
			r.problem("send hints about %d terminations; the next scheduled run does: %v", r.begun, err)
		}
		return
	}
	for i := range r.records.Claims {
		claim := &r.records.Claims[i]
		if claim.State != model.Draining && claim.State != model.Terminating {
			continue
		}
		var due int64
		if claim.Drain != nil {
			due = max(claim.Drain.SinceUnix, claim.Drain.DueUnix)
		}
		if due+late > r.records.NowUnix {
			continue
		}
		err := r.effect(ctx, EffectDrain, func() error { return r.Drains.Drain(ctx, r.reg.Cluster, key, 0) })
		if err != nil {
			r.problem("send a hint for the drain run that claim %s waits for; the next scheduled run does: %v", claim.Name, err)
		}
		return
	}
}

// release releases the lease even when the invocation's own context is over.
func (r *pass) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := r.Leases.Release(ctx, r.fence); err != nil {
		r.problem("release the collector's lease: %v", err)
	}
}

// readState reads EC2 first, so that an instance it shows was recorded, if it ever was, before the ledger is read (S2), and
// the API server last. Instances of claims that were not among ours are asked for by id: a listing may miss some.
func (r *pass) readState(ctx context.Context) (view lifecycle.View, err error) {
	if r.clients, err = r.Connector.Connect(ctx, r.reg); err != nil {
		return view, fmt.Errorf("connect to cluster %s: %w", r.reg.Cluster, err)
	}
	began := r.Now()
	instances, err := r.clients.Fleet.Owned(ctx, r.reg.Cluster)
	if err != nil {
		return view, fmt.Errorf("list the instances of cluster %s: %w", r.reg.Cluster, err)
	}
	if r.records, err = r.Collector.Records(ctx, r.reg); err != nil {
		return view, fmt.Errorf("read the ledger of cluster %s: %w", r.reg.Cluster, err)
	}
	r.readAt = r.Now()
	r.spent = r.readAt.Sub(began)
	vacant := len(instances)+len(r.records.Claims) == 0
	never := func() bool { return vacant && !r.live.Undefined && r.neverPublished(ctx) }
	r.out.Skipped, err = work.ReadInstalled(never, r.reg.RelayURL != "", func() (err error) {
		r.live, err = r.clients.Cluster.ReadLive(ctx)
		return err
	})
	if r.out.Skipped != "" {
		return view, nil
	}
	if r.live.Undefined && fault.Is(err, fault.NotFound) && fault.CodeOf(err) == model.CodeUndefined {
		r.out.Undefined = "the CustomResourceDefinition of NodeClaims is missing in the cluster, so only EC2 and the ledger are acted upon; joiner doctor says how to restore it"
	} else if err != nil {
		return view, fmt.Errorf("read cluster %s: %w", r.reg.Cluster, err)
	}
	r.claims = map[string]bool{}
	for _, u := range r.records.Unread.Of(model.UnreadClaim) {
		r.claims[u.Name] = true
	}
	for _, text := range r.records.Unread.Texts() {
		r.problem("%s", text)
	}
	shown := map[string]bool{}
	for _, instance := range instances {
		shown[instance.ID] = true
	}
	r.out.Instances = len(shown)
	var unseen []string
	for _, claim := range r.records.Claims {
		r.claims[claim.Name] = true
		if !claim.Live() {
			continue
		}
		r.out.Claims++
		if claim.State == model.Registered || claim.State == model.Initialized {
			r.out.Nodes++
		}
		if claim.InstanceID != "" && !shown[claim.InstanceID] {
			unseen = append(unseen, claim.InstanceID)
		}
	}
	if len(unseen) > 0 {
		found, err := r.clients.Fleet.DescribeInstances(ctx, unseen)
		if err != nil {
			return view, fmt.Errorf("describe %d instances of cluster %s: %w", len(unseen), r.reg.Cluster, err)
		}
		instances = append(instances, found...)
	}
	view = lifecycle.View{Cluster: r.reg.Cluster, Instances: instances, Records: r.records, Live: r.live}
	r.poll(ctx, &view)
	return view, nil
}

// neverPublished reports whether no watcher has ever published the cluster.
func (r *pass) neverPublished(ctx context.Context) bool {
	if r.Peeks == nil {
		return false
	}
	manifest, _, _, err := r.Peeks.Peek(ctx, r.reg.Cluster)
	return err == nil && manifest == nil
}

// believable reports whether the API server shows no older state than one that was seen before. After a failover it may,
// for a while; when it goes on doing so it was restored from a backup, and that is how things are now.
func (r *pass) believable() bool {
	seen := r.records.Collector
	if r.live.Version == 0 || r.live.Version >= seen.SeenVersion || r.records.NowUnix-seen.SeenUnix >= int64(r.settings.BelieveOld.Seconds()) {
		return true
	}
	r.out.Skipped = "the API server returned an older state than before"
	r.problem("the API server is at resource version %d and was at %d; objects it does not show are not taken for deleted", r.live.Version, seen.SeenVersion)
	return false
}

// hasTime reports whether there is time for the n-th act: the invocation's, and that the look is fresh enough to act upon.
func (r *pass) hasTime(n int) bool {
	now := r.Now()
	return !r.stopped && n < r.settings.MaxActs && r.request.Deadline.Sub(now) > r.settings.StopBefore && now.Sub(r.readAt) < r.settings.ActWithin
}

// requestAnother asks for another check where one sooner than the next tick is worth it.
func (r *pass) requestAnother(ctx context.Context, after time.Duration) {
	if after <= 0 || after >= time.Minute {
		return
	}
	key := fmt.Sprintf("after/%d", r.fence.Token)
	if err := r.effect(ctx, EffectHint, func() error { return r.Hints.RequestPass(ctx, r.reg.Cluster, key, after) }); err != nil {
		r.problem("send a hint to check again in %s; the next scheduled run does anyway: %v", after, err)
	}
}

func (r *pass) reached(what string) { r.out.Millis[what] = r.Now().Sub(r.started).Milliseconds() }

// problem notes something that went wrong and stops nothing else.
func (r *pass) problem(format string, args ...any) {
	const most = 20
	if len(r.out.Problems) < most {
		r.out.Problems = append(r.out.Problems, fmt.Sprintf(format, args...))
	}
}
