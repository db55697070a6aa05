package check_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/bench/check"
	"github.com/joiner-sh/joiner/testenv/bench/converge"
	"github.com/joiner-sh/joiner/testenv/bench/problem"
)

// givenBack returns a cluster with a plan that breaks nothing: a node whose pods move, and one with a replacement.
func givenBack(t *testing.T) (*problem.Problem, model.DisruptPlan, int64) {
	t.Helper()
	p, err := problem.New(problem.Spec{Family: "underused", Nodes: 12, Types: 100})
	if err != nil {
		t.Fatal(err)
	}
	for range 40 {
		in := p.Running()
		plan := converge.OneByOne(in)
		if report := check.Disrupt(p, &plan, in.NowUnix); len(report.Violations) > 0 {
			t.Fatalf("the plan to start from breaks %v", report.Violations)
		}
		if len(plan.Commands) == 0 {
			t.Fatal("no plan has a replacement and moves")
		}
		if c := &plan.Commands[0]; len(c.Replacements) == 1 && len(c.Moves) > 0 {
			return p, plan, in.NowUnix
		}
		if p, _, err = p.CarryOut(plan.Commands); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("no plan has a replacement and moves")
	return nil, model.DisruptPlan{}, 0
}

func nodeOf(p *problem.Problem, name string) *corev1.Node {
	return p.Nodes[slices.IndexFunc(p.Nodes, func(n *corev1.Node) bool { return n.Name == name })]
}

func podOn(p *problem.Problem, name string) *corev1.Pod {
	return p.Bound[slices.IndexFunc(p.Bound, func(pod *corev1.Pod) bool { return pod.Spec.NodeName == name && !problem.IsDaemon(pod) })]
}

func TestEveryRuleOfGivingBackIsSeenToBeBroken(t *testing.T) {
	type spoil func(p *problem.Problem, c *model.PlannedCommand, plan *model.DisruptPlan)
	for name, broken := range map[string]struct {
		rule  string
		spoil spoil
	}{
		"a pod nobody planned for": {check.Counting, func(_ *problem.Problem, c *model.PlannedCommand, _ *model.DisruptPlan) {
			c.Moves[0].Pods = c.Moves[0].Pods[1:]
		}},
		"a pod of another node": {check.Counting, func(p *problem.Problem, c *model.PlannedCommand, plan *model.DisruptPlan) {
			pod := podOn(p, c.Moves[0].Node)
			c.Moves[0].Pods = append(slices.Clone(c.Moves[0].Pods), model.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)})
		}},
		"pods to a node that goes":    {check.Counting, func(_ *problem.Problem, c *model.PlannedCommand, _ *model.DisruptPlan) { c.Moves[0].Node = c.Nodes[0] }},
		"pods to a node there is not": {check.Counting, func(_ *problem.Problem, c *model.PlannedCommand, _ *model.DisruptPlan) { c.Moves[0].Node = "nowhere" }},
		"a wrong number of pods":      {check.Counting, func(_ *problem.Problem, c *model.PlannedCommand, _ *model.DisruptPlan) { c.PodsMoved++ }},
		"a node twice": {check.Counting, func(_ *problem.Problem, c *model.PlannedCommand, plan *model.DisruptPlan) {
			plan.Commands = append(plan.Commands, *c)
		}},
		"a node forgotten":        {check.Complete, func(_ *problem.Problem, _ *model.PlannedCommand, plan *model.DisruptPlan) { plan.Kept = plan.Kept[1:] }},
		"a node kept for nothing": {check.Complete, func(_ *problem.Problem, _ *model.PlannedCommand, plan *model.DisruptPlan) { plan.Kept[0].Reasons = nil }},
		"a name that is taken": {check.Naming, func(p *problem.Problem, c *model.PlannedCommand, _ *model.DisruptPlan) {
			c.Replacements[0].Name = c.Moves[0].Node
		}},
		"a name that is none": {check.Naming, func(p *problem.Problem, c *model.PlannedCommand, _ *model.DisruptPlan) {
			c.Replacements[0].Name = "Not_A_Name"
		}},
		"a sum that is wrong":   {check.Saving, func(_ *problem.Problem, c *model.PlannedCommand, _ *model.DisruptPlan) { c.Savings++ }},
		"a price that is wrong": {check.Saving, func(_ *problem.Problem, _ *model.PlannedCommand, plan *model.DisruptPlan) { plan.PriceAfter-- }},
		"a move that does not pay": {check.Saving, func(p *problem.Problem, c *model.PlannedCommand, _ *model.DisruptPlan) {
			nodeOf(p, c.Nodes[0]).Labels[model.LabelInstanceType] = c.Replacements[0].Offering.InstanceType
			nodeOf(p, c.Nodes[0]).Labels[model.LabelZone] = c.Replacements[0].Offering.Zone
			nodeOf(p, c.Nodes[0]).Labels[model.LabelCapacityType] = c.Replacements[0].Offering.CapacityType
		}},
		"spot for spot": {check.Guard, func(p *problem.Problem, c *model.PlannedCommand, _ *model.DisruptPlan) {
			nodeOf(p, c.Nodes[0]).Labels[model.LabelCapacityType] = model.Spot
			c.Replacements[0].CapacityTypes = []string{model.Spot}
		}},
		"what may be dearer": {check.Guard, func(p *problem.Problem, c *model.PlannedCommand, _ *model.DisruptPlan) {
			c.Replacements[0].CapacityTypes = []string{model.OnDemand}
			for i := range p.Types {
				c.Replacements[0].InstanceTypes = append(c.Replacements[0].InstanceTypes, p.Types[i].Name)
			}
		}},
		"a node people keep": {check.Blocked, func(p *problem.Problem, c *model.PlannedCommand, _ *model.DisruptPlan) {
			nodeOf(p, c.Nodes[0]).Annotations = map[string]string{model.AnnotationNotDisrupt: "true"}
		}},
		"a pod people keep": {check.Blocked, func(p *problem.Problem, c *model.PlannedCommand, _ *model.DisruptPlan) {
			podOn(p, c.Nodes[0]).Annotations = map[string]string{model.AnnotationNotDisrupt: "true"}
		}},
		"a pod people keep for longer than it runs": {check.Blocked, func(p *problem.Problem, c *model.PlannedCommand, _ *model.DisruptPlan) {
			podOn(p, c.Nodes[0]).Annotations = map[string]string{model.AnnotationNotDisrupt: "48h"}
		}},
		"a node of a pool for empty ones": {check.Blocked, func(p *problem.Problem, _ *model.PlannedCommand, _ *model.DisruptPlan) {
			p.Pools[0].Spec.Disruption.ConsolidationPolicy = "WhenEmpty"
		}},
		"a node that is not empty": {check.Blocked, func(_ *problem.Problem, c *model.PlannedCommand, _ *model.DisruptPlan) { c.Reason = model.ReasonEmpty }},
		"a node for no reason of the problem": {check.Blocked, func(_ *problem.Problem, c *model.PlannedCommand, _ *model.DisruptPlan) {
			c.Reason = model.ReasonDrifted
		}},
		"no node allowed": {check.Budget, func(p *problem.Problem, _ *model.PlannedCommand, _ *model.DisruptPlan) {
			p.Pools[0].Spec.Disruption.Budgets[0].Nodes = "0"
		}},
		"a node too small": {check.Capacity, func(p *problem.Problem, c *model.PlannedCommand, _ *model.DisruptPlan) {
			cpu := nodeOf(p, c.Moves[0].Node).Status.Allocatable[corev1.ResourceCPU]
			cpu.SetMilli(300)
			nodeOf(p, c.Moves[0].Node).Status.Allocatable[corev1.ResourceCPU] = cpu
		}},
		"a taint": {check.Taint, func(p *problem.Problem, c *model.PlannedCommand, _ *model.DisruptPlan) {
			nodeOf(p, c.Moves[0].Node).Spec.Taints = []corev1.Taint{{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p, plan, now := givenBack(t)
			broken.spoil(p, &plan.Commands[0], &plan)
			report := check.Disrupt(p, &plan, now)
			if !slices.ContainsFunc(report.Violations, func(v check.Violation) bool { return v.Rule == broken.rule }) {
				t.Errorf("%s is not among %v", broken.rule, report.Violations)
			}
		})
	}
}

// TestWhatKeepsNodesIsSeenInAGuardedCluster guards that the family has each kind of guard: a plan that looks at prices
// alone breaks most of them, one that gives back nothing breaks none.
func TestWhatKeepsNodesIsSeenInAGuardedCluster(t *testing.T) {
	p, err := problem.New(problem.Spec{Family: "guarded", Nodes: 150, Types: 100})
	if err != nil {
		t.Fatal(err)
	}
	in := p.Running()
	all := model.DisruptPlan{}
	nothing := model.DisruptPlan{}
	for i := range in.Claims {
		c := &in.Claims[i]
		nothing.Kept = append(nothing.Kept, model.KeptNode{Node: c.NodeName, Reasons: []model.KeptReason{{Code: "Any", Message: "for a test"}}})
		nothing.PriceBefore += c.Price
		reason := model.ReasonUnderutilized
		if !slices.ContainsFunc(p.Displaced(), func(pod *corev1.Pod) bool { return pod.Spec.NodeName == c.NodeName }) {
			reason = model.ReasonEmpty
		}
		all.Commands = append(all.Commands, model.PlannedCommand{Reason: reason, Nodes: []string{c.NodeName}})
	}
	nothing.PriceAfter = nothing.PriceBefore
	if report := check.Disrupt(p, &nothing, in.NowUnix); len(report.Violations) > 0 {
		t.Errorf("nothing is given back, and broken are %v", report.Violations)
	}
	var kinds []string
	for _, v := range check.Disrupt(p, &all, in.NowUnix).Violations {
		kinds = append(kinds, v.String())
	}
	for _, part := range []string{"is annotated do-not-disrupt", "do-not-disrupt for 48h", "gives back empty nodes only", "says consolidateAfter Never", "says consolidateAfter 1h",
		"two PodDisruptionBudgets speak", "used-up forbids", "of pool tenth are leaving", "of pool two are leaving", "of pool byreason are leaving", "of pool closed are leaving"} {
		if !slices.ContainsFunc(kinds, func(text string) bool { return strings.Contains(text, part) }) {
			t.Errorf("nothing says %q", part)
		}
	}
	for _, text := range kinds {
		if strings.Contains(text, "30m") || strings.Contains(text, "roomy") {
			t.Errorf("%s: what is over keeps a node", text)
		}
	}
}
