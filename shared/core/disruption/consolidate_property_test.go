package disruption

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// drawUnderused returns a cluster of up to 30 nodes of several kinds with room to spare, and in half of the cases rules between
// pods.
func drawUnderused(r *rand.Rand) *world {
	w := newWorld().pool("general", buying(model.OnDemand, model.Spot)).pool("fixed", budgets(model.Budget{Nodes: "50%"}))
	w.in.Settings.SpotToSpot, w.in.Settings.SpotTypes = r.IntN(3) == 0, 2
	ruled := r.IntN(2) == 0
	var shapes []int
	for i := range 1 + r.IntN(6) {
		owner := fmt.Sprintf("app%d", i)
		same := &model.Selector{MatchLabels: map[string]string{"app": owner}}
		shapes = append(shapes, w.shape(owner, func(s *model.PodShape) {
			s.Requests[model.CPU] = int64(100 * (1 + r.IntN(15)))
			switch r.IntN(8) {
			case 0:
				s.NodeSelector = map[string]string{model.LabelZone: "a"}
			case 1:
				s.NodeSelector = map[string]string{model.LabelCapacityType: model.OnDemand}
			case 2:
				if ruled {
					s.Spread = []model.Spread{{TopologyKey: model.LabelZone, MaxSkew: 1, Selector: same}}
				}
			case 3:
				if ruled {
					s.PodAntiAffinity = []model.PodTerm{{TopologyKey: model.LabelHostname, Selector: same}}
				}
			}
		}))
	}
	for i := range 1 + r.IntN(30) {
		name, size := fmt.Sprintf("n%02d", i), testSizes[1+r.IntN(3)]
		kind, zone := []string{model.OnDemand, model.Spot}[r.IntN(2)], []string{"a", "b"}[r.IntN(2)]
		pool := "general"
		if kind == model.OnDemand && r.IntN(3) == 0 {
			pool = "fixed"
		}
		w.node(name, pool, sized(size.name, kind), func(n *model.Node, c *model.Claim) {
			n.Labels[model.LabelZone], c.Zone = zone, zone
		})
		free := int64(size.cores * 1000 * 8 / 10)
		for p := range r.IntN(int(size.cores)) {
			shape := shapes[r.IntN(len(shapes))]
			s := &w.in.Snapshot.Shapes[shape]
			if free -= s.Requests[model.CPU]; free < 0 || len(s.Spread)+len(s.PodAntiAffinity) > 0 && p > 0 || s.NodeSelector[model.LabelZone] == "a" && zone != "a" || s.NodeSelector[model.LabelCapacityType] != "" && kind != model.OnDemand {
				break
			}
			pod := fmt.Sprintf("%s-%d", name, p)
			w.in.Snapshot.Pods = append(w.in.Snapshot.Pods, model.Pod{Namespace: "default", Name: pod, UID: "uid-" + pod, Shape: shape, NodeName: name, Phase: model.Running, Ready: true,
				CreatedUnix: testNow - 3600, StartedUnix: testNow - 3600})
		}
	}
	return w
}

// carriedOut returns the cluster once a plan is carried out, replacements being as they were planned. It fails the test where a pod
// has no place or a node is over its capacity.
func carriedOut(t *testing.T, in Input, plan model.DisruptPlan) Input {
	t.Helper()
	w := &world{in}
	snapshot := *in.Snapshot
	snapshot.Nodes, snapshot.Pods, snapshot.Pools = slices.Clone(snapshot.Nodes), slices.Clone(snapshot.Pods), slices.Clone(snapshot.Pools)
	w.in.Snapshot, w.in.Claims = &snapshot, slices.Clone(in.Claims)
	place, gone := make(map[model.PodRef]string), make(map[string]bool)
	for _, c := range plan.Commands {
		for _, name := range c.Nodes {
			gone[name] = true
		}
		for _, m := range c.Moves {
			for _, ref := range m.Pods {
				place[ref] = m.Node
			}
		}
		for _, claim := range c.Replacements {
			w.node(claim.Name, claim.Pool, sized(claim.Offering.InstanceType, claim.Offering.CapacityType), func(n *model.Node, c *model.Claim) {
				n.Labels[model.LabelZone], c.Zone, c.Price = claim.Offering.Zone, claim.Offering.Zone, claim.Price
			})
			for _, ref := range claim.Pods {
				place[ref] = claim.Name
			}
		}
	}
	used := make(map[string]int64)
	for i := range snapshot.Pods {
		pod := &snapshot.Pods[i]
		if gone[pod.NodeName] {
			if pod.NodeName = place[pod.Ref()]; pod.NodeName == "" || gone[pod.NodeName] {
				t.Fatalf("pod %s has no place, or %q, which is given back", pod.Key(), pod.NodeName)
			}
		}
		used[pod.NodeName] += snapshot.Shapes[pod.Shape].Requests[model.CPU]
	}
	snapshot.Nodes = slices.DeleteFunc(snapshot.Nodes, func(n model.Node) bool { return gone[n.Name] })
	w.in.Claims = slices.DeleteFunc(w.in.Claims, func(c model.Claim) bool { return gone[c.NodeName] })
	for i := range snapshot.Nodes {
		if n := &snapshot.Nodes[i]; used[n.Name] > n.Allocatable[model.CPU] {
			t.Fatalf("node %s has %d of %d milli-CPU", n.Name, used[n.Name], n.Allocatable[model.CPU])
		}
	}
	return w.in
}

// B10: each command saves enough, whatever its replacements are bought as; every pod has a place then; and it ends: the next plan saves
// something more or is empty.
func TestB10ConsolidationSavesPlacesEveryPodAndEnds(t *testing.T) {
	commands, replacements := 0, 0
	for seed := range uint64(150) {
		w := drawUnderused(rand.New(rand.NewPCG(seed, 7)))
		in := w.in
		for round := 0; ; round++ {
			plan := Plan(in)
			if len(plan.Commands) == 0 {
				break
			}
			if round == 12 {
				t.Fatalf("seed %d: there is always more to do", seed)
			}
			prices := make(map[string]model.MicroUSD)
			for _, node := range newPlanner(&in, nil).fork.poolNodes {
				prices[node.name()] = node.Price
			}
			for _, c := range plan.Commands {
				commands++
				price, worst := model.MicroUSD(0), model.MicroUSD(0)
				for _, name := range c.Nodes {
					price += prices[name]
				}
				for _, claim := range c.Replacements {
					replacements++
					worst += worstOf(in, &claim)
				}
				if least := max(1000, price/100); price-worst < least || c.Savings < least {
					t.Fatalf("seed %d: %v cost %d and at worst %d then; %d are said to be saved", seed, c.Nodes, price, worst, c.Savings)
				}
			}
			if plan.PriceAfter >= plan.PriceBefore {
				t.Fatalf("seed %d: from %d to %d", seed, plan.PriceBefore, plan.PriceAfter)
			}
			in = carriedOut(t, in, plan)
		}
	}
	if commands < 100 || replacements < 30 {
		t.Errorf("only %d commands with %d replacements were looked at", commands, replacements)
	}
}

// worstOf returns the most a claim may cost as whatever it is launched.
func worstOf(in Input, claim *model.PlannedClaim) model.MicroUSD {
	worst := model.MicroUSD(0)
	for _, t := range in.Catalogs[claim.Class] {
		for _, o := range t.Offerings {
			if o.Available && slices.Contains(claim.InstanceTypes, t.Name) && slices.Contains(claim.Zones, o.Zone) && slices.Contains(claim.CapacityTypes, o.CapacityType) {
				worst = max(worst, o.Price)
			}
		}
	}
	return worst
}

// BenchmarkConsolidate is one decision over so many nodes that all go to others: quarter full, of one kind and one price.
func BenchmarkConsolidate(b *testing.B) {
	for _, nodes := range []int{500, 2000, 5000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			w := largeWorld(nodes)
			w.in.Snapshot.Budgets = nil
			for i := range w.in.Snapshot.Pools {
				w.in.Snapshot.Pools[i].Disruption.Budgets = nil
			}
			for i := range w.in.Snapshot.Shapes {
				w.in.Snapshot.Shapes[i].Requests[model.CPU], w.in.Snapshot.Shapes[i].Requests[model.Memory] = 75, 256<<20
			}
			for b.Loop() {
				if plan := Plan(w.in); len(given(plan, model.ReasonUnderutilized)) < nodes/3 {
					b.Fatalf("%d nodes are given back", len(given(plan, model.ReasonUnderutilized)))
				}
			}
		})
	}
}
