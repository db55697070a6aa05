package disruption

import (
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// newTestCandidate returns what Candidates says of one node: the reasons it may be disrupted for, or the codes of why
// not.
func newTestCandidate(w *world, node string) (reasons, codes []string) {
	candidates, kept := candidates(&w.in)
	for _, c := range candidates {
		if c.Node.Name == node {
			var reasons []string
			for _, each := range methods {
				if c.permitted&each.method != 0 {
					reasons = append(reasons, each.reason)
				}
			}
			return reasons, nil
		}
	}
	for _, k := range kept {
		if k.Node == node {
			return nil, codesOf(k.Reasons)
		}
	}
	return nil, []string{"neither"}
}

// wantKept fails the test unless the node is kept for exactly these codes.
func wantKept(t *testing.T, w *world, node string, want ...string) {
	t.Helper()
	reasons, codes := newTestCandidate(w, node)
	if !slices.Equal(codes, want) {
		t.Errorf("%s: may be given back for %v, kept for %v; want %v", node, reasons, codes, want)
	}
}

// wantCandidate fails the test unless the node may be disrupted for exactly these reasons.
func wantCandidate(t *testing.T, w *world, node string, want ...string) {
	t.Helper()
	reasons, codes := newTestCandidate(w, node)
	if !slices.Equal(reasons, want) || len(codes) > 0 {
		t.Errorf("%s: may be given back for %v, kept for %v; want %v", node, reasons, codes, want)
	}
}

func TestCandidatesAndWhyTheOthersStay(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		codes  []string // none = it is a candidate
	}{
		"nothing speaks against it": {func(*world) {}, nil},
		"no claim":                  {func(w *world) { w.in.Claims = nil }, []string{NoClaim}},
		"another pool's claim":      {func(w *world) { w.in.Claims[0].Pool = "other" }, []string{NoClaim}},
		"gone":                      {func(w *world) { w.in.Claims[0].State = model.Gone }, []string{NoClaim}},
		"draining":                  {func(w *world) { w.in.Claims[0].State = model.Draining }, []string{Ending}},
		"node is being deleted":     {func(w *world) { w.in.Snapshot.Nodes[0].DeletedUnix = testNow }, []string{Ending}},
		"claim is being deleted": {func(w *world) {
			w.in.Snapshot.Claims = []model.Object{{Name: "claim-n", DeletedUnix: testNow}}
		}, []string{Ending}},
		"registered only":  {func(w *world) { w.in.Claims[0].State = model.Registered }, []string{NotInitialized}},
		"label is missing": {func(w *world) { delete(w.in.Snapshot.Nodes[0].Labels, model.LabelInitialized) }, []string{NotInitialized}},
		"in a command":     {func(w *world) { w.command("c1", model.ReasonDrifted, model.CommandReplacing, []string{"n"}) }, []string{InCommand}},
		"in a command that has ended": {func(w *world) {
			w.command("c1", model.ReasonDrifted, model.CommandUndone, []string{"n"}, func(c *model.Command) { c.EndedUnix = testNow - 7200 })
		}, nil},
		"pool is not there":      {func(w *world) { w.in.Snapshot.Pools = nil }, []string{PoolMissing}},
		"pool is being deleted":  {func(w *world) { w.in.Snapshot.Pools[0].DeletedUnix = testNow }, []string{PoolMissing}},
		"class has a problem":    {func(w *world) { w.in.ClassProblems = map[string]string{"default": "no subnets"} }, []string{ClassNotReady}},
		"class is not known":     {func(w *world) { w.in.Catalogs = nil }, []string{ClassNotReady}},
		"cluster is stopped":     {func(w *world) { w.in.Stops = []model.Stop{{Scope: model.StopCluster, Why: "holidays"}} }, []string{Stopped}},
		"region is stopped":      {func(w *world) { w.in.Stops = []model.Stop{{Scope: model.StopRegion}} }, []string{Stopped}},
		"pool is stopped":        {func(w *world) { w.in.Stops = []model.Stop{{Scope: model.StopPool, Pool: "general"}} }, []string{Stopped}},
		"another pool's stopped": {func(w *world) { w.in.Stops = []model.Stop{{Scope: model.StopPool, Pool: "other"}} }, nil},
		"a pod preempts there": {func(w *world) {
			w.pending("big", 1)
			w.in.Snapshot.Pods[len(w.in.Snapshot.Pods)-1].NominatedNode = "n"
		}, []string{PodsExpected}},
		"a pod fits there that waits": {func(w *world) { w.pending("late", 1) }, []string{PodsExpected}},
		"type is not known":           {func(w *world) { w.in.Claims[0].InstanceType = "" }, []string{UnknownInstance}},
		"several reasons at once": {func(w *world) {
			w.in.Stops = []model.Stop{{Scope: model.StopCluster}}
			w.in.Snapshot.Nodes[0].Annotations = map[string]string{model.AnnotationNotDisrupt: "true"}
			w.pdb("web", "web", 0)
		}, []string{Stopped, NodeDoNotDisrupt, DisruptionBudget}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld().pool("general").node("n", "general").running("web", "n", 2)
			c.change(w)
			if c.codes == nil {
				wantCandidate(t, w, "n", model.ReasonUnderutilized)
				return
			}
			wantKept(t, w, "n", c.codes...)
			if plan := Plan(w.in); len(plan.Commands) != 0 || !slices.Equal(kept(plan, "n"), c.codes) {
				t.Errorf("the plan: %+v", plan)
			}
		})
	}
}

// F121: pods that cost less than nothing to lose make no node anything but empty.
func TestF121PodsThatCostNothingLeaveANodeEmpty(t *testing.T) {
	cheap := func(s *model.PodShape) { s.DeletionCost = -1 << 31 }
	low := func(s *model.PodShape) { s.Priority = -1 << 30 }
	w := newWorld().pool("general").node("cheap", "general").running("batch", "cheap", 3, cheap).
		node("low", "general").running("filler", "low", 3, low).
		node("mixed", "general").running("batch", "mixed", 3, cheap).running("web", "mixed", 1).
		node("daemons", "general").running("agent", "daemons", 1, func(s *model.PodShape) { s.OwnerKind = "DaemonSet" })
	plan := Plan(w.in)
	wantGiven(t, plan, model.ReasonEmpty, "cheap", "daemons", "low")
	for _, c := range plan.Commands {
		if len(c.Replacements) != 0 || len(c.Moves) != 0 {
			t.Errorf("something is planned for them: %+v", c)
		}
	}
}

// §5.3: 1 + deletion cost / 2²⁷ + priority / 2²⁵, between −10 and 10.
func TestPodCost(t *testing.T) {
	for _, c := range []struct {
		deletion, priority int32
		want               int64
	}{
		{0, 0, 1000}, {1 << 27, 0, 2000}, {-1 << 27, 0, 0}, {-1<<27 + 1, 0, 1}, {1<<31 - 1, 0, 10_000}, {-1 << 31, 0, -10_000},
		{0, 1 << 25, 2000}, {0, 1 << 24, 1500}, {0, 1<<31 - 1, 10_000}, {0, -1 << 31, -10_000}, {0, 2_000_000_000, 10_000}, {1 << 26, -1 << 25, 500},
	} {
		if got := podCost(&model.PodShape{DeletionCost: c.deletion, Priority: c.priority}); got != c.want {
			t.Errorf("deletion cost %d, priority %d: %d, want %d", c.deletion, c.priority, got, c.want)
		}
	}
	w := newWorld().pool("general").node("n", "general").running("web", "n", 3).running("batch", "n", 2, func(s *model.PodShape) { s.DeletionCost = -1 << 31 })
	if candidates, _ := candidates(&w.in); len(candidates) != 1 || candidates[0].CostMilli != 4000 || candidates[0].Empty || len(candidates[0].Pods) != 5 {
		t.Errorf("%+v", candidates)
	}
}

// F127: every pod that comes or goes, as far as it is known, begins consolidateAfter anew; daemons do not.
func TestF127PodEventsBeginConsolidateAfterAnew(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		codes  []string
		again  int64
	}{
		"long ago":                  {func(*world) {}, nil, 0},
		"the watcher saw one":       {func(w *world) { w.in.Snapshot.Nodes[0].PodEventUnix = testNow - 100 }, []string{NotQuiet}, testNow + 200},
		"just over":                 {func(w *world) { w.in.Snapshot.Nodes[0].PodEventUnix = testNow - 300 }, nil, 0},
		"a pod started":             {func(w *world) { w.in.Snapshot.Pods[0].StartedUnix = testNow - 10 }, []string{NotQuiet}, testNow + 290},
		"a pod has not started yet": {func(w *world) { p := &w.in.Snapshot.Pods[0]; p.StartedUnix, p.CreatedUnix = 0, testNow-20 }, []string{NotQuiet}, testNow + 280},
		"a daemon started":          {func(w *world) { w.in.Snapshot.Pods[1].StartedUnix = testNow - 10 }, nil, 0},
		"a pod's clock is ahead":    {func(w *world) { w.in.Snapshot.Pods[0].StartedUnix = testNow + 5000 }, []string{NotQuiet}, testNow + 300},
		"initialised a moment ago":  {func(w *world) { w.in.Claims[0].InitializedUnix = testNow - 60 }, []string{Young}, testNow + 240},
		"initialised, then a pod": {func(w *world) {
			w.in.Claims[0].InitializedUnix = testNow - 60
			w.in.Snapshot.Nodes[0].PodEventUnix = testNow - 10
		}, []string{NotQuiet}, testNow + 290},
		"consolidateAfter is nothing": {func(w *world) { after(0)(&w.in.Snapshot.Pools[0]); w.in.Snapshot.Nodes[0].PodEventUnix = testNow }, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for what, owner := range map[string]func(*model.PodShape){model.ReasonUnderutilized: nil, model.ReasonEmpty: func(s *model.PodShape) { s.DeletionCost = -1 << 31 }} {
				w := newWorld().pool("general", after(300)).node("n", "general")
				if owner != nil {
					w.running("web", "n", 1, owner)
				} else {
					w.running("web", "n", 1)
				}
				w.running("agent", "n", 1, func(s *model.PodShape) { s.OwnerKind = "DaemonSet" })
				c.change(w)
				if c.codes == nil {
					wantCandidate(t, w, "n", what)
				} else {
					wantKept(t, w, "n", c.codes...)
				}
				plan := Plan(w.in)
				if plan.ReplanUnix != c.again {
					t.Errorf("%s: to be looked at again at now+%d, want now+%d", what, plan.ReplanUnix-testNow, c.again-testNow)
				}
				if quiet := len(plan.Quiet) == 1 && plan.Quiet[0] == w.in.Claims[0].Name; quiet != (c.codes == nil) {
					t.Errorf("%s: quiet are %q of a node that stays for %q", what, plan.Quiet, c.codes)
				}
			}
		})
	}
}

// Nodes of a pool that pods came to or left at about the same time are evaluated together: what replaces the first
// alone costs more, and is replaced in turn. Empty nodes wait for no other.
func TestNodesOfAPoolAreEvaluatedTogether(t *testing.T) {
	for name, c := range map[string]struct {
		first, second int64 // pod events, in seconds before now; consolidateAfter is 300
		change        func(*world)
		codes         []string
		again         int64
	}{
		"the other a little later":        {310, 290, nil, []string{PoolNotQuiet}, testNow + 10},
		"the other as late as counts":     {310, 280, nil, []string{PoolNotQuiet}, testNow + 20},
		"the other later than that":       {310, 279, nil, nil, testNow + 21},
		"a while ago, the other just now": {3000, 0, nil, nil, testNow + 300},
		"both long ago":                   {3000, 2990, nil, nil, 0},
		"the other is of another pool": {310, 290, func(w *world) {
			w.in.Snapshot.Nodes[1].Labels[model.LabelNodePool], w.in.Claims[1].Pool = "other", "other"
		}, nil, testNow + 10},
		"of a short consolidateAfter": {12, 2, func(w *world) {
			for i := range w.in.Snapshot.Pools {
				after(5)(&w.in.Snapshot.Pools[i])
			}
		}, nil, testNow + 3},
		"it is empty": {310, 290, func(w *world) { w.in.Snapshot.Pods = w.in.Snapshot.Pods[1:] }, nil, testNow + 10},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld().pool("general", after(300)).pool("other", after(300)).node("a", "general").node("b", "general").running("web", "a", 1).running("web", "b", 1)
			w.in.Snapshot.Nodes[0].PodEventUnix, w.in.Snapshot.Nodes[1].PodEventUnix = testNow-c.first, testNow-c.second
			if c.change != nil {
				c.change(w)
			}
			candidates, kept := candidates(&w.in)
			if is := slices.ContainsFunc(candidates, func(c *poolNode) bool { return c.Node.Name == "a" }); is != (c.codes == nil) {
				t.Errorf("candidates %+v, kept %+v", candidates, kept)
			}
			if c.codes != nil {
				wantKept(t, w, "a", c.codes...)
			}
			plan := Plan(w.in)
			if len(plan.Commands) == 0 && plan.ReplanUnix != c.again {
				t.Errorf("to be evaluated again at now+%d, want now+%d", plan.ReplanUnix-testNow, c.again-testNow)
			}
			if !slices.Contains(plan.Quiet, w.in.Claims[0].Name) {
				t.Errorf("quiet are %q: the node itself is", plan.Quiet)
			}
		})
	}
}

// Of nodes nobody asks consolidateAfter of, and of such as do not serve pods yet, none is quiet.
func TestNodesThatNeverConsolidateAreNotQuiet(t *testing.T) {
	for name, change := range map[string]func(*world){
		"never":           func(w *world) { w.in.Snapshot.Pools[0].Disruption.ConsolidateAfterSeconds = nil },
		"a fixed size":    func(w *world) { size := int64(1); w.in.Snapshot.Pools[0].Replicas = &size },
		"not initialized": func(w *world) { w.in.Claims[0].State = model.Registered },
		"no pool":         func(w *world) { w.in.Snapshot.Pools = nil },
		"no claim":        func(w *world) { w.in.Claims = nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld().pool("general", after(0)).node("n", "general").running("web", "n", 1)
			if plan := Plan(w.in); len(plan.Quiet) != 1 {
				t.Fatalf("quiet are %q: the test shows nothing", plan.Quiet)
			}
			change(w)
			if plan := Plan(w.in); len(plan.Quiet) != 0 {
				t.Errorf("quiet are %q", plan.Quiet)
			}
		})
	}
}

// F128: what is moved to save goes to no node that pods have just come to or gone from; pods that wait do.
func TestF128MovedPodsAvoidChurningNodes(t *testing.T) {
	w := newWorld().pool("general", after(300)).node("from", "general").running("web", "from", 1).node("to", "general").running("db", "to", 1)
	v := newPlanner(&w.in, nil)
	if o := v.fork.without([]*poolNode{v.fork.byName["from"]}, v.fork.churning); len(o.moves) != 1 || o.moves[0].Node != "to" || len(o.claims) != 0 {
		t.Fatalf("a quiet node: %+v", o)
	}
	w.in.Snapshot.Nodes[1].PodEventUnix = testNow - 10
	v = newPlanner(&w.in, nil)
	if o := v.fork.without([]*poolNode{v.fork.byName["from"]}, v.fork.churning); len(o.moves) != 0 || len(o.claims) != 1 {
		t.Errorf("a restless node: %+v", o)
	}
	if o := v.fork.without([]*poolNode{v.fork.byName["from"]}, v.fork.unready); len(o.moves) != 1 {
		t.Errorf("what drifted has to go somewhere: %+v", o)
	}
	w.in.Snapshot.Nodes[1].Ready = false
	v = newPlanner(&w.in, nil)
	if o := v.fork.without([]*poolNode{v.fork.byName["from"]}, v.fork.unready); len(o.moves) != 0 || len(o.claims) != 1 {
		t.Errorf("a node that is not ready: %+v", o)
	}
	w = newWorld().pool("general", after(300)).node("to", "general").running("db", "to", 1).pending("late", 1)
	w.in.Snapshot.Nodes[0].PodEventUnix = testNow - 10
	if v = newPlanner(&w.in, nil); len(v.fork.byName["to"].expects) != 1 {
		t.Errorf("a pod that waits: %+v", v.fork.byName["to"])
	}
}

// F129: OnlyWhenEmpty leaves everything alone that carries pods, and consolidateAfter Never everything.
func TestF129WhenEmptyAndNever(t *testing.T) {
	build := func(change func(*model.Pool)) *world {
		return newWorld().pool("general", change).node("busy", "general").running("web", "busy", 1).node("empty", "general")
	}
	w := build(func(p *model.Pool) { p.Disruption.Policy = "WhenEmpty" })
	wantCandidate(t, w, "empty", model.ReasonEmpty)
	wantKept(t, w, "busy", OnlyWhenEmpty)
	w = build(never)
	wantKept(t, w, "empty", NeverConsolidate)
	wantKept(t, w, "busy", NeverConsolidate)
	if plan := Plan(w.in); len(plan.Commands) != 0 {
		t.Errorf("%+v", plan.Commands)
	}
	w = build(never) // what drifted goes all the same
	drifted(testNow-60)(nil, &w.in.Claims[0])
	wantCandidate(t, w, "busy", model.ReasonDrifted)
}

// F143: a pod's do-not-disrupt keeps its node: true for good, a duration from the pod's start on, anything else not at
// all. Daemons' and static pods' do, those of pods that end do not.
func TestF143PodsThatMustNotBeDisrupted(t *testing.T) {
	for name, c := range map[string]struct {
		annotation, kind string
		change           func(*model.Pod)
		blocks           bool
		again            int64
	}{
		"true":                {annotation: "true", blocks: true},
		"a duration":          {annotation: "2h", blocks: true, again: testNow + 3600},
		"its last second":     {annotation: "1h", change: func(p *model.Pod) { p.StartedUnix = testNow - 3599 }, blocks: true, again: testNow + 1},
		"over":                {annotation: "1h"},
		"not started":         {annotation: "1s", change: func(p *model.Pod) { p.StartedUnix = 0 }, blocks: true},
		"junk":                {annotation: "yes"},
		"negative":            {annotation: "-2h"},
		"a daemon":            {annotation: "true", kind: "DaemonSet", blocks: true},
		"a static pod":        {annotation: "true", kind: "Node", blocks: true},
		"one that is ending":  {annotation: "true", change: func(p *model.Pod) { p.DeletedUnix = testNow + 30 }},
		"one that has ended":  {annotation: "true", change: func(p *model.Pod) { p.Phase = model.Succeeded }},
		"one that has failed": {annotation: "true", change: func(p *model.Pod) { p.Phase = model.Failed }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld().pool("general").node("n", "general").running("web", "n", 1).running("other", "n", 1, func(s *model.PodShape) {
				s.DoNotDisrupt = c.annotation
				if c.kind != "" {
					s.OwnerKind = c.kind
				}
			})
			if c.change != nil {
				c.change(&w.in.Snapshot.Pods[1])
			}
			if c.blocks {
				wantKept(t, w, "n", PodDoNotDisrupt)
			} else {
				wantCandidate(t, w, "n", model.ReasonUnderutilized)
			}
			if plan := Plan(w.in); plan.ReplanUnix != c.again {
				t.Errorf("to be looked at again at now%+d, want now%+d", plan.ReplanUnix-testNow, c.again-testNow)
			}
		})
	}
}

// F144: the node's own annotation, which it may have of its pool's template, keeps it from everything that is
// voluntarily; only "true" does.
func TestF144NodesThatMustNotBeDisrupted(t *testing.T) {
	for value, blocks := range map[string]bool{"true": true, "false": false, "2h": false} {
		w := newWorld().pool("general").node("n", "general", drifted(testNow-60)).running("web", "n", 1)
		w.in.Snapshot.Nodes[0].Annotations = map[string]string{model.AnnotationNotDisrupt: value}
		if blocks {
			wantKept(t, w, "n", NodeDoNotDisrupt)
		} else {
			wantCandidate(t, w, "n", model.ReasonDrifted, model.ReasonUnderutilized)
		}
	}
}

// F145: a PodDisruptionBudget that allows nothing blocks, and two about one pod do whatever they allow. Pods that are
// never evicted, and with AlwaysAllow those that are not ready, block nothing.
func TestF145PodDisruptionBudgets(t *testing.T) {
	always := func(b *model.PDB) { b.AlwaysEvictUnready = true }
	for name, c := range map[string]struct {
		change func(*world)
		codes  []string
	}{
		"one that allows":          {func(w *world) { w.pdb("a", "web", 1) }, nil},
		"one that does not":        {func(w *world) { w.pdb("a", "web", 0) }, []string{DisruptionBudget}},
		"below nothing":            {func(w *world) { w.pdb("a", "web", -1) }, []string{DisruptionBudget}},
		"of other pods":            {func(w *world) { w.pdb("a", "db", 0) }, nil},
		"of another namespace":     {func(w *world) { w.pdb("a", "web", 0, func(b *model.PDB) { b.Namespace = "other" }) }, nil},
		"without a selector":       {func(w *world) { w.pdb("a", "web", 0, func(b *model.PDB) { b.Selector = nil }) }, nil},
		"of every pod":             {func(w *world) { w.pdb("a", "web", 0, func(b *model.PDB) { b.Selector = &model.Selector{} }) }, []string{DisruptionBudget}},
		"two that allow":           {func(w *world) { w.pdb("a", "web", 5).pdb("b", "web", 5) }, []string{TooManyBudgets}},
		"always, of one ready":     {func(w *world) { w.pdb("a", "web", 0, always) }, []string{DisruptionBudget}},
		"always, of one not ready": {func(w *world) { w.pdb("a", "web", 0, always); w.in.Snapshot.Pods[0].Ready = false }, nil},
		"of one not ready":         {func(w *world) { w.pdb("a", "web", 0); w.in.Snapshot.Pods[0].Ready = false }, []string{DisruptionBudget}},
		"of one that is ending":    {func(w *world) { w.pdb("a", "web", 0); w.in.Snapshot.Pods[0].DeletedUnix = testNow + 9 }, nil},
		"of one that is left": {func(w *world) {
			w.pdb("a", "web", 0)
			w.in.Snapshot.Shapes[0].Tolerations = []model.Toleration{{Operator: "Exists"}}
		}, nil},
		"of a static pod":             {func(w *world) { w.pdb("a", "web", 0); w.in.Snapshot.Shapes[0].OwnerKind = "Node" }, nil},
		"a selector nobody can read":  {func(w *world) { w.pdb("a", "web", 0, unreadable) }, []string{DisruptionBudget}},
		"and it is of no other space": {func(w *world) { w.pdb("a", "web", 0, unreadable, func(b *model.PDB) { b.Namespace = "other" }) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld().pool("general").node("n", "general").running("web", "n", 1)
			c.change(w)
			if _, codes := newTestCandidate(w, "n"); !slices.Equal(codes, c.codes) {
				t.Errorf("kept for %v, want %v", codes, c.codes)
			}
		})
	}
	w := newWorld().pool("general").node("n", "general").running("web", "n", 1).pdb("late", "web", 0).pdb("early", "web", 0)
	_, list := candidates(&w.in)
	if message := list[0].Reasons[0].Message; !strings.Contains(message, "default/early, default/late all select pod default/web-n-0") {
		t.Error(message)
	}
}

func unreadable(b *model.PDB) {
	b.Selector = &model.Selector{Expressions: []model.Requirement{{Key: "app", Operator: model.Gt, Values: []string{"1"}}}}
}

// F137: with a terminationGracePeriod what drifted is replaced whatever its pods say, and there is room for all of
// them.
func TestF137DriftWithAGracePeriodIsNotBlocked(t *testing.T) {
	stubborn := func(s *model.PodShape) { s.DoNotDisrupt = "true" }
	build := func(changes ...func(*model.Node, *model.Claim)) *world {
		return newWorld().pool("general", never).node("n", "general", append(changes, drifted(testNow-60))...).
			running("web", "n", 2).running("job", "n", 2, stubborn).pdb("web", "web", 0).pdb("again", "web", 0)
	}
	w := build()
	wantKept(t, w, "n", NeverConsolidate, PodDoNotDisrupt, TooManyBudgets)
	plan := Plan(build(grace(3600)).in)
	wantGiven(t, plan, model.ReasonDrifted, "n")
	if len(plan.Commands) == 1 && (len(plan.Commands[0].Replacements) != 1 || len(plan.Commands[0].Replacements[0].Pods) != 4 || plan.Commands[0].PodsMoved != 4) {
		t.Errorf("its pods: %+v", plan.Commands[0])
	}
	w = build(grace(3600)) // it says nothing of what is done to save
	after(0)(&w.in.Snapshot.Pools[0])
	wantCandidate(t, w, "n", model.ReasonDrifted)
}

// B12: a node is expected to take pods that were planned onto it and still wait, for a minute after it can.
func TestB12PromisedPodsKeepANodeForAMinute(t *testing.T) {
	build := func(age int64) *world {
		w := newWorld().pool("general").node("n", "general", func(_ *model.Node, c *model.Claim) {
			c.InitializedUnix = testNow - age
			c.Pods = []model.PodRef{{Namespace: "default", Name: "late-0", UID: "uid-late-0"}}
		}).pending("late", 1)
		w.in.Snapshot.Pods[0].Unschedulable = false // kube-scheduler has not looked at it again
		return w
	}
	wantKept(t, build(59), "n", PodsExpected)
	wantCandidate(t, build(60), "n", model.ReasonEmpty)
	w := build(59)
	if plan := Plan(w.in); plan.ReplanUnix != testNow+1 {
		t.Errorf("to be looked at again at now%+d", plan.ReplanUnix-testNow)
	}
	w.in.Snapshot.Pods[0].UID = "another"
	wantCandidate(t, w, "n", model.ReasonEmpty)
}
