package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Flow is both passes with their ports and their clock. It keeps nothing between runs.
type Flow struct {
	Registry Registry
	Leases   Leases
	Hints    Hints

	Now      func() time.Time
	Settings Settings
	Effects  Effects // nil but where a test wants to see or stop effects
}

// Settings are the flow's numbers. The zero value of a field means the default named with it.
type Settings struct {
	LeaseMargin time.Duration // how long the lease outlives the invocation's deadline: 2 s
}

func (s Settings) withDefaults() Settings {
	s.LeaseMargin = cmp.Or(s.LeaseMargin, 2*time.Second)
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
	Millis   map[string]int64 `json:"millis,omitempty"`  // since the start of the run, by what was reached
	Problems []string         `json:"problems,omitempty"`
}

// Run makes the pass over one cluster. An error means that it could not be made.
func (f *Flow) Run(ctx context.Context, request Request) (Outcome, error) {
	r := &run{Flow: f, settings: f.Settings.withDefaults(), request: request, started: f.Now()}
	r.out = Outcome{Cluster: request.Cluster, Millis: map[string]int64{}}
	err := r.do(ctx)
	r.reached("done")
	return r.out, err
}

// run is one invocation at work on one cluster.
type run struct {
	*Flow
	settings Settings
	request  Request
	started  time.Time
	out      Outcome

	reg   model.Registration
	fence model.Fence
}

func (r *run) do(ctx context.Context) error {
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
	r.fence, err = r.Leases.Hold(ctx, reg.Cluster, model.LeaseCatalog, r.request.Owner, r.Now().Unix(), until.Unix()+1)
	if fault.Is(err, fault.Conflict) {
		r.out.Skipped = "another pass is at work"
		return nil
	}
	if err != nil {
		return fmt.Errorf("take the catalogue's lease of cluster %s: %w", reg.Cluster, err)
	}
	defer r.release(ctx)
	return nil
}

// release gives the lease back even when the invocation's own context is over.
func (r *run) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := r.Leases.Release(ctx, r.fence); err != nil {
		r.problem("release the catalogue's lease: %v", err)
	}
}

// FanOut turns the tick of each minute into one hint per attached cluster, so that a slow or broken cluster delays no
// other. It returns how many hints were sent; the error joins those that were not.
func (f *Flow) FanOut(ctx context.Context, tick string) (int, error) {
	registrations, err := f.Registry.Clusters(ctx)
	if err != nil {
		return 0, fmt.Errorf("list attached clusters: %w", err)
	}
	var sent int
	var failures []error
	for _, reg := range registrations {
		if reg.Paused {
			continue
		}
		if err := f.Hints.Look(ctx, reg.Cluster, tick); err != nil {
			failures = append(failures, fmt.Errorf("hint a pass over cluster %s: %w", reg.Cluster, err))
			continue
		}
		sent++
	}
	return sent, errors.Join(failures...)
}

func (r *run) reached(what string) { r.out.Millis[what] = r.Now().Sub(r.started).Milliseconds() }

// problem notes something that went wrong and stops nothing else.
func (r *run) problem(format string, args ...any) {
	const most = 20
	if len(r.out.Problems) < most {
		r.out.Problems = append(r.out.Problems, fmt.Sprintf(format, args...))
	}
}
