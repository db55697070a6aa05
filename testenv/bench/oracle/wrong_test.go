package oracle

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/bench/oracle/problem"
)

// plain returns a problem of an unlimited pool, no nodes and as many pods as asked for.
func plain(t *testing.T, pods int, change func(i int, pod *corev1.Pod)) *problem.Problem {
	t.Helper()
	for seed := range uint64(1000) {
		p := problem.New(seed, problem.Size{Workloads: 1, Replicas: 1})
		if len(p.Pools) != 1 || len(p.Pools[0].Spec.Template.Spec.Requirements)+len(p.Pools[0].Spec.Limits) > 0 ||
			len(p.Pools[0].Spec.Template.Spec.Taints)+len(p.DaemonSets) > 0 || p.Catalog[2].Overhead == nil {
			continue
		}
		first := p.Pods[0]
		p.Pods, p.Claims, p.Volumes = nil, nil, nil
		priority := int32(0)
		for i := range pods {
			pod := &corev1.Pod{ObjectMeta: *first.ObjectMeta.DeepCopy()}
			pod.Name, pod.UID, pod.Labels = name(i), types.UID(name(i)), map[string]string{"app": "web"}
			pod.Status.Conditions = first.Status.Conditions
			pod.Spec.Containers, pod.Spec.Priority = []corev1.Container{{Name: "main"}}, &priority
			if change != nil {
				change(i, pod)
			}
			p.Pods = append(p.Pods, pod)
		}
		return p
	}
	t.Fatal("no problem is plain enough")
	return nil
}

// name returns a, b, c, …
func name(i int) string { return strings.Repeat(string(rune('a'+i%26)), 1+i/26) }

// claimFor returns a claim of the 2xlarge instance of the category m, in zone-a, for pods of the namespace of all.
func claimFor(p *problem.Problem, name string, pods ...string) model.PlannedClaim {
	claim := model.PlannedClaim{
		Name: name, Pool: p.Pools[0].Name, Class: problem.Class, InstanceTypes: []string{"m1.2xlarge"},
		Offering: model.OfferingKey{InstanceType: "m1.2xlarge", Zone: "zone-a", CapacityType: model.OnDemand},
		Labels:   maps.Clone(p.Pools[0].Spec.Template.Metadata.Labels),
	}
	for _, pod := range pods {
		claim.Pods = append(claim.Pods, model.PodRef{Namespace: p.Pods[0].Namespace, Name: pod})
	}
	return claim
}

// existing returns a node that exists, with room.
func existing(p *problem.Problem, name string) *corev1.Node {
	claim := claimFor(p, name)
	m, _ := cheapest(p, &claim)
	return nodeOf(&claim, m)[0].(*corev1.Node)
}

// checks returns the names of the checks that found something, each once.
func checks(t *testing.T, p *problem.Problem, plan model.Plan) []Check {
	t.Helper()
	v, err := EvaluatePlan(p, &plan, Depth{Orders: 5})
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[Check]bool)
	for _, f := range v.Findings {
		found[f.Check] = true
	}
	return slices.Sorted(maps.Keys(found))
}

func refuse(p *problem.Problem, pods ...string) []model.Unschedulable {
	var out []model.Unschedulable
	for _, pod := range pods {
		out = append(out, model.Unschedulable{Pod: model.PodRef{Namespace: p.Pods[0].Namespace, Name: pod}, Reasons: []model.Reason{{Code: "Made", Message: "up"}}})
	}
	return out
}

// TestWrongPlansAreCaught evaluates plans that are wrong in one way each, and their right twins.
func TestWrongPlansAreCaught(t *testing.T) {
	inZone := func(zone string) func(int, *corev1.Pod) {
		return func(_ int, pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{model.LabelZone: zone} }
	}
	apart := func(_ int, pod *corev1.Pod) {
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{TopologyKey: model.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		}}}
	}
	spread := func(_ int, pod *corev1.Pod) {
		pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: model.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		}}
	}
	claims := func(list ...model.PlannedClaim) model.Plan { return model.Plan{Claims: list} }
	type make func(p *problem.Problem) model.Plan
	for title, c := range map[string]struct {
		pods   int
		change func(int, *corev1.Pod)
		nodes  int
		plan   make
		want   []Check
	}{
		"right":             {2, inZone("zone-a"), 0, func(p *problem.Problem) model.Plan { return claims(claimFor(p, "one", "a", "b")) }, nil},
		"a pod is left out": {2, nil, 0, func(p *problem.Problem) model.Plan { return claims(claimFor(p, "one", "a")) }, []Check{Whole}},
		"a pod is there twice": {1, nil, 0, func(p *problem.Problem) model.Plan {
			return claims(claimFor(p, "one", "a"), claimFor(p, "two", "a"))
		}, []Check{Whole}},
		"the wrong zone": {1, inZone("zone-b"), 0, func(p *problem.Problem) model.Plan { return claims(claimFor(p, "one", "a")) }, []Check{Holds}},
		"apart":          {2, apart, 0, func(p *problem.Problem) model.Plan { return claims(claimFor(p, "one", "a"), claimFor(p, "two", "b")) }, nil},
		"together what must be apart": {2, apart, 0, func(p *problem.Problem) model.Plan {
			return claims(claimFor(p, "one", "a", "b"))
		}, []Check{Holds}},
		"spread unevenly": {4, spread, 0, func(p *problem.Problem) model.Plan {
			return claims(claimFor(p, "one", "a", "b", "c"), claimFor(p, "two", "d"))
		}, []Check{Holds}},
		"spread evenly": {3, spread, 0, func(p *problem.Problem) model.Plan {
			return claims(claimFor(p, "one", "a"), claimFor(p, "two", "b"), claimFor(p, "three", "c"))
		}, nil},
		// K3: kube-scheduler takes it, but another node may always come, which has none. So it is not how a planner spreads over hosts.
		"spread evenly by two": {4, spread, 0, func(p *problem.Problem) model.Plan {
			return claims(claimFor(p, "one", "a", "b"), claimFor(p, "two", "c", "d"))
		}, []Check{Again}},
		"too many pods": {31, nil, 0, func(p *problem.Problem) model.Plan {
			claim := claimFor(p, "one")
			for _, pod := range p.Pods {
				claim.Pods = append(claim.Pods, model.PodRef{Namespace: pod.Namespace, Name: pod.Name})
			}
			return claims(claim)
		}, []Check{Holds}},
		"a claim beside an empty node": {1, nil, 1, func(p *problem.Problem) model.Plan { return claims(claimFor(p, "one", "a")) }, []Check{ExistingFirst, Movable}},
		"a pod given up on beside an empty node": {1, nil, 1, func(p *problem.Problem) model.Plan {
			return model.Plan{Unschedulable: refuse(p, "a")}
		}, []Check{ExistingFirst, GivenUp, Movable}},
		"a pod given up on": {1, nil, 0, func(p *problem.Problem) model.Plan { return model.Plan{Unschedulable: refuse(p, "a")} }, []Check{GivenUp}},
		"a pod nothing can hold": {1, inZone("nowhere"), 1, func(p *problem.Problem) model.Plan {
			return model.Plan{Unschedulable: refuse(p, "a")}
		}, nil},
	} {
		t.Run(title, func(t *testing.T) {
			p := plain(t, c.pods, c.change)
			for i := range c.nodes {
				p.Nodes = append(p.Nodes, existing(p, name(20+i)))
			}
			if got := checks(t, p, c.plan(p)); !slices.Equal(got, c.want) {
				t.Errorf("found %v, want %v", got, c.want)
			}
		})
	}
}

// spreadOver returns a DoNotSchedule constraint of skew 1 over all pods that are labeled as web.
func spreadOver(key string) corev1.TopologySpreadConstraint {
	return corev1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}
}

// TestALuckyOrderIsNotAskedFor gives up on a pod that the scheduler places on the one node there is only where it comes
// before another.
func TestALuckyOrderIsNotAskedFor(t *testing.T) {
	p := plain(t, 2, func(i int, pod *corev1.Pod) {
		if i == 0 {
			four, spread := int32(4), spreadOver(model.LabelZone)
			spread.MinDomains = &four
			pod.Spec.NodeSelector = map[string]string{model.LabelZone: "zone-a"}
			pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{spread}
		}
	})
	p.Nodes = append(p.Nodes, existing(p, "x"))
	plan := model.Plan{
		Nominations:   []model.Nomination{{Node: "x", Pods: []model.PodRef{{Namespace: p.Pods[0].Namespace, Name: "b"}}}},
		Unschedulable: refuse(p, "a"),
	}
	if got := checks(t, p, plan); got != nil {
		t.Errorf("found %v, want nothing", got)
	}
	v, err := EvaluatePlan(p, &plan, Depth{Orders: 1})
	if err != nil || !v.ByItself {
		t.Errorf("by itself the scheduler places all: %v, %v; want true", v.ByItself, err)
	}
}

// TestPodsThatWaitForEachOther puts a on a spot instance in zone-a, b, spread by zone, on demand there, and c, spread by
// capacity type, on spot in zone-b. Where a comes first b waits for c, and c for b. The scheduler gives them each other's
// node, but for host ports of two more pods, d and e.
func TestPodsThatWaitForEachOther(t *testing.T) {
	for title, c := range map[string]struct {
		ports bool
		found bool
	}{
		"the scheduler frees them": {false, false},
		"nothing frees them":       {true, true},
	} {
		t.Run(title, func(t *testing.T) {
			p := plain(t, 5, func(i int, pod *corev1.Pod) {
				switch i {
				case 1:
					pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{spreadOver(model.LabelZone)}
				case 2:
					pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{spreadOver(model.LabelCapacityType)}
				case 3, 4:
					pod.Labels = map[string]string{"app": "other"}
				}
				if port := map[int]int32{1: 81, 2: 80, 3: 80, 4: 81}[i]; c.ports && port > 0 {
					pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: port, ContainerPort: port, Protocol: corev1.ProtocolTCP}}
				}
			})
			claim := func(zone, capacityType string, pods ...string) model.PlannedClaim {
				out := claimFor(p, zone+"-"+capacityType, pods...)
				out.Offering.Zone, out.Offering.CapacityType = zone, capacityType
				return out
			}
			plan := model.Plan{Claims: []model.PlannedClaim{
				claim("zone-a", model.Spot, "a"), claim("zone-a", model.OnDemand, "b", "d"), claim("zone-b", model.Spot, "c", "e"),
			}}
			if got := checks(t, p, plan); slices.Contains(got, Holds) != c.found {
				t.Errorf("found %v, want Holds among them: %v", got, c.found)
			}
		})
	}
}

// TestHoldsAnyOfferingTriesOtherOfferings evaluates a claim that holds its pod at its cheapest offer alone.
func TestHoldsAnyOfferingTriesOtherOfferings(t *testing.T) {
	p := plain(t, 1, func(_ int, pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{model.LabelZone: "zone-a"} })
	claim := claimFor(p, "one", "a")
	claim.Zones, claim.CapacityTypes = []string{"zone-a", "zone-b", "zone-c"}, []string{model.Spot, model.OnDemand}
	claim.Requirements = []model.Requirement{{Key: model.LabelInstanceType, Operator: model.In, Values: claim.InstanceTypes}}
	v, err := EvaluatePlan(p, &model.Plan{Claims: []model.PlannedClaim{claim}}, Depth{Orders: 1, AnyOffering: 20})
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Findings) != 1 || v.Findings[0].Check != HoldsAnyOffering {
		t.Errorf("found %v, want one finding of HoldsAnyOffer", v.Findings)
	}
}

// TestEveryGroupCanDisagree flips what is said of one group and expects a finding for every pair.
func TestEveryGroupCanDisagree(t *testing.T) {
	for g, group := range Groups {
		if len(group.Codes) == 0 {
			continue
		}
		for _, theyRefuse := range []bool{false, true} {
			v := FitVerdict{TopologyGroups: make([]TopologyGroup, len(Groups)), Listed: map[string]int{}}
			p := plain(t, 1, nil)
			at := pair{p, p.Pods[0], existing(p, "x")}
			if theyRefuse {
				v.topologyGroup(at, g, false, "Plugin: no")
			} else {
				v.compare(at, group.Codes[:1], nil)
			}
			if len(v.Findings) != 1 {
				t.Errorf("%s, they refuse %v: %d findings, want 1", group.Name, theyRefuse, len(v.Findings))
			}
		}
	}
}

// TestHopelessPodsAreComparedWithTheFilters calls a pod hopeless that fits everywhere.
func TestHopelessPodsAreComparedWithTheFilters(t *testing.T) {
	p := plain(t, 1, nil)
	p.Nodes = append(p.Nodes, existing(p, "x"))
	v, err := evaluateFit(p, ours{hopeless: func(*corev1.Pod) bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Findings) != 1 || v.Hopeless != 0 {
		t.Errorf("found %v, want one finding", v.Findings)
	}
}

// TestFitIsComparedWithTheFilters gives answers that are never right for a pod that fits everywhere.
func TestFitIsComparedWithTheFilters(t *testing.T) {
	p := plain(t, 1, nil)
	p.Nodes = append(p.Nodes, existing(p, "x"), existing(p, "y"))
	v, err := evaluateFit(p, ours{
		check:    func(*corev1.Pod, string) []string { return []string{"RequirementConflict", "Nonsense"} },
		hopeless: func(*corev1.Pod) bool { return false },
	})
	if err != nil {
		t.Fatal(err)
	}
	if v.Pairs != 2 || len(v.Findings) != 4 {
		t.Errorf("%d findings in %d pairs, want 4 in 2: %v", len(v.Findings), v.Pairs, v.Findings)
	}
}
