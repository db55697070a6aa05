package catalog

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/core/allowance"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/work"
)

// Flow is both passes with their ports and their clock. It keeps nothing between runs.
type Flow struct {
	Registry    Registry
	Leases      Leases
	Records     Records
	Allowances  Allowances
	Hints       Hints
	Peeks       work.Peeks // nil = clusters are swept each minute
	Connector   Connector
	Catalogs    Catalogs     // where the region pass keeps the instance catalog; nil = each pass reads EC2 itself
	Disruptions DisruptHints // notified of claims that have newly drifted; nil = nobody is

	Now      func() time.Time
	Settings Settings
	Effects  EffectHook // nil but where a test wants to see or stop effects
}

// Settings are the flow's numbers. The zero value of a field means the default named with it.
type Settings struct {
	LeaseMargin time.Duration // how long the lease outlives the invocation's deadline: 2 s
	StopBefore  time.Duration // what must be left of the invocation to begin with another class: 5 s

	// How old what a class resolves to may become before it is looked up again.
	BusyEvery   time.Duration // while claims use it: 110 s, so that every other tick of a minute does; less than who launches accepts
	IdleEvery   time.Duration // while none do: 1 h
	RetryAfter  time.Duration // while it is not ready: 50 s, so that each tick of a minute does
	RepeatAfter time.Duration // where a NodePool or EC2NodeClass was changed: 10 s

	// How long a verdict is good while what it depends on stays the same. What a bad one is about is mostly mended elsewhere,
	// such as permissions, and people wait for it.
	VerdictFor time.Duration // a good one: 30 min
	NoFor      time.Duration // a bad one: 110 s, so that every other tick of a minute tries again

	KeepProfile   time.Duration // how long an instance profile is kept that a class does not use any more: 1 h
	ProfilesEvery time.Duration // between looks for instance profiles left over: 30 min
	EndAfter      time.Duration // how long a deletion must have been asked for, so that no launch that has not heard of it is under way: 30 s

	IsolatedVPC bool              // IAM cannot be reached: nothing is asked of it
	NoDryRun    bool              // classes are not tried on EC2
	Offerings   offering.Settings // what instance types hold; Region is the cluster's
	Rates       allowance.Rates   // of what all clusters share of EC2's API
}

func (s Settings) withDefaults() Settings {
	s.LeaseMargin = cmp.Or(s.LeaseMargin, 2*time.Second)
	s.StopBefore = cmp.Or(s.StopBefore, 5*time.Second)
	s.BusyEvery = cmp.Or(s.BusyEvery, 110*time.Second)
	s.IdleEvery = cmp.Or(s.IdleEvery, time.Hour)
	s.RetryAfter = cmp.Or(s.RetryAfter, 50*time.Second)
	s.RepeatAfter = cmp.Or(s.RepeatAfter, 10*time.Second)
	s.VerdictFor = cmp.Or(s.VerdictFor, 30*time.Minute)
	s.NoFor = cmp.Or(s.NoFor, 110*time.Second)
	s.KeepProfile = cmp.Or(s.KeepProfile, time.Hour)
	s.ProfilesEvery = cmp.Or(s.ProfilesEvery, 30*time.Minute)
	s.EndAfter = cmp.Or(s.EndAfter, 30*time.Second)
	s.Rates = s.Rates.WithDefaults()
	return s
}

// Request is one hint to look at one cluster.
type Request struct {
	Cluster  string
	Config   bool      // a NodePool or EC2NodeClass was made or changed: everything is due
	Owner    string    // of the lease: unique to the invocation
	Deadline time.Time // when the invocation is killed
}

// Outcome is what one pass did, for one log line.
type Outcome struct {
	Cluster  string           `json:"cluster"`
	Skipped  string           `json:"skipped,omitempty"` // why nothing was done
	Classes  int              `json:"classes"`           // that there are
	Resolved int              `json:"resolved"`          // looked up in this pass
	Tried    int              `json:"tried,omitempty"`   // tried on EC2
	NotReady []string         `json:"notReady,omitempty"`
	Ended    []string         `json:"ended,omitempty"`    // classes whose deletion was finished
	Vanished []string         `json:"vanished,omitempty"` // classes released that go with their definition
	Drifted  map[string]int   `json:"drifted,omitempty"`  // claims found drifted, by reason
	Rehashed int              `json:"rehashed,omitempty"` // claims whose hashes were of other rules: written anew, and no drift
	Tidied   int              `json:"tidied,omitempty"`   // instance profiles deleted
	Millis   map[string]int64 `json:"millis,omitempty"`   // since the start of the run, by what was reached
	Problems []string         `json:"problems,omitempty"`
}

// Run makes the pass over one cluster. An error means that it could not be made.
func (f *Flow) Run(ctx context.Context, request Request) (Outcome, error) {
	r := &pass{Flow: f, settings: f.Settings.withDefaults(), request: request, started: f.Now()}
	r.out = Outcome{Cluster: request.Cluster, Millis: map[string]int64{}, Drifted: map[string]int{}}
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

	reg         model.Registration
	fence       model.Fence
	clients     Clients
	clockOffset int64 // seconds the ledger's clock is ahead of this process's
	ledger      model.Ledger
	config      model.Configuration
	records     map[string]model.ClassRecord // by class
	users       map[string][]string          // names of live claims, by class
	resolved    []model.Class                // looked up in this pass
	report      model.Report

	catalog *model.InstanceCatalog // nil = not read yet
}

func (r *pass) reconcile(ctx context.Context) error {
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
	until := r.request.Deadline.Add(r.settings.LeaseMargin)
	r.fence, err = r.Leases.AcquireLease(ctx, reg.Cluster, model.LeaseCatalog, r.request.Owner, r.Now().Unix(), until.Unix()+1)
	if fault.Is(err, fault.Conflict) {
		r.out.Skipped = "another run has the lease"
		return nil
	}
	if err != nil {
		return fmt.Errorf("acquire the catalog's lease of cluster %s: %w", reg.Cluster, err)
	}
	defer r.release(ctx)
	if err := r.read(ctx); err != nil || r.out.Skipped != "" {
		return err
	}
	r.reached("read")
	if len(r.config.Undefined) > 0 { // what was there may come back: nothing is forgotten, deleted or compared for want of it
		r.out.Skipped = fmt.Sprintf("CustomResourceDefinitions missing in the cluster: %s; joiner doctor says how to restore", strings.Join(r.config.Undefined, ", "))
		r.finishDeletions(ctx)
		return nil
	}

	// What there is to do, one class after another; what fails stops no other.
	r.out.Classes = len(r.config.Classes)
	for i := range r.config.Classes {
		if r.request.Deadline.Sub(r.Now()) < r.settings.StopBefore {
			r.problem("%d EC2NodeClasses wait because time ran out; the next scheduled run continues", len(r.config.Classes)-i)
			break
		}
		r.guarded(r.config.Classes[i].Class.Name, func() { r.class(ctx, r.config.Classes[i]) })
	}
	r.forget(ctx)
	r.reached("classes")
	r.deleteUnusedProfiles(ctx)
	r.drift(ctx)
	r.reached("drift")
	r.publishReports(ctx)
	return nil
}

// read reads the ledger, and then what people have asked for. A cluster in which the chart is not installed yet is skipped.
func (r *pass) read(ctx context.Context) (err error) {
	if r.ledger, err = r.Records.Load(ctx, r.reg); err != nil {
		return fmt.Errorf("load the ledger of cluster %s: %w", r.reg.Cluster, err)
	}
	r.clockOffset = r.ledger.NowUnix - r.Now().Unix()
	if r.clients, err = r.Connector.Connect(ctx, r.reg); err != nil {
		return fmt.Errorf("connect to cluster %s: %w", r.reg.Cluster, err)
	}
	r.out.Skipped, err = work.ReadInstalled(r.ledger.NeverPublished, r.reg.RelayURL != "", func() (err error) {
		r.config, err = r.clients.Cluster.Configuration(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("read the configuration of cluster %s: %w", r.reg.Cluster, err)
	}
	if r.out.Skipped != "" {
		return nil
	}
	for _, text := range r.ledger.Unread.Texts() {
		r.problem("%s", text)
	}
	r.records, r.users = map[string]model.ClassRecord{}, map[string][]string{}
	for _, record := range r.ledger.Classes {
		r.records[record.Name] = record
	}
	for i := range r.ledger.Claims {
		if claim := &r.ledger.Claims[i]; claim.Live() {
			r.users[claim.Class] = append(r.users[claim.Class], claim.Name)
		}
	}
	return nil
}

// guarded keeps a panic over one class from stopping the others.
func (r *pass) guarded(class string, do func()) {
	defer func() {
		if p := recover(); p != nil {
			r.problem("EC2NodeClass %s: panic: %v", class, p)
		}
	}()
	do()
}

// now is the time by the ledger's clock: what is written down with a time is compared with times others wrote.
func (r *pass) now() int64 { return r.Now().Unix() + r.clockOffset }

// publishReports publishes what people want to know.
func (r *pass) publishReports(ctx context.Context) {
	if len(r.report.Events)+len(r.report.Classes) == 0 {
		return
	}
	if err := r.effect(ctx, EffectReport, func() error { return r.clients.Reporter.Report(ctx, r.report) }); err != nil {
		r.problem("report events and conditions: %v", err)
	}
}

// release releases the lease even when the invocation's own context is over.
func (r *pass) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := r.Leases.Release(ctx, r.fence); err != nil {
		r.problem("release the catalog's lease: %v", err)
	}
}

// FanOut turns the tick of each minute into one hint per cluster that is awake, as work.FanOut says.
func (f *Flow) FanOut(ctx context.Context, tick string) (int, error) {
	return work.FanOut(ctx, f.Registry, "catalog", work.SkipResync(ctx, f.Peeks, tick), func(cluster string) error {
		return f.Hints.RequestPass(ctx, cluster, tick)
	})
}

func (r *pass) reached(what string) { r.out.Millis[what] = r.Now().Sub(r.started).Milliseconds() }

// problem notes something that went wrong and stops nothing else.
func (r *pass) problem(format string, args ...any) {
	const most = 20
	if len(r.out.Problems) < most {
		r.out.Problems = append(r.out.Problems, fmt.Sprintf(format, args...))
	}
}
