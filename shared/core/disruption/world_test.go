package disruption

import (
	"fmt"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/model"
)

// testNow is when every test begins: 2026-05-28 20:26:40 UTC.
const testNow = 1_780_000_000

// world is an Input made a piece at a time. Its nodes have been there for a day, and nothing has come or gone for an
// hour.
type world struct {
	in Input
}

// testSizes are the instances of the catalog: 1 CPU and 4 GiB cost $0.05 per hour on demand, and 40 % of that as spot.
var testSizes = []struct {
	name  string
	cores int64
}{{"m5.large", 2}, {"m5.xlarge", 4}, {"m5.2xlarge", 8}, {"m5.4xlarge", 16}}

func testCatalog() []model.InstanceType {
	var instanceTypes []model.InstanceTypeInfo
	for _, size := range testSizes {
		m := model.InstanceTypeInfo{Name: size.name, Arch: "amd64", VCPUs: size.cores, MemoryMiB: size.cores * 4096, Hypervisor: "nitro", CPUManufacturer: "intel",
			Interfaces: 15, IPv4PerInterface: 50, UsageClasses: []string{model.OnDemand, model.Spot}}
		for _, zone := range []string{"a", "b"} {
			m.Offerings = append(m.Offerings,
				model.Offering{Zone: zone, CapacityType: model.OnDemand, Price: model.MicroUSD(size.cores * 50_000), Available: true},
				model.Offering{Zone: zone, CapacityType: model.Spot, Price: model.MicroUSD(size.cores * 20_000), Available: true})
		}
		instanceTypes = append(instanceTypes, m)
	}
	class := model.Class{Name: "default", Family: "AL2023"}
	for _, zone := range []string{"a", "b"} {
		class.Status.Subnets = append(class.Status.Subnets, model.Subnet{ID: "subnet-" + zone, Zone: zone, ZoneID: "az-" + zone})
	}
	return offering.Catalog(instanceTypes, class, offering.Settings{Region: "here"})
}

func newWorld() *world {
	return &world{Input{Snapshot: &model.Snapshot{Cluster: "test"}, Catalogs: map[string][]model.InstanceType{"default": testCatalog()}, NowUnix: testNow}}
}

// pool adds a NodePool of instances bought on demand that consolidates whatever it can at once, without budgets.
func (w *world) pool(name string, changes ...func(*model.Pool)) *world {
	zero := int64(0)
	p := model.Pool{Name: name, UID: "uid-" + name, Template: model.Template{ClassName: "default", Requirements: []model.Requirement{
		{Key: model.LabelCapacityType, Operator: model.In, Values: []string{model.OnDemand}}}},
		Disruption: model.Disruption{Policy: "WhenEmptyOrUnderutilized", ConsolidateAfterSeconds: &zero}}
	for _, change := range changes {
		change(&p)
	}
	w.in.Snapshot.Pools = append(w.in.Snapshot.Pools, p)
	return w
}

// node adds a node of a pool with its claim: an m5.xlarge in zone a, on demand.
func (w *world) node(name, pool string, changes ...func(*model.Node, *model.Claim)) *world {
	n := model.Node{Name: name, UID: "uid-" + name, ProviderID: "aws:///a/i-" + name, Ready: true, CreatedUnix: testNow - 86_400, Finalizer: true,
		Labels: map[string]string{model.LabelHostname: name, model.LabelArch: "amd64", model.LabelOS: "linux", model.LabelNodePool: pool, model.LabelZone: "a",
			model.LabelInstanceType: "m5.xlarge", model.LabelCapacityType: model.OnDemand, model.LabelRegistered: "true", model.LabelInitialized: "true"},
		Capacity:    model.Resources{model.CPU: 4000, model.Memory: 16 << 30, model.Pods: 50},
		Allocatable: model.Resources{model.CPU: 3900, model.Memory: 15 << 30, model.Pods: 50}}
	c := model.Claim{Name: "claim-" + name, Pool: pool, Class: "default", State: model.Initialized, Version: 1, InstanceID: "i-" + name, ProviderID: n.ProviderID,
		InstanceType: "m5.xlarge", Zone: "a", CapacityType: model.OnDemand, Price: 200_000, NodeName: name, NodeUID: n.UID,
		CreatedUnix: testNow - 86_400, LaunchedUnix: testNow - 86_400, RegisteredUnix: testNow - 86_400, InitializedUnix: testNow - 86_400}
	for _, change := range changes {
		change(&n, &c)
	}
	w.in.Snapshot.Nodes = append(w.in.Snapshot.Nodes, n)
	w.in.Claims = append(w.in.Claims, c)
	return w
}

// shape adds a pod's spec: a ReplicaSet's, of half a CPU and 1 GiB.
func (w *world) shape(owner string, changes ...func(*model.PodShape)) int {
	s := model.PodShape{Namespace: "default", Labels: map[string]string{"app": owner}, OwnerKind: "ReplicaSet", OwnerName: owner,
		Requests: model.Resources{model.CPU: 500, model.Memory: 1 << 30, model.Pods: 1}}
	for _, change := range changes {
		change(&s)
	}
	w.in.Snapshot.Shapes = append(w.in.Snapshot.Shapes, s)
	return len(w.in.Snapshot.Shapes) - 1
}

// running adds n pods of one workload that have run on the node for an hour.
func (w *world) running(owner, node string, n int, changes ...func(*model.PodShape)) *world {
	shape := w.shape(owner, changes...)
	for i := range n {
		name := fmt.Sprintf("%s-%s-%d", owner, node, i)
		w.in.Snapshot.Pods = append(w.in.Snapshot.Pods, model.Pod{Namespace: "default", Name: name, UID: "uid-" + name, Shape: shape, NodeName: node, Phase: model.Running,
			Ready: true, CreatedUnix: testNow - 3600, StartedUnix: testNow - 3600})
	}
	return w
}

// pending adds n pods that wait.
func (w *world) pending(owner string, n int, changes ...func(*model.PodShape)) *world {
	shape := w.shape(owner, changes...)
	for i := range n {
		name := fmt.Sprintf("%s-%d", owner, i)
		w.in.Snapshot.Pods = append(w.in.Snapshot.Pods, model.Pod{Namespace: "default", Name: name, UID: "uid-" + name, Shape: shape, Unschedulable: true, CreatedUnix: testNow - 10})
	}
	return w
}

func (w *world) pdb(name, app string, allowed int32, changes ...func(*model.PDB)) *world {
	b := model.PDB{Namespace: "default", Name: name, Selector: &model.Selector{MatchLabels: map[string]string{"app": app}}, DisruptionsAllowed: allowed}
	for _, change := range changes {
		change(&b)
	}
	w.in.Snapshot.Budgets = append(w.in.Snapshot.Budgets, b)
	return w
}

// command adds a command that disrupts the nodes' claims, and notes it in those.
func (w *world) command(id, reason string, state model.CommandState, nodes []string, changes ...func(*model.Command)) *world {
	c := model.Command{ID: id, Version: 1, State: state, Reason: reason, SinceUnix: testNow - 120}
	for _, name := range nodes {
		i := slices.IndexFunc(w.in.Claims, func(c model.Claim) bool { return c.NodeName == name })
		claim := &w.in.Claims[i]
		claim.Command = id
		c.Targets = append(c.Targets, model.Target{Claim: claim.Name, Pool: claim.Pool, Class: claim.Class, Node: name, NodeUID: claim.NodeUID, Price: claim.Price,
			InstanceType: claim.InstanceType, Zone: claim.Zone, CapacityType: claim.CapacityType})
	}
	if !state.Open() {
		c.EndedUnix = testNow - 60
	}
	for _, change := range changes {
		change(&c)
	}
	w.in.Commands = append(w.in.Commands, c)
	return w
}

// reserve adds a capacity reservation of m5.xlarge in zone a to what the class can buy.
func (w *world) reserve(capacity int64) *world {
	for i := range w.in.Catalogs["default"] {
		if t := &w.in.Catalogs["default"][i]; t.Name == "m5.xlarge" {
			t.Offerings = append(t.Offerings, model.Offering{Zone: "a", CapacityType: model.Reserved, Available: capacity > 0, ReservationID: "cr-1", ReservationCapacity: capacity})
		}
	}
	return w
}

func after(seconds int64) func(*model.Pool) {
	return func(p *model.Pool) { p.Disruption.ConsolidateAfterSeconds = &seconds }
}

func never(p *model.Pool) { p.Disruption.ConsolidateAfterSeconds = nil }

func budgets(list ...model.Budget) func(*model.Pool) {
	return func(p *model.Pool) { p.Disruption.Budgets = list }
}

func replicas(n int64) func(*model.Pool) { return func(p *model.Pool) { p.Replicas = &n } }

func drifted(since int64) func(*model.Node, *model.Claim) {
	return func(_ *model.Node, c *model.Claim) { c.Drift, c.DriftUnix = "NodePoolDrifted", since }
}

func grace(seconds int64) func(*model.Node, *model.Claim) {
	return func(_ *model.Node, c *model.Claim) { c.GraceSeconds = &seconds }
}

func cpu(milli int64) func(*model.PodShape) {
	return func(s *model.PodShape) {
		s.Requests = model.Resources{model.CPU: milli, model.Memory: 1 << 30, model.Pods: 1}
	}
}

// kept returns the codes a plan keeps a node for; nil where it does not.
func kept(plan model.DisruptPlan, node string) []string {
	for _, k := range plan.Kept {
		if k.Node == node {
			return codesOf(k.Reasons)
		}
	}
	return nil
}

func codesOf(reasons []model.KeptReason) []string {
	var out []string
	for _, r := range reasons {
		out = append(out, r.Code)
	}
	return out
}

// given returns the nodes of a plan's commands for a reason, sorted.
func given(plan model.DisruptPlan, reason string) []string {
	var out []string
	for _, c := range plan.Commands {
		if c.Reason == reason {
			out = append(out, c.Nodes...)
		}
	}
	slices.Sort(out)
	return out
}

// wantGiven fails the test where the plan disrupts other nodes for the reason.
func wantGiven(t *testing.T, plan model.DisruptPlan, reason string, want ...string) {
	t.Helper()
	if got := given(plan, reason); !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v; kept %+v", reason, got, want, plan.Kept)
	}
}

// candidates returns the nodes that may be disrupted for some reason now, budgets aside, and every other one with why
// it stays.
func candidates(in *Input) (out []*poolNode, kept []model.KeptNode) {
	for _, node := range newPlanner(in, nil).fork.poolNodes {
		if node.permitted != 0 {
			out = append(out, node)
			continue
		}
		kept = append(kept, model.KeptNode{Node: node.name(), Reasons: node.explain()})
	}
	return out, kept
}
