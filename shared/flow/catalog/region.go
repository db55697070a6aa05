package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/shared/core/allowance"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
	"github.com/joiner-sh/joiner/shared/work"
)

// Region is the pass over each account and region with attached clusters, with its ports and its clock: it keeps their
// instance catalogs fresh. It keeps nothing between runs, and takes no lease: of two at work at once one's catalog is
// not stored.
type Region struct {
	Registry       port.Registry
	Ledgers        port.Ledger
	Snapshots      port.Snapshots
	Losses         work.LossReporter // nil = the watcher finds by itself what of its snapshot is gone
	Catalogs       Catalogs
	CatalogSources port.Connector[CatalogSource] // of regions; opening calls nobody
	Learnings      Learnings
	Allowances     port.Allowances

	Now      func() time.Time
	Settings RegionSettings
	Effects  work.EffectHook // nil but where a test wants to see or stop effects
}

// RegionSettings are the numbers of the pass. A field that is zero has the default of its tag.
type RegionSettings struct {
	TypesEvery  time.Duration   `default:"12h"` // instance types and where they are offered, and with them spot prices
	PricesEvery time.Duration   `default:"12h"` // on-demand prices
	SpotEvery   time.Duration   `default:"10m"` // spot prices, while a cluster has claims or pods that wait
	RetryAfter  time.Duration   `default:"5m"`  // after a part could not be read
	Rates       allowance.Rates // what all clusters share of EC2's API
}

// RegionOutcome is what the pass did for one account and region, for one log line.
type RegionOutcome struct {
	Account   string   `json:"account,omitempty"`
	Region    string   `json:"region"`
	Skipped   string   `json:"skipped,omitempty"`   // why nothing was stored
	Refreshed []string `json:"refreshed,omitempty"` // types, prices, spot
	Types     int      `json:"types,omitempty"`
	Unpriced  int      `json:"unpriced,omitempty"` // types nothing of which can be bought for want of a price
	Learned   int      `json:"learned,omitempty"`  // types whose memory was learned
	Version   string   `json:"version,omitempty"`
	Millis    int64    `json:"millis"`
	Problems  []string `json:"problems,omitempty"`
}

// effectInstanceTypes is what a test may see or stop.
const effectInstanceTypes = "machines"

// rightsTried is with how many clusters' permissions a region is read at most, one after the other.
const rightsTried = 3

// Run makes the pass over every account and region. Each is independent; the error joins those that failed.
func (f *Region) Run(ctx context.Context) ([]RegionOutcome, error) {
	var failures []error
	registrations, err := f.Registry.Clusters(ctx)
	if err != nil { // of some, perhaps: the others have their regions read
		failures = append(failures, fmt.Errorf("list attached clusters: %w", err))
	}
	scopes := map[[2]string][]model.Registration{}
	for _, reg := range registrations {
		if !reg.Paused {
			scope := [2]string{reg.Account, reg.Region}
			scopes[scope] = append(scopes[scope], reg)
		}
	}
	var outcomes []RegionOutcome
	for _, scope := range slices.SortedFunc(maps.Keys(scopes), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		p := &regionPass{flow: f, settings: work.WithDefaults(f.Settings), clusters: scopes[scope], reg: scopes[scope][0]}
		p.Invocation = (&work.Invocation{Clock: f.Now, Hook: f.Effects}).Begin()
		p.out = RegionOutcome{Account: scope[0], Region: scope[1]}
		p.callQuota = callQuota{port: f.Allowances, rates: p.settings.Rates.WithDefaults(), reg: p.reg, now: p.NowUnix}
		if err := p.guarded(ctx); err != nil {
			failures = append(failures, fmt.Errorf("refresh the catalog of instance types of %s in %s: %w", scope[0], scope[1], err))
		}
		p.Reached("done")
		p.out.Millis, p.out.Problems = p.Millis()["done"], p.Problems()
		outcomes = append(outcomes, p.out)
	}
	return outcomes, errors.Join(failures...)
}

// regionPass is the pass over one account and region.
type regionPass struct {
	*work.Invocation
	flow      *Region
	settings  RegionSettings
	clusters  []model.Registration // of the account and region, by name; not empty
	reg       model.Registration   // the first of them, which stands for all
	callQuota callQuota
	out       RegionOutcome
}

// guarded is refreshCatalog, with a panic turned into an error: other regions are passed over.
func (p *regionPass) guarded(ctx context.Context) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fault.New(fault.Internal, "Panic", "the region pass panicked: %v\n%s", v, debug.Stack())
		}
	}()
	return p.refreshCatalog(ctx)
}

func (p *regionPass) refreshCatalog(ctx context.Context) error {
	// 1. What is there, and what of it is too old.
	known, revision, err := p.flow.Catalogs.Read(ctx, p.reg)
	if fault.Is(err, fault.Invalid) {
		p.Problem("the stored catalog is replaced: %v", err)
		known = model.InstanceCatalog{}
	} else if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	markets, err := p.markets(ctx)
	if err != nil {
		return err
	}
	parts := p.due(ctx, known, markets[0].HasPriceList())
	if !parts.Any() {
		p.out.Skipped = "nothing is due"
		p.describe(known)
		return nil
	}

	// 2. It is read again, within what the region's clusters may take of EC2's API together.
	if granted, err := p.callQuota.takeReads(ctx, parts.Calls()); err != nil || !granted {
		p.out.Skipped = "all clusters of the region together have used up the EC2 API quota for now"
		p.describe(known)
		return err
	}
	next, failure := p.refresh(ctx, markets, known, parts)
	if err := p.callQuota.settle(ctx, fault.Is(failure, fault.Throttled)); err != nil {
		p.Problem("settle EC2 API calls: %v", err)
	}
	if len(next.Types) == 0 {
		return failure
	}
	next.TriedUnix = 0
	if failure != nil {
		p.Problem("%v", failure)
		next.TriedUnix = p.NowUnix()
	}

	// 3. What nodes have shown since.
	if next, err = p.fold(ctx, markets[0], next); err != nil {
		p.Problem("learned memory sizes of instance types stay as they were: %v", err)
	}

	// 4. All functions see it.
	err = p.Effect(ctx, effectInstanceTypes, func() error { return p.flow.Catalogs.Write(ctx, p.reg, next, revision) })
	if fault.Is(err, fault.Conflict) {
		p.out.Skipped, p.out.Refreshed = "another run was faster", nil
		return nil
	}
	p.describe(next)
	return err
}

// markets opens the region with the permissions of some of its clusters, in their order; an error where that goes for none.
func (p *regionPass) markets(ctx context.Context) ([]CatalogSource, error) {
	var opened []CatalogSource
	var failures []error
	for _, reg := range p.clusters[:min(len(p.clusters), rightsTried)] {
		market, err := p.flow.CatalogSources.Connect(ctx, reg)
		if err != nil {
			failures = append(failures, fmt.Errorf("read EC2 with the role of cluster %s: %w", reg.Cluster, err))
			continue
		}
		opened = append(opened, market)
	}
	if len(opened) == 0 {
		return nil, errors.Join(failures...)
	}
	return opened, nil
}

// refresh reads the parts with the first permissions that may: a cluster whose role was broken does not blind the others.
func (p *regionPass) refresh(ctx context.Context, markets []CatalogSource, known model.InstanceCatalog, parts model.CatalogParts) (model.InstanceCatalog, error) {
	next := known
	var err error
	for _, market := range markets {
		next, err = market.Refresh(ctx, known, parts)
		if !fault.Is(err, fault.Denied) {
			break
		}
	}
	note := func(what string, before, after int64) {
		if before != after {
			p.out.Refreshed = append(p.out.Refreshed, what)
		}
	}
	note("types", known.ReadUnix, next.ReadUnix)
	note("prices", known.PriceUnix, next.PriceUnix)
	note("spot", known.SpotUnix, next.SpotUnix)
	return next, err
}

// due returns the parts that are to be read now. Spot prices are read often only while somebody may buy by them.
func (p *regionPass) due(ctx context.Context, known model.InstanceCatalog, priceList bool) model.CatalogParts {
	age := func(unix int64) time.Duration { return p.Clock().Sub(time.Unix(unix, 0)) }
	if known.TriedUnix != 0 && age(known.TriedUnix) < p.settings.RetryAfter {
		return model.CatalogParts{}
	}
	var parts model.CatalogParts
	parts.Types = age(known.ReadUnix) >= p.settings.TypesEvery
	parts.Prices = priceList && age(known.PriceUnix) >= p.settings.PricesEvery
	spotAge := age(known.SpotUnix)
	parts.Spot = spotAge >= p.settings.TypesEvery || spotAge >= p.settings.SpotEvery && (parts.Types || p.asks(spotAge) && p.busy(ctx))
	return parts
}

// asks reports whether it is worth reading ledgers to know whether somebody may buy by spot prices of that age: each minute, and where
// nobody did for a while every fifth.
func (p *regionPass) asks(spotAge time.Duration) bool {
	return spotAge < 2*p.settings.SpotEvery || p.NowUnix()/60%5 == 0
}

// busy reports whether some cluster of the region has claims, or pods that wait for one. What cannot be read counts as
// busy: fresh prices hurt nobody.
func (p *regionPass) busy(ctx context.Context) bool {
	for _, reg := range p.clusters {
		ledger, err := p.flow.Ledgers.Load(ctx, reg)
		if err != nil {
			p.Problem("cluster %s counts as busy: %v", reg.Cluster, err)
			return true
		}
		if len(ledger.Claims)+len(ledger.Intents)+len(ledger.Unread) > 0 {
			return true
		}
		if ledger.ManifestFault != "" {
			p.Problem("cluster %s counts as busy: %s", reg.Cluster, ledger.ManifestFault)
			return true
		}
		if ledger.Manifest == nil {
			continue
		}
		snapshot, err := p.flow.Snapshots.SnapshotAt(ctx, *ledger.Manifest)
		if err != nil {
			p.ReportLost(ctx, p.flow.Losses, *ledger.Manifest, err)
			p.Problem("cluster %s counts as busy: %v", reg.Cluster, err)
			return true
		}
		if len(pack.Pending(snapshot)) > 0 {
			return true
		}
	}
	return false
}

// fold replaces learned memory sizes in the catalog with those in the ledger.
func (p *regionPass) fold(ctx context.Context, market CatalogSource, catalog model.InstanceCatalog) (model.InstanceCatalog, error) {
	all, err := p.flow.Learnings.Learned(ctx, p.reg, p.NowUnix())
	if err != nil {
		return catalog, err
	}
	byType := map[string][]model.Learned{}
	for _, learned := range all {
		byType[learned.InstanceType] = append(byType[learned.InstanceType], learned.Learned)
	}
	types, changed := slices.Clone(catalog.Types), false
	for i := range types {
		learned := byType[types[i].Name]
		if !slices.Equal(learned, types[i].LearnedMiB) {
			types[i].LearnedMiB, changed = learned, true
		}
	}
	if !changed {
		return catalog, nil
	}
	catalog.Types = types
	return market.Refresh(ctx, catalog, model.CatalogParts{}) // the version is of the whole content
}

// describe says in the outcome what the catalog is now.
func (p *regionPass) describe(catalog model.InstanceCatalog) {
	p.out.Types, p.out.Version = len(catalog.Types), catalog.Version
	for i := range catalog.Types {
		m := &catalog.Types[i]
		if len(m.LearnedMiB) > 0 {
			p.out.Learned++
		}
		if len(m.Offerings) > 0 && !slices.ContainsFunc(m.Offerings, func(o model.Offering) bool { return o.Available }) {
			p.out.Unpriced++
		}
	}
}
