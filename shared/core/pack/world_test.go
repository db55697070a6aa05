package pack

import (
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/model"
)

// testNow is the date every test starts at.
const testNow = 1_780_000_000

var testZones = []string{"a", "b", "c"}

// instances returns n made-up instance types: families that differ in memory per core, architecture and price, each in
// a ladder of sizes, sold in three zones on demand and as spot.
func instances(n int) []model.InstanceTypeInfo {
	sizes := []struct {
		name  string
		cores int64
	}{{"large", 2}, {"xlarge", 4}, {"2xlarge", 8}, {"4xlarge", 16}, {"8xlarge", 32}, {"12xlarge", 48}, {"16xlarge", 64}, {"24xlarge", 96}}
	kinds := []struct {
		letter        string
		gibPerCore    int64
		microPerCore  int64
		microPerGiB   int64
		gpus, gpuCost int64
	}{{"c", 2, 30_000, 3_300, 0, 0}, {"m", 4, 30_000, 3_300, 0, 0}, {"r", 8, 30_000, 3_300, 0, 0}, {"g", 4, 30_000, 3_300, 1, 350_000}}
	var out []model.InstanceTypeInfo
	for generation := 5; len(out) < n; generation++ {
		for _, kind := range kinds {
			for _, arch := range []string{"amd64", "arm64"} {
				for _, size := range sizes {
					if len(out) == n {
						return out
					}
					family := fmt.Sprintf("%s%d", kind.letter, generation)
					if arch == "arm64" {
						family += "g"
					}
					price := size.cores * (kind.microPerCore + kind.gibPerCore*kind.microPerGiB)
					if arch == "arm64" {
						price = price * 8 / 10
					}
					price -= price * int64(generation-5) / 100
					m := model.InstanceTypeInfo{
						Name: family + "." + size.name, Arch: arch, VCPUs: size.cores, MemoryMiB: size.cores * kind.gibPerCore * 1024,
						Hypervisor: "nitro", CPUManufacturer: "intel", Interfaces: min(15, size.cores+1), IPv4PerInterface: min(50, size.cores*5),
						UsageClasses: []string{model.OnDemand, model.Spot},
					}
					if kind.gpus > 0 {
						m.GPUCount, m.GPUManufacturer, m.GPUName = max(1, size.cores/16), "nvidia", "t4"
						price += m.GPUCount * kind.gpuCost
					}
					for z, zone := range testZones {
						spot := price * (300 + int64(len(out)*7+z*31)%250) / 1000
						m.Offerings = append(m.Offerings,
							model.Offering{Zone: zone, CapacityType: model.OnDemand, Price: model.MicroUSD(price), Available: true},
							model.Offering{Zone: zone, CapacityType: model.Spot, Price: model.MicroUSD(spot), Available: true})
					}
					out = append(out, m)
				}
			}
		}
	}
	return out
}

func testClass() model.Class {
	class := model.Class{Name: "default", Family: "AL2023"}
	for i, zone := range testZones {
		class.Status.Subnets = append(class.Status.Subnets, model.Subnet{ID: "subnet-" + zone, Zone: zone, ZoneID: fmt.Sprintf("az%d", i+1)})
	}
	return class
}

func testCatalog(n int) []model.InstanceType {
	return offering.Catalog(instances(n), testClass(), offering.Settings{Region: "here"})
}

// world builds an Input a piece at a time.
type world struct{ in Input }

func newWorld(types int) *world {
	return &world{Input{
		Snapshot: &model.Snapshot{},
		Catalogs: map[string][]model.InstanceType{"default": testCatalog(types)},
		NowUnix:  testNow,
	}}
}

func (w *world) pool(name string, change func(*model.Pool)) *world {
	p := model.Pool{Name: name, UID: "uid-" + name, Template: model.Template{ClassName: "default"}}
	if change != nil {
		change(&p)
	}
	w.in.Snapshot.Pools = append(w.in.Snapshot.Pools, p)
	return w
}

// pods adds n pending pods of one shape.
func (w *world) pods(name string, n int, change func(*model.PodShape)) *world {
	index := w.shape(change)
	for i := range n {
		pod := model.Pod{Namespace: "default", Name: fmt.Sprintf("%s-%05d", name, i), Shape: index, Unschedulable: true}
		pod.UID = "uid-" + pod.Name
		w.in.Snapshot.Pods = append(w.in.Snapshot.Pods, pod)
	}
	return w
}

func (w *world) shape(change func(*model.PodShape)) int {
	shape := model.PodShape{Namespace: "default", Requests: model.Resources{model.CPU: 1000, model.Memory: 2 << 30, model.Pods: 1}}
	if change != nil {
		change(&shape)
	}
	w.in.Snapshot.Shapes = append(w.in.Snapshot.Shapes, shape)
	return len(w.in.Snapshot.Shapes) - 1
}

func (w *world) daemon(name string, change func(*model.PodShape)) *world {
	w.in.Snapshot.DaemonSets = append(w.in.Snapshot.DaemonSets, model.DaemonSet{Namespace: "kube-system", Name: name, Shape: w.shape(change)})
	return w
}

// running binds a pod of a shape to a node.
func (w *world) running(name, node string, change func(*model.PodShape)) *world {
	w.in.Snapshot.Pods = append(w.in.Snapshot.Pods, model.Pod{Namespace: "default", Name: name, UID: "uid-" + name, NodeName: node,
		Phase: model.Running, Shape: w.shape(change)})
	return w
}

func (w *world) node(name string, change func(*model.Node)) *world {
	n := model.Node{Name: name, UID: "uid-" + name, Ready: true, Labels: map[string]string{model.LabelHostname: name, model.LabelArch: "amd64"},
		Allocatable: model.Resources{model.CPU: 4000, model.Memory: 8 << 30, model.Pods: 20}}
	if change != nil {
		change(&n)
	}
	w.in.Snapshot.Nodes = append(w.in.Snapshot.Nodes, n)
	return w
}

func (w *world) plan() model.Plan { return Plan(w.in) }

func cpu(milli int64) func(*model.PodShape) {
	return func(s *model.PodShape) {
		s.Requests = model.Resources{model.CPU: milli, model.Memory: 1 << 30, model.Pods: 1}
	}
}

// codes returns the codes a pod was refused with, by pool order; nil where it was not.
func codes(plan model.Plan, pod string) []string {
	for _, u := range plan.Unschedulable {
		if u.Pod.Name == pod {
			var out []string
			for _, r := range u.Reasons {
				out = append(out, r.Code)
			}
			return out
		}
	}
	return nil
}

func placed(plan model.Plan) int {
	n := 0
	for _, claim := range plan.Claims {
		n += len(claim.Pods)
	}
	for _, nomination := range plan.Nominations {
		n += len(nomination.Pods)
	}
	return n
}

func onlyClaim(plan model.Plan) (model.PlannedClaim, error) {
	if len(plan.Claims) != 1 || len(plan.Unschedulable) != 0 {
		return model.PlannedClaim{}, fmt.Errorf("got %d claims, %d unschedulable %v, want one claim", len(plan.Claims), len(plan.Unschedulable), plan.Unschedulable)
	}
	return plan.Claims[0], nil
}

func typeNamed(types []model.InstanceType, name string) *model.InstanceType {
	i := slices.IndexFunc(types, func(t model.InstanceType) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &types[i]
}
