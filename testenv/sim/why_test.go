package sim_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/history"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// archive is what a world keeps, as the ports of flow/history.
type archive struct{ *world.World }

func (a archive) Clusters(ctx context.Context) ([]model.Registration, error) {
	return a.Ledger.Clusters(ctx)
}

func (a archive) Load(ctx context.Context, reg model.Registration) (model.Ledger, error) {
	return a.Ledger.Load(ctx, reg)
}

func (a archive) SnapshotAt(ctx context.Context, manifest model.Manifest) (*model.Snapshot, error) {
	return a.Store.SnapshotAt(ctx, manifest)
}

func (a archive) ManifestAsOf(_ context.Context, cluster string, _ int64) (model.Manifest, error) {
	return model.Manifest{}, fault.New(fault.NotFound, "", "a world keeps no past of cluster %s", cluster)
}

func (a archive) Decisions(_ context.Context, _ string, fromUnix, toUnix int64) ([]model.Decision, error) {
	return within(a.Store.Decisions(), fromUnix, toUnix, func(d model.Decision) int64 { return d.AtUnix }), nil
}

func (a archive) Disruptions(_ context.Context, _ string, fromUnix, toUnix int64) ([]model.Disrupted, error) {
	return within(a.Store.Disruptions(), fromUnix, toUnix, func(d model.Disrupted) int64 { return d.AtUnix }), nil
}

func (a archive) Removals(_ context.Context, _ string, fromUnix, toUnix int64) ([]model.Removal, error) {
	return within(a.Store.Removals(), fromUnix, toUnix, func(r model.Removal) int64 { return r.GoneUnix }), nil
}

// within returns the records of a span, by time, then in their order.
func within[T any](records []T, fromUnix, toUnix int64, at func(T) int64) []T {
	records = slices.DeleteFunc(records, func(r T) bool { return at(r) < fromUnix || at(r) >= toUnix })
	slices.SortStableFunc(records, func(a, b T) int { return cmp.Compare(at(a), at(b)) })
	return records
}

func (a archive) FindDecision(_ context.Context, _, id string) (model.Decision, error) {
	if d, kept := a.Store.Decision(id); kept {
		return d, nil
	}
	return model.Decision{}, fault.New(fault.NotFound, "", "no decision %s", id)
}

func (a archive) FindDisruption(_ context.Context, _, id string) (model.Disrupted, error) {
	if d, kept := a.Store.Disruption(id); kept {
		return d, nil
	}
	return model.Disrupted{}, fault.New(fault.NotFound, "", "no decision %s", id)
}

func (a archive) RegionCatalog(ctx context.Context, reg model.Registration) (model.InstanceCatalog, error) {
	catalog, err := a.RegionCatalogs.RegionCatalog(ctx, reg)
	if fault.Is(err, fault.NotFound) { // as once the catalog function has run
		return a.Catalog.InstanceTypes(ctx)
	}
	return catalog, err
}

// clusterState reads the world as it is.
func (a archive) clusterState(t *testing.T) (*history.Flow, *explain.Cluster) {
	t.Helper()
	flow := &history.Flow{Registry: a, Ledger: a, Snapshots: a, Records: a, Catalogs: a, Now: a.Clock.Now}
	reg, err := flow.Registration(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	clusterState, err := flow.ReadCluster(t.Context(), reg, history.Query{})
	if err != nil {
		t.Fatal(err)
	}
	return flow, clusterState
}

// D3, in worlds that are played: what is told of the first pod at a time, asked as a person would, while the functions are at work.
func TestD3WhyAPodWaitsInAPlayedWorld(t *testing.T) {
	t.Parallel()
	short := func(code string) func(*world.World, func(time.Duration, func())) {
		return func(w *world.World, _ func(time.Duration, func())) {
			w.Fleet.Short(world.Shortage{Offering: model.OfferingKey{InstanceType: "m5.large"}, Code: code, From: world.Start, Until: world.Start.Add(time.Hour)})
		}
	}
	tests := []struct {
		name    string
		at      time.Duration
		change  func(*sim.Scenario)
		arrange func(*world.World, func(time.Duration, func()))
		code    string
		says    []string
	}{
		{"its machine has not joined", 20 * time.Second, nil, nil, explain.Joining, []string{"the instance was launched", "m5.large on-demand"}},
		{"it is bound", 4 * time.Minute, nil, nil, explain.Bound, []string{"is not pending: it is bound to node", "m5.large"}},
		{"nothing is to be had", 3 * time.Minute, nil, short("InsufficientInstanceCapacity"), pack.NoOffering, []string{"InsufficientInstanceCapacity", "tried again at 2026-03-01T12:", "wait, or let"}},
		{"the account's quota is used up", 3 * time.Minute, nil, short("VcpuLimitExceeded"), pack.NoOffering, []string{"VcpuLimitExceeded", "raise the account's quota"}},
		{"the limit is reached", 3 * time.Minute, func(s *sim.Scenario) { s.Pools[0].Limits = model.Resources{model.Nodes: 0} }, nil, pack.LimitReached, []string{"spec.limits.nodes 0", "raise the limit"}},
		{"the cluster is paused", 3 * time.Minute, nil, func(w *world.World, _ func(time.Duration, func())) {
			reg, err := w.Ledger.Cluster(t.Context(), world.Name)
			if err == nil {
				reg.Paused = true
				err = w.Ledger.Register(t.Context(), reg)
			}
			if err != nil {
				t.Error(err)
			}
		}, explain.Paused, []string{"is paused", "--paused=false"}},
		{"its spot machine is taken away", 4 * time.Minute, func(s *sim.Scenario) {
			s.Pools[0] = world.Pool("web", "default", world.Need(model.LabelCapacityType, model.Spot))
		}, func(w *world.World, at func(time.Duration, func())) {
			w.Cluster.AddBudget(model.PDB{Namespace: "default", Name: "web", Selector: &model.Selector{}, MinAvailable: "100%"})
			at(4*time.Minute, func() { w.Fleet.Interrupt(w.Fleet.Instances()[0].ID, 2*time.Minute) })
		}, explain.Moving, []string{"being drained (SpotInterrupted)"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := small(1, 8*time.Minute)
			if test.change != nil {
				test.change(&c.Scenario)
			}
			line, found := "", false
			c.Scenario.Arrange = func(w *world.World, at func(time.Duration, func())) {
				if test.arrange != nil {
					test.arrange(w, at)
				}
				for second := range 30 { // drains have steps that take seconds
					at(test.at+time.Duration(second)*time.Second, func() {
						_, clusterState := archive{w}.clusterState(t)
						pods := clusterState.Ask.Snapshot.Pods
						if found || len(pods) == 0 {
							return
						}
						answer := explain.Pod(clusterState, pods[0].Namespace, pods[0].Name)
						line, found = answer.Line(), answer.Cause.Code == test.code
					})
				}
			}
			sim.Run(c) // a pod that waits for good is no violation here
			t.Log(line)
			if !found {
				t.Errorf("it is never told of %s", test.code)
			}
			for _, want := range test.says {
				if !strings.Contains(line, want) {
					t.Errorf("it is not said %q", want)
				}
			}
		})
	}
}

// D4: every instance that runs resolves to the decision that launched it, with what else would have done.
func TestD4EveryInstanceResolvesToItsDecision(t *testing.T) {
	t.Parallel()
	c := small(12, 12*time.Minute)
	c.Scenario.Types = []string{"m5.large", "m5.xlarge", "m5.2xlarge"}
	c.Scenario.Workloads[0].Steps = []world.Step{{At: world.Start.Add(5 * time.Minute), Replicas: 20}}
	d := play(t, c)
	flow, clusterState := archive{d.world}.clusterState(t)
	instances := 0
	for i := range clusterState.Installation.Ledger.Claims {
		claim := &clusterState.Installation.Ledger.Claims[i]
		if claim.InstanceID == "" {
			continue
		}
		instances++
		for _, asked := range []string{claim.InstanceID, claim.Name, claim.NodeName} {
			a, err := flow.Node(t.Context(), clusterState, asked)
			if err != nil {
				t.Fatal(err)
			}
			if a.Launch == nil || a.Launch.Decision != claim.Decision || len(a.Launch.Pods) == 0 || len(a.Launch.Alternatives) == 0 || !strings.Contains(fmt.Sprintf("%+v", a.Launch.Alternatives), claim.InstanceType) {
				t.Errorf("%s: %s: %+v", asked, a.Line(), a.Launch)
			}
		}
	}
	if instances < 3 {
		t.Errorf("%d machines: the test shows little", instances)
	}
}
