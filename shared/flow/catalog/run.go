package catalog

import (
	"context"
	"fmt"
	"strings"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/work"
)

// Run makes the pass over one cluster. An error means that it could not be made.
func (f *Flow) Run(ctx context.Context, request Request) (Outcome, error) {
	r := &session{flow: f, settings: f.Settings.withDefaults(), request: request}
	r.Invocation = (&work.Invocation{
		Clock: f.Now, Deadline: request.Deadline, Hook: f.Effects, LeaseMargin: r.settings.LeaseMargin, StopBefore: r.settings.StopBefore,
	}).Begin()
	r.out = Outcome{Cluster: request.Cluster, Drifted: map[string]int{}}
	err := r.reconcile(ctx)
	r.Reached("done")
	r.out.Millis, r.out.Problems = r.Millis(), r.Problems()
	return r.out, err
}

func (s Settings) withDefaults() Settings {
	s = work.WithDefaults(s)
	s.Rates = s.Rates.WithDefaults()
	return s
}

func (r *session) reconcile(ctx context.Context) error {
	var err error
	r.reg, r.out.Skipped, err = work.ActiveRegistration(ctx, r.flow.Registry, r.request.Cluster)
	if err != nil || r.out.Skipped != "" {
		return err
	}
	if r.clients, err = r.flow.Connector.Connect(ctx, r.reg); err != nil {
		return fmt.Errorf("connect to cluster %s: %w", r.reg.Cluster, err)
	}
	if r.zonalShifts(ctx); r.request.Shift {
		return nil
	}
	lease, err := r.Acquire(ctx, r.flow.Leases, r.reg.Cluster, model.LeaseCatalog, r.request.Owner, "the catalog's lease")
	if fault.Is(err, fault.Conflict) {
		r.out.Skipped = "another run has the lease"
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Release(ctx, lease)
	if err := r.read(ctx); err != nil || r.out.Skipped != "" {
		return err
	}
	r.Reached("read")
	if len(r.config.Undefined) > 0 { // what was there may come back: nothing is forgotten, deleted or compared for want of it
		r.out.Skipped = fmt.Sprintf("CustomResourceDefinitions missing in the cluster: %s; joiner doctor says how to restore", strings.Join(r.config.Undefined, ", "))
		deletion{r}.finish(ctx)
		r.publishReports(ctx)
		return nil
	}
	resolved := (&resolver{session: r}).all(ctx)
	r.forget(ctx)
	r.Reached("classes")
	profiles{r}.deleteUnused(ctx, resolved)
	(&drifts{r, resolved}).drift(ctx)
	r.Reached("drift")
	r.publishReports(ctx)
	return nil
}

// read reads the ledger, and then what people have asked for. A cluster in which the chart is not installed yet is skipped.
func (r *session) read(ctx context.Context) (err error) {
	if r.ledger, err = r.flow.Records.Load(ctx, r.reg); err != nil {
		return fmt.Errorf("load the ledger of cluster %s: %w", r.reg.Cluster, err)
	}
	r.SetNow(r.ledger.NowUnix)
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
	r.Unread(r.ledger.Unread)
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

// publishReports publishes what people want to know.
func (r *session) publishReports(ctx context.Context) {
	if len(r.report.Events)+len(r.report.Classes) > 0 {
		r.Try(ctx, EffectReport, "report events and conditions", func() error { return r.clients.Reporter.Report(ctx, r.report) })
	}
}

// FanOut turns the tick of each minute into one hint per cluster that is awake, or has zonal shifts enabled, as
// work.FanOut says.
func (f *Flow) FanOut(ctx context.Context, tick string) (int, error) {
	sleeps := work.SkipResync(ctx, f.Peeks, tick)
	rests := func(reg model.Registration) bool {
		return sleeps(reg) && (reg.Paused || !f.shiftable(ctx, reg.Cluster))
	}
	return work.FanOut(ctx, f.Registry, "catalog", rests, func(cluster string) error {
		return f.RequestPass(ctx, cluster, tick)
	})
}
