package pack

import (
	"maps"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// asLedger turns a planned claim into the one the ledger holds after it was recorded.
func asLedger(planned model.PlannedClaim) model.Claim {
	return model.Claim{Name: planned.Name, Pool: planned.Pool, Class: planned.Class, State: model.Intended, Requirements: planned.Requirements,
		Requests: planned.Requests, InstanceTypes: planned.InstanceTypes, Labels: planned.Labels, Taints: planned.Taints,
		StartupTaints: planned.StartupTaints, Pods: planned.Pods, Reserved: planned.Reserve}
}

// launched says what the claim became.
func launched(c model.Claim, offering model.OfferingKey) model.Claim {
	c.State, c.InstanceType, c.Zone, c.CapacityType, c.ProviderID = model.Launched, offering.InstanceType, offering.Zone, offering.CapacityType, "aws:///"+c.Name
	return c
}

func gpuDaemon(s *model.PodShape) {
	s.Requests = model.Resources{model.CPU: 200, model.Memory: 1 << 28, model.Pods: 1}
	s.RequiredNodeAffinity = []model.NodeTerm{{Requirements: []model.Requirement{{Key: "karpenter.k8s.aws/instance-gpu-count", Operator: model.Exists}}}}
}

// inFlight returns a cluster of mixed pods and its first plan.
func inFlight() (*world, model.Plan) {
	w := newWorld(96).pool("general", func(p *model.Pool) {
		p.Template.Requirements = []model.Requirement{{Key: "team", Operator: model.Exists}}
		p.Template.StartupTaints = []model.Taint{{Key: "boot", Effect: model.NoSchedule}}
	})
	w.daemon("gpu", gpuDaemon).daemon("logs", cpu(100))
	w.pods("web", 7, nil)
	w.pods("blue", 3, func(s *model.PodShape) { s.NodeSelector = map[string]string{"team": "blue"} })
	w.pods("arm", 3, func(s *model.PodShape) { s.NodeSelector = map[string]string{model.LabelArch: "arm64"} })
	w.pods("away", 1, func(s *model.PodShape) {
		s.RequiredNodeAffinity = []model.NodeTerm{{Requirements: []model.Requirement{{Key: model.LabelHostname, Operator: model.NotIn, Values: []string{"n"}}}}}
	})
	return w, w.plan()
}

// As long as claims are on their way, planning the same pods again asks for nothing: whatever became of the claims so
// far, each of their pods is promised the same place.
func TestPlanningAgainWhileClaimsAreOnTheirWayAsksForNothing(t *testing.T) {
	stages := map[string]func(w *world, plan model.Plan){
		"recorded": func(w *world, plan model.Plan) {
			for _, planned := range plan.Claims {
				w.in.Claims = append(w.in.Claims, asLedger(planned))
			}
		},
		"recorded, and the class not ready any more": func(w *world, plan model.Plan) {
			for _, planned := range plan.Claims {
				w.in.Claims = append(w.in.Claims, asLedger(planned))
			}
			w.in.Catalogs = nil
		},
		"launched": func(w *world, plan model.Plan) {
			for _, planned := range plan.Claims {
				w.in.Claims = append(w.in.Claims, launched(asLedger(planned), planned.Offering))
			}
		},
		"joined, not registered": func(w *world, plan model.Plan) {
			for _, planned := range plan.Claims {
				claim := launched(asLedger(planned), planned.Offering)
				t := typeNamed(w.in.Catalogs["default"], claim.InstanceType)
				w.in.Claims = append(w.in.Claims, claim)
				w.node("node-of-"+claim.Name, func(n *model.Node) {
					n.ProviderID, n.Labels, n.Allocatable = claim.ProviderID, map[string]string{model.LabelHostname: "h"}, t.Allocatable()
					n.Taints = []model.Taint{{Key: model.TaintUnregistered, Effect: model.NoExecute}, {Key: "node.kubernetes.io/not-ready", Effect: model.NoSchedule}}
				})
			}
		},
		"registered, not initialised": func(w *world, plan model.Plan) {
			for _, planned := range plan.Claims {
				claim := launched(asLedger(planned), planned.Offering)
				t := typeNamed(w.in.Catalogs["default"], claim.InstanceType)
				claim.State, claim.Allocatable = model.Registered, t.Allocatable()
				w.in.Claims = append(w.in.Claims, claim)
				w.node("node-of-"+claim.Name, func(n *model.Node) {
					n.ProviderID, n.Allocatable = claim.ProviderID, nil // the kubelet has not said yet
					n.Labels = map[string]string{model.LabelHostname: "h", model.LabelNodePool: claim.Pool, model.LabelRegistered: "true",
						model.LabelArch: t.Labels[model.LabelArch][0], "team": claim.Labels["team"]}
					n.Taints = []model.Taint{{Key: "boot", Effect: model.NoSchedule}}
				})
			}
		},
	}
	for name, stage := range stages {
		t.Run(name, func(t *testing.T) {
			w, plan := inFlight()
			if placed(plan) != 14 || len(plan.Nominations) != 0 {
				t.Fatalf("first plan: %d placed, %v", placed(plan), plan.Unschedulable)
			}
			stage(w, plan)
			again := w.plan()
			if len(again.Claims) != 0 || len(again.Unschedulable) != 0 || placed(again) != 14 {
				t.Errorf("planned again: %d claims, %d placed, refused %+v", len(again.Claims), placed(again), again.Unschedulable)
			}
		})
	}
}

func TestClaimsThatAreGoneHoldNothing(t *testing.T) {
	w, plan := inFlight()
	for _, planned := range plan.Claims {
		claim := launched(asLedger(planned), planned.Offering)
		claim.State = model.Gone
		w.in.Claims = append(w.in.Claims, claim)
		w.node("node-of-"+claim.Name, func(n *model.Node) { n.ProviderID = claim.ProviderID })
	}
	if again := w.plan(); len(again.Claims) != len(plan.Claims) || len(again.Nominations) != 0 {
		t.Errorf("%d claims and %d nominations, want %d and none", len(again.Claims), len(again.Nominations), len(plan.Claims))
	}
}

func TestSpareRoomOfClaimsOnTheirWayIsUsed(t *testing.T) {
	w := newWorld(96).pool("general", nil).pods("first", 1, cpu(1000))
	claim, err := onlyClaim(w.plan())
	if err != nil {
		t.Fatal(err)
	}
	spare := func(change func(*model.PodShape), claims ...model.Claim) model.Plan {
		w := newWorld(96).pool("general", nil).pods("first", 1, cpu(1000)).pods("second", 1, change)
		w.in.Claims = claims
		return w.plan()
	}
	inZone := func(zone string) func(*model.PodShape) {
		return func(s *model.PodShape) {
			cpu(500)(s)
			s.NodeSelector = map[string]string{model.LabelZone: zone}
		}
	}
	became := launched(asLedger(claim), claim.Offering)
	tests := []struct {
		name   string
		change func(*model.PodShape)
		claim  model.Claim
		claims int
	}{
		{"fits whatever it becomes", cpu(500), asLedger(claim), 0},
		{"fits only some of what it may become", cpu(20_000), asLedger(claim), 1},
		{"may become a node of another zone", inZone(claim.Offering.Zone), asLedger(claim), 1},
		{"became a node of the zone", inZone(claim.Offering.Zone), became, 0},
		{"became a node of another zone", inZone("c"), became, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if plan := spare(test.change, test.claim); len(plan.Claims) != test.claims || placed(plan) != 2 {
				t.Errorf("%d claims, %d placed, want %d claims: %+v", len(plan.Claims), placed(plan), test.claims, plan.Unschedulable)
			}
		})
	}
}

func TestNodesOnTheirWayOutTakeNoPods(t *testing.T) {
	tests := map[string]func(*model.Node){
		"being deleted": func(n *model.Node) { n.DeletedUnix = 1 },
		"being drained": func(n *model.Node) { n.Taints = []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}} },
		"initialised, with a startup taint back": func(n *model.Node) {
			n.Labels[model.LabelNodePool], n.Labels[model.LabelInitialized] = "general", "true"
			n.Taints = []model.Taint{{Key: "boot", Effect: model.NoSchedule}}
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(8).pool("general", func(p *model.Pool) { p.Template.StartupTaints = []model.Taint{{Key: "boot", Effect: model.NoSchedule}} })
			w.node("n", change).pods("web", 1, func(s *model.PodShape) {
				s.Tolerations = []model.Toleration{{Key: model.TaintDisrupted, Operator: "Exists"}}
			})
			if plan := w.plan(); len(plan.Nominations) != 0 || len(plan.Claims) != 1 {
				t.Errorf("nominations = %+v, claims = %d", plan.Nominations, len(plan.Claims))
			}
		})
	}
}

// A claim of whose instance nothing is known takes the pods it was planned for; where they may not be together, the one
// that is taken off it disrupts room nobody counted.
func TestPodsThatMayNotBeTogetherOnAClaimNothingIsKnownOf(t *testing.T) {
	w := newWorld(32).pool("web", nil)
	w.pods("app", 2, func(s *model.PodShape) {
		s.Labels = map[string]string{"app": "app"}
		s.PodAntiAffinity = []model.PodTerm{{TopologyKey: model.LabelHostname, Selector: &model.Selector{MatchLabels: s.Labels}}}
	})
	claim := model.Claim{Name: "lost", Pool: "web", Class: "default", State: model.Intended, InstanceTypes: []string{"m5.large"}}
	for i := range w.in.Snapshot.Pods {
		pod := &w.in.Snapshot.Pods[i]
		claim.Pods = append(claim.Pods, model.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID})
	}
	w.in.Claims, w.in.Catalogs = []model.Claim{claim}, nil
	if plan := w.plan(); len(plan.Claims) != 0 {
		t.Errorf("%+v", plan)
	}
}

// What is there goes first, as it did when the claims on their way were asked for, even where their zone is more to a
// pod's liking: else it takes the place of one that can be nowhere else.
func TestPlanningAgainPutsPodsWhereTheyWereBefore(t *testing.T) {
	w := newWorld(96).pool("general", func(p *model.Pool) {
		p.Template.Requirements = []model.Requirement{oneOf("karpenter.k8s.aws/instance-size", "4xlarge"), oneOf(model.LabelArch, "amd64")}
	})
	w.zoned(8000, "a").zoned(16_000, "b")
	w.in.Snapshot.Nodes[0].Allocatable[model.Memory], w.in.Snapshot.Nodes[1].Allocatable[model.Memory] = 32<<30, 64<<30
	w.in.Snapshot.Nodes[1].Allocatable["nvidia.com/gpu"] = 1
	w.pods("web", 3, asPod(appPod("web"), cpu(3500)))
	gpu := func(s *model.PodShape) { s.Requests["nvidia.com/gpu"] = 1 }
	w.pods("db", 2, asPod(appPod("db"), cpu(500), gpu, func(s *model.PodShape) {
		s.PodAffinity = []model.PodTerm{{TopologyKey: model.LabelZone, Selector: exprSelector(model.In, "app", "web", "db")}}
	}))
	plan := w.complete(t)
	for _, planned := range plan.Claims {
		w.in.Claims = append(w.in.Claims, launched(asLedger(planned), planned.Offering))
	}
	again := w.complete(t)
	if len(plan.Claims) != 1 || len(again.Claims) != 0 {
		t.Errorf("first %d claims, %+v; again %d, %+v", len(plan.Claims), plan.Nominations, len(again.Claims), again.Nominations)
	}
}

// Pods that would rather be apart are placed after those that do not care, which may let more of them in: that is tried
// for existing nodes alone, too.
func TestMorePodsAreBetterThanNoPreferences(t *testing.T) {
	w := newWorld(64)
	w.node("n", func(n *model.Node) { n.Allocatable["example.com/fpga"] = 2 })
	fpga := func(amount int64) func(*model.PodShape) {
		return func(s *model.PodShape) { s.Requests["example.com/fpga"] = amount }
	}
	w.pods("small", 2, asPod(appPod("web"), cpu(0), fpga(1), spreadBy(model.LabelHostname, 1, ifItCan)))
	w.pods("large", 1, asPod(cpu(1000), fpga(2)))
	if plan := w.sound(t); len(plan.Unschedulable) != 1 {
		t.Errorf("left out: %+v", plan.Unschedulable)
	}
}

// A pod that came later gives way to one that is where it was promised: had it come first, that one could not start.
func TestPodsThatCameLaterGiveWayToPromises(t *testing.T) {
	w := newWorld(64).pool("general", nil)
	w.pods("cache", 1, asPod(appPod("cache"), selecting(model.LabelZone, "a"), nearApp(model.LabelHostname, "cache")))
	w.pods("web", 1, asPod(appPod("web"), selecting(model.LabelZone, "b")))
	for _, planned := range w.complete(t).Claims {
		w.in.Claims = append(w.in.Claims, launched(asLedger(planned), planned.Offering))
	}
	w.pods("late", 1, asPod(appPod("cache"), cpu(10), labeled("app", "cache"), nearApp(model.LabelHostname, "web")))
	again := w.sound(t)
	if len(again.Claims) != 0 || codes(again, "late-00000") == nil || codes(again, "cache-00000") != nil {
		t.Errorf("%d claims, left out %+v, nominations %+v", len(again.Claims), again.Unschedulable, again.Nominations)
	}
}

// F19, X12: a node keeps room for the pod of a DaemonSet that is not there yet, and none for one that is.
func TestF19NodesKeepRoomForDaemonsToCome(t *testing.T) {
	for running, want := range map[bool]int{false: 0, true: 1} {
		w := newWorld(0).node("there", func(n *model.Node) {
			n.Allocatable[model.CPU] = 4000
			n.Labels[model.LabelNodePool] = "default"
		})
		w.daemon("agent", cpu(1000)).pods("web", 1, cpu(3500))
		if running { // of 300m as yet: the room it takes is what it has
			w.running("agent-1", "there", func(s *model.PodShape) {
				cpu(300)(s)
				s.Namespace, s.OwnerKind, s.OwnerName = "kube-system", "DaemonSet", "agent"
			})
			pod := &w.in.Snapshot.Pods[len(w.in.Snapshot.Pods)-1]
			pod.Namespace = "kube-system"
		}
		plan := w.plan()
		if len(plan.Nominations) != want || len(plan.Unschedulable) != 1-want {
			t.Errorf("the daemon runs %v: %+v, %+v", running, plan.Nominations, plan.Unschedulable)
		}
	}
}

// K3: while hosts are on their way another may come, which has none. A spread over hosts of maxSkew 1 gives each of
// them one pod, though all have as many and kube-scheduler would take two on each once they are there.
func TestK3HostsOnTheirWayTakeNoMoreThanMaxSkew(t *testing.T) {
	for maxSkew, more := range map[int32]int{1: 2, 2: 0} { // instances for the two pods that come while two instances are on their way
		spread := asPod(appPod("web"), cpu(100), spreadBy(model.LabelHostname, maxSkew))
		w := newWorld(96).pool("general", nil).pods("web", 2, asPod(appPod("web"), cpu(100), spreadBy(model.LabelHostname, 1)))
		first := w.plan()
		if len(first.Claims) != 2 {
			t.Fatalf("%d machines to begin with", len(first.Claims))
		}
		for _, stage := range []func(model.PlannedClaim) model.Claim{asLedger, func(p model.PlannedClaim) model.Claim { return launched(asLedger(p), p.Offering) }} {
			w := newWorld(96).pool("general", nil).pods("web", 2, spread).pods("web-late", 2, spread)
			for _, planned := range first.Claims {
				w.in.Claims = append(w.in.Claims, stage(planned))
			}
			plan := w.complete(t)
			hosts := w.perDomain(plan, model.LabelHostname, "web")
			if most := slices.Max(slices.Collect(maps.Values(hosts))); len(plan.Claims) != more || int32(most) > maxSkew {
				t.Errorf("maxSkew %d: %d more machines, want %d; pods by host: %v", maxSkew, len(plan.Claims), more, hosts)
			}
		}
	}
}
