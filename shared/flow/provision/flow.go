package provision

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/core/fairshare"
	"github.com/joiner-sh/joiner/shared/core/headroom"
	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
	"github.com/joiner-sh/joiner/shared/work"
)

// Flow is provisioning with its ports and its clock. It keeps nothing between runs.
type Flow struct {
	Registry      port.Registry
	Leases        Leases
	Claims        Claims
	ClaimStates   port.ClaimStates
	Unavailable   UnavailableOfferings
	Allowances    port.Allowances
	Memory        Memory
	Decisions     Decisions
	Snapshots     port.Snapshots
	Losses        work.LossReporter // nil = the watcher finds by itself what of its snapshot is gone
	Catalogs      port.RegionCatalogs
	Memories      Memories
	UsageRecounts UsageRecounts // nil = usage is not corrected
	Connector     Connector
	Hints         Hints
	Peeks         work.Peeks        // nil = clusters are swept each minute
	Disruptions   port.DisruptHints // nil = the disruption function's own tick finds what became of replacements

	Now      func() time.Time
	NewID    func() string // unique and sorted by time, such as a ULID
	Settings Settings
	Plan     func(pack.Input) model.Plan // nil = pack.Plan; a test may put something defective in its place
	Effects  EffectHook                  // nil but where a test wants to see or stop effects

	// Parallel calls do(0) … do(n-1) side by side and returns when all have; nil = on goroutines, at most Settings.Parallel
	// at once. A simulator that lets one thing happen at a time has its own.
	Parallel func(n int, do func(i int))
}

// Settings are the flow's numbers. The zero value of a field means the default named with it.
type Settings struct {
	Build           string        // version of the binary, for decision records
	LeaseMargin     time.Duration // how long the lease outlives the invocation's deadline: 2 s
	StopBefore      time.Duration // what must be left of the invocation for another round of planning: 3 s
	RecoverAfter    time.Duration // after the lease's end, before an unfinished launch is looked into: 30 s, EC2's visibility lag
	GiveUpAfter     time.Duration // age of an unfinished launch that nothing was found of: 15 min
	SilentAfter     time.Duration // age of the watcher's heartbeat from which the flow lists by itself: 45 s
	JoinWithin      time.Duration // age from which an instance that has not joined is no capacity any more: 15 min
	OfferingBackOff time.Duration // how long an offering is left alone after its first failure: 3 min; doubles, twentyfold at most
	SuspendFor      time.Duration // how long a class is held whose instances did not join twice: 5 min; doubles, 2 h at most
	FreshFor        time.Duration // age of a snapshot up to which its pods are launched for without asking again: 5 s
	ResolveAfter    time.Duration // age of a class's status from which it is resolved again: 5 min
	CatalogAfter    time.Duration // age of the catalog all clusters share from which EC2 is asked instead: 25 h
	MaxRounds       int           // plans within one invocation: 8
	Parallel        int           // independent port calls at once: 8
	ClaimsPerCall   int           // claims in one intent: 25
	MaxEvents       int           // pod events of one invocation: 500

	Most model.PlanBound // what one plan takes of the pods that wait: fairshare.Most

	IgnorePreferences   bool // preferred terms of pods are left to kube-scheduler
	BestEffortMinValues bool // a pool's minValues are lowered where they cannot be met, rather than the pods refused

	Offerings offering.Settings // what instance types hold; Region is the cluster's, the time the run's

	// Of the account and region, shared by all clusters.
	CallBurst             int // calls of EC2's API at once: 50
	CallsPerSecond        int // calls of EC2's API in the long run: 5
	ReadBurst             int // calls that only read at once: 80
	ReadsPerSecond        int // calls that only read in the long run: 15
	InsufficientBurst     int // launches at once that may come back without capacity: 10
	InsufficientPerMinute int // launches that may come back without capacity in the long run: 8

	PriceCapFactor int           // price of a claim, as a multiple of what it usually costs, above which its pods wait for capacity: 5
	PriceCapWait   time.Duration // how long they wait at most: 3 min

	LaunchFloor int // claims of a pool in a minute that need no ramp-up; above, at most twice those of the minute before: 300
}

func (s Settings) withDefaults() Settings {
	s.LeaseMargin = cmp.Or(s.LeaseMargin, 2*time.Second)
	s.StopBefore = cmp.Or(s.StopBefore, 3*time.Second)
	s.RecoverAfter = cmp.Or(s.RecoverAfter, 30*time.Second)
	s.GiveUpAfter = cmp.Or(s.GiveUpAfter, 15*time.Minute)
	s.SilentAfter = cmp.Or(s.SilentAfter, 45*time.Second)
	s.JoinWithin = cmp.Or(s.JoinWithin, 15*time.Minute)
	s.OfferingBackOff = cmp.Or(s.OfferingBackOff, 3*time.Minute)
	s.SuspendFor = cmp.Or(s.SuspendFor, 5*time.Minute)
	s.FreshFor = cmp.Or(s.FreshFor, 5*time.Second)
	s.ResolveAfter = cmp.Or(s.ResolveAfter, 5*time.Minute)
	s.CatalogAfter = cmp.Or(s.CatalogAfter, 25*time.Hour)
	s.MaxRounds = cmp.Or(s.MaxRounds, 8)
	s.Parallel = cmp.Or(s.Parallel, 8)
	s.ClaimsPerCall = cmp.Or(s.ClaimsPerCall, 25)
	s.MaxEvents = cmp.Or(s.MaxEvents, 500)
	s.CallBurst = cmp.Or(s.CallBurst, 50)
	s.CallsPerSecond = cmp.Or(s.CallsPerSecond, 5)
	s.ReadBurst = cmp.Or(s.ReadBurst, 80)
	s.ReadsPerSecond = cmp.Or(s.ReadsPerSecond, 15)
	s.InsufficientBurst = cmp.Or(s.InsufficientBurst, 10)
	s.InsufficientPerMinute = cmp.Or(s.InsufficientPerMinute, 8)
	s.PriceCapFactor = cmp.Or(s.PriceCapFactor, 5)
	s.PriceCapWait = cmp.Or(s.PriceCapWait, 3*time.Minute)
	s.LaunchFloor = cmp.Or(s.LaunchFloor, 300)
	s.Most = cmp.Or(s.Most, fairshare.DefaultPlanBound())
	return s
}

// Triggers of a run.
const (
	TriggerBatch    = "batch"    // the watcher saw pods nothing can hold
	TriggerDrain    = "drain"    // a claim is to end: its pods need a place elsewhere
	TriggerNode     = "node"     // a node joined or became ready
	TriggerReplace  = "replace"  // a command waits for its replacements to be launched
	TriggerConfig   = "config"   // a NodePool or EC2NodeClass was made or changed
	TriggerHeadroom = "headroom" // a CapacityBuffer changed, or pods came to where there may be its room
	TriggerResync   = "sweep"    // the full pass of each minute
)

// Request is one hint to look at one cluster.
type Request struct {
	Cluster  string
	Trigger  string
	Epoch    int64     // of the snapshot the hint names; 0 = any
	Seq      int64     // the same
	Owner    string    // of the lease: unique to the invocation
	Deadline time.Time // when the invocation is killed
}

// Outcome is what one run did, for one log line.
type Outcome struct {
	Cluster       string              `json:"cluster"`
	Trigger       string              `json:"trigger"`
	Skipped       string              `json:"skipped,omitempty"`  // why nothing was done
	Source        string              `json:"source,omitempty"`   // snapshot or list
	Decision      string              `json:"decision,omitempty"` // id of the record
	Pending       int                 `json:"pending"`
	Headroom      int                 `json:"headroom,omitempty"` // places that CapacityBuffers ask for
	Claims        int                 `json:"claims"`             // launched
	Bought        []Bought            `json:"bought,omitempty"`   // Claims by what was bought: by pool and capacity type
	Intents       []string            `json:"intents,omitempty"`  // ids of those that launched them
	Failed        int                 `json:"failed,omitempty"`
	Failures      map[string]int      `json:"failures,omitempty"`  // Failed by code
	Nominated     int                 `json:"nominated,omitempty"` // pods that fit what is there or on its way
	Unschedulable int                 `json:"unschedulable,omitempty"`
	Later         int                 `json:"later,omitempty"` // pods that did not fit into the last plan and are planned next
	Rounds        int                 `json:"rounds,omitempty"`
	Recovered     int                 `json:"recovered,omitempty"`
	Recounted     []lifecycle.Recount `json:"recounted,omitempty"` // pools whose usage was not what their claims hold, and was corrected
	Restored      int                 `json:"restored,omitempty"`  // NodeClaims made anew that had gone with their definition
	Registered    int                 `json:"registered,omitempty"`
	Joined        map[string]int      `json:"joined,omitempty"` // Registered by pool; "" = of none
	Initialized   int                 `json:"initialized,omitempty"`
	PricePerHour  float64             `json:"pricePerHour,omitempty"` // of what was launched, USD
	Corrected     []string            `json:"corrected,omitempty"`    // NodePools and EC2NodeClasses that the API server has otherwise than the snapshot, with what; it was gone by the API server's
	Withheld      int                 `json:"withheld,omitempty"`     // planned claims that were not launched because those could not be read
	Catalog       *model.CatalogUse   `json:"machines,omitempty"`     // what catalog was decided by
	Millis        map[string]int64    `json:"millis,omitempty"`       // since the start of the run, by what was reached
	Problems      []string            `json:"problems,omitempty"`
}

// Bought is how many instances were launched for a pool as one capacity type.
type Bought struct {
	Pool         string `json:"pool,omitempty"` // "" = for a NodeClaim made by hand
	CapacityType string `json:"capacityType"`
	Claims       int    `json:"claims"`
}

// Run looks at one cluster and does what is to be done there. Conflict means that another planner is at work: the hint
// should come back later. Any other error means the run could not be carried through; what it recorded is recovered by
// the next.
func (f *Flow) Run(ctx context.Context, request Request) (Outcome, error) {
	r := &pass{Flow: f, settings: f.Settings.withDefaults(), request: request, started: f.Now(), remade: map[string]int{}, probes: map[model.UnavailableOffering]probe{}, insufficientRounds: map[string]int{}, accused: map[string]bool{}, recordedNow: map[string]bool{}, changed: map[string]bool{}, putOff: map[string]string{}, nameUsed: map[string]bool{}, awaited: map[string]bool{}}
	r.out = Outcome{Cluster: request.Cluster, Trigger: request.Trigger, Failures: map[string]int{}, Joined: map[string]int{}, Millis: map[string]int64{}}
	err := r.guarded(ctx)
	r.reached("done")
	return r.out, err
}

// guarded is do, with a panic turned into an error: the hint comes back, and other clusters' hints are handled.
func (r *pass) guarded(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.New(fault.Internal, "Panic", "provisioning of cluster %s panicked: %v\n%s", r.request.Cluster, p, debug.Stack())
		}
	}()
	return r.reconcile(ctx)
}

// pass is one invocation at work on one cluster.
type pass struct {
	*Flow
	settings Settings
	request  Request
	started  time.Time
	out      Outcome

	reg           model.Registration
	clients       Clients
	fence         model.Fence
	ledger        model.Ledger
	clockOffset   int64                  // of this process's clock is the ledger's, in seconds
	shown         *model.Snapshot        // the cluster as it shows itself; shared, never written to
	manifest      *model.Manifest        // to the same as it was published; nil = it was listed
	listed        *model.Snapshot        // the same as it was listed; nil = it was published
	snapshot      *model.Snapshot        // what is planned by: the same, less what is known to be leaving
	leaving       pack.Leaving           // nodes of claims that are to end; nil = none
	waits         []int                  // pods that ask for capacity, as indexes; nil = not looked up
	recordedNow   map[string]bool        // names of claims whose launches this run recorded
	plannedClaims []string               // Draining claims whose pods were planned for in this run; nil = nothing was planned
	catalog       *model.InstanceCatalog // nil until it was asked for in this run
	classes       map[string]model.Class // by name, with the status resolved in this run
	plannerInput  *model.PlannerInput    // of this round; nil = nothing was planned yet
	round         *replay.Provision      // the same, joined with what it is asked of
	inputs        []recordedInput        // in all rounds
	seenUnix      int64                  // when it was last looked at which nodes leave
	remade        map[string]int         // by class, the round after which its launch templates were made again; see madeAgain
	decision      model.Decision

	probes             map[model.UnavailableOffering]probe // of half-open unavailable offerings, by what they are about
	probeFailed        bool                                // one of this run's came back without capacity
	probeEarly         bool                                // pods are left over: offerings are probed before their back-off is over
	suspects           map[string]string                   // pools whose first node comes up and refuses its pods, with why, by name
	noted              bool                                // the ledger's notes are not written yet
	excludedPools      map[string]bool                     // pools left out of this round because they had no capacity
	insufficientRounds map[string]int                      // rounds of this run in which a pool had no capacity, by pool
	triedFallback      bool                                // pods that other pools can take have been taken care of
	accused            map[string]bool                     // what planning panicked over in this run
	settled            map[string]bool                     // UIDs of pods that ask for nothing any more, though the snapshot says so
	questioned         map[string]bool                     // by node: it was asked which pods are on it; "" = which wait
	putOff             map[string]string                   // why launches of a pool were put off, by pool
	changed            map[string]bool                     // pools whose health is to be reported, by name
	planKept           bool                                // the decision's record was stored before a launch of this run
	newlyUnplaced      bool                                // the last plan leaves other pods without a place than the last that was kept, or for other reasons
	yieldedCalls       bool                                // launches were not made so that others may
	spent              model.PlanBound                     // what this run's plans took in all
	tight              map[string]int                      // claims of this round's plan by pools whose limits leave pods waiting
	putOffCalls        bool                                // something was put off because EC2's API was used up for now
	standalone         []*standaloneClaim                  // NodeClaims made by hand that are due
	nameUsed           map[string]bool                     // names of replacements that turned out to be in use
	live               applying                            // NodePools and EC2NodeClasses as people have applied them
	podAt              map[string]int                      // where the snapshot has pods that ask for capacity, by UID; nil = not looked up

	mutex            sync.Mutex // guards what parallel calls write: out.Problems, report and awaited
	report           model.Report
	replacementsWait bool            // replacements wait for others of their command: see pendingReplacements
	awaited          map[string]bool // replacements of commands that were initialized, or failed, in this run, by name
}

func (r *pass) reconcile(ctx context.Context) error {
	// 1. Who is asked about, and may we.
	reg, err := r.Registry.Cluster(ctx, r.request.Cluster)
	if fault.Is(err, fault.NotFound) {
		r.out.Skipped = "the cluster is not attached" // any more: nothing will change that but attaching it
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

	// 2. One planner at a time, held until the invocation is surely dead.
	until := r.request.Deadline.Add(r.settings.LeaseMargin)
	r.fence, err = r.Leases.Acquire(ctx, reg.Cluster, r.request.Owner, r.now(), until.Unix()+1)
	if err != nil {
		return fmt.Errorf("acquire the planner lease of cluster %s: %w", reg.Cluster, err)
	}
	defer r.release(ctx)

	// 3. What is, as the ledger and the snapshot say.
	if r.ledger, err = r.load(ctx); err != nil {
		return err
	}
	r.clients, err = r.Connector.Connect(ctx, reg)
	if err != nil {
		return fmt.Errorf("connect to cluster %s: %w", reg.Cluster, err)
	}
	if err := r.readSnapshot(ctx); err != nil || r.out.Skipped != "" {
		return err
	}
	r.excludeLeavingNodes()
	for _, text := range r.ledger.Unread.Texts() {
		r.problem("%s", text)
	}
	r.reached("snapshot")

	// 4. What an earlier run left half done comes first: its claims are capacity or they are not.
	r.suspendClasses()
	r.untaken()
	r.health()
	failure := r.recover(ctx)
	if failure == nil {
		failure = recount(ctx, r)
	}

	// 5. Pods that nothing can hold.
	if failure == nil {
		failure = r.provision(ctx)
	}
	r.replaced(ctx)
	r.headroom()
	r.reached("launched")

	// 6. Objects for claims that have none yet, and claims whose nodes have come on, whatever became of the pods: a
	// catalog that cannot be read must not keep a node from being registered.
	r.showClaims(ctx)
	r.restore(ctx)
	r.registerNodes(ctx)
	r.hydrateObjects(ctx)
	r.checkConsistency(ctx)
	r.untaken()
	r.health()
	r.tidy(ctx)
	r.unplaced()
	if err := r.remember(ctx); err != nil {
		r.problem("%v", err)
	}
	r.notifyDisruption(ctx)

	// 7. Tell people. It is last, because nobody's pod waits for it.
	r.keepDecision(ctx)
	r.publishReports(ctx)

	// 8. Have the catalog at hand for the next batch: reading it takes longer than planning. Also before there is any
	// pool, since the first pods follow the first pool closely and would wait behind this.
	if _, err := r.readCatalog(ctx); err != nil {
		r.problem("read the catalog of %s ahead of need: %v", r.reg.Region, err)
	}
	r.learn(ctx)
	r.requeue(ctx)
	return failure
}

// release releases the lease even when the invocation's own context is over.
func (r *pass) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := r.Leases.Release(ctx, r.fence); err != nil {
		r.problem("release the planner lease: %v", err)
	}
}

// readSnapshot takes the watcher's snapshot, and lists the cluster where there is no watcher to be heard or its snapshot
// is older than the hint. One in which the chart is not installed yet is skipped.
func (r *pass) readSnapshot(ctx context.Context) error {
	if r.ledger.ManifestFault != "" {
		r.problem("listing instead of reading a snapshot: %s", r.ledger.ManifestFault)
	}
	if manifest := r.ledger.Manifest; manifest != nil && r.alive(*manifest) && r.reaches(*manifest) {
		snapshot, err := r.Snapshots.SnapshotAt(ctx, *manifest)
		if err == nil {
			r.shown, r.out.Source = headroom.WithPlaceholders(snapshot), sourceSnapshot
			r.manifest = read(*manifest, snapshot)
			return nil
		}
		r.problem("read snapshot %d/%d, listing instead: %v", manifest.Epoch, manifest.HeadSeq, err)
		if err := work.ReportLost(ctx, r.Losses, r.Effects, *manifest, err); err != nil {
			r.problem("%v", err)
		}
	}
	var snapshot *model.Snapshot
	var err error
	r.out.Skipped, err = work.ReadInstalled(r.ledger.NeverPublished, r.reg.RelayURL != "", func() (err error) {
		snapshot, err = r.clients.Cluster.List(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("list cluster %s: %w", r.reg.Cluster, err)
	}
	if r.out.Skipped != "" {
		return nil
	}
	r.shown, r.out.Source, r.listed = headroom.WithPlaceholders(snapshot), sourceList, snapshot
	return nil
}

// read returns the manifest to exactly what was read by it, which may be newer.
func read(manifest model.Manifest, snapshot *model.Snapshot) *model.Manifest {
	manifest.HeadSeq = snapshot.Seq
	return &manifest
}

func (r *pass) alive(manifest model.Manifest) bool {
	return r.now()-manifest.HeartbeatAt <= int64(r.settings.SilentAfter.Seconds())
}

// reaches reports whether the manifest's snapshot is at least as new as the one the hint names.
func (r *pass) reaches(manifest model.Manifest) bool {
	if manifest.Epoch != r.request.Epoch {
		return manifest.Epoch > r.request.Epoch
	}
	return manifest.HeadSeq >= r.request.Seq
}

// reload reads the ledger again after this run changed it.
func (r *pass) reload(ctx context.Context) error {
	ledger, err := r.load(ctx)
	if err != nil {
		return err
	}
	if r.noted {
		ledger.Notes = r.ledger.Notes
	}
	r.ledger = ledger
	r.excludeLeavingNodes()
	return nil
}

// load reads the ledger, and what time it is there.
func (r *pass) load(ctx context.Context) (model.Ledger, error) {
	ledger, err := r.Claims.Load(ctx, r.reg)
	if err != nil {
		return ledger, fmt.Errorf("load the ledger of cluster %s: %w", r.reg.Cluster, err)
	}
	r.clockOffset = ledger.NowUnix - r.Now().Unix()
	return ledger, nil
}

// offeringSettings are the settings instance types are worked out by.
func (r *pass) offeringSettings() offering.Settings {
	settings := r.settings.Offerings
	settings.Region, settings.NowUnix = r.reg.Region, r.now()
	return settings
}

// now is the time by the ledger's clock once that was read: whatever is written down with a time is compared with times
// others wrote, and their clocks may be minutes off. What concerns this invocation alone, its lease and its deadline,
// goes by its own.
func (r *pass) now() int64 { return r.Now().Unix() + r.clockOffset }

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

// passing reports whether err only means that this run came too late or too often, which the next run mends.
func passing(err error) bool {
	return fault.Is(err, fault.Conflict) || fault.Is(err, fault.NotFound)
}
