package pack

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
	"pgregory.net/rapid"
)

var smallCatalog = testCatalog(96)

// drawWorld draws a cluster small enough to think about and mixed enough to go wrong.
func drawWorld(t *rapid.T) *world {
	w := &world{Input{Snapshot: &model.Snapshot{}, NowUnix: testNow, Usage: make(map[string]model.Resources)}}
	w.in.Catalogs = map[string][]model.InstanceType{"default": drawCatalog(t)}
	for i := range rapid.IntRange(1, 3).Draw(t, "pools") {
		w.pool(fmt.Sprintf("pool%d", i), func(p *model.Pool) { drawPool(t, p, w) })
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "daemons") {
		w.daemon(fmt.Sprintf("daemon%d", i), func(s *model.PodShape) { drawShape(t, s, 300) })
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "nodes") {
		name := fmt.Sprintf("node%d", i)
		w.node(name, func(n *model.Node) { drawNode(t, n) })
		if rapid.Bool().Draw(t, "busy") {
			w.running("running-"+name, name, func(s *model.PodShape) { drawShape(t, s, 3000) })
		}
	}
	for i := range rapid.IntRange(1, 6).Draw(t, "workloads") {
		w.pods(fmt.Sprintf("w%d", i), rapid.IntRange(1, 12).Draw(t, "replicas"), func(s *model.PodShape) { drawShape(t, s, 20_000) })
	}
	return w
}

func drawCatalog(t *rapid.T) []model.InstanceType {
	first := rapid.IntRange(0, 60).Draw(t, "first type")
	types := slices.Clone(smallCatalog[first : first+rapid.IntRange(1, 30).Draw(t, "types")])
	if rapid.Bool().Draw(t, "reserved") {
		types[0].Offerings = append(slices.Clone(types[0].Offerings), model.Offering{Zone: "a", ZoneID: "az1", CapacityType: model.Reserved, Price: 1,
			Available: true, ReservationID: "cr-1", ReservationCapacity: rapid.Int64Range(0, 3).Draw(t, "reservation")})
	}
	seed := rapid.IntRange(0, 9).Draw(t, "unavailable")
	for i := range types {
		types[i].Offerings = slices.Clone(types[i].Offerings)
		for j := range types[i].Offerings {
			types[i].Offerings[j].Available = seed == 0 || (i*5+j*3)%10 >= seed
		}
	}
	return types
}

func drawPool(t *rapid.T, p *model.Pool, w *world) {
	p.Weight = rapid.Int32Range(0, 2).Draw(t, "weight")
	if rapid.Bool().Draw(t, "tainted") {
		effect := rapid.SampledFrom([]string{model.NoSchedule, model.NoExecute, model.PreferNoSchedule}).Draw(t, "effect")
		p.Template.Taints = []model.Taint{{Key: "dedicated", Value: "x", Effect: effect}}
	}
	if rapid.Bool().Draw(t, "limited") {
		p.Limits = model.Resources{model.CPU: rapid.Int64Range(0, 200_000).Draw(t, "limit")}
		if rapid.Bool().Draw(t, "limited nodes") {
			p.Limits[model.Nodes] = rapid.Int64Range(0, 4).Draw(t, "limit nodes")
		}
		if rapid.Bool().Draw(t, "limited in dollars") {
			p.Limits[model.Dollars] = rapid.Int64Range(0, 2_000_000).Draw(t, "limit dollars")
		}
		w.in.Usage[p.Name] = model.Resources{model.CPU: rapid.Int64Range(0, 50_000).Draw(t, "used"), model.Nodes: 1}
	}
	for range rapid.IntRange(0, 2).Draw(t, "requirements") {
		p.Template.Requirements = append(p.Template.Requirements, drawRequirement(t))
	}
	if rapid.IntRange(0, 4).Draw(t, "flexible") == 0 {
		p.Template.Requirements = append(p.Template.Requirements, model.Requirement{Key: "karpenter.k8s.aws/instance-family",
			Operator: model.Exists, MinValues: rapid.IntRange(1, 4).Draw(t, "minValues")})
	}
	if rapid.Bool().Draw(t, "labelled") {
		p.Template.Labels = map[string]string{"team": rapid.SampledFrom([]string{"x", "y"}).Draw(t, "team")}
	}
}

func drawNode(t *rapid.T, n *model.Node) {
	n.Labels[model.LabelZone] = rapid.SampledFrom(testZones).Draw(t, "node zone")
	n.Labels[model.LabelArch] = rapid.SampledFrom([]string{"amd64", "arm64"}).Draw(t, "node arch")
	n.Labels["team"] = rapid.SampledFrom([]string{"x", "y"}).Draw(t, "node team")
	if rapid.IntRange(0, 3).Draw(t, "node tainted") == 0 {
		n.Taints = []model.Taint{{Key: "dedicated", Value: "x", Effect: rapid.SampledFrom([]string{model.NoSchedule, model.PreferNoSchedule}).Draw(t, "node effect")}}
	}
}

func drawShape(t *rapid.T, s *model.PodShape, mostCPU int64) {
	s.Requests = model.Resources{
		model.CPU:    rapid.Int64Range(0, mostCPU).Draw(t, "cpu"),
		model.Memory: rapid.Int64Range(0, mostCPU).Draw(t, "memory") << 21,
		model.Pods:   1,
	}
	if rapid.IntRange(0, 9).Draw(t, "gpu") == 0 {
		s.Requests["nvidia.com/gpu"] = 1
	}
	if rapid.IntRange(0, 2).Draw(t, "selector") == 0 {
		r := rapid.SampledFrom([][2]string{{model.LabelZone, "a"}, {model.LabelArch, "arm64"}, {model.LabelCapacityType, "spot"},
			{model.LabelCapacityType, "on-demand"}, {"team", "x"}, {"beta.unknown/label", "1"}}).Draw(t, "selected")
		s.NodeSelector = map[string]string{r[0]: r[1]}
	}
	for range rapid.SampledFrom([]int{0, 0, 1, 2, 3}).Draw(t, "terms") {
		term := model.NodeTerm{Requirements: []model.Requirement{drawRequirement(t)}}
		if rapid.Bool().Draw(t, "second") {
			term.Requirements = append(term.Requirements, drawRequirement(t))
		}
		s.RequiredNodeAffinity = append(s.RequiredNodeAffinity, term)
	}
	if rapid.Bool().Draw(t, "tolerates") {
		s.Tolerations = []model.Toleration{{Key: "dedicated", Operator: "Exists"}}
	}
}

func drawRequirement(t *rapid.T) model.Requirement {
	return rapid.SampledFrom([]model.Requirement{
		{Key: model.LabelZone, Operator: model.In, Values: []string{"a", "b"}},
		{Key: model.LabelZone, Operator: model.NotIn, Values: []string{"b"}},
		{Key: model.LabelZoneID, Operator: model.In, Values: []string{"az2", "az3"}},
		{Key: model.LabelArch, Operator: model.In, Values: []string{"amd64"}},
		{Key: model.LabelCapacityType, Operator: model.In, Values: []string{"spot"}},
		{Key: model.LabelCapacityType, Operator: model.In, Values: []string{"on-demand", "spot"}},
		{Key: model.LabelCapacityType, Operator: model.NotIn, Values: []string{"spot"}},
		{Key: "karpenter.k8s.aws/instance-cpu", Operator: model.Gt, Values: []string{"7"}},
		{Key: "karpenter.k8s.aws/instance-cpu", Operator: model.Lt, Values: []string{"33"}},
		{Key: "karpenter.k8s.aws/instance-gpu-count", Operator: model.DoesNotExist},
		{Key: "karpenter.k8s.aws/instance-category", Operator: model.In, Values: []string{"c", "m"}},
		{Key: "team", Operator: model.In, Values: []string{"x", "y", "z"}},
		{Key: "team", Operator: model.NotIn, Values: []string{"x"}},
		{Key: "team", Operator: model.Exists},
		{Key: "team", Operator: model.DoesNotExist},
		{Key: "rank", Operator: model.Gt, Values: []string{"3"}},
		{Key: "rank", Operator: model.Exists},
	}).Draw(t, "requirement")
}

func TestPlanIsSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		plan := w.plan()
		for _, problem := range problems(w.in, plan) {
			t.Error(problem)
		}
	})
}

func TestPlanIsTheSameEveryTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		first, second := encoded(t, w.plan()), encoded(t, w.plan())
		if first != second {
			t.Errorf("first  %s\nsecond %s", first, second)
		}
	})
}

func TestPlanDoesNotDependOnTheOrderOfLists(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		want := encoded(t, w.plan())
		shuffled := w.shuffled(t)
		if got := encoded(t, shuffled.plan()); got != want {
			t.Errorf("shuffled %s\nwant     %s", got, want)
		}
	})
}

// shuffled returns the same world with every list in another order.
func (w *world) shuffled(t *rapid.T) *world {
	out := &world{w.in}
	s := *w.in.Snapshot
	order := rapid.Permutation(indexes(len(s.Shapes))).Draw(t, "shapes")
	where := make([]int, len(order))
	shapes := make([]model.PodShape, len(order))
	for to, from := range order {
		shapes[to], where[from] = s.Shapes[from], to
	}
	s.Shapes = shapes
	s.Pods = make([]model.Pod, len(s.Pods))
	now := make([]int, len(s.Pods))
	for to, from := range rapid.Permutation(indexes(len(s.Pods))).Draw(t, "pods order") {
		s.Pods[to], now[from] = w.in.Snapshot.Pods[from], to
		s.Pods[to].Shape = where[s.Pods[to].Shape]
	}
	out.in.Pending = nil
	for _, i := range w.in.Pending {
		out.in.Pending = append(out.in.Pending, now[i])
	}
	s.DaemonSets = rapid.Permutation(s.DaemonSets).Draw(t, "daemons order")
	for i := range s.DaemonSets {
		s.DaemonSets[i].Shape = where[s.DaemonSets[i].Shape]
	}
	s.Nodes = rapid.Permutation(s.Nodes).Draw(t, "nodes order")
	s.Pools = rapid.Permutation(s.Pools).Draw(t, "pools order")
	s.Namespaces = rapid.Permutation(s.Namespaces).Draw(t, "namespaces order")
	s.Volumes = rapid.Permutation(s.Volumes).Draw(t, "volumes order")
	s.Storage = rapid.Permutation(s.Storage).Draw(t, "classes order")
	s.CSINodes = rapid.Permutation(s.CSINodes).Draw(t, "CSI nodes order")
	out.in.Claims = rapid.Permutation(w.in.Claims).Draw(t, "claims order")
	out.in.Snapshot = &s
	out.in.Catalogs = map[string][]model.InstanceType{"default": rapid.Permutation(w.in.Catalogs["default"]).Draw(t, "types order")}
	return out
}

func TestMoreCapacityNeverPlacesFewerPods(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for i := range w.in.Snapshot.Pools {
			w.in.Snapshot.Pools[i].Limits = nil // a limit may be filled with the wrong pods first
		}
		before := w.plan()
		switch rapid.IntRange(0, 2).Draw(t, "what") {
		case 0:
			w.node("extra", nil)
		case 1:
			w.pool("extra", nil)
		case 2:
			types := w.in.Catalogs["default"]
			for i := range types {
				for j := range types[i].Offerings {
					types[i].Offerings[j].Available = true
				}
			}
		}
		if after := w.plan(); placed(after) < placed(before) {
			t.Errorf("placed %d, with more capacity %d: %v", placed(before), placed(after), after.Unschedulable)
		}
	})
}

func encoded(t *rapid.T, plan model.Plan) string {
	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func indexes(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
