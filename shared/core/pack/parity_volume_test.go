package pack

import (
	"fmt"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

func TestF071BoundVolumesPinTheZone(t *testing.T) {
	w := newWorld(64).pool("general", nil).storage("standard", nil).pods("db", 3, appPod("db"))
	w.withClaim("db", func(i int, v *model.Volume) { boundIn(testZones[i], v) })
	plan := w.complete(t)
	for i, zone := range testZones {
		if got := w.domainOf(plan, model.LabelZone)[fmt.Sprintf("db-%05d", i)]; got != zone {
			t.Errorf("pod %d is in %s, its volume in %s", i, got, zone)
		}
	}
}

func TestF071TheZoneLabelOfAVolumeMayBeAnOldOne(t *testing.T) {
	for _, key := range []string{model.LabelZone, "failure-domain.beta.kubernetes.io/zone", "topology.ebs.csi.aws.com/zone"} {
		t.Run(key, func(t *testing.T) {
			w := newWorld(64).pool("general", nil).pods("db", 1, appPod("db")).withClaim("db", func(_ int, v *model.Volume) {
				boundIn("b", v)
				v.Affinity = []model.NodeTerm{{Requirements: []model.Requirement{oneOf(key, "b")}}}
			})
			if got := w.perDomain(w.complete(t), model.LabelZone, "db"); got["b"] != 1 {
				t.Errorf("zones = %v", got)
			}
		})
	}
}

func TestF071AVolumeInAZoneNobodySells(t *testing.T) {
	w := newWorld(64).pool("general", nil).pods("db", 1, appPod("db")).withClaim("db", func(_ int, v *model.Volume) { boundIn("mars", v) })
	plan := w.sound(t)
	got := codes(plan, "db-00000")
	if len(got) == 0 || got[0] != VolumeConflict && got[0] != RequirementConflict {
		t.Errorf("codes = %v", got)
	}
}

func TestF071AVolumeAndASelectorThatDisagree(t *testing.T) {
	w := newWorld(64).pool("general", nil).pods("db", 1, asPod(appPod("db"), selecting(model.LabelZone, "a")))
	w.withClaim("db", func(_ int, v *model.Volume) { boundIn("b", v) })
	if plan := w.sound(t); placed(plan) != 0 || len(codes(plan, "db-00000")) == 0 {
		t.Errorf("plan = %+v", plan)
	}
}

func TestF071TwoVolumesInDifferentZones(t *testing.T) {
	w := newWorld(64).pool("general", nil).pods("db", 1, appPod("db"))
	w.withClaim("db", func(_ int, v *model.Volume) { boundIn("a", v) })
	second := model.Volume{Namespace: "default", Name: "second"}
	boundIn("b", &second)
	w.in.Snapshot.Volumes = append(w.in.Snapshot.Volumes, second)
	w.in.Snapshot.Pods[0].Claims = append(w.in.Snapshot.Pods[0].Claims, "second")
	refusedWith(t, w.sound(t), "db-00000", VolumeConflict)
}

func zonesAllowed(zones ...string) func(*model.Storage) {
	return func(s *model.Storage) {
		for _, zone := range zones {
			s.AllowedTopologies = append(s.AllowedTopologies, model.NodeTerm{Requirements: []model.Requirement{oneOf("topology.ebs.csi.aws.com/zone", zone)}})
		}
	}
}

func TestF072AllowedTopologiesOfUnboundClaims(t *testing.T) {
	w := newWorld(64).pool("general", nil).storage("standard", zonesAllowed("b", "c")).pods("db", 4, appPod("db"))
	w.withClaim("db", func(int, *model.Volume) {})
	for zone, n := range w.perDomain(w.complete(t), model.LabelZone, "db") {
		if strings.Contains(zone, "a") {
			t.Errorf("%d pods may come to %s", n, zone)
		}
	}
}

func TestF072AlternativesAreTried(t *testing.T) {
	w := newWorld(64).pool("general", nil).storage("standard", zonesAllowed("a", "b", "c"))
	w.gone("*/a/*")
	w.gone("*/b/*")
	w.pods("db", 2, appPod("db")).withClaim("db", func(int, *model.Volume) {})
	if got := w.perDomain(w.complete(t), model.LabelZone, "db"); got["c"] != 2 {
		t.Errorf("pods by zone: %v", got)
	}
}

func TestF072SeveralVolumesMeetInAZoneAllOfThemAllow(t *testing.T) {
	w := newWorld(64).pool("general", nil).storage("standard", zonesAllowed("a", "b")).storage("fast", zonesAllowed("b", "c"))
	w.pods("db", 2, appPod("db")).withClaim("db", func(int, *model.Volume) {})
	for i := range 2 {
		pod := &w.in.Snapshot.Pods[i]
		name := "fast-" + pod.Name
		pod.Claims = append(pod.Claims, name)
		w.in.Snapshot.Volumes = append(w.in.Snapshot.Volumes, model.Volume{Namespace: "default", Name: name, Class: "fast", Phase: "Pending"})
	}
	if got := w.perDomain(w.complete(t), model.LabelZone, "db"); got["b"] != 2 {
		t.Errorf("pods by zone: %v", got)
	}
}

func TestF073LocalVolumesDoNotNameANewNodesHost(t *testing.T) {
	local := func(_ int, v *model.Volume) {
		boundIn("b", v)
		v.Local = true
		v.Affinity = []model.NodeTerm{{Requirements: []model.Requirement{oneOf(model.LabelHostname, "gone-node"), oneOf(model.LabelZone, "b")}}}
	}
	w := newWorld(64).pool("general", nil).pods("db", 1, appPod("db")).withClaim("db", local)
	if got := w.perDomain(w.complete(t), model.LabelZone, "db"); got["b"] != 1 {
		t.Errorf("pods by zone: %v", got)
	}
	onlyHost := func(i int, v *model.Volume) {
		local(i, v)
		v.Affinity[0].Requirements = v.Affinity[0].Requirements[:1]
	}
	anywhere := newWorld(64).pool("general", nil).pods("db", 1, appPod("db")).withClaim("db", onlyHost)
	anywhere.complete(t)
}

func TestF074EphemeralVolumesTakePart(t *testing.T) {
	scratch := func(s *model.PodShape) { s.Ephemeral = []model.EphemeralClaim{{Volume: "scratch", Class: "standard"}} }
	w := newWorld(64).pool("general", nil).storage("standard", zonesAllowed("c")).pods("job", 3, asPod(appPod("job"), scratch))
	for i := range 3 {
		pod := &w.in.Snapshot.Pods[i]
		pod.Claims = []string{pod.Name + "-scratch"}
	}
	if got := w.perDomain(w.complete(t), model.LabelZone, "job"); got["c"] != 3 {
		t.Errorf("pods by zone: %v; the claims were not made yet", got)
	}
	w.in.Snapshot.Storage = nil
	plan := w.sound(t)
	refusedWith(t, plan, "job-00000", VolumeConflict)
}

func TestF074EphemeralVolumesOfTheDefaultClass(t *testing.T) {
	scratch := func(s *model.PodShape) { s.Ephemeral = []model.EphemeralClaim{{Volume: "scratch"}} }
	w := newWorld(64).pool("general", nil).storage("other", zonesAllowed("a")).storage("standard", func(s *model.Storage) {
		s.Default = true
		zonesAllowed("b")(s)
	})
	w.pods("job", 1, asPod(appPod("job"), scratch))
	w.in.Snapshot.Pods[0].Claims = []string{"job-00000-scratch"}
	if got := w.perDomain(w.complete(t), model.LabelZone, "job"); got["b"] != 1 {
		t.Errorf("pods by zone: %v", got)
	}
}

func TestF075ClaimsThatCanNeverBindMakeNoNode(t *testing.T) {
	tests := map[string]struct {
		change func(*world, *model.Volume)
		says   string // in the message, besides the claim's name
	}{
		"lost":           {func(_ *world, v *model.Volume) { v.Phase, v.VolumeName = "Lost", "pv" }, ""},
		"being deleted":  {func(_ *world, v *model.Volume) { v.DeletedUnix = testNow }, ""},
		"volume missing": {func(_ *world, v *model.Volume) { boundIn("a", v); v.Missing, v.Affinity = true, nil }, ""},
		"half bound":     {func(_ *world, v *model.Volume) { boundIn("a", v); v.Unbound = true }, ""},
		"class missing":  {func(_ *world, v *model.Volume) { v.Class = "no-such-class" }, "no-such-class"},
		"no class":       {func(_ *world, v *model.Volume) { v.Class = "" }, ""},
		"immediate and unbound": {func(w *world, v *model.Volume) {
			w.storage("now", func(s *model.Storage) { s.Immediate = true })
			v.Class = "now"
		}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(64).pool("general", nil).node("n", nil).storage("standard", nil).pods("db", 1, appPod("db")).pods("web", 1, appPod("web"))
			w.withClaim("db", func(_ int, v *model.Volume) { test.change(w, v) })
			plan := w.sound(t)
			refusedWith(t, plan, "db-00000", VolumeConflict)
			if len(plan.Unschedulable) == 1 {
				message := plan.Unschedulable[0].Reasons[0].Message
				if !strings.Contains(message, "data-db-00000") || !strings.Contains(message, test.says) {
					t.Errorf("message %q does not name the claim or %q", message, test.says)
				}
			}
			if codes(plan, "web-00000") != nil || len(plan.Claims) != 0 {
				t.Errorf("%d claims, refused %+v", len(plan.Claims), plan.Unschedulable)
			}
		})
	}
	missing := newWorld(64).pool("general", nil).pods("db", 1, appPod("db"))
	missing.in.Snapshot.Pods[0].Claims = []string{"not-there"}
	refusedWith(t, missing.sound(t), "db-00000", VolumeConflict)
}

// Volumes say where the pod may run and not which zones count: pods bound to zone a cannot pile up there while b and c
// have nodes.
func TestF076VolumesDoNotNarrowTheDomainsOfSpread(t *testing.T) {
	w := newWorld(64).pool("general", nil).zoned(0, "b", "c").pods("db", 2, asPod(appPod("db"), spreadBy(model.LabelZone, 1)))
	w.withClaim("db", func(_ int, v *model.Volume) { boundIn("a", v) })
	plan := w.sound(t)
	if placed(plan) != 1 || len(plan.Unschedulable) != 1 {
		t.Fatalf("%d placed, want one: two of app db in zone a are two more than in b", placed(plan))
	}
	refusedWith(t, plan, plan.Unschedulable[0].Pod.Name, TopologySpread)
}

func TestF076ReadWriteOncePodIsForOnePod(t *testing.T) {
	w := newWorld(64).pool("general", nil).pods("db", 2, appPod("db"))
	once := model.Volume{Namespace: "default", Name: "once", OncePod: true}
	boundIn("a", &once)
	w.in.Snapshot.Volumes = []model.Volume{once}
	for i := range 2 {
		w.in.Snapshot.Pods[i].Claims = []string{"once"}
	}
	plan := w.sound(t)
	if placed(plan) != 1 || len(plan.Unschedulable) != 1 {
		t.Fatalf("%d placed", placed(plan))
	}
	refusedWith(t, plan, plan.Unschedulable[0].Pod.Name, VolumeConflict)
	held := newWorld(64).pool("general", nil).zoned(4000, "a").running("holder", "node-a", appPod("db")).pods("db", 1, appPod("db"))
	held.in.Snapshot.Volumes = []model.Volume{once}
	held.in.Snapshot.Pods[0].Claims, held.in.Snapshot.Pods[1].Claims = []string{"once"}, []string{"once"}
	refusedWith(t, held.sound(t), "db-00000", VolumeConflict)
}

// kube-scheduler insists on the host where the node exists; only for a new node it is no use to.
func TestF073LocalVolumesKeepToTheirNodeWhileItExists(t *testing.T) {
	w := newWorld(64).pool("general", nil).node("n1", nil).node("n2", nil).pods("db", 1, appPod("db"))
	w.withClaim("db", func(_ int, v *model.Volume) {
		v.Phase, v.VolumeName, v.Local = "Bound", "pv", true
		v.Affinity = []model.NodeTerm{{Requirements: []model.Requirement{oneOf(model.LabelHostname, "n2")}}}
	})
	if plan := w.complete(t); nodeOf(plan, "db-00000") != "n2" {
		t.Errorf("claims %d, nominations %+v", len(plan.Claims), plan.Nominations)
	}
}
