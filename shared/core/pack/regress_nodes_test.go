package pack

import (
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/model"
)

// usedBy adds what the claims of a plan hold to the usage of their pools, as the ledger does.
func (w *world) usedBy(plan model.Plan) {
	for _, claim := range plan.Claims {
		if w.in.Usage == nil {
			w.in.Usage = make(map[string]model.Resources)
		}
		w.in.Usage[claim.Pool] = resource.Add(w.in.Usage[claim.Pool], claim.Reserve)
	}
}

func TestS6ANodeLimitHoldsWithinOnePlan(t *testing.T) {
	w := newWorld(64).pool("general", func(p *model.Pool) { p.Limits = model.Resources{model.Nodes: 3} })
	plan := w.pods("web", 5, asPod(appPod("web"), apartFrom(model.LabelHostname, "web"))).sound(t)
	if len(plan.Claims) != 3 || len(plan.Unschedulable) != 2 {
		t.Fatalf("%d claims, %d left out; want three of five", len(plan.Claims), len(plan.Unschedulable))
	}
	for _, u := range plan.Unschedulable {
		refusedWith(t, plan, u.Pod.Name, LimitReached)
	}
}

func TestS6ANodeLimitHoldsOverSeveralPlans(t *testing.T) {
	w := newWorld(64).pool("general", func(p *model.Pool) { p.Limits = model.Resources{model.Nodes: 3} })
	claims := 0
	for _, batch := range []struct {
		name string
		pods int
	}{{"first", 2}, {"second", 2}, {"third", 1}} {
		w.pods(batch.name, batch.pods, asPod(appPod("web"), apartFrom(model.LabelHostname, "web")))
		plan := w.sound(t)
		claims += len(plan.Claims)
		w.usedBy(plan)
		for _, planned := range plan.Claims {
			w.in.Claims = append(w.in.Claims, asLedger(planned))
		}
	}
	if claims != 3 {
		t.Errorf("%d claims in three batches, the limit is 3", claims)
	}
}

func TestS19APodWithADaemonsHostPortMakesNoNode(t *testing.T) {
	w := newWorld(64).pool("general", nil).daemon("proxy", asPod(cpu(100), withPort(9100, "TCP", "")))
	plan := w.pods("web", 3, asPod(cpu(100), withPort(9100, "TCP", ""))).pods("other", 2, asPod(cpu(100), withPort(9200, "TCP", ""))).sound(t)
	refusedWith(t, plan, "web-00000", HostPortTaken)
	if placed(plan) != 2 || len(plan.Claims) != 2 {
		t.Errorf("%d claims, %d placed; want a node each for the other pods", len(plan.Claims), placed(plan))
	}
}

func TestS19OnlyDaemonsOfTheNodeTakeItsPorts(t *testing.T) {
	w := newWorld(64).pool("general", nil)
	w.daemon("armd", asPod(cpu(100), withPort(9100, "TCP", ""), needing(oneOf(model.LabelArch, "arm64"))))
	w.daemon("tainted", asPod(cpu(100), withPort(9200, "TCP", ""), needing(oneOf("gpu", "yes"))))
	w.pods("web", 1, asPod(cpu(100), withPort(9100, "TCP", ""), withPort(9200, "TCP", "")))
	claim, err := onlyClaim(w.complete(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, instance := range w.typesOf(&claim) {
		if instance.Labels[model.LabelArch][0] == "arm64" {
			t.Errorf("%s runs the daemon that has the port", instance.Name)
		}
	}
}

// Two claims do not share the ports of one daemon: each node has its own.
func TestS19PortsOfOneNodeAreFreeOnTheNext(t *testing.T) {
	w := newWorld(64).pool("general", nil).daemon("proxy", asPod(cpu(100), withPort(9100, "TCP", "")))
	w.pods("web", 5, asPod(cpu(100), withPort(8080, "TCP", "")))
	if plan := w.complete(t); len(plan.Claims) != 5 {
		t.Errorf("%d claims", len(plan.Claims))
	}
}

// Whatever the daemons ask for, the node made for a pod holds the pod: planning again after it came asks for nothing.
func TestS20OnePodMakesOneNode(t *testing.T) {
	gpuOrArm := asPod(needing(oneOf(model.LabelArch, "arm64")), needing(model.Requirement{Key: "karpenter.k8s.aws/instance-gpu-count", Operator: model.Exists}))
	daemons := map[string]func(*model.PodShape){
		"two terms, the first holds": asPod(cpu(1400), needing(oneOf(model.LabelArch, "amd64")), needing(oneOf(model.LabelArch, "none"))),
		"two terms, the last holds":  asPod(cpu(1400), needing(oneOf(model.LabelArch, "none")), needing(oneOf(model.LabelArch, "amd64"))),
		"no term holds":              asPod(cpu(1400), needing(oneOf(model.LabelArch, "none")), needing(oneOf(model.LabelZone, "mars"))),
		"some types only":            asPod(cpu(1400), gpuOrArm),
		"everywhere":                 cpu(1400),
		"one zone":                   asPod(cpu(1400), needing(oneOf(model.LabelZone, "b"))),
		"one capacity type":          asPod(cpu(1400), needing(oneOf(model.LabelCapacityType, model.Spot))),
	}
	for name, daemon := range daemons {
		for _, request := range []int64{300, 800, 1900, 3000} {
			t.Run(name, func(t *testing.T) {
				w := newWorld(64).pool("general", nil).daemon("d", daemon).pods("web", 1, cpu(request))
				plan := w.complete(t)
				if len(plan.Claims) != 1 {
					t.Fatalf("%d claims", len(plan.Claims))
				}
				there := w.carriedOut(plan)
				there.in.Snapshot.Pods[0].NodeName, there.in.Snapshot.Pods[0].Phase, there.in.Snapshot.Pods[0].Unschedulable = "", model.Pending, true
				if again := there.complete(t); len(again.Claims) != 0 {
					t.Errorf("%dm: planned again: %d claims; the node does not hold the pod", request, len(again.Claims))
				}
			})
		}
	}
}

func TestR56DaemonTermsAreAlternatives(t *testing.T) {
	orders := map[string][]model.Requirement{
		"first": {oneOf(model.LabelArch, "amd64"), oneOf(model.LabelArch, "arm64"), oneOf(model.LabelArch, "riscv")},
		"last":  {oneOf(model.LabelArch, "riscv"), oneOf(model.LabelArch, "arm64"), oneOf(model.LabelArch, "amd64")},
	}
	for name, order := range orders {
		t.Run(name, func(t *testing.T) {
			w := newWorld(64).pool("general", nil).daemon("d", asPod(cpu(700), needing(order[0]), needing(order[1]), needing(order[2])))
			w.pods("amd", 1, asPod(cpu(1000), selecting(model.LabelArch, "amd64"))).pods("arm", 1, asPod(cpu(1000), selecting(model.LabelArch, "arm64")))
			plan := w.complete(t)
			for _, pod := range []string{"amd-00000", "arm-00000"} {
				if claim := claimOf(plan, pod); claim == nil || claim.Requests[model.CPU] != 1700 {
					t.Errorf("claim of %s: %+v, want the daemon counted", pod, claim)
				}
			}
		})
	}
}

func TestS29TheCheapestOfferingsSurviveTheCut(t *testing.T) {
	w := newWorld(0).pool("general", nil).pods("web", 1, cpu(1000))
	var types []model.InstanceType
	for i, name := range typeNames(300) { // most expensive first, by name
		types = append(types, model.InstanceType{Name: name, Labels: map[string][]string{model.LabelInstanceType: {name}, model.LabelArch: {"amd64"}},
			Capacity: model.Resources{model.CPU: 4000, model.Memory: 8 << 30, model.Pods: 50},
			Offerings: []model.Offering{
				{Zone: "a", CapacityType: model.OnDemand, Price: model.MicroUSD(100_000 - 100*i), Available: true},
				{Zone: "b", CapacityType: model.Spot, Price: model.MicroUSD(50_000 - 50*i), Available: true},
			}})
	}
	w.in.Catalogs["default"] = types
	claim, err := onlyClaim(w.complete(t))
	if err != nil || claim.Offering.InstanceType != types[299].Name || claim.Price != 50_000-50*299 {
		t.Fatalf("offer = %+v at %d, %v; want the cheapest", claim.Offering, claim.Price, err)
	}
	for i := range 10 {
		if name := types[299-i].Name; claim.InstanceTypes[i] != name {
			t.Errorf("type %d is %s, want %s", i, claim.InstanceTypes[i], name)
		}
	}
}

func typeNames(n int) []string {
	var out []string
	for i := range n {
		out = append(out, "t"+string(rune('a'+i/26%26))+string(rune('a'+i%26))+string(rune('a'+i/676))+".large")
	}
	slices.Sort(out)
	return out
}

func TestS37AClaimOfAMissingClassMakesNoNode(t *testing.T) {
	w := newWorld(64).pool("general", nil).pods("db", 2, appPod("db")).withClaim("db", func(_ int, v *model.Volume) { v.Class = "gp9" })
	for range 3 { // again and again
		plan := w.sound(t)
		if len(plan.Claims) != 0 {
			t.Fatalf("%d claims", len(plan.Claims))
		}
		refusedWith(t, plan, "db-00001", VolumeConflict)
		for _, u := range plan.Unschedulable {
			for _, r := range u.Reasons {
				if !strings.Contains(r.Message, "gp9") || !strings.Contains(r.Message, "data-"+u.Pod.Name) {
					t.Errorf("message %q names neither class nor claim", r.Message)
				}
			}
		}
	}
	w.storage("gp9", nil)
	if plan := w.complete(t); placed(plan) != 2 {
		t.Error("the class is there, the pods are not placed")
	}
}
