package provision_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

var onePod = model.PodShape{Namespace: "default", Requests: model.Resources{model.CPU: 500, model.Memory: gib, model.Pods: 1}}

// shelve has the region pass store the catalog as it is now.
func shelve(t *testing.T, w *world.World, market *world.Market) {
	t.Helper()
	if outcomes, err := w.Region(market, w.Clock.Now).Run(t.Context()); err != nil || len(outcomes) != 1 || len(outcomes[0].Refreshed) == 0 {
		t.Fatalf("%+v %v", outcomes, err)
	}
}

// IT-16: the shared catalog is decided by, and the decision says which it was and how old its parts were.
func TestIT16DecisionSaysWhichCatalogItWentBy(t *testing.T) {
	w := start(t, world.Options{})
	began := w.Clock.Now()
	shelve(t, w, &world.Market{Catalog: w.Catalog})
	pending(w, "web", 1, onePod)
	out := pass(t, w, provision.TriggerBatch)
	if out.Claims != 1 || out.Catalog == nil || out.Catalog.Source != "s3" || len(out.Catalog.Stale) != 0 {
		t.Fatalf("%+v by %+v", out, out.Catalog)
	}
	decision, kept := w.Store.Decision(out.Decision)
	if use := decision.Catalog; !kept || use.Source != "s3" || use.Version == "" || use.ReadUnix != began.Unix() || use.PriceUnix != began.Unix() || use.SpotUnix != began.Unix() {
		t.Errorf("the decision went by %+v", decision.Catalog)
	}
}

// A stale catalog is used, and what was decided by it says how old it was.
func TestStaleCatalogIsUsedAndMarked(t *testing.T) {
	cases := map[string]struct {
		market func(*world.Market)
		age    time.Duration
		source string
		stale  []string
	}{
		"fresh":                   {nil, 29 * time.Minute, "s3", nil},
		"spot":                    {nil, 2 * time.Hour, "s3", []string{"spot prices are 2h0m1s old"}},
		"everything":              {nil, 14 * time.Hour, "s3", []string{"instance types are 14h0m1s old", "on-demand prices are 14h0m1s old", "spot prices are 14h0m1s old"}},
		"too old to go by":        {nil, 25 * time.Hour, "ec2", nil},
		"no price list":           {func(m *world.Market) { m.NoList = true }, 0, "s3", []string{"on-demand prices were never read: a built-in table is used"}},
		"spot prices never read":  {func(m *world.Market) { m.Failing.Spot = true }, 0, "s3", []string{"spot prices were never read: on-demand prices are used"}},
		"the price list was lost": {func(m *world.Market) { m.Failing.Prices = true }, 0, "s3", []string{"on-demand prices were never read: a built-in table is used"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := start(t, world.Options{})
			market := &world.Market{Catalog: w.Catalog}
			if c.market != nil {
				c.market(market)
			}
			shelve(t, w, market)
			w.Clock.Advance(c.age)
			pending(w, "web", 1, onePod)
			out := pass(t, w, provision.TriggerBatch)
			if out.Claims != 1 || out.Catalog.Source != c.source || !slices.Equal(out.Catalog.Stale, c.stale) {
				t.Errorf("%d claims by %+v\nwant source %s, stale %q", out.Claims, out.Catalog, c.source, c.stale)
			}
		})
	}
}

// However old the shared catalog is, it does where EC2 cannot be asked; and where there is neither, nothing is launched and
// the run says why.
func TestOldCatalogDoesWhereEC2CannotBeAsked(t *testing.T) {
	w := start(t, world.Options{})
	shelve(t, w, &world.Market{Catalog: w.Catalog})
	pending(w, "web", 1, onePod)
	pass(t, w, provision.TriggerBatch) // resolves the class
	settle(t, w)
	w.Clock.Advance(30 * 24 * time.Hour)
	w.Catalog.Fail(errors.New("no answer"))
	pending(w, "late", 1, model.PodShape{Namespace: "default", Requests: model.Resources{model.CPU: 30_000, model.Pods: 1}})
	out, err := w.Process(world.Fault{}).Run(t.Context(), provision.TriggerBatch)
	if err != nil || out.Claims != 1 || out.Catalog.Source != "s3" || len(out.Catalog.Stale) != 3 {
		t.Errorf("%+v by %+v: %v", out, out.Catalog, err)
	}
	if !slices.ContainsFunc(out.Problems, func(p string) bool { return strings.Contains(p, "an older one is used") }) {
		t.Errorf("problems %q", out.Problems)
	}
}

func TestCatalogThatCannotBeReadAtAllLaunchesNothing(t *testing.T) {
	w := start(t, world.Options{})
	w.Catalog.Fail(errors.New("no answer"))
	pending(w, "web", 1, onePod)
	out, err := w.Process(world.Fault{}).Run(t.Context(), provision.TriggerBatch)
	if err == nil || out.Claims != 0 || out.Catalog != nil {
		t.Errorf("%+v: %v", out, err)
	}
}

func TestCacheThatCannotBeReadSendsTheRunToEC2(t *testing.T) {
	for name, trouble := range map[string]func(*world.World){
		"out of reach": func(w *world.World) { w.RegionCatalogs.Unreachable(w.Clock.Now().Add(time.Hour)) },
		"spoilt":       func(w *world.World) { w.RegionCatalogs.Spoil(world.Registration()) },
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, world.Options{})
			trouble(w)
			pending(w, "web", 1, onePod)
			if out := pass(t, w, provision.TriggerBatch); out.Claims != 1 || out.Catalog.Source != "ec2" || len(out.Problems) == 0 {
				t.Errorf("%+v by %+v", out, out.Catalog)
			}
		})
	}
}

// IT-16: a marked offering is marked for every class at once, in the same run and the next, and for no other type: nothing of
// what is offered is kept from one plan to the next.
func TestIT16UnavailableTypeIsSeenByEveryClassAndByNoOtherType(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large", "m5a.large"}})
	w.Cluster.AddClass(world.Class("other"))
	w.Cluster.AddPool(world.Pool("second", "other"))
	shelve(t, w, &world.Market{Catalog: w.Catalog})
	now := w.Clock.Now().Unix()
	var unavailableOfferings []model.UnavailableOffering
	for _, capacityType := range []string{model.OnDemand, model.Spot} {
		for _, zone := range []string{"us-west-2a", "us-west-2b", "us-west-2c"} {
			unavailableOfferings = append(unavailableOfferings, model.UnavailableOffering{OfferingKey: model.OfferingKey{InstanceType: "m5a.large", Zone: zone, CapacityType: capacityType}, Failures: 1, AtUnix: now, UntilUnix: now + 3600, ForgetUnix: now + 7200, Reason: "InsufficientInstanceCapacity"})
		}
	}
	if err := w.Ledger.MarkUnavailable(t.Context(), world.Registration(), unavailableOfferings); err != nil {
		t.Fatal(err)
	}
	for _, pool := range []string{"default", "second"} {
		shape := onePod
		shape.NodeSelector = map[string]string{model.LabelNodePool: pool}
		shape.Requests = model.Resources{model.CPU: 1500, model.Pods: 1}
		pending(w, pool, 1, shape)
	}
	if out := pass(t, w, provision.TriggerBatch); out.Claims != 2 {
		t.Fatalf("%+v", out)
	}
	for _, claim := range load(t, w).Claims {
		if claim.InstanceType != "m5.large" {
			t.Errorf("%s of class %s is a %s", claim.Name, claim.Class, claim.InstanceType)
		}
	}
}
