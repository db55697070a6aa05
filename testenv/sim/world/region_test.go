package world_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/catalog"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// region is a world with the region pass over it.
type region struct {
	*world.World
	market *world.Market
	flow   *catalog.Region
	t      *testing.T
}

func newRegion(t *testing.T) region {
	w := world.New(world.Options{Types: []string{"m5.large", "c5.large"}})
	market := &world.Market{Catalog: w.Catalog}
	return region{w, market, w.Region(market, w.Clock.Now), t}
}

// pass runs the pass and returns what it did for the one region there is.
func (r region) pass() catalog.RegionOutcome {
	r.t.Helper()
	outcomes, err := r.flow.Run(r.t.Context())
	if err != nil || len(outcomes) != 1 {
		r.t.Fatalf("%+v %v", outcomes, err)
	}
	return outcomes[0]
}

func (r region) kept() model.InstanceCatalog {
	r.t.Helper()
	c, err := r.RegionCatalogs.RegionCatalog(r.t.Context(), world.Registration())
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func (r region) want(refreshed ...string) {
	r.t.Helper()
	if got := r.pass(); !slices.Equal(got.Refreshed, refreshed) {
		r.t.Errorf("at %s refreshed %v, want %v (%s)", r.Clock.Now().Format(time.TimeOnly), got.Refreshed, refreshed, got.Skipped)
	}
}

// claim is an instance of the world in the ledger.
func (r region) claim() {
	r.t.Helper()
	ctx, reg := r.t.Context(), world.Registration()
	now := r.Clock.Now().Unix()
	fence, err := r.Ledger.Acquire(ctx, reg.Cluster, "test", now, now+60)
	if err != nil {
		r.t.Fatal(err)
	}
	intent := model.Intent{ID: "1", Pool: "default", Claims: []string{"default-1"}, State: model.IntentCalling}
	if err := r.Ledger.Record(ctx, fence, intent, []model.Claim{{Name: "default-1", Pool: "default", Intent: "1", State: model.Intended}}, nil); err != nil {
		r.t.Fatal(err)
	}
	if err := r.Ledger.Release(ctx, fence); err != nil {
		r.t.Fatal(err)
	}
}

// Idle, a region costs a read each tick and a refresh every twelve hours; spot prices follow the market only while somebody
// may buy by them.
func TestIT16RegionIsRefreshedAsOftenAsSomebodyNeedsIt(t *testing.T) {
	r := newRegion(t)
	r.want("types", "prices", "spot")
	for range 71 {
		r.Clock.Advance(10 * time.Minute)
		r.want()
	}
	r.Clock.Advance(10 * time.Minute)
	r.want("types", "prices", "spot")
	r.claim()
	r.Clock.Advance(9 * time.Minute)
	r.want()
	r.Clock.Advance(time.Minute)
	r.want("spot")
	if n := len(r.market.Asked); n != 3 {
		t.Errorf("the market was asked %d times", n)
	}
}

func TestPodsThatWaitMakeARegionBusy(t *testing.T) {
	r := newRegion(t)
	r.want("types", "prices", "spot")
	r.Cluster.CreatePod("web", model.PodShape{Namespace: "default", Requests: model.Resources{model.CPU: 100, model.Pods: 1}})
	r.Run() // kube-scheduler finds no place for it
	if err := r.Publish(t.Context(), 1, 1); err != nil {
		t.Fatal(err)
	}
	r.Clock.Advance(10 * time.Minute)
	r.want("spot")
	// What cannot be read counts as busy.
	r.Store.Lose()
	r.Clock.Advance(10 * time.Minute)
	if out := r.pass(); !slices.Equal(out.Refreshed, []string{"spot"}) || len(out.Problems) != 1 {
		t.Errorf("%+v", out)
	}
	// F4: and the watcher hears that it is gone.
	if lost, err := r.Ledger.Heartbeat(t.Context(), world.Name, 1, r.Clock.Now().Unix()); err != nil || !lost {
		t.Errorf("the watcher hears %t, %v", lost, err)
	}
}

// Where nobody bought anything for a while, whether somebody does is looked at every fifth minute.
func TestIdleRegionIsLookedAtEveryFifthMinute(t *testing.T) {
	r := newRegion(t)
	r.want("types", "prices", "spot")
	r.Clock.Advance(time.Hour + time.Minute)
	r.claim()
	for range 4 {
		r.want()
		r.Clock.Advance(time.Minute)
	}
	r.want("spot")
}

// A part that fails does not keep the others, is tried again after five minutes, and what was known of it stays.
func TestPR01RegionKeepsWhatCannotBeReadAndTriesAgain(t *testing.T) {
	r := newRegion(t)
	r.want("types", "prices", "spot")
	before := r.kept()
	r.Clock.Advance(13 * time.Hour)
	r.market.Failing = model.CatalogParts{Prices: true}
	if out := r.pass(); !slices.Equal(out.Refreshed, []string{"types", "spot"}) || len(out.Problems) != 1 {
		t.Errorf("%+v", out)
	}
	if after := r.kept(); after.PriceUnix != before.PriceUnix || after.ReadUnix == before.ReadUnix || after.TriedUnix == 0 {
		t.Errorf("read %d, prices %d, tried %d", after.ReadUnix, after.PriceUnix, after.TriedUnix)
	}
	r.market.Failing = model.CatalogParts{}
	r.Clock.Advance(4 * time.Minute)
	r.want()
	r.Clock.Advance(time.Minute)
	r.want("prices")
	if after := r.kept(); after.TriedUnix != 0 {
		t.Errorf("tried in vain at %d", after.TriedUnix)
	}
}

func TestPR03RegionWithoutAPriceListAsksForNone(t *testing.T) {
	r := newRegion(t)
	r.market.NoList = true
	r.want("types", "spot")
	r.Clock.Advance(13 * time.Hour)
	r.want("types", "spot")
	for _, parts := range r.market.Asked {
		if parts.Prices {
			t.Errorf("asked for %+v", parts)
		}
	}
	if c := r.kept(); c.PriceUnix != 0 || !c.Types[0].Offerings[0].Available {
		t.Errorf("prices of %d, %+v", c.PriceUnix, c.Types[0].Offerings[0])
	}
}

// The calls come out of what all clusters share, and where that is used up launches have it.
func TestRegionTakesItsCallsFromTheAllowance(t *testing.T) {
	r := newRegion(t)
	reg := world.Registration()
	empty := model.Allowance{AtUnix: r.Clock.Now().Unix(), CallsMilli: 20_000, ReadsMilli: 0}
	if err := r.Ledger.Spend(t.Context(), reg, empty); err != nil {
		t.Fatal(err)
	}
	if out := r.pass(); len(out.Refreshed) != 0 || !strings.Contains(out.Skipped, "used up") || len(r.market.Asked) != 0 {
		t.Errorf("%+v", out)
	}
	r.Clock.Advance(2 * time.Second) // thirty looks come back
	r.want("types", "prices", "spot")
	if a, err := r.Ledger.Allowance(t.Context(), reg); err != nil || a.ReadsMilli != 3_000 {
		t.Errorf("%+v %v", a, err)
	}
}

func TestRegionThatIsThrottledClosesTheAllowance(t *testing.T) {
	r := newRegion(t)
	r.Catalog.Fail(fault.New(fault.Throttled, "RequestLimitExceeded", "slow down"))
	if _, err := r.flow.Run(t.Context()); !fault.Is(err, fault.Throttled) {
		t.Errorf("%v", err)
	}
	if a, err := r.Ledger.Allowance(t.Context(), world.Registration()); err != nil || a.ClosedUntilUnix <= r.Clock.Now().Unix() || a.CallsMilli != 0 {
		t.Errorf("%+v %v", a, err)
	}
	if _, err := r.RegionCatalogs.RegionCatalog(t.Context(), world.Registration()); !fault.Is(err, fault.NotFound) {
		t.Errorf("a catalogue without types was stored: %v", err)
	}
}

func TestWhatNobodyCanReadIsReplaced(t *testing.T) {
	r := newRegion(t)
	r.RegionCatalogs.Spoil(world.Registration())
	if out := r.pass(); len(out.Refreshed) != 3 || len(out.Problems) != 1 || !strings.Contains(out.Problems[0], "replaced") {
		t.Errorf("%+v", out)
	}
	r.kept()
}

// racing stores another catalog while one is being read.
type racing struct {
	catalog.CatalogSource
	world *world.World
}

// one opens the same market for every cluster.
type one struct{ market catalog.CatalogSource }

func (o one) Connect(context.Context, model.Registration) (catalog.CatalogSource, error) {
	return o.market, nil
}

func (m racing) Refresh(ctx context.Context, known model.InstanceCatalog, parts model.CatalogParts) (model.InstanceCatalog, error) {
	next, err := m.CatalogSource.Refresh(ctx, known, parts)
	if parts.Any() {
		other := next
		other.Version = "faster"
		_, revision, _ := m.world.RegionCatalogs.Read(ctx, world.Registration())
		if err := m.world.RegionCatalogs.Write(ctx, world.Registration(), other, revision); err != nil {
			return known, err
		}
	}
	return next, err
}

func TestOfTwoPassesAtOnceOneIsStored(t *testing.T) {
	r := newRegion(t)
	r.flow.CatalogSources = one{racing{r.market, r.World}}
	if out := r.pass(); out.Skipped != "another run was faster" || len(out.Refreshed) != 0 {
		t.Errorf("%+v", out)
	}
	if c := r.kept(); c.Version != "faster" {
		t.Errorf("stored is %q", c.Version)
	}
}

// rights opens the market with those of one cluster only, and may not read with those of another.
type rights struct {
	refused, denied string
	market, blind   *world.Market
	asked           []string
}

func (m *rights) Connect(_ context.Context, reg model.Registration) (catalog.CatalogSource, error) {
	m.asked = append(m.asked, reg.Cluster)
	switch reg.Cluster {
	case m.refused:
		return nil, fault.New(fault.Denied, "AccessDenied", "the role is gone")
	case m.denied:
		return m.blind, nil
	}
	return m.market, nil
}

// One cluster's broken role does not blind the others of its account and region, nor another region's.
func TestRegionIsReadWithWhateverRightsThereAre(t *testing.T) {
	r := newRegion(t)
	for _, name := range []string{"a-broken", "b-blind", "paused"} {
		reg := world.Registration()
		reg.Cluster, reg.Paused = name, name == "paused"
		if err := r.Ledger.Register(t.Context(), reg); err != nil {
			t.Fatal(err)
		}
	}
	elsewhere := world.Registration()
	elsewhere.Cluster, elsewhere.Region = "a-broken-too", "eu-west-1"
	if err := r.Ledger.Register(t.Context(), elsewhere); err != nil {
		t.Fatal(err)
	}
	m := &rights{refused: "a-broken", denied: "b-blind", market: r.market, blind: &world.Market{Catalog: r.Catalog, Denied: true}}
	r.flow.CatalogSources = m
	outcomes, err := r.flow.Run(t.Context())
	if err != nil || len(outcomes) != 2 || len(outcomes[0].Refreshed) != 3 || len(outcomes[1].Refreshed) != 3 {
		t.Fatalf("%+v %v", outcomes, err)
	}
	if outcomes[0].Region != "eu-west-1" || slices.Contains(m.asked, "paused") {
		t.Errorf("%+v, asked with the rights of %v", outcomes, m.asked)
	}
	m.refused, m.denied = "a-broken-too", "world"
	r.Clock.Advance(13 * time.Hour)
	outcomes, err = r.flow.Run(t.Context())
	if !fault.Is(err, fault.Denied) || len(outcomes) != 2 || len(outcomes[1].Refreshed) != 3 {
		t.Errorf("%+v %v", outcomes, err)
	}
}

// panicking breaks in one region.
type panicking struct{ rights }

func (m *panicking) Connect(ctx context.Context, reg model.Registration) (catalog.CatalogSource, error) {
	if reg.Region == "eu-west-1" {
		panic("a region nobody thought of")
	}
	return m.rights.Connect(ctx, reg)
}

func TestAPanicOverOneRegionStopsNoOther(t *testing.T) {
	r := newRegion(t)
	elsewhere := world.Registration()
	elsewhere.Cluster, elsewhere.Region = "a", "eu-west-1"
	if err := r.Ledger.Register(t.Context(), elsewhere); err != nil {
		t.Fatal(err)
	}
	r.flow.CatalogSources = &panicking{rights{market: r.market}}
	outcomes, err := r.flow.Run(t.Context())
	if fault.CodeOf(err) != "Panic" || len(outcomes) != 2 || len(outcomes[1].Refreshed) != 3 {
		t.Errorf("%+v %v", outcomes, err)
	}
}

// IT-04: what was learned comes into the catalog with the next refresh, changes its version, and goes when it is forgotten.
func TestIT04RegionFoldsWhatWasLearnedIntoTheCatalog(t *testing.T) {
	r := newRegion(t)
	r.want("types", "prices", "spot")
	before := r.kept()
	learned := model.Learned{Images: "a", MiB: 7700, SeenUnix: r.Clock.Now().Unix()}
	for _, name := range []string{"m5.large", "gone.large"} {
		if err := r.Ledger.Learn(t.Context(), world.Registration(), model.LearnedOf{InstanceType: name, Learned: learned}); err != nil {
			t.Fatal(err)
		}
	}
	r.claim()
	r.Clock.Advance(10 * time.Minute)
	if out := r.pass(); out.Learned != 1 {
		t.Errorf("%+v", out)
	}
	after := r.kept()
	of := func(c model.InstanceCatalog, name string) []model.Learned {
		for _, m := range c.Types {
			if m.Name == name {
				return m.LearnedMiB
			}
		}
		return nil
	}
	if !slices.Equal(of(after, "m5.large"), []model.Learned{learned}) || of(after, "c5.large") != nil || after.Version == before.Version {
		t.Errorf("learned %+v, version %q after %q", of(after, "m5.large"), after.Version, before.Version)
	}
	r.Clock.Advance(60 * 24 * time.Hour)
	if out := r.pass(); out.Learned != 0 || of(r.kept(), "m5.large") != nil {
		t.Errorf("after sixty days %+v", of(r.kept(), "m5.large"))
	}
}
