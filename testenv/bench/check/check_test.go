package check

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/bench/problem"
)

func answered(t *testing.T, spec problem.Spec) (*problem.Problem, Answer) {
	t.Helper()
	p, err := problem.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	a := FromPlan(pack.Plan(p.Input()))
	if report := Plan(p, a); len(report.Violations) > 0 || report.Left > 0 {
		t.Fatalf("%s: the plan to start from leaves %d pods and breaks %v", spec, report.Left, report.Violations)
	}
	return p, a
}

// holding returns the first claim, from the given one on, with a pod that is wanted, and the pod's place in it.
func holding(t *testing.T, a *Answer, from int, wanted func(name string) bool) (claim, pod int) {
	t.Helper()
	for i := from; i < len(a.Claims); i++ {
		if j := slices.IndexFunc(a.Claims[i].Pods, wanted); j >= 0 {
			return i, j
		}
	}
	t.Fatal("no claim holds such a pod")
	return 0, 0
}

func podNamed(p *problem.Problem, name string) *corev1.Pod {
	i := slices.IndexFunc(p.Pods, func(pod *corev1.Pod) bool { return key(pod) == name })
	return p.Pods[i]
}

func of(p *problem.Problem, test func(pod *corev1.Pod) bool) func(string) bool {
	return func(name string) bool { return test(podNamed(p, name)) }
}

func alone(pod *corev1.Pod) bool { return pod.Labels["app"] == "alone" }
func nearby(pod *corev1.Pod) bool {
	return pod.Spec.Affinity != nil && pod.Spec.Affinity.PodAffinity != nil
}

// move takes a pod from one claim to another.
func move(a *Answer, from, pod, to int) {
	name := a.Claims[from].Pods[pod]
	a.Claims[from].Pods = slices.Delete(slices.Clone(a.Claims[from].Pods), pod, pod+1)
	a.Claims[to].Pods = append(slices.Clone(a.Claims[to].Pods), name)
}

func TestEveryRuleIsSeenToBeBroken(t *testing.T) {
	bench := problem.Spec{Family: "bench", Pods: 200}
	diverse := problem.Spec{Family: "diverse", Pods: 200}
	cases := map[string]struct {
		spec  problem.Spec
		rule  string
		spoil func(t *testing.T, p *problem.Problem, a *Answer)
	}{
		"a pod placed twice": {bench, Counting, func(t *testing.T, p *problem.Problem, a *Answer) {
			a.Claims[0].Pods = append(slices.Clone(a.Claims[0].Pods), a.Claims[1].Pods[0])
		}},
		"a pod forgotten": {bench, Counting, func(t *testing.T, p *problem.Problem, a *Answer) {
			a.Claims[0].Pods = a.Claims[0].Pods[1:]
		}},
		"a pod nobody knows": {bench, Counting, func(t *testing.T, p *problem.Problem, a *Answer) {
			a.Claims[0].Pods = append(slices.Clone(a.Claims[0].Pods), "default/stranger")
		}},
		"pods on a node there is not": {bench, Counting, func(t *testing.T, p *problem.Problem, a *Answer) {
			a.Nominations = append(a.Nominations, Nomination{"nowhere", a.Claims[0].Pods})
			a.Claims[0].Pods = nil
		}},
		"a refusal without a reason": {bench, Reasons, func(t *testing.T, p *problem.Problem, a *Answer) {
			a.Unschedulable = append(a.Unschedulable, Unscheduled{Pod: a.Claims[0].Pods[0]})
			a.Claims[0].Pods = a.Claims[0].Pods[1:]
		}},
		"two claims' pods on one": {diverse, Capacity, func(t *testing.T, p *problem.Problem, a *Answer) {
			for i := 1; i < len(a.Claims); i++ {
				a.Claims[0].Pods = append(slices.Clone(a.Claims[0].Pods), a.Claims[i].Pods...)
				a.Claims[i].Pods = nil
			}
		}},
		"a listed type that is too small": {diverse, Capacity, func(t *testing.T, p *problem.Problem, a *Answer) {
			smallest := slices.MinFunc(p.Types, func(x, y model.InstanceType) int { return int(x.Capacity[model.Memory] - y.Capacity[model.Memory]) })
			for i := range a.Claims {
				a.Claims[i].InstanceTypes = append(slices.Clone(a.Claims[i].InstanceTypes), smallest.Name)
			}
		}},
		"daemons that leave no room": {diverse, Capacity, func(t *testing.T, p *problem.Problem, a *Answer) {
			requests := p.DaemonSets[0].Spec.Template.Spec.Containers[0].Resources.Requests
			cpu := requests[corev1.ResourceCPU]
			cpu.SetMilli(200_000)
			requests[corev1.ResourceCPU] = cpu
		}},
		"a selected zone left": {diverse, Selection, func(t *testing.T, p *problem.Problem, a *Answer) {
			i, j := holding(t, a, 0, of(p, func(pod *corev1.Pod) bool { return pod.Spec.NodeSelector[model.LabelZone] != "" }))
			podNamed(p, a.Claims[i].Pods[j]).Spec.NodeSelector = map[string]string{model.LabelZone: "zone-z"}
		}},
		"a taint not tolerated": {diverse, Taint, func(t *testing.T, p *problem.Problem, a *Answer) {
			p.Pools[0].Spec.Template.Spec.Taints = []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}}
		}},
		"a node its pool may not make": {diverse, Pool, func(t *testing.T, p *problem.Problem, a *Answer) {
			p.Pools[0].Spec.Template.Spec.Requirements[1].Values = []string{"riscv64"}
		}},
		"a price nobody asks": {diverse, Buying, func(t *testing.T, p *problem.Problem, a *Answer) {
			a.Claims[0].Offering.PricePerHour /= 2
		}},
		"a dearer offer than need be": {diverse, Buying, func(t *testing.T, p *problem.Problem, a *Answer) {
			a.Claims[0].Offering.InstanceType = a.Claims[0].InstanceTypes[len(a.Claims[0].InstanceTypes)-1]
			a.Claims[0].Offering.PricePerHour = 1000
		}},
		"an offer outside of the claim": {diverse, Buying, func(t *testing.T, p *problem.Problem, a *Answer) {
			a.Claims[0].Zones = []string{"zone-z"}
		}},
		"a spot claim of one type": {bench, Flexibility, func(t *testing.T, p *problem.Problem, a *Answer) {
			a.Claims[0].InstanceTypes = []string{a.Claims[0].Offering.InstanceType}
		}},
		"two on a host that must not be": {bench, AntiAffinity, func(t *testing.T, p *problem.Problem, a *Answer) {
			first, pod := holding(t, a, 0, of(p, alone))
			second, _ := holding(t, a, first+1, of(p, alone))
			move(a, first, pod, second)
		}},
		"one on a host whose other pod minds": {bench, AntiAffinity, func(t *testing.T, p *problem.Problem, a *Answer) {
			first, _ := holding(t, a, 0, of(p, alone))
			other, pod := holding(t, a, 0, of(p, func(pod *corev1.Pod) bool { return len(pod.Spec.TopologySpreadConstraints) == 0 && !alone(pod) }))
			if first == other {
				other, pod = holding(t, a, first+1, of(p, func(pod *corev1.Pod) bool { return !alone(pod) }))
			}
			podNamed(p, a.Claims[other].Pods[pod]).Labels = map[string]string{"app": "alone"}
			move(a, other, pod, first)
		}},
		"far from its like": {bench, Affinity, func(t *testing.T, p *problem.Problem, a *Answer) {
			from, pod := holding(t, a, 0, of(p, nearby))
			for to := range a.Claims {
				if a.Claims[to].Offering.Zone != a.Claims[from].Offering.Zone {
					move(a, from, pod, to)
					return
				}
			}
			t.Fatal("all claims are in one zone")
		}},
		"all in one zone": {problem.Spec{Family: "spread", Pods: 200}, Spread, func(t *testing.T, p *problem.Problem, a *Answer) {
			for i := range a.Claims {
				a.Claims[i].Zones, a.Claims[i].Offering.Zone = []string{"zone-a"}, "zone-a"
			}
		}},
		"one host with more than its share": {problem.Spec{Family: "spread", Pods: 200}, Spread, func(t *testing.T, p *problem.Problem, a *Answer) {
			for i := 1; i < len(a.Claims); i++ { // those of the same zone, so that zones stay as they were
				for a.Claims[i].Offering.Zone == a.Claims[0].Offering.Zone && len(a.Claims[i].Pods) > 0 {
					move(a, i, 0, 0)
				}
			}
		}},
		"a zone left open that matters": {problem.Spec{Family: "spread", Pods: 200}, Pinned, func(t *testing.T, p *problem.Problem, a *Answer) {
			a.Claims[0].Zones = problem.Zones
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p, a := answered(t, c.spec)
			a.Claims = slices.Clone(a.Claims)
			c.spoil(t, p, &a)
			report := Plan(p, a)
			if !slices.ContainsFunc(report.Violations, func(v Violation) bool { return v.Rule == c.rule }) {
				t.Errorf("no violation of rule %s among %v", c.rule, report.Violations)
			}
		})
	}
}

// TestRoomyMoveBreaksNothing guards that a broken rule is not told where it is kept: moving a pod that minds nothing to a
// claim with room breaks nothing.
func TestRoomyMoveBreaksNothing(t *testing.T) {
	p, a := answered(t, problem.Spec{Family: "homogeneous", Pods: 200})
	big := model.InstanceType{}
	for i := range p.Types {
		if p.Types[i].Capacity[model.CPU] > big.Capacity[model.CPU] {
			big = p.Types[i]
		}
	}
	var onDemand model.Offering
	for _, o := range big.Offerings {
		if o.CapacityType == model.OnDemand {
			onDemand = o
		}
	}
	a.Claims = append(slices.Clone(a.Claims), Claim{Name: "roomy", NodePool: "default", InstanceTypes: []string{big.Name}, Zones: []string{onDemand.Zone},
		CapacityTypes: []string{model.OnDemand}, Offering: Offering{big.Name, onDemand.Zone, model.OnDemand, onDemand.Price.USD()}})
	move(&a, 0, 0, len(a.Claims)-1)
	if report := Plan(p, a); len(report.Violations) > 0 {
		t.Error(report.Violations)
	}
}
