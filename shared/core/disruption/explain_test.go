package disruption

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// F149: a node that stays says why, and says what is so: one cause each, of which there is no other but that the other node goes instead.
func TestF149EachCauseIsNamed(t *testing.T) {
	half := func(changes ...func(*model.Pool)) *world { // n would go, since its pods fit m
		return newWorld().pool("general", changes...).node("m", "general").running("db", "m", 4).node("n", "general").running("web", "n", 2)
	}
	wantGiven(t, Plan(half().in), model.ReasonUnderutilized, "n")
	full := func(w *world) *world { return w.running("more", "m", 3).running("more", "n", 5) }
	for name, c := range map[string]struct {
		w    *world
		code string
		says string
	}{
		"its pods fit nowhere": {func() *world {
			w := half().running("odd", "n", 1, func(s *model.PodShape) { s.NodeSelector = map[string]string{"disk": "fast"} })
			w.in.Snapshot.Nodes[1].Labels["disk"] = "fast"
			return w
		}(), Unplaceable, "default/odd-n-0"},
		"nothing is cheaper": {full(half()), NoSavings, "$0.2000"},
		"the pool's budgets": {half(budgets(model.Budget{Nodes: "0"})), NodeBudget, "NodePool general"},
		"a saving too small": {func() *world {
			w := half()
			w.in.Settings.MinSaving = 300_000
			return w
		}(), NoSavings, "$0.2000"},
		"a PodDisruptionBudget": {half().pdb("strict", "web", 0), DisruptionBudget, "default/strict"},
		"two of them":           {half().pdb("strict", "web", 1).pdb("other", "web", 1), TooManyBudgets, "default/other, default/strict"},
		"the node's annotation": {func() *world {
			w := half()
			w.in.Snapshot.Nodes[1].Annotations = map[string]string{model.AnnotationNotDisrupt: "true"}
			return w
		}(), NodeDoNotDisrupt, "node n"},
		"a pod's annotation": {half().running("job", "n", 1, func(s *model.PodShape) { s.DoNotDisrupt = "true" }), PodDoNotDisrupt, "default/job-n-0"},
		"not quiet": {func() *world {
			w := half(after(600))
			w.in.Snapshot.Nodes[1].PodEventUnix = testNow - 30
			return w
		}(), NotQuiet, "10m"},
		"new": {func() *world {
			w := half(after(600))
			w.in.Claims[1].InitializedUnix = testNow - 30
			for i := range w.in.Snapshot.Pods {
				w.in.Snapshot.Pods[i].StartedUnix = testNow - 30
			}
			return w
		}(), Young, "10m"},
		"the policy": {half(func(p *model.Pool) { p.Disruption.Policy = "WhenEmpty" }), OnlyWhenEmpty, "NodePool general"},
		"Never":      {half(never), NeverConsolidate, "NodePool general"},
		"Balanced": {func() *world {
			w := half(func(p *model.Pool) { p.Disruption.Policy = "Balanced" })
			w.in.Settings.BalancedPercent = 1000
			return w
		}(), SavingsTooSmall, "NodePool general"},
		"pods that wait for it": {half().pending("late", 1, cpu(2000)), PodsExpected, "default/late-0"},
		"people stopped it": {func() *world {
			w := half()
			w.in.Stops = []model.Stop{{Scope: model.StopPool, Pool: "general", By: "anna", Why: "a release"}}
			return w
		}(), Stopped, "anna"},
		"its class": {func() *world {
			w := half()
			w.in.ClassProblems = map[string]string{"default": "no subnets"}
			return w
		}(), ClassNotReady, "no subnets"},
		"a command": {half().command("c1", model.ReasonUnderutilized, model.CommandCommitted, []string{"n"}), InCommand, "c1"},
		"it is ending": {func() *world {
			w := half()
			w.in.Claims[1].State = model.Draining
			return w
		}(), Ending, "Draining"},
		"nobody's": {func() *world {
			w := half()
			w.in.Claims = w.in.Claims[:1]
			return w
		}(), NoClaim, "node n"},
	} {
		t.Run(name, func(t *testing.T) {
			plan := Plan(c.w.in)
			at := slices.IndexFunc(plan.Kept, func(k model.KeptNode) bool { return k.Node == "n" })
			if at < 0 {
				t.Fatalf("it does not stay: %+v", plan.Commands)
			}
			why := slices.DeleteFunc(plan.Kept[at].Reasons, func(r model.KeptReason) bool { return r.Code == PodsExpected && strings.Contains(r.Message, "db-m-0") }) // m goes instead
			if len(why) != 1 || why[0].Code != c.code || !strings.Contains(why[0].Message, c.says) {
				t.Errorf("%+v, want %s: … %s …", why, c.code, c.says)
			}
		})
	}
}

// F149: every node of any cluster that stays says why, in words, and none says what is not so.
func TestF149NoNodeThatStaysSaysWhatIsNotSo(t *testing.T) {
	counts := map[string]int{}
	for seed := range uint64(600) {
		w := drawWorld(rand.New(rand.NewPCG(seed, 149)))
		for _, k := range Plan(w.in).Kept {
			if len(k.Reasons) == 0 {
				t.Fatalf("seed %d: node %s does not say why", seed, k.Node)
			}
			for _, why := range k.Reasons {
				counts[why.Code]++
				if why.Message == "" || !soOf(w, k.Node, why.Code) {
					t.Errorf("seed %d: node %s says %+v", seed, k.Node, why)
				}
			}
		}
	}
	for _, code := range []string{NodeDoNotDisrupt, PodDoNotDisrupt, DisruptionBudget, NodeBudget, OnlyWhenEmpty, NeverConsolidate, NotQuiet, Ending, NotInitialized, NoSavings} {
		if counts[code] < 5 {
			t.Errorf("only %d nodes say %s", counts[code], code)
		}
	}
}

// soOf reports whether what a node says may be so, as far as that shows in the input without planning anything.
func soOf(w *world, name, code string) bool {
	in := &w.in
	i := slices.IndexFunc(in.Snapshot.Nodes, func(n model.Node) bool { return n.Name == name })
	node, claim := &in.Snapshot.Nodes[i], &in.Claims[i]
	pool := &in.Snapshot.Pools[slices.IndexFunc(in.Snapshot.Pools, func(p model.Pool) bool { return p.Name == node.Pool() })]
	there := func(test func(*model.Pod, *model.PodShape) bool) bool {
		return slices.ContainsFunc(in.Snapshot.Pods, func(p model.Pod) bool { return p.NodeName == name && test(&p, in.Snapshot.ShapeOf(&p)) })
	}
	switch code {
	case NodeDoNotDisrupt:
		return node.Annotations[model.AnnotationNotDisrupt] == "true"
	case PodDoNotDisrupt:
		return there(func(_ *model.Pod, s *model.PodShape) bool { return s.DoNotDisrupt != "" })
	case DisruptionBudget:
		return there(func(_ *model.Pod, s *model.PodShape) bool {
			return slices.ContainsFunc(in.Snapshot.Budgets, func(b model.PDB) bool {
				return b.DisruptionsAllowed == 0 && b.Selector.MatchLabels["app"] == s.Labels["app"]
			})
		})
	case NodeBudget:
		return len(pool.Disruption.Budgets) > 0
	case OnlyWhenEmpty:
		return pool.Disruption.Policy == "WhenEmpty" && there(func(*model.Pod, *model.PodShape) bool { return true })
	case NeverConsolidate:
		return pool.Disruption.ConsolidateAfterSeconds == nil
	case NotQuiet:
		return pool.Disruption.ConsolidateAfterSeconds != nil && node.PodEventUnix+*pool.Disruption.ConsolidateAfterSeconds > in.NowUnix
	case PoolNotQuiet:
		return pool.Disruption.ConsolidateAfterSeconds != nil && slices.ContainsFunc(in.Snapshot.Nodes, func(n model.Node) bool {
			return n.Name != node.Name && n.PodEventUnix+*pool.Disruption.ConsolidateAfterSeconds > in.NowUnix
		})
	case Young, NoClaim, PoolMissing, ClassNotReady, Stopped, UnknownInstance:
		return false // none of these is drawn
	case Static:
		return pool.Replicas != nil
	case Ending:
		return claim.State == model.Draining
	case NotInitialized:
		return claim.State == model.Registered
	case InCommand:
		return claim.Command != ""
	}
	return true
}
