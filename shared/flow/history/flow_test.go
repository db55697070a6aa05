package history_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/history"
	"github.com/joiner-sh/joiner/shared/model"
)

// now is when every test asks: 2026-05-28T20:26:40Z.
const now = int64(1_780_000_000)

// archive is an installation with one cluster or more. Its store keeps the last snapshot it read and, as the real one may, answers with that
// one where it is asked for an earlier one.
type archive struct {
	clusters      []model.Registration
	ledger        model.Ledger
	snapshots     map[int64]*model.Snapshot // by time
	decisions     []model.Decision
	removals      []model.Removal
	instanceTypes []model.InstanceTypeInfo
	read          int64 // time of the latest snapshot that was read
}

func (a *archive) Clusters(context.Context) ([]model.Registration, error) { return a.clusters, nil }
func (a *archive) Load(context.Context, model.Registration) (model.Ledger, error) {
	return a.ledger, nil
}
func (a *archive) SnapshotAt(_ context.Context, p model.Manifest) (*model.Snapshot, error) {
	a.read = max(a.read, p.HeadSeq)
	return a.snapshots[a.read], nil
}
func (a *archive) ManifestAsOf(_ context.Context, cluster string, atUnix int64) (model.Manifest, error) {
	best := int64(0)
	for at := range a.snapshots {
		if at <= atUnix {
			best = max(best, at)
		}
	}
	if best == 0 {
		return model.Manifest{}, fault.New(fault.NotFound, "NoSnapshot", "none of cluster %s", cluster)
	}
	return model.Manifest{Cluster: cluster, SnapshotKey: "base", HeadSeq: best}, nil
}
func (a *archive) Decisions(_ context.Context, _ string, from, to int64) (out []model.Decision, err error) {
	for _, d := range a.decisions {
		if from <= d.AtUnix && d.AtUnix < to {
			d.Input = nil
			d.Rounds = append([]model.Round{}, d.Rounds...)
			for i := range d.Rounds {
				d.Rounds[i].Input = nil // as the store leaves it out of lists
			}
			out = append(out, d)
		}
	}
	return out, nil
}
func (a *archive) Disruptions(context.Context, string, int64, int64) ([]model.Disrupted, error) {
	return nil, nil
}
func (a *archive) Removals(_ context.Context, _ string, from, to int64) (out []model.Removal, err error) {
	for _, r := range a.removals {
		if from <= r.GoneUnix && r.GoneUnix < to {
			out = append(out, r)
		}
	}
	return out, nil
}
func (a *archive) FindDecision(_ context.Context, _, id string) (model.Decision, error) {
	for _, d := range a.decisions {
		if d.ID == id {
			return d, nil
		}
	}
	return model.Decision{}, fault.New(fault.NotFound, "", "no decision %s", id)
}
func (a *archive) FindDisruption(_ context.Context, _, id string) (model.Disrupted, error) {
	return model.Disrupted{}, fault.New(fault.NotFound, "", "no decision %s", id)
}
func (a *archive) RegionCatalog(context.Context, model.Registration) (model.InstanceCatalog, error) {
	if a.instanceTypes == nil {
		return model.InstanceCatalog{}, fault.New(fault.NotFound, "NoSuchKey", "no catalogue")
	}
	return model.InstanceCatalog{Types: a.instanceTypes}, nil
}

func (a *archive) flow() *history.Flow {
	return &history.Flow{Registry: a, Ledger: a, Snapshots: a, Records: a, Catalogs: a, Now: func() time.Time { return time.Unix(now, 0) }}
}

// shop is a cluster of one pool whose pod web waits for as long as there is a snapshot, and of one instance.
func shop() *archive {
	snapshot := func(at int64) *model.Snapshot {
		return &model.Snapshot{
			Cluster: "shop", AtUnix: at, Seq: at,
			Pods: []model.Pod{{Namespace: "shop", Name: "web", UID: "u", Shape: 1, Unschedulable: true, CreatedUnix: at - 30},
				{Namespace: "shop", Name: "api", UID: "v", NodeName: "n1", Phase: model.Running}},
			Shapes: []model.PodShape{{Namespace: "shop", Requests: model.Resources{model.CPU: 1000, model.Memory: 4 << 30, model.Pods: 1}},
				{Namespace: "shop", Requests: model.Resources{model.CPU: 1500, model.Memory: 4 << 30, model.Pods: 1}}},
			Nodes:   []model.Node{{Name: "n1", ProviderID: "aws:///a/i-1", Labels: map[string]string{model.LabelNodePool: "default"}, Allocatable: model.Resources{model.CPU: 2000, model.Memory: 8 << 30, model.Pods: 2}}},
			Pools:   []model.Pool{{Name: "default", UID: "p", Template: model.Template{ClassName: "default", Taints: []model.Taint{{Key: "gpu", Effect: model.NoSchedule}}}}},
			Classes: []model.Class{{Name: "default", UID: "c", Family: "AL2023", Generation: 1, Status: model.ClassStatus{ObservedGeneration: 1, ResolvedUnix: at, Subnets: []model.Subnet{{ID: "s", Zone: "a"}}}}},
		}
	}
	claim := model.Claim{Name: "default-1", Pool: "default", Class: "default", State: model.Initialized, InstanceID: "i-1", ProviderID: "aws:///a/i-1", NodeName: "n1", Price: 1_000_000, LaunchedUnix: now - 7200}
	return &archive{
		clusters:  []model.Registration{{Cluster: "shop", Region: "here"}},
		ledger:    model.Ledger{NowUnix: now, Claims: []model.Claim{claim}, Manifest: &model.Manifest{Cluster: "shop", SnapshotKey: "base", HeadSeq: now - 1, HeartbeatAt: now - 1}},
		snapshots: map[int64]*model.Snapshot{now - 7000: snapshot(now - 7000), now - 4000: snapshot(now - 4000), now - 1: snapshot(now - 1)},
		instanceTypes: []model.InstanceTypeInfo{{Name: "m7.large", Arch: "amd64", VCPUs: 2, MemoryMiB: 8192, Hypervisor: "nitro", Interfaces: 3, IPv4PerInterface: 10,
			UsageClasses: []string{model.OnDemand}, Offerings: []model.Offering{{Zone: "a", CapacityType: model.OnDemand, Price: 100_000, Available: true}}}},
	}
}

func ask(t *testing.T, a *archive, query history.Query) *explain.PodAnswer {
	t.Helper()
	clusterState, err := a.flow().ReadCluster(t.Context(), a.clusters[0], query)
	if err != nil {
		t.Fatal(err)
	}
	return explain.Pod(clusterState, "shop", "web")
}

func TestTheOnlyClusterNeedsNoName(t *testing.T) {
	a := shop()
	if reg, err := a.flow().Registration(t.Context(), ""); err != nil || reg.Cluster != "shop" {
		t.Errorf("%s, %v", reg.Cluster, err)
	}
	a.clusters = append(a.clusters, model.Registration{Cluster: "bank"})
	if _, err := a.flow().Registration(t.Context(), ""); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "bank, shop") {
		t.Error(err)
	}
	if _, err := a.flow().Registration(t.Context(), "shpo"); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "bank, shop") {
		t.Error(err)
	}
	a.clusters = nil
	if _, err := a.flow().Registration(t.Context(), ""); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}

// Of now the ledger counts: what it holds a class for keeps the pod waiting, and what EC2 throttles.
func TestOfNowTheLedgerCounts(t *testing.T) {
	a := shop()
	if got := ask(t, a, history.Query{}); got.Cause.Code != pack.TaintNotTolerated {
		t.Error(got.Line())
	}
	a.ledger.Notes.ClassSuspensions = []model.ClassSuspension{{Class: "default", Failures: 2, LastUnix: now - 900, UntilUnix: now + 300}}
	if got := ask(t, a, history.Query{}); got.Cause.Code != pack.ClassNotReady || !strings.Contains(got.Line(), "did not join, time 2 in a row") {
		t.Error(got.Line())
	}
	a.ledger.Notes = model.Notes{Refusals: []model.ClassRefusal{{Class: "default", Reason: "Unauthorized", Message: "not with this role", UntilUnix: now + 60}}}
	if got := ask(t, a, history.Query{}); got.Cause.Code != pack.ClassNotReady || !strings.Contains(got.Line(), "Unauthorized: not with this role") {
		t.Error(got.Line())
	}
}

// Of the past what the last decision was asked counts, not what the ledger says now.
func TestOfThePastTheLastQuestionCounts(t *testing.T) {
	a := shop()
	a.clusters[0].Paused = true
	asked := &model.PlannerInput{NowUnix: now - 6950, Classes: []model.PlannerClass{{Name: "default", Barred: "held as it was then"}}}
	a.decisions = []model.Decision{{ID: "01A", AtUnix: now - 6950, Rounds: []model.Round{{Input: asked}}}, {ID: "01B", AtUnix: now - 10, Rounds: []model.Round{{Input: &model.PlannerInput{}}}}}
	got := ask(t, a, history.Query{AtUnix: now - 6900})
	if got.Cause.Code != pack.ClassNotReady || !strings.Contains(got.Line(), "held as it was then") || got.AtUnix != now-6900 {
		t.Error(got.Line())
	}
	if got := ask(t, a, history.Query{}); got.Cause.Code != explain.Paused {
		t.Error(got.Line())
	}
	if _, err := a.flow().ReadCluster(t.Context(), a.clusters[0], history.Query{AtUnix: now - 90_000}); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}

func TestARegionWithoutACatalogIsSaidToBeUnknown(t *testing.T) {
	a := shop()
	a.instanceTypes = nil
	if got := ask(t, a, history.Query{}); got.Cause.Code != pack.ClassNotReady || !strings.Contains(got.Line(), "the catalog of EC2 instance types in here is unknown") {
		t.Error(got.Line())
	}
}

// A report reads the past before the present, since a store may answer with what it has read last; spans without a snapshot are distinguished.
func TestCostsOfThePastAreOfItsSnapshots(t *testing.T) {
	a := shop()
	a.snapshots[now-7000].Pods = a.snapshots[now-7000].Pods[:1] // nothing ran on the node then
	cost, err := a.flow().Costs(t.Context(), a.clusters[0], now-7200, 2400)
	if err != nil {
		t.Fatal(err)
	}
	// Two hours at a dollar: of three samples the first shows nothing on the node, the others a pod of half of it.
	if cost.Total < 1_999_999 || cost.Total > 2_000_001 || cost.Samples != 3 || cost.Idle < 1_333_000 || cost.Idle > 1_334_000 || len(cost.Workloads) != 1 {
		t.Errorf("%+v", cost)
	}
	if _, err := a.flow().Costs(t.Context(), a.clusters[0], 1, 1); !fault.Is(err, fault.Invalid) {
		t.Error(err)
	}
}
