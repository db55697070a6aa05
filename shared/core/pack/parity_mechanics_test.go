package pack

import (
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

func TestF078RoomThatExistsIsUsedFirst(t *testing.T) {
	w := newWorld(64).pool("general", nil).node("n", nil).pods("web", 3, cpu(1000))
	if plan := w.complete(t); len(plan.Claims) != 0 || len(plan.Nominations) != 1 {
		t.Errorf("%d claims, nominations %+v", len(plan.Claims), plan.Nominations)
	}
}

func TestF078RoomOfClaimsOnTheirWayIsUsedFirst(t *testing.T) {
	w := newWorld(64).pool("general", nil).pods("web", 3, cpu(1000))
	first := w.complete(t)
	for _, planned := range first.Claims {
		w.in.Claims = append(w.in.Claims, asLedger(planned))
	}
	if plan := w.complete(t); len(plan.Claims) != 0 {
		t.Errorf("%d claims on top of those on their way", len(plan.Claims))
	}
}

// Rules between pods hold on what is on its way too, and hold again when it is planned anew.
func TestF078RulesBetweenPodsHoldAcrossPlans(t *testing.T) {
	rules := map[string]func(*model.PodShape){
		"spread over zones":    asPod(appPod("web"), spreadBy(model.LabelZone, 1)),
		"spread over hosts":    asPod(appPod("web"), spreadBy(model.LabelHostname, 1)),
		"apart on hosts":       asPod(appPod("web"), apartFrom(model.LabelHostname, "web")),
		"apart in zones":       asPod(appPod("web"), apartFrom(model.LabelZone, "web")),
		"together in a zone":   asPod(appPod("web"), nearApp(model.LabelZone, "web")),
		"together on a host":   asPod(appPod("web"), nearApp(model.LabelHostname, "web")),
		"with one host port":   asPod(appPod("web"), withPort(80, "TCP", "")),
		"spread by how bought": asPod(appPod("web"), spreadBy(model.LabelCapacityType, 1)),
	}
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			w := newWorld(64).pool("general", nil).pods("web", 3, rule)
			first := w.complete(t)
			for _, planned := range first.Claims {
				w.in.Claims = append(w.in.Claims, asLedger(planned))
			}
			again := w.complete(t)
			if len(again.Claims) != 0 {
				t.Errorf("planned again: %d claims", len(again.Claims))
			}
			w.pods("more", 3, rule).sound(t)
		})
	}
}

func TestF079TheHeavierPoolMakesNewNodes(t *testing.T) {
	w := newWorld(64).pool("light", func(p *model.Pool) { p.Weight = 1 }).pool("heavy", func(p *model.Pool) {
		p.Weight = 50
		p.Template.Requirements = []model.Requirement{oneOf(model.LabelCapacityType, model.OnDemand)}
	}).pool("none", nil).pods("web", 5, nil)
	for _, claim := range w.complete(t).Claims {
		if claim.Pool != "heavy" {
			t.Errorf("claim of %s, though dearer heavy comes first", claim.Pool)
		}
	}
}

func TestF080LimitsOfTheHeavyPoolLeaveTheRestToTheLight(t *testing.T) {
	w := newWorld(64).pool("heavy", func(p *model.Pool) { p.Weight, p.Limits = 50, model.Resources{model.CPU: 8000} }).pool("light", nil)
	plan := w.pods("web", 12, cpu(1000)).complete(t)
	pools := make(map[string]int)
	for _, claim := range plan.Claims {
		pools[claim.Pool] += len(claim.Pods)
	}
	if pools["heavy"] == 0 || pools["light"] == 0 {
		t.Errorf("pods by pool: %v", pools)
	}
}

func TestF081LimitsStopNewNodes(t *testing.T) {
	for name, limits := range map[string]model.Resources{"CPU": {model.CPU: 16_000}, "memory": {model.Memory: 64 << 30}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(64).pool("general", func(p *model.Pool) { p.Limits = limits })
			plan := w.pods("web", 60, cpu(1000)).sound(t) // the checker adds up
			if placed(plan) == 0 || len(plan.Unschedulable) == 0 {
				t.Fatalf("%d placed, %d left out", placed(plan), len(plan.Unschedulable))
			}
			refusedWith(t, plan, plan.Unschedulable[0].Pod.Name, LimitReached)
		})
	}
}

func TestF081WhatIsUsedCountsAgainstTheLimit(t *testing.T) {
	w := newWorld(64).pool("general", func(p *model.Pool) { p.Limits = model.Resources{model.CPU: 16_000} })
	w.in.Usage = map[string]model.Resources{"general": {model.CPU: 15_500}}
	refusedWith(t, w.pods("web", 1, cpu(1000)).sound(t), "web-00000", LimitReached)
	w.node("n", nil)
	if plan := w.complete(t); nodeOf(plan, "web-00000") != "n" {
		t.Error("a limit keeps a pod off a node that exists")
	}
}

func TestF082NodeLimit(t *testing.T) {
	w := newWorld(64).pool("general", func(p *model.Pool) { p.Limits = model.Resources{model.Nodes: 2} })
	w.in.Usage = map[string]model.Resources{"general": {model.Nodes: 2}}
	refusedWith(t, w.pods("web", 1, nil).sound(t), "web-00000", LimitReached)
	w.in.Usage = map[string]model.Resources{"general": {model.Nodes: 1}}
	if _, err := onlyClaim(w.complete(t)); err != nil {
		t.Error(err)
	}
}

func reservedOnly(w *world, n int64) {
	types := w.in.Catalogs["default"]
	i := slices.IndexFunc(types, func(t model.InstanceType) bool { return t.Name == "m5.large" })
	types[i].Offerings = append(types[i].Offerings, model.Offering{Zone: "b", ZoneID: "az2", CapacityType: model.Reserved, Price: 1, Available: true, ReservationID: "cr-1", ReservationCapacity: n})
}

func TestF083ReservationsAreNeverOvercommitted(t *testing.T) {
	w := newWorld(64).pool("general", func(p *model.Pool) {
		p.Template.Requirements = []model.Requirement{oneOf(model.LabelCapacityType, model.Reserved)}
	})
	reservedOnly(w, 2)
	plan := w.pods("web", 3, cpu(1500)).sound(t)
	if len(plan.Claims) != 2 || placed(plan) != 2 {
		t.Errorf("%d claims, %d placed, want two of a reservation for two", len(plan.Claims), placed(plan))
	}
}

// The peer makes the third pod wait for the next pass; it may as well have a node now.
func TestF083WhatIsBeyondTheReservationIsBoughtOtherwise(t *testing.T) {
	w := newWorld(64).pool("general", nil)
	reservedOnly(w, 2)
	plan := w.pods("web", 6, cpu(1500)).complete(t)
	reserved := 0
	for _, claim := range plan.Claims {
		if slices.Contains(claim.CapacityTypes, model.Reserved) {
			reserved++
		}
	}
	if reserved != 2 {
		t.Errorf("%d claims may use the reservation for two", reserved)
	}
}

func TestF084PodsOfNodesThatAreDrainedGetCapacity(t *testing.T) {
	for name, change := range map[string]func(*model.Node){
		"drained": func(n *model.Node) { n.Taints = []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}} },
		"deleted": func(n *model.Node) { n.DeletedUnix = testNow },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(64).pool("general", nil).node("leaving", change).node("staying", func(n *model.Node) { n.Allocatable[model.CPU] = 1000 })
			w.running("one", "leaving", cpu(800)).running("two", "leaving", asPod(cpu(800), tolerating(model.TaintDisrupted)))
			w.pods("web", 1, cpu(800))
			w.in.Pending = []int{0, 1, 2}
			plan := w.complete(t)
			for _, pod := range []string{"one", "two", "web-00000"} {
				if nodeOf(plan, pod) == "leaving" || nodeOf(plan, pod) == "" && claimOf(plan, pod) == nil {
					t.Errorf("pod %s goes to %q", pod, nodeOf(plan, pod))
				}
			}
		})
	}
}

func TestF084RulesBetweenPodsSeeMovingPodsWhereTheyGo(t *testing.T) {
	w := newWorld(64).pool("general", nil).zoned(4000, "a", "b")
	w.in.Snapshot.Nodes[0].Taints = []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}}
	alone := asPod(appPod("web"), apartFrom(model.LabelHostname, "web"))
	w.running("moving", "node-a", alone).running("staying", "node-b", alone)
	w.in.Pending = []int{0}
	plan := w.complete(t)
	if claimOf(plan, "moving") == nil {
		t.Errorf("nominations = %+v, want a node of its own", plan.Nominations)
	}
	together := asPod(appPod("web"), nearApp(model.LabelZone, "web"))
	w = newWorld(64).pool("general", nil).zoned(4000, "a")
	w.in.Snapshot.Nodes[0].DeletedUnix = testNow
	w.running("one", "node-a", together).running("two", "node-a", together)
	w.in.Pending = []int{0, 1}
	if got := w.domainOf(w.complete(t), model.LabelZone); got["one"] != got["two"] || strings.Contains(got["one"], "|") {
		t.Errorf("zones %v: they go together, and may go anywhere", got)
	}
}

func TestF087EveryPoolSaysWhatIsInTheWay(t *testing.T) {
	w := newWorld(64).pool("a-tainted", func(p *model.Pool) { p.Template.Taints = []model.Taint{{Key: "gpu", Effect: model.NoSchedule}} })
	w.pool("b-arm", func(p *model.Pool) { p.Template.Requirements = []model.Requirement{oneOf(model.LabelArch, "arm64")} })
	w.pool("c-small", func(p *model.Pool) {
		p.Template.Requirements = []model.Requirement{oneOf(model.LabelInstanceType, "m5.large")}
	})
	w.pool("d-full", func(p *model.Pool) { p.Limits = model.Resources{model.CPU: 0} })
	plan := w.pods("web", 1, asPod(cpu(10_000), selecting(model.LabelArch, "amd64"))).sound(t)
	want := []string{TaintNotTolerated, RequirementConflict, ResourcesTooLarge, LimitReached}
	if got := codes(plan, "web-00000"); !slices.Equal(got, want) {
		t.Fatalf("codes = %v, want %v", got, want)
	}
	for i, name := range []string{"a-tainted", "b-arm", "c-small", "d-full"} {
		if got := plan.Unschedulable[0].Reasons[i].Pool; got != name {
			t.Errorf("reason %d is of pool %s, want %s", i, got, name)
		}
	}
}

// F094: a pod of whose claims a snapshot says only that they exist has no place, and the reason names the field.
func TestF094PodsWithResourceClaimsAreToldSo(t *testing.T) {
	w := newWorld(64).pool("general", nil).node("n", nil).pods("gpu", 1, func(s *model.PodShape) { s.DynamicResource = true }).pods("web", 1, nil)
	plan := w.sound(t)
	refusedWith(t, plan, "gpu-00000", NotSupportedYet)
	if codes(plan, "web-00000") != nil {
		t.Error("another pod was held back")
	}
	if message := plan.Unschedulable[0].Reasons[0].Message; !strings.Contains(message, "resourceClaims") {
		t.Errorf("message = %q", message)
	}
}

// The peer looks at requests only; we serve the higher PriorityClass first where limits leave some out.
func TestLimitsServeHigherPrioritiesFirst(t *testing.T) {
	for _, request := range []int64{500, 1500} {
		w := newWorld(64).pool("general", func(p *model.Pool) { p.Limits = model.Resources{model.CPU: 4000} })
		w.pods("a-low", 10, cpu(1000))
		w.pods("b-high", 2, asPod(cpu(request), func(s *model.PodShape) { s.Priority = 1000 }))
		plan := w.sound(t)
		for _, pod := range []string{"b-high-00000", "b-high-00001"} {
			if codes(plan, pod) != nil {
				t.Errorf("%dm: %s is left out for pods of lower priority", request, pod)
			}
		}
		if len(plan.Unschedulable) == 0 {
			t.Errorf("%dm: everything is placed; the limit does not bite", request)
		}
	}
}
