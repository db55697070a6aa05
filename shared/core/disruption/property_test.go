package disruption

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// drawWorld returns a cluster of up to 14 nodes in up to three pools, with about everything that may speak for or against giving one
// back.
func drawWorld(r *rand.Rand) *world {
	w := newWorld()
	chance := func(n int) bool { return r.IntN(n) == 0 }
	amounts := []string{"0", "1", "3", "10%", "50%", "100%"}
	reasons := []string{model.ReasonEmpty, model.ReasonDrifted, model.ReasonUnderutilized}
	pools := 1 + r.IntN(3)
	for p := range pools {
		w.pool(fmt.Sprintf("pool%d", p), func(pool *model.Pool) {
			for range r.IntN(3) {
				b := model.Budget{Nodes: amounts[r.IntN(len(amounts))]}
				if chance(2) {
					b.Reasons = []string{reasons[r.IntN(len(reasons))]}
				}
				if chance(4) {
					b.Schedule, b.DurationSeconds = fmt.Sprintf("%d * * * *", r.IntN(60)), int64(60*(1+r.IntN(59)))
				}
				pool.Disruption.Budgets = append(pool.Disruption.Budgets, b)
			}
			switch r.IntN(6) {
			case 0:
				after(int64(r.IntN(600)))(pool)
			case 1:
				never(pool)
			case 2:
				pool.Disruption.Policy = "WhenEmpty"
			case 3:
				pool.Disruption.Policy = "Balanced"
			case 4:
				if chance(2) {
					replicas(int64(r.IntN(4)))(pool)
				}
			}
			if chance(3) {
				pool.Annotations = map[string]string{model.AnnotationGentleExpiry: "true"}
			}
		})
	}
	owner := 0
	for i := range 1 + r.IntN(14) {
		name := fmt.Sprintf("n%02d", i)
		w.node(name, fmt.Sprintf("pool%d", r.IntN(pools)), func(n *model.Node, c *model.Claim) {
			if chance(3) {
				drifted(testNow-int64(r.IntN(1000)))(n, c)
			}
			if chance(4) {
				grace(600)(n, c)
			}
			if chance(4) {
				seconds := int64(80_000 + r.IntN(10_000))
				c.ExpireSeconds = &seconds
			}
			if chance(6) {
				n.PodEventUnix = testNow - int64(r.IntN(900))
			}
			switch r.IntN(20) {
			case 0:
				n.Ready = false
			case 1:
				c.State = model.Draining
			case 2:
				c.State = model.Registered
			case 3:
				n.Annotations = map[string]string{model.AnnotationNotDisrupt: "true"}
			case 4:
				n.Taints = []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}}
			}
		})
		for range r.IntN(3) {
			owner++
			w.running(fmt.Sprintf("app%d", owner), name, r.IntN(3), func(s *model.PodShape) {
				s.Requests[model.CPU] = int64(100 * (1 + r.IntN(12)))
				s.DeletionCost = int32([]int{0, 0, 0, -1 << 31, 1 << 30}[r.IntN(5)])
				if chance(12) {
					s.DoNotDisrupt = []string{"true", "90m", "30m", "junk"}[r.IntN(4)]
				}
			})
			if chance(8) {
				w.pdb(fmt.Sprintf("pdb%d", owner), fmt.Sprintf("app%d", owner), int32(r.IntN(2)))
			}
		}
	}
	if chance(3) {
		w.pending("late", 1+r.IntN(3))
	}
	if chance(4) {
		node := w.in.Snapshot.Nodes[r.IntN(len(w.in.Snapshot.Nodes))].Name
		w.command("c1", reasons[r.IntN(3)], []model.CommandState{model.CommandCommitted, model.CommandReplacing, model.CommandUndoing, model.CommandDone, model.CommandUndone}[r.IntN(5)], []string{node})
	}
	return w
}

// shuffled returns the same input with its lists in another order.
func shuffled(in Input, r *rand.Rand) Input {
	snapshot := *in.Snapshot
	shuffle := func(n int, swap func(i, j int)) { r.Shuffle(n, swap) }
	snapshot.Nodes, snapshot.Pods = slices.Clone(snapshot.Nodes), slices.Clone(snapshot.Pods)
	snapshot.Pools, snapshot.Budgets = slices.Clone(snapshot.Pools), slices.Clone(snapshot.Budgets)
	in.Claims, in.Commands = slices.Clone(in.Claims), slices.Clone(in.Commands)
	shuffle(len(snapshot.Nodes), func(i, j int) { snapshot.Nodes[i], snapshot.Nodes[j] = snapshot.Nodes[j], snapshot.Nodes[i] })
	shuffle(len(snapshot.Pods), func(i, j int) { snapshot.Pods[i], snapshot.Pods[j] = snapshot.Pods[j], snapshot.Pods[i] })
	shuffle(len(snapshot.Pools), func(i, j int) { snapshot.Pools[i], snapshot.Pools[j] = snapshot.Pools[j], snapshot.Pools[i] })
	shuffle(len(snapshot.Budgets), func(i, j int) { snapshot.Budgets[i], snapshot.Budgets[j] = snapshot.Budgets[j], snapshot.Budgets[i] })
	shuffle(len(in.Claims), func(i, j int) { in.Claims[i], in.Claims[j] = in.Claims[j], in.Claims[i] })
	shuffle(len(in.Commands), func(i, j int) { in.Commands[i], in.Commands[j] = in.Commands[j], in.Commands[i] })
	in.Snapshot = &snapshot
	return in
}

// The same input makes the same plan, byte for byte, whatever the order of its lists, and nothing of it is changed. Every node of a
// pool is in one command or has a reason to stay; no node is in two; the prices add up.
func TestPlanIsAFunctionOfItsInput(t *testing.T) {
	counts := map[string]int{}
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 2))
		w := drawWorld(r)
		before, _ := json.Marshal(w.in)
		plan := Plan(w.in)
		text, _ := json.Marshal(plan)
		if now, _ := json.Marshal(w.in); string(now) != string(before) {
			t.Fatalf("seed %d: the input was changed", seed)
		}
		other, _ := json.Marshal(Plan(shuffled(w.in, r)))
		if string(text) != string(other) {
			t.Fatalf("seed %d: with lists in another order\n%s\n%s", seed, text, other)
		}
		seen, after := map[string]bool{}, plan.PriceBefore
		for _, c := range plan.Commands {
			counts[c.Reason]++
			after -= c.Savings
			if len(c.Nodes) == 0 || len(c.Nodes) > model.MaxCommandNodes || !slices.IsSorted(c.Nodes) || c.Replacements == nil || c.Moves == nil || c.Inputs == "" {
				t.Fatalf("seed %d: %+v", seed, c)
			}
			for _, n := range c.Nodes {
				if seen[n] {
					t.Fatalf("seed %d: node %s twice", seed, n)
				}
				seen[n] = true
			}
		}
		for _, k := range plan.Kept {
			if seen[k.Node] || len(k.Reasons) == 0 {
				t.Fatalf("seed %d: %+v", seed, k)
			}
			seen[k.Node] = true
		}
		if len(seen) != len(w.in.Snapshot.Nodes) || after != plan.PriceAfter {
			t.Fatalf("seed %d: %d of %d nodes; %d, want %d", seed, len(seen), len(w.in.Snapshot.Nodes), after, plan.PriceAfter)
		}
	}
	for _, reason := range []string{model.ReasonEmpty, model.ReasonDrifted, model.ReasonExpired, model.ReasonReplicas} {
		if counts[reason] < 10 {
			t.Errorf("only %d commands for %s were drawn", counts[reason], reason)
		}
	}
}

// A command that was planned holds when it is looked at again at once: committed as it is, on the snapshot it was planned by.
func TestWhatIsPlannedHolds(t *testing.T) {
	held := map[string]int{}
	for seed := range uint64(400) {
		w := drawWorld(rand.New(rand.NewPCG(seed, 3)))
		plan := Plan(w.in)
		if len(plan.Commands) == 0 {
			continue
		}
		command := commit(&w.in, plan.Commands[0], "first") // those after it count on it
		if reasons := Revalidate(w.in, command); len(reasons) > 0 {
			t.Fatalf("seed %d: %+v: %+v", seed, plan.Commands[0], reasons)
		}
		held[command.Reason]++
	}
	for _, reason := range []string{model.ReasonEmpty, model.ReasonDrifted} {
		if held[reason] < 10 {
			t.Errorf("only %d commands for %s were looked at", held[reason], reason)
		}
	}
}

// commit records a planned command as the flow does, with its nodes tainted.
func commit(in *Input, planned model.PlannedCommand, id string) *model.Command {
	c := model.Command{ID: id, Version: 1, State: model.CommandCommitted, Reason: planned.Reason, Replacements: planned.Replacements, PodsMoved: planned.PodsMoved,
		Savings: planned.Savings, Inputs: planned.Inputs, Workloads: planned.Workloads, SinceUnix: in.NowUnix}
	snapshot := *in.Snapshot
	snapshot.Nodes, in.Claims = slices.Clone(snapshot.Nodes), slices.Clone(in.Claims)
	for i := range snapshot.Nodes {
		node := &snapshot.Nodes[i]
		if !slices.Contains(planned.Nodes, node.Name) {
			continue
		}
		node.Taints = append(slices.Clone(node.Taints), model.Taint{Key: model.TaintDisrupted, Effect: model.NoSchedule})
		for j := range in.Claims {
			if claim := &in.Claims[j]; claim.NodeName == node.Name {
				claim.Command = id
				c.Targets = append(c.Targets, model.Target{Claim: claim.Name, Pool: claim.Pool, Class: claim.Class, Node: node.Name, NodeUID: node.UID,
					InstanceType: claim.InstanceType, Zone: claim.Zone, CapacityType: claim.CapacityType})
			}
		}
	}
	in.Snapshot = &snapshot
	in.Commands = append(slices.Clone(in.Commands), c)
	return &in.Commands[len(in.Commands)-1]
}

// Nothing and nonsense make a plan, too.
func TestPlanOfNothingAndNonsense(t *testing.T) {
	if plan := Plan(Input{}); plan.Commands == nil || plan.Kept == nil || len(plan.Commands)+len(plan.Kept) != 0 {
		t.Errorf("%+v", plan)
	}
	most := int64(1<<63 - 1)
	w := newWorld().pool("general", after(most), budgets(model.Budget{Nodes: "10%", Schedule: "* * * * *", DurationSeconds: most})).
		node("n", "general", func(n *model.Node, c *model.Claim) {
			n.PodEventUnix, c.InitializedUnix, c.CreatedUnix, c.ExpireSeconds = most, -most, -5, &most
			c.Pods = []model.PodRef{{}}
		}, grace(-most), drifted(most)).
		node("n", "general").node("", "general").running("web", "n", 2, cpu(most)).running("db", "nowhere", 1)
	w.in.Snapshot.Pods[0].Shape, w.in.Snapshot.Pods[1].StartedUnix = 99, most
	w.in.Commands = []model.Command{{}, {ID: "c", State: model.CommandReplacing, EndedUnix: most, Targets: []model.Target{{}, {Claim: "claim-n"}}, Replacements: []model.PlannedClaim{{}}}}
	w.in.Stops, w.in.UnavailableOfferings = []model.Stop{{}}, []model.UnavailableOffering{{}}
	plan := Plan(w.in)
	if len(plan.Commands) != 0 || len(plan.Kept) != 2 {
		t.Errorf("%+v", plan)
	}
	for i := range w.in.Commands {
		Revalidate(w.in, &w.in.Commands[i])
	}
}
