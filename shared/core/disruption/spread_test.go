package disruption

import (
	"fmt"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

const rackLabel = "example.com/rack"

// zoned is a world whose instances can be had in zones a, b and c.
func zoned() *world {
	w := newWorld()
	types := slices.Clone(w.in.Catalogs["default"])
	for i := range types {
		offerings := slices.Clone(types[i].Offerings)
		for _, o := range types[i].Offerings {
			if o.Zone == "a" {
				o.Zone = "c"
				offerings = append(offerings, o)
			}
		}
		types[i].Offerings = offerings
	}
	w.in.Catalogs = map[string][]model.InstanceType{"default": types}
	return w
}

func inZone(zone string) func(*model.Node, *model.Claim) {
	return func(n *model.Node, c *model.Claim) { n.Labels[model.LabelZone], c.Zone = zone, zone }
}

func spreadOver(key string, maxSkew int32, changes ...func(*model.Spread)) func(*model.PodShape) {
	return func(s *model.PodShape) {
		spread := model.Spread{TopologyKey: key, MaxSkew: maxSkew, Selector: &model.Selector{MatchLabels: map[string]string{"app": s.Labels["app"]}}}
		for _, change := range changes {
			change(&spread)
		}
		s.Spread = append(s.Spread, spread)
	}
}

// threeZones has a node of the pool in each of three zones, with one pod each.
func (w *world) threeZones(pool string, changes ...func(*model.PodShape)) *world {
	for _, zone := range []string{"a", "b", "c"} {
		name := pool + "-" + zone
		w.node(name, pool, inZone(zone)).running("web", name, 1, changes...)
	}
	return w
}

// counts says how many pods of an app there are in each domain of the label once the plan is carried out.
func (w *world) counts(t *testing.T, plan model.DisruptPlan, app, key string) map[string]int {
	t.Helper()
	domain, to := make(map[string]string), make(map[string]string)
	for i := range w.in.Snapshot.Nodes {
		n := &w.in.Snapshot.Nodes[i]
		domain[n.Name] = n.Labels[key]
	}
	for i := range plan.Commands {
		c := &plan.Commands[i]
		for _, m := range c.Moves {
			for _, ref := range m.Pods {
				to[ref.UID] = domain[m.Node]
			}
		}
		for j := range c.Replacements {
			r := &c.Replacements[j]
			value := ""
			for _, q := range r.Requirements {
				if q.Key == key && len(q.Values) == 1 {
					value = q.Values[0]
				}
			}
			if key == model.LabelHostname {
				value = r.Name
			}
			for _, ref := range r.Pods {
				to[ref.UID] = value
			}
		}
	}
	out := make(map[string]int)
	for i := range w.in.Snapshot.Pods {
		p := &w.in.Snapshot.Pods[i]
		if w.in.Snapshot.Shapes[p.Shape].Labels["app"] != app || p.NodeName == "" {
			continue
		}
		value, moved := to[p.UID]
		if !moved {
			value = domain[p.NodeName]
		}
		out[value]++
	}
	return out
}

func wantCounts(t *testing.T, got map[string]int, want ...int) {
	t.Helper()
	var list []int
	for _, n := range got { // sorted below
		list = append(list, n)
	}
	slices.Sort(list)
	if !slices.Equal(list, want) {
		t.Errorf("pods by domain: %v, want %v", got, want)
	}
}

func TestK1ConsolidationKeepsZonesAndHosts(t *testing.T) {
	ignoring := func(s *model.Spread) { s.IgnoreNodeAffinity = true }
	honoring := func(s *model.Spread) { s.HonorNodeTaints = true }
	domains := func(n int32) func(*model.Spread) { return func(s *model.Spread) { s.MinDomains = n } }
	dedicated := func(s *model.PodShape) {
		s.NodeSelector = map[string]string{"team": "x"}
		s.Tolerations = []model.Toleration{{Key: "team", Operator: "Exists"}}
	}
	anti := func(key string) func(*model.PodShape) {
		return func(s *model.PodShape) {
			s.PodAntiAffinity = append(s.PodAntiAffinity, model.PodTerm{TopologyKey: key, Selector: &model.Selector{MatchLabels: map[string]string{"app": s.Labels["app"]}}})
		}
	}
	tests := map[string]struct {
		world func() *world
		key   string
		want  []int
	}{
		"zone":                 {func() *world { return zoned().pool("p").threeZones("p", spreadOver(model.LabelZone, 1)) }, model.LabelZone, []int{1, 1, 1}},
		"hostname":             {func() *world { return zoned().pool("p").threeZones("p", spreadOver(model.LabelHostname, 1)) }, model.LabelHostname, []int{1, 1, 1}},
		"zone, minDomains 2":   {func() *world { return zoned().pool("p").threeZones("p", spreadOver(model.LabelZone, 1, domains(2))) }, model.LabelZone, []int{1, 1, 1}},
		"zone, minDomains 3":   {func() *world { return zoned().pool("p").threeZones("p", spreadOver(model.LabelZone, 1, domains(3))) }, model.LabelZone, []int{1, 1, 1}},
		"zone, taints honored": {func() *world { return zoned().pool("p").threeZones("p", spreadOver(model.LabelZone, 1, honoring)) }, model.LabelZone, []int{1, 1, 1}},
		"zone, affinity ignored": {func() *world { return zoned().pool("p").threeZones("p", spreadOver(model.LabelZone, 1, ignoring)) }, model.LabelZone,
			[]int{1, 1, 1}},
		"anti-affinity by zone": {func() *world { return zoned().pool("p").threeZones("p", anti(model.LabelZone)) }, model.LabelZone, []int{1, 1, 1}},
		"anti-affinity by host": {func() *world { return zoned().pool("p").threeZones("p", anti(model.LabelHostname)) }, model.LabelHostname, []int{1, 1, 1}},
		"custom label": {func() *world {
			w := zoned().pool("p", func(p *model.Pool) {
				p.Template.Requirements = append(p.Template.Requirements, model.Requirement{Key: rackLabel, Operator: model.In, Values: []string{"r1", "r2", "r3"}})
			})
			for i, rack := range []string{"r1", "r2", "r3"} {
				name := fmt.Sprintf("n%d", i)
				w.node(name, "p", func(n *model.Node, _ *model.Claim) { n.Labels[rackLabel] = rack }).running("web", name, 1, spreadOver(rackLabel, 1))
			}
			return w
		}, rackLabel, []int{1, 1, 1}},
		"a dedicated pool of a larger cluster": {func() *world {
			w := zoned().pool("p").pool("team", func(p *model.Pool) {
				p.Template.Labels = map[string]string{"team": "x"}
				p.Template.Taints = []model.Taint{{Key: "team", Value: "x", Effect: model.NoSchedule}}
			})
			for _, zone := range []string{"a", "b", "c"} {
				w.node("other-"+zone, "p", inZone(zone)).running("other", "other-"+zone, 6)
				name := "team-" + zone
				w.node(name, "team", inZone(zone), func(n *model.Node, _ *model.Claim) {
					n.Labels["team"] = "x"
					n.Taints = []model.Taint{{Key: "team", Value: "x", Effect: model.NoSchedule}}
				}).running("web", name, 1, dedicated, spreadOver(model.LabelZone, 1))
			}
			return w
		}, model.LabelZone, []int{1, 1, 1}},
		"a zone that sells nothing any more": {func() *world {
			w := zoned().pool("p").threeZones("p", spreadOver(model.LabelZone, 1))
			for i := range w.in.Catalogs["default"] {
				for j := range w.in.Catalogs["default"][i].Offerings {
					if o := &w.in.Catalogs["default"][i].Offerings[j]; o.Zone == "c" {
						o.Available = false
					}
				}
			}
			return w
		}, model.LabelZone, []int{1, 1, 1}},
		"maxSkew 2 gives up what it may": {func() *world { return zoned().pool("p").threeZones("p", spreadOver(model.LabelZone, 2)) }, model.LabelZone, []int{1, 2}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := test.world()
			if got := w.counts(t, Plan(w.in), "web", test.key); test.want[0] != 1 || len(test.want) == 3 {
				wantCounts(t, got, test.want...)
			} else if len(got) < 2 {
				t.Errorf("pods by domain: %v, want two at least", got)
			}
			w = test.world()
			for i := range w.in.Claims {
				w.in.Claims[i].Drift, w.in.Claims[i].DriftUnix = "NodePoolDrifted", testNow-600
			}
			plan := Plan(w.in)
			if len(test.want) == 3 {
				wantCounts(t, w.counts(t, plan, "web", test.key), test.want...)
			}
		})
	}
}

// Built-in budgets let one node of ten go at a time: round after round, no zone may go.
func TestK1ABudgetOfOneNodeGivesNoZoneUp(t *testing.T) {
	w := zoned().pool("p", budgets(model.Budget{Nodes: "10%"})).threeZones("p", spreadOver(model.LabelZone, 1))
	wantCounts(t, w.counts(t, Plan(w.in), "web", model.LabelZone), 1, 1, 1)
}

// While the nodes of commands drain, provisioning has nothing to buy: what moved has its place though they still count.
func TestK1ProvisioningBuysNothingWhileNodesDrain(t *testing.T) {
	for _, key := range []string{model.LabelZone, model.LabelHostname} {
		w := zoned().pool("p")
		for _, zone := range []string{"a", "b", "c"} {
			for i := range 2 {
				name := fmt.Sprintf("%s%d", zone, i)
				w.node(name, "p", inZone(zone)).running("web", name, 1, spreadOver(key, 2))
			}
		}
		plan := Plan(w.in)
		if len(plan.Commands) == 0 {
			t.Fatalf("%s: nothing is given back: %+v", key, plan.Kept)
		}
		gone := make(map[string]bool)
		for _, c := range plan.Commands {
			for _, name := range c.Nodes {
				gone[name] = true
			}
		}
		during := *w.in.Snapshot
		during.Nodes, during.Pods = slices.Clone(during.Nodes), slices.Clone(during.Pods)
		for i := range during.Nodes {
			if gone[during.Nodes[i].Name] {
				during.Nodes[i].Taints = append(slices.Clone(during.Nodes[i].Taints), disruptedTaint)
			}
		}
		for i := range during.Pods {
			if gone[during.Pods[i].NodeName] {
				during.Pods[i].NodeName, during.Pods[i].Unschedulable = "", true
			}
		}
		if next := pack.Plan(pack.Input{Snapshot: &during, Catalogs: w.in.Catalogs, Claims: w.in.Claims, NowUnix: testNow}); len(next.Claims)+len(next.Unschedulable) > 0 {
			t.Errorf("%s: commands %+v; then provisioning asks for %+v, and has nothing for %+v", key, plan.Commands, next.Claims, next.Unschedulable)
		}
	}
}

// K1: replicas without any constraint stay in two zones where their workload or a NodePool says so; a workload in one zone, daemons and
// Jobs have nothing to keep.
func TestK1TheAnnotationKeepsReplicasInTwoZones(t *testing.T) {
	kind := func(name string) func(*model.PodShape) {
		return func(s *model.PodShape) { s.OwnerKind, s.OwnerName = name, "web" }
	}
	asks := func(s *model.PodShape) { s.TwoZones = true }
	annotated := func(p *model.Pool) { p.Annotations = map[string]string{model.AnnotationTwoZones: "true"} }
	for name, test := range map[string]struct {
		world *world
		zones int
	}{
		"nobody asks":              {zoned().pool("p").threeZones("p", kind("ReplicaSet")), 1},
		"the workload":             {zoned().pool("p").threeZones("p", kind("ReplicaSet"), asks), 2},
		"a NodePool":               {zoned().pool("p", annotated).threeZones("p", kind("StatefulSet")), 2},
		"a Job":                    {zoned().pool("p", annotated).threeZones("p", kind("Job"), asks), 1},
		"an operator's own kind":   {zoned().pool("p").threeZones("p", kind("Cluster.db.example.com"), asks), 2},
		"revisions count together": {twoRevisions(asks), 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := test.world
			for round := range 3 { // nodes go, their pods move, and it is planned again
				plan := Plan(w.in)
				if got := w.counts(t, plan, "web", model.LabelZone); round == 0 && len(plan.Commands) == 0 || len(got) < test.zones || test.zones == 1 && len(got) != 1 {
					t.Fatalf("round %d: %d commands, pods by zone: %v, want %d zones", round, len(plan.Commands), got, test.zones)
				}
				if len(plan.Commands) == 0 || len(plan.Commands[0].Replacements) > 0 {
					return
				}
				w.carryOut(&plan)
			}
		})
	}
}

// twoRevisions is a workload in the middle of a rollout: one pod of the old revision, and two of the new one.
func twoRevisions(asks func(*model.PodShape)) *world {
	w := zoned().pool("p")
	for i, zone := range []string{"a", "b", "c"} {
		revision := []string{"1", "2", "2"}[i]
		w.node("p-"+zone, "p", inZone(zone)).running("web", "p-"+zone, 1, asks, func(s *model.PodShape) {
			s.OwnerKind, s.OwnerName = "ReplicaSet", "web-"+revision
			s.Labels = map[string]string{"app": "web", "pod-template-hash": revision}
		})
	}
	return w
}

// carryOut moves the pods of a plan without replacements, and takes its nodes away.
func (w *world) carryOut(plan *model.DisruptPlan) {
	snapshot := *w.in.Snapshot
	snapshot.Pods, snapshot.Nodes = slices.Clone(snapshot.Pods), slices.Clone(snapshot.Nodes)
	claims := slices.Clone(w.in.Claims)
	for i := range plan.Commands {
		for _, m := range plan.Commands[i].Moves {
			for j := range snapshot.Pods {
				if slices.ContainsFunc(m.Pods, func(ref model.PodRef) bool { return ref.UID == snapshot.Pods[j].UID }) {
					snapshot.Pods[j].NodeName = m.Node
				}
			}
		}
		gone := func(name string) bool { return slices.Contains(plan.Commands[i].Nodes, name) }
		claims = slices.DeleteFunc(claims, func(c model.Claim) bool { return gone(c.NodeName) })
		snapshot.Nodes = slices.DeleteFunc(snapshot.Nodes, func(n model.Node) bool { return gone(n.Name) })
	}
	w.in.Snapshot, w.in.Claims = &snapshot, claims
}

// K1: ScheduleAnyway is kept where that costs nothing more, though names would have it otherwise; where it costs nodes it is given up, and
// the command says so.
func TestK1ScheduleAnywayWeighsWhenNodesAreGivenBack(t *testing.T) {
	anyway := func(s *model.Spread) { s.Anyway = true }
	standalone := spreadOver(model.LabelZone, 1, anyway)

	w := zoned().pool("p").pool("q", budgets(model.Budget{Nodes: "0"}))
	w.node("p-c", "p", inZone("c")).running("web", "p-c", 1, standalone)
	for _, zone := range []string{"a", "b", "c"} { // there is room in each zone, and a pod in two
		w.node("q-"+zone, "q", inZone(zone)).running("other", "q-"+zone, 2)
	}
	w.running("web", "q-a", 1, standalone).running("web", "q-b", 1, standalone)
	plan := Plan(w.in)
	if len(plan.Commands) != 1 || len(plan.Commands[0].GivenUpSpreads) != 0 {
		t.Fatalf("%+v", plan.Commands)
	}
	wantCounts(t, w.counts(t, plan, "web", model.LabelZone), 1, 1, 1)

	w = zoned().pool("p").threeZones("p", standalone)
	plan = Plan(w.in)
	if len(plan.Commands) == 0 {
		t.Fatal("a preference keeps nodes")
	}
	reported := 0
	for i := range plan.Commands {
		for _, g := range plan.Commands[i].GivenUpSpreads {
			reported++
			if g.Key != model.LabelZone || g.MaxSkew != 1 || g.Skew < 2 || g.Owner != "web" || g.Message == "" {
				t.Errorf("%+v", g)
			}
		}
	}
	if reported == 0 {
		t.Errorf("nothing is told of %v", w.counts(t, plan, "web", model.LabelZone))
	}
}
