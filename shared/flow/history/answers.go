package history

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/core/headroom"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Node says why a node is there, why it stays, or who took it away. asked is the name of a NodeClaim or a node, or an instance id.
func (f *Flow) Node(ctx context.Context, clusterState *explain.Cluster, asked string) (*explain.NodeAnswer, error) {
	found := explain.Find(clusterState, asked)
	var facts explain.NodeFacts
	reg := clusterState.Installation.Registration
	if claim := found.Claim; claim != nil && claim.Decision != "" {
		registration, err := f.Records.FindDecision(ctx, reg.Cluster, claim.Decision)
		switch {
		case err == nil:
			facts.Launch = &registration
			if facts.Market, err = f.market(ctx, reg, &registration, claim); err != nil {
				return nil, err
			}
		case !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Invalid):
			return nil, fmt.Errorf("read decision %s: %w", claim.Decision, err)
		}
	}
	if id := disruptedBy(found); id != "" {
		moved, err := f.Records.FindDisruption(ctx, reg.Cluster, id)
		switch {
		case err == nil:
			facts.Moved = &moved
		case !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Invalid):
			return nil, fmt.Errorf("read decision %s: %w", id, err)
		}
	}
	if found.Node != nil && found.Claim != nil && !clusterState.Installation.Past {
		facts.Plan = PlanDisruption(clusterState)
	}
	return explain.Node(clusterState, asked, found, facts), nil
}

// disruptedBy returns the id of the decision to disrupt a node, "" where there is none. A command's id is its decision's and a number.
func disruptedBy(found explain.Found) string {
	if found.Removal != nil && found.Removal.Command != "" && found.Removal.Decision != "" {
		return found.Removal.Decision
	}
	if found.Claim == nil || found.Claim.Command == "" {
		return ""
	}
	id, _, _ := strings.Cut(found.Claim.Command, "-")
	return id
}

// market returns what a claim's class could buy when it was launched, at the prices that are known now; nil where that is not known.
func (f *Flow) market(ctx context.Context, reg model.Registration, registration *model.Decision, claim *model.Claim) ([]model.InstanceType, error) {
	var q *model.PlannerInput
	for r := range registration.Rounds {
		round := &registration.Rounds[r]
		if slices.ContainsFunc(round.Plan.Claims, func(c model.PlannedClaim) bool { return c.Name == claim.Name }) {
			q = round.Input
		}
		if slices.ContainsFunc(round.Launched, func(c model.Claim) bool { return c.Name == claim.Name }) {
			break
		}
	}
	if q == nil {
		return nil, nil
	}
	i := slices.IndexFunc(q.Classes, func(c model.PlannerClass) bool { return c.Name == claim.Class })
	if i < 0 {
		return nil, nil
	}
	catalog, err := f.Catalogs.RegionCatalog(ctx, reg)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	class := model.Class{Name: claim.Class, Status: q.Classes[i].Status}
	return offering.Mask(offering.Catalog(catalog.Types, class, q.Offerings), class.Status.Subnets, offering.UnavailableForClass(q.UnavailableOfferings, &class.Status), q.NowUnix), nil
}

// PlanDisruption asks what would be disrupted of the cluster now. Live claims are the ledger's.
func PlanDisruption(clusterState *explain.Cluster) *model.DisruptPlan {
	ask := &clusterState.Ask
	in := disruption.Input{
		Snapshot: ask.Snapshot, Catalogs: ask.Catalogs, ClassProblems: ask.ClassProblems, Claims: ask.Claims, Usage: ask.Usage, UnavailableOfferings: ask.UnavailableOfferings, NowUnix: ask.NowUnix, Salt: "why",
		Settings: disruption.Settings{IgnorePreferences: ask.IgnorePreferences, BestEffortMinValues: ask.BestEffortMinValues},
	}
	if clusterState.Installation != nil {
		in.Claims = nil
		for _, claim := range clusterState.Installation.Ledger.Claims {
			if claim.Live() {
				in.Claims = append(in.Claims, claim)
			}
		}
		in.Commands = clusterState.Installation.Ledger.Commands
		in.Stops = clusterState.Installation.Ledger.StopsInForce()
	}
	plan := disruption.Plan(in)
	return &plan
}

// Savings says what disrupting nodes came to from fromUnix up to now.
func (f *Flow) Savings(ctx context.Context, reg model.Registration, fromUnix int64) (*explain.Saving, error) {
	ledger, err := f.Ledger.Load(ctx, reg)
	if err != nil {
		return nil, fmt.Errorf("read the ledger of cluster %s: %w", reg.Cluster, err)
	}
	now := f.nowOf(&ledger)
	decisions, disruptions, err := f.decided(ctx, reg, fromUnix, now+1)
	if err != nil {
		return nil, err
	}
	removals, err := f.Records.Removals(ctx, reg.Cluster, fromUnix, now+1)
	if err != nil {
		return nil, fmt.Errorf("read removals of cluster %s: %w", reg.Cluster, err)
	}
	return explain.Savings(decisions, disruptions, removals, &ledger, fromUnix, now), nil
}

// Decisions lists what was decided from fromUnix up to now, the newest first.
func (f *Flow) Decisions(ctx context.Context, reg model.Registration, fromUnix int64) ([]explain.Decided, error) {
	toUnix := f.Now().Unix() + 60 // records are dated by the ledger's clock
	decisions, disruptions, err := f.decided(ctx, reg, fromUnix, toUnix)
	if err != nil {
		return nil, err
	}
	return explain.Decisions(decisions, disruptions), nil
}

// decided reads the decisions of a span, about provisioning and about disruption.
func (f *Flow) decided(ctx context.Context, reg model.Registration, fromUnix, toUnix int64) ([]model.Decision, []model.Disrupted, error) {
	decisions, err := f.Records.Decisions(ctx, reg.Cluster, fromUnix, toUnix)
	if err != nil {
		return nil, nil, fmt.Errorf("read decisions of cluster %s: %w", reg.Cluster, err)
	}
	disruptions, err := f.Records.Disruptions(ctx, reg.Cluster, fromUnix, toUnix)
	if err != nil {
		return nil, nil, fmt.Errorf("read decisions of cluster %s: %w", reg.Cluster, err)
	}
	return decisions, disruptions, nil
}

func (f *Flow) nowOf(ledger *model.Ledger) int64 {
	if ledger.NowUnix != 0 {
		return ledger.NowUnix
	}
	return f.Now().Unix()
}

// maxSamples is how many snapshots a report reads at most.
const maxSamples = 2_000

// Costs says what instances cost from fromUnix up to now and whom it is due to, by a snapshot each stepSeconds. What the last snapshot's
// nodes stay for is in it.
func (f *Flow) Costs(ctx context.Context, reg model.Registration, fromUnix, stepSeconds int64) (*explain.Cost, error) {
	ledger, err := f.Ledger.Load(ctx, reg)
	if err != nil {
		return nil, fmt.Errorf("read the ledger of cluster %s: %w", reg.Cluster, err)
	}
	now := f.nowOf(&ledger)
	if stepSeconds <= 0 || (now-fromUnix)/stepSeconds >= maxSamples {
		return nil, fault.New(fault.Invalid, "TooManySamples", "a report reads at most %d snapshots: take a longer step, or a shorter span", maxSamples)
	}
	decisions, err := f.Records.Decisions(ctx, reg.Cluster, fromUnix, now+1)
	if err != nil {
		return nil, fmt.Errorf("read decisions of cluster %s: %w", reg.Cluster, err)
	}
	removals, err := f.Records.Removals(ctx, reg.Cluster, fromUnix, now+1)
	if err != nil {
		return nil, fmt.Errorf("read removals of cluster %s: %w", reg.Cluster, err)
	}
	samples, err := f.samples(ctx, reg, fromUnix, now, stepSeconds)
	if err != nil {
		return nil, err
	}
	clusterState, err := f.ReadCluster(ctx, reg, Query{Window: 1})
	if err != nil {
		return nil, err
	}
	samples[len(samples)-1].Snapshot = clusterState.Ask.Snapshot
	cost := explain.Costs(explain.InstanceLifetimes(decisions, removals, ledger.Claims), samples, clusterState.Ask.Catalogs)
	cost.Block(PlanDisruption(clusterState))
	return cost, nil
}

// samples returns the cluster as it was in the middle of each step; the last one is empty. They are read in their order, because a store
// may answer with a later snapshot that it has in memory.
func (f *Flow) samples(ctx context.Context, reg model.Registration, fromUnix, now, stepSeconds int64) ([]explain.Sample, error) {
	samples := []explain.Sample{}
	for at := min(fromUnix, now-1); at < now; at += stepSeconds {
		sample := explain.Sample{FromUnix: at, Seconds: min(stepSeconds, now-at), Snapshot: &model.Snapshot{}}
		if at+stepSeconds < now {
			var err error
			if sample.Snapshot, err = f.asOf(ctx, reg, at+stepSeconds/2); err != nil {
				return nil, err
			}
		}
		samples = append(samples, sample)
	}
	return samples, nil
}

// asOf returns the cluster's snapshot at a past time, an empty one where none of then is kept.
func (f *Flow) asOf(ctx context.Context, reg model.Registration, atUnix int64) (*model.Snapshot, error) {
	manifest, err := f.Snapshots.ManifestAsOf(ctx, reg.Cluster, atUnix)
	if fault.Is(err, fault.NotFound) {
		return &model.Snapshot{}, nil
	}
	if err != nil {
		return nil, err
	}
	snapshot, err := f.Snapshots.SnapshotAt(ctx, manifest)
	if fault.Is(err, fault.NotFound) {
		return &model.Snapshot{}, nil
	}
	if err != nil {
		return nil, err
	}
	return headroom.WithPlaceholders(snapshot), nil
}
