package pack

import (
	"fmt"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

func TestF058ZonalSpread(t *testing.T) {
	w := newWorld(64).pool("general", nil).pods("web", 6, asPod(appPod("web"), spreadBy(model.LabelZone, 1)))
	if got := w.perDomain(w.complete(t), model.LabelZone, "web"); countsOf(got) != "2 2 2" {
		t.Errorf("pods by zone: %v", got)
	}
}

func TestF058SpreadGoesOnFromThePodsThatRun(t *testing.T) {
	w := newWorld(64).pool("general", nil).zoned(600, "a", "b", "c")
	w.running("web-old1", "node-a", appPod("web")).running("web-old2", "node-b", appPod("web"))
	w.pods("web", 4, asPod(appPod("web"), spreadBy(model.LabelZone, 1)))
	if got := w.perDomain(w.complete(t), model.LabelZone, "web"); countsOf(got) != "2 2 2" {
		t.Errorf("pods by zone, running ones included: %v", got)
	}
}

func TestF058PodsThatEndOrLeaveAreNotCounted(t *testing.T) {
	for name, change := range map[string]func(*model.Pod){
		"ended":         func(p *model.Pod) { p.Phase = model.Succeeded },
		"being deleted": func(p *model.Pod) { p.DeletedUnix = testNow },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(64).pool("general", nil).zoned(2000, "a", "b", "c")
			w.running("web-old1", "node-a", appPod("web")).running("web-old2", "node-a", appPod("web"))
			change(&w.in.Snapshot.Pods[0])
			change(&w.in.Snapshot.Pods[1])
			w.in.Snapshot.Nodes[1].Allocatable[model.CPU], w.in.Snapshot.Nodes[2].Allocatable[model.CPU] = 600, 600
			w.pods("web", 3, asPod(appPod("web"), spreadBy(model.LabelZone, 1)))
			plan := w.complete(t)
			if len(plan.Claims) != 0 {
				t.Errorf("%d claims, nominations %+v", len(plan.Claims), plan.Nominations)
			}
		})
	}
}

// Where no pool sells in a zone, it is no domain of new nodes.
func TestF058ZonesThatCannotBeBoughtAreNoDomains(t *testing.T) {
	w := newWorld(64).pool("general", func(p *model.Pool) { p.Template.Requirements = []model.Requirement{oneOf(model.LabelZone, "a", "b")} })
	w.pods("web", 6, asPod(appPod("web"), spreadBy(model.LabelZone, 1)))
	if got := w.perDomain(w.complete(t), model.LabelZone, "web"); countsOf(got) != "3 3" {
		t.Errorf("pods by zone: %v", got)
	}
}

// A zone without capacity has no node, so that kube-scheduler does not count it either; the peer leaves the pods
// waiting.
func TestF058AZoneWithoutCapacityHoldsNothingUp(t *testing.T) {
	w := newWorld(64).pool("general", nil)
	w.gone("*/c/*")
	w.pods("web", 6, asPod(appPod("web"), spreadBy(model.LabelZone, 1)))
	if got := w.perDomain(w.complete(t), model.LabelZone, "web"); countsOf(got) != "3 3" {
		t.Errorf("pods by zone: %v", got)
	}
}

// A node in a zone makes the zone a domain, whether or not pods may still get there.
func TestF058AFullZoneLimitsTheOthers(t *testing.T) {
	w := newWorld(64).pool("general", nil).zoned(0, "c")
	w.gone("*/c/*")
	w.pods("web", 6, asPod(appPod("web"), spreadBy(model.LabelZone, 1)))
	plan := w.sound(t)
	if placed(plan) != 2 || len(plan.Unschedulable) != 4 {
		t.Fatalf("%d placed, want one in each other zone", placed(plan))
	}
	for _, u := range plan.Unschedulable {
		refusedWith(t, plan, u.Pod.Name, TopologySpread)
	}
}

func TestF059HostnameSpread(t *testing.T) {
	for _, maxSkew := range []int32{1, 3} {
		t.Run(fmt.Sprint(maxSkew), func(t *testing.T) {
			w := newWorld(64).pool("general", nil).pods("web", 6, asPod(appPod("web"), spreadBy(model.LabelHostname, maxSkew)))
			hosts := w.perDomain(w.complete(t), model.LabelHostname, "web")
			if maxSkew == 1 && countsOf(hosts) != "1 1 1 1 1 1" || len(hosts) < 2 {
				t.Errorf("pods by host: %v", hosts)
			}
		})
	}
}

// To kube-scheduler a new node is no domain before it is there: one node that exists may hold all pods. The peer opens
// five more.
func TestF059OneNodeThatExistsHoldsAllPods(t *testing.T) {
	w := newWorld(64).pool("general", nil).node("n", nil).pods("web", 6, asPod(appPod("web"), spreadBy(model.LabelHostname, 1)))
	if hosts := w.perDomain(w.complete(t), model.LabelHostname, "web"); hosts["n"] != 6 {
		t.Errorf("pods by host: %v", hosts)
	}
}

func TestF059EveryNodeThatExistsIsADomain(t *testing.T) {
	w := newWorld(64).pool("general", nil).node("n", nil).node("full", func(n *model.Node) { n.Allocatable[model.CPU] = 0 })
	w.pods("web", 6, asPod(appPod("web"), spreadBy(model.LabelHostname, 1)))
	if hosts := w.perDomain(w.complete(t), model.LabelHostname, "web"); countsOf(hosts) != "1 1 1 1 1 1" || hosts["n"] != 1 {
		t.Errorf("pods by host: %v", hosts)
	}
}

func TestF060CapacityTypeSpread(t *testing.T) {
	w := newWorld(64).pool("general", nil).pods("web", 6, asPod(appPod("web"), spreadBy(model.LabelCapacityType, 1)))
	if got := w.perDomain(w.complete(t), model.LabelCapacityType, "web"); got[model.Spot] != 3 || got[model.OnDemand] != 3 {
		t.Errorf("pods by capacity type: %v", got)
	}
}

func TestF060CustomKeySpread(t *testing.T) {
	w := newWorld(64).pool("general", func(p *model.Pool) { p.Template.Requirements = []model.Requirement{oneOf("rack", "1", "2", "3")} })
	w.pool("east", func(p *model.Pool) { p.Template.Labels = map[string]string{"rack": "4"} })
	w.pods("web", 8, asPod(appPod("web"), spreadBy("rack", 1)))
	if got := w.perDomain(w.complete(t), "rack", "web"); countsOf(got) != "2 2 2 2" {
		t.Errorf("pods by rack: %v", got)
	}
}

func TestF060AKeyNoNodeHasHoldsThePodBack(t *testing.T) {
	w := newWorld(64).pool("general", nil).node("n", nil).pods("web", 2, asPod(appPod("web"), spreadBy("no/such-key", 1)))
	refusedWith(t, w.sound(t), "web-00000", TopologySpread)
}

func TestF060TwoConstraintsHoldTogether(t *testing.T) {
	w := newWorld(64).pool("general", nil)
	w.pods("web", 12, asPod(appPod("web"), spreadBy(model.LabelZone, 1), spreadBy(model.LabelCapacityType, 1), spreadBy(model.LabelHostname, 2)))
	plan := w.complete(t)
	if got := w.perDomain(plan, model.LabelZone, "web"); countsOf(got) != "4 4 4" {
		t.Errorf("pods by zone: %v", got)
	}
	if got := w.perDomain(plan, model.LabelCapacityType, "web"); countsOf(got) != "6 6" {
		t.Errorf("pods by capacity type: %v", got)
	}
}

func minDomains(n int32) func(*model.Spread) { return func(s *model.Spread) { s.MinDomains = n } }

func TestF061MinDomains(t *testing.T) {
	twoZones := func(p *model.Pool) {
		p.Template.Requirements = []model.Requirement{oneOf(model.LabelZone, "a", "b")}
	}
	w := newWorld(64).pool("general", twoZones).pods("web", 4, asPod(appPod("web"), spreadBy(model.LabelZone, 1, minDomains(3))))
	plan := w.sound(t)
	if placed(plan) != 2 {
		t.Errorf("%d placed: two zones of three wanted hold maxSkew each", placed(plan))
	}
	for _, u := range plan.Unschedulable {
		refusedWith(t, plan, u.Pod.Name, TopologySpread)
	}
	enough := newWorld(64).pool("general", twoZones).pods("web", 4, asPod(appPod("web"), spreadBy(model.LabelZone, 1, minDomains(2))))
	if got := enough.perDomain(enough.complete(t), model.LabelZone, "web"); countsOf(got) != "2 2" {
		t.Errorf("pods by zone: %v", got)
	}
}

// Zones come into being with nodes: three pods that ask for three domains get three, though nothing runs yet.
func TestF061MinDomainsAreOpened(t *testing.T) {
	w := newWorld(64).pool("general", nil).zoned(4000, "a").pods("web", 3, asPod(appPod("web"), spreadBy(model.LabelZone, 1, minDomains(3))))
	if got := w.perDomain(w.complete(t), model.LabelZone, "web"); countsOf(got) != "1 1 1" {
		t.Errorf("pods by zone: %v", got)
	}
}

// The peer shares the counts of constraints that differ in minDomains only, and with them the first one's minDomains.
func TestF061MinDomainsAreEachConstraintsOwn(t *testing.T) {
	w := newWorld(64).pool("general", func(p *model.Pool) { p.Template.Requirements = []model.Requirement{oneOf(model.LabelZone, "a", "b")} })
	w.pods("strict", 1, asPod(appPod("web"), spreadBy(model.LabelZone, 1, minDomains(3))))
	w.pods("lenient", 3, asPod(appPod("web"), spreadBy(model.LabelZone, 1)))
	plan := w.sound(t)
	if placed(plan) != 3 {
		t.Errorf("%d placed, want three: the lenient ones, or one strict beside two", placed(plan))
	}
	for _, u := range plan.Unschedulable {
		refusedWith(t, plan, u.Pod.Name, TopologySpread)
	}
}

func TestF062MatchLabelKeysSpreadEachRevisionOnItsOwn(t *testing.T) {
	byRevision := func(s *model.Spread) { s.MatchLabelKeys = []string{"rev", "not-on-the-pod"} }
	w := newWorld(64).pool("general", nil).zoned(1600, "a", "b", "c")
	for _, name := range []string{"web-old1", "web-old2", "web-old3"} {
		w.running(name, "node-a", asPod(appPod("web"), labeled("rev", "1")))
	}
	w.pods("new", 3, asPod(appPod("web"), labeled("rev", "2"), spreadBy(model.LabelZone, 1, byRevision)))
	if got := w.perDomain(w.complete(t), model.LabelZone, "new"); countsOf(got) != "1 1 1" {
		t.Errorf("pods of the new revision by zone: %v", got)
	}
}

// The peer began to honor the policy and took it back.
func TestF063_R53_NodeAffinityPolicy(t *testing.T) {
	ignore := func(s *model.Spread) { s.IgnoreNodeAffinity = true }
	twoZones := needing(oneOf(model.LabelZone, "a", "b"))
	honored := newWorld(64).pool("general", nil).zoned(0, "c").pods("web", 4, asPod(appPod("web"), twoZones, spreadBy(model.LabelZone, 1)))
	if got := honored.perDomain(honored.complete(t), model.LabelZone, "web"); countsOf(got) != "2 2" {
		t.Errorf("Honor: pods by zone: %v", got)
	}
	ignored := newWorld(64).pool("general", nil).zoned(0, "c").pods("web", 4, asPod(appPod("web"), twoZones, spreadBy(model.LabelZone, 1, ignore)))
	if plan := ignored.sound(t); placed(plan) != 2 {
		t.Errorf("Ignore: %d placed, want one beside the empty zone c in each of a and b", placed(plan))
	}
}

func TestF063NodeTaintsPolicy(t *testing.T) {
	honor := func(s *model.Spread) { s.HonorNodeTaints = true }
	build := func(changes ...func(*model.Spread)) *world {
		w := newWorld(64).pool("general", nil).zoned(8000, "c")
		w.in.Snapshot.Nodes[0].Taints = []model.Taint{{Key: "gpu", Effect: model.NoSchedule}}
		w.gone("*/c/*")
		return w.pods("web", 4, asPod(appPod("web"), spreadBy(model.LabelZone, 1, changes...)))
	}
	ignored := build()
	if plan := ignored.sound(t); placed(plan) != 2 {
		t.Errorf("Ignore: %d placed, want 2: the tainted node's zone counts", placed(plan))
	}
	honored := build(honor)
	if got := honored.perDomain(honored.complete(t), model.LabelZone, "web"); countsOf(got) != "2 2" {
		t.Errorf("Honor: pods by zone: %v", got)
	}
}

// Nodes that a constraint does not look at do not count for it when they are planned either: pods that may only use one
// of two pools are spread over its domains, whatever others that they count put into the domain that both pools have,
// and whoever is placed first.
func TestF063PlannedNodesCountForTheConstraintsThatLookAtThem(t *testing.T) {
	const group, side = "example.com/group", "example.com/side"
	for _, by := range []string{"taint", "affinity"} {
		for _, names := range [][2]string{{"m-four", "n-two"}, {"n-four", "m-two"}} {
			t.Run(by+" "+names[0], func(t *testing.T) {
				pool := func(own, domain string) func(*model.Pool) {
					return func(p *model.Pool) {
						p.Template.Requirements = []model.Requirement{oneOf(group, "shared", domain)}
						if by == "taint" {
							p.Template.Taints = []model.Taint{{Key: own, Effect: model.NoSchedule}}
						} else {
							p.Template.Labels = map[string]string{side: own}
						}
					}
				}
				pods := func(own string) func(*model.PodShape) {
					return func(s *model.PodShape) {
						appPod("web")(s)
						if by == "taint" {
							asPod(tolerating(own), spreadBy(group, 1, func(s *model.Spread) { s.HonorNodeTaints = true }))(s)
						} else {
							asPod(selecting(side, own), spreadBy(group, 1))(s)
						}
					}
				}
				w := newWorld(64).pool("left", pool("left", "first")).pool("right", pool("right", "second"))
				w.pods(names[0], 4, pods("left")).pods(names[1], 2, pods("right"))
				plan := w.complete(t)
				for workload, want := range map[string]string{names[0]: "2 2", names[1]: "1 1"} {
					if got := w.perDomain(plan, group, workload); countsOf(got) != want {
						t.Errorf("pods of %s by group: %v, want %s", workload, got, want)
					}
				}
			})
		}
	}
}

func TestF064ScheduleAnywayNeverHoldsAPodBack(t *testing.T) {
	for _, key := range []string{model.LabelZone, "no/such-key"} {
		w := newWorld(64).pool("general", func(p *model.Pool) { p.Template.Requirements = []model.Requirement{oneOf(model.LabelZone, "a")} })
		newWorldComplete(t, w.zoned(0, "b").pods("web", 6, asPod(appPod("web"), spreadBy(key, 1, ifItCan))))
	}
}

func newWorldComplete(t *testing.T, w *world) {
	t.Helper()
	if plan := w.complete(t); len(plan.Claims) == 0 {
		t.Error("no claim")
	}
}

// Where several nodes are needed anyway, the preference is free.
func TestF064ScheduleAnywayIsHonoredWhereItIsFree(t *testing.T) {
	full := func(s *model.PodShape) { s.NodeSelector = map[string]string{model.LabelInstanceType: "m5.large"} }
	w := newWorld(64).pool("general", nil)
	types := w.in.Catalogs["default"]
	for i := range types {
		for j := range types[i].Offerings {
			types[i].Offerings[j].Price = 100_000 // every zone costs the same
		}
	}
	w.pods("web", 3, asPod(appPod("web"), func(s *model.PodShape) { s.Requests[model.CPU] = 1500 }, full, spreadBy(model.LabelZone, 1, ifItCan)))
	plan := w.complete(t)
	if got := w.perDomain(plan, model.LabelZone, "web"); len(plan.Claims) == 3 && len(got) == 1 && got["a"]+got["b"]+got["c"] == 3 {
		t.Errorf("pods by zone: %v; all in one although three nodes are bought at one price", got)
	}
}

// The peer opens a node per pod for a preferred hostname spread; a preference is not worth a node.
func TestF064ScheduleAnywayIsNotPaidForWithANodePerPod(t *testing.T) {
	for _, key := range []string{model.LabelHostname, model.LabelZone} {
		plain := newWorld(64).pool("general", nil).pods("web", 20, appPod("web")).complete(t)
		preference := newWorld(64).pool("general", nil).pods("web", 20, asPod(appPod("web"), spreadBy(key, 1, ifItCan))).complete(t)
		if float64(preference.Price) > 1.05*float64(plain.Price) {
			t.Errorf("%s: price %d with the wish, %d without", key, preference.Price, plain.Price)
		}
	}
}

func TestF058LargerSkewCostsNoMore(t *testing.T) {
	free := newWorld(64).pool("general", nil).pods("web", 9, appPod("web")).complete(t)
	for _, maxSkew := range []int32{9, 100} {
		plan := newWorld(64).pool("general", nil).pods("web", 9, asPod(appPod("web"), spreadBy(model.LabelZone, maxSkew))).complete(t)
		if float64(plan.Price) > 1.05*float64(free.Price) {
			t.Errorf("maxSkew %d: price %d, %d without a constraint it cannot break", maxSkew, plan.Price, free.Price)
		}
	}
}

// A pod without a rule is counted all the same where it matches another pod's constraint.
func TestF058PodsWithoutARuleDoNotUpsetWhatIsSpread(t *testing.T) {
	for _, key := range []string{model.LabelHostname, model.LabelZone} {
		for _, priority := range []int32{0, 10} {
			for _, plain := range []int{1, 4, 9} {
				w := newWorld(64).pool("general", nil).zoned(8000, "a", "b", "c")
				w.in.Snapshot.Nodes[0].Taints = []model.Taint{{Key: "dedicated", Effect: model.NoSchedule}}
				w.pods("spread", 2, asPod(appPod("web"), spreadBy(key, 1), func(s *model.PodShape) { s.Priority = priority }))
				w.pods("plain", plain, appPod("web"))
				w.sound(t)
				if t.Failed() {
					t.Fatalf("%s, priority %d, %d plain pods", key, priority, plain)
				}
			}
		}
	}
}

// A node that was too full beside an empty one is not, once that has a pod.
func TestF059ANodeIsLookedAtAgainWhenTheEmptiestOneFills(t *testing.T) {
	w := newWorld(64).pool("full", func(p *model.Pool) { p.Limits = model.Resources{model.CPU: 0} }).zoned(4000, "a", "b")
	w.pods("first", 3, asPod(appPod("web"), spreadBy(model.LabelHostname, 3), func(s *model.PodShape) { s.Priority = 10 }))
	w.pods("other", 2, asPod(appPod("web"), func(s *model.PodShape) { s.HostPorts = []model.HostPort{{Port: 80}} }))
	w.complete(t)
}
