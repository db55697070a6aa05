package pack

import (
	"fmt"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/pack/newnodes"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/model"
)

func families(minValues int) func(*model.Pool) {
	return func(p *model.Pool) {
		p.Template.Requirements = append(p.Template.Requirements, model.Requirement{Key: requirement.InstanceFamily, Operator: model.Exists, MinValues: minValues})
	}
}

// The catalog has eight families.
func TestF040StrictMinValuesRefuse(t *testing.T) {
	refusedWith(t, newWorld(64).pool("general", families(20)).pods("web", 1, nil).sound(t), "web-00000", MinValues)
	plan := newWorld(64).pool("general", families(4)).pods("web", 1, nil).complete(t)
	if len(plan.Claims) != 1 {
		t.Errorf("%d claims", len(plan.Claims))
	}
}

func TestF041BestEffortLowersNoFurtherThanNeeded(t *testing.T) {
	w := newWorld(64).pool("general", func(p *model.Pool) {
		families(6)(p)
		p.Template.Requirements = append(p.Template.Requirements, model.Requirement{Key: "karpenter.k8s.aws/instance-gpu-count", Operator: model.DoesNotExist},
			oneOf(model.LabelArch, "amd64"))
	}).pods("web", 1, nil)
	w.in.BestEffortMinValues = true
	claim, err := onlyClaim(w.complete(t))
	seen := make(map[string]bool)
	for _, instance := range w.typesOf(&claim) {
		seen[instance.Labels[requirement.InstanceFamily][0]] = true
	}
	if err != nil || len(seen) != 3 {
		t.Errorf("families = %v, %v; want the three there are", seen, err)
	}
}

func TestF042TheLargerOfTwoMinValuesCounts(t *testing.T) {
	twice := func(a, b int) func(*model.Pool) {
		return func(p *model.Pool) { families(a)(p); families(b)(p) }
	}
	for _, order := range [][2]int{{2, 20}, {20, 2}} {
		w := newWorld(64).pool("general", twice(order[0], order[1])).pods("web", 1, nil)
		refusedWith(t, w.sound(t), "web-00000", MinValues)
	}
	newWorld(64).pool("general", twice(2, 4)).pods("web", 1, nil).complete(t)
}

func TestF043TypesAreListedCheapestFirst(t *testing.T) {
	w := newWorld(160).pool("general", nil).pods("web", 1, cpu(1500))
	claim, err := onlyClaim(w.complete(t)) // the checker looks at the order
	if err != nil || len(claim.InstanceTypes) < 10 || len(claim.InstanceTypes) > newnodes.MaxInstanceTypes {
		t.Errorf("%d types, %v", len(claim.InstanceTypes), err)
	}
}

func TestF045PoolsWithATaintTakeOnlyPodsThatTolerateIt(t *testing.T) {
	for _, effect := range []string{model.NoSchedule, model.NoExecute} {
		w := newWorld(32).pool("gpu", func(p *model.Pool) { p.Template.Taints = []model.Taint{{Key: "gpu", Value: "yes", Effect: effect}} })
		w.pods("web", 1, nil).pods("train", 1, tolerating("gpu"))
		plan := w.sound(t)
		refusedWith(t, plan, "web-00000", TaintNotTolerated)
		claim := claimOf(plan, "train-00000")
		if claim == nil || len(claim.Taints) != 1 || claim.Taints[0].Effect != effect {
			t.Errorf("claim = %+v", claim)
		}
	}
}

func TestF045NumericTolerations(t *testing.T) {
	w := newWorld(32).pool("tier", func(p *model.Pool) {
		p.Template.Taints = []model.Taint{{Key: "tier", Value: "3", Effect: model.NoSchedule}}
	})
	w.pods("low", 1, func(s *model.PodShape) { s.Tolerations = []model.Toleration{{Key: "tier", Operator: "Gt", Value: "3"}} })
	w.pods("high", 1, func(s *model.PodShape) { s.Tolerations = []model.Toleration{{Key: "tier", Operator: "Lt", Value: "4"}} })
	plan := w.plan()
	if codes(plan, "low-00000") == nil || claimOf(plan, "high-00000") == nil {
		t.Errorf("claims %+v, refused %+v", plan.Claims, plan.Unschedulable)
	}
}

func TestF046SoftTaintsAreAvoidedWhereAnotherPoolFits(t *testing.T) {
	avoided := func(p *model.Pool) {
		p.Weight, p.Template.Taints = 100, []model.Taint{{Key: "old", Effect: model.PreferNoSchedule}}
	}
	w := newWorld(32).pool("avoided", avoided).pool("liked", nil).pods("web", 3, nil)
	for _, claim := range w.complete(t).Claims {
		if claim.Pool != "liked" {
			t.Errorf("claim of %s", claim.Pool)
		}
	}
	only := newWorld(32).pool("avoided", avoided).pods("web", 3, nil)
	if plan := only.complete(t); len(plan.Claims) == 0 {
		t.Error("no claim of the only pool there is")
	}
}

// The peer keeps pods off a node with a PreferNoSchedule taint put there by hand; kube-scheduler does not, and neither
// do we.
func TestF046SoftTaintsOfNodesKeepNobodyOut(t *testing.T) {
	w := newWorld(32).pool("general", nil).node("n", func(n *model.Node) { n.Taints = []model.Taint{{Key: "old", Effect: model.PreferNoSchedule}} })
	if plan := w.pods("web", 1, nil).complete(t); nodeOf(plan, "web-00000") != "n" {
		t.Errorf("claims = %d, nominations = %+v", len(plan.Claims), plan.Nominations)
	}
}

func TestF047StartupTaintsKeepNobodyOut(t *testing.T) {
	w := newWorld(32).pool("general", func(p *model.Pool) { p.Template.StartupTaints = []model.Taint{{Key: "boot", Effect: model.NoExecute}} })
	claim, err := onlyClaim(w.pods("web", 1, nil).complete(t))
	if err != nil || len(claim.StartupTaints) != 1 || len(claim.Taints) != 0 {
		t.Errorf("taints %v, startup taints %v, %v", claim.Taints, claim.StartupTaints, err)
	}
}

func TestF048TaintsOfStartingNodesAskForNoOtherNode(t *testing.T) {
	boot := model.Taint{Key: "boot", Effect: model.NoSchedule}
	tests := map[string]struct {
		taints      []model.Taint
		initialized bool
		used        bool
	}{
		"not ready":                       {[]model.Taint{{Key: "node.kubernetes.io/not-ready", Effect: model.NoSchedule}}, false, true},
		"not ready, NoExecute":            {[]model.Taint{{Key: "node.kubernetes.io/not-ready", Effect: model.NoExecute}}, false, true},
		"unreachable":                     {[]model.Taint{{Key: "node.kubernetes.io/unreachable", Effect: model.NoSchedule}}, false, true},
		"uninitialised by the cloud":      {[]model.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: model.NoSchedule}}, false, true},
		"a readiness gate":                {[]model.Taint{{Key: "readiness.k8s.io/network", Effect: model.NoSchedule}}, false, true},
		"a startup taint":                 {[]model.Taint{boot}, false, true},
		"a startup taint that came back":  {[]model.Taint{boot}, true, false},
		"not ready though initialised":    {[]model.Taint{{Key: "node.kubernetes.io/not-ready", Effect: model.NoSchedule}}, true, false},
		"a taint nothing will take away":  {[]model.Taint{{Key: "mine", Effect: model.NoSchedule}}, false, false},
		"under disk pressure from birth":  {[]model.Taint{{Key: "node.kubernetes.io/disk-pressure", Effect: model.NoSchedule}}, false, false},
		"cordoned by hand":                {[]model.Taint{{Key: "node.kubernetes.io/unschedulable", Effect: model.NoSchedule}}, false, false},
		"a startup taint, another effect": {[]model.Taint{{Key: "boot", Effect: model.NoExecute}}, false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(32).pool("general", func(p *model.Pool) { p.Template.StartupTaints = []model.Taint{boot} })
			w.node("n", func(n *model.Node) {
				n.Taints = test.taints
				n.Labels[model.LabelNodePool], n.Labels[model.LabelRegistered] = "general", "true"
				if test.initialized {
					n.Labels[model.LabelInitialized] = "true"
				}
			})
			plan := w.pods("web", 1, nil).plan()
			if used := nodeOf(plan, "web-00000") == "n"; used != test.used || placed(plan) != 1 {
				t.Errorf("node used = %v, want %v: %d claims, refused %+v", used, test.used, len(plan.Claims), plan.Unschedulable)
			}
		})
	}
}

func TestF049RequestsAreThePodsAndTheSmallestDaemons(t *testing.T) {
	w := newWorld(64).pool("general", nil).daemon("logs", cpu(300)).daemon("proxy", cpu(200))
	claim, err := onlyClaim(w.pods("web", 2, cpu(1000)).complete(t))
	want := model.Resources{model.CPU: 2500, model.Memory: 4 << 30, model.Pods: 4}
	if err != nil || resource.String(claim.Requests) != resource.String(want) {
		t.Errorf("requests = %s, want %s, %v", resource.String(claim.Requests), resource.String(want), err)
	}
}

func TestF050DaemonsOfOneArchitectureCountOnlyThere(t *testing.T) {
	w := newWorld(64).pool("general", nil)
	w.daemon("armd", asPod(cpu(1500), needing(oneOf(model.LabelArch, "arm64"))))
	w.pods("arm", 1, asPod(cpu(1000), selecting(model.LabelArch, "arm64"))).pods("amd", 1, asPod(cpu(1000), selecting(model.LabelArch, "amd64")))
	plan := w.complete(t)
	for pod, want := range map[string]int64{"arm-00000": 2500, "amd-00000": 1000} {
		if claim := claimOf(plan, pod); claim == nil || claim.Requests[model.CPU] != want {
			t.Errorf("claim of %s: %+v, want %dm requested", pod, claim, want)
		}
	}
}

// A claim both architectures can serve leaves, on each type, the room its own daemons need.
func TestF050OverheadIsCountedPerType(t *testing.T) {
	w := newWorld(64).pool("general", nil).daemon("armd", asPod(cpu(3000), needing(oneOf(model.LabelArch, "arm64"))))
	claim, err := onlyClaim(w.pods("web", 1, cpu(1500)).complete(t)) // the checker sums up per type
	small := slices.ContainsFunc(claim.InstanceTypes, func(name string) bool { return name == "c5.large" })
	if err != nil || !small || claim.Requests[model.CPU] != 1500 {
		t.Errorf("requests %s of %v, %v; want the two-core types without the daemon among them", resource.String(claim.Requests), claim.InstanceTypes, err)
	}
}

func TestF051DaemonsThatWaitForTheNodeToBeReadyAreCounted(t *testing.T) {
	for _, key := range []string{model.LabelRegistered, model.LabelInitialized} {
		w := newWorld(64).pool("general", nil).daemon("late", asPod(cpu(400), needing(oneOf(key, "true"))))
		claim, err := onlyClaim(w.pods("web", 1, cpu(1000)).complete(t))
		if err != nil || claim.Requests[model.CPU] != 1400 {
			t.Errorf("%s: requests %s, %v", key, resource.String(claim.Requests), err)
		}
		for _, r := range claim.Requirements {
			if r.Key == key {
				t.Errorf("the claim asks for %s", key)
			}
		}
	}
}

// What a pod in the middle of a resize occupies is its shape's to say; a node is full by that amount.
func TestF053PodsThatGrewTakeWhatTheyGrewTo(t *testing.T) {
	w := newWorld(32).pool("general", nil).node("n", nil).running("grown", "n", cpu(3500)).pods("web", 1, cpu(1000))
	if plan := w.complete(t); len(plan.Claims) != 1 {
		t.Errorf("claims = %d, nominations = %+v", len(plan.Claims), plan.Nominations)
	}
}

func TestF054PodDensity(t *testing.T) {
	tiny := func(s *model.PodShape) {
		s.Requests = model.Resources{model.CPU: 1, model.Memory: 1 << 20, model.Pods: 1}
	}
	w := newWorld(64).pool("general", nil).node("n", func(n *model.Node) { n.Allocatable[model.Pods] = 3 }).running("one", "n", tiny)
	plan := w.pods("web", 500, tiny).complete(t)
	if len(plan.Nominations) != 1 || len(plan.Nominations[0].Pods) != 2 || len(plan.Claims) < 2 {
		t.Errorf("%d claims, nominations %+v", len(plan.Claims), plan.Nominations)
	}
}

func withPort(port int32, protocol, ip string) func(*model.PodShape) {
	return func(s *model.PodShape) {
		s.HostPorts = append(s.HostPorts, model.HostPort{Port: port, Protocol: protocol, IP: ip})
	}
}

func TestF055PodsWithOneHostPortGetNodesOfTheirOwn(t *testing.T) {
	w := newWorld(64).pool("general", nil).pods("web", 4, asPod(cpu(100), withPort(8080, "TCP", "")))
	if plan := w.complete(t); len(plan.Claims) != 4 {
		t.Errorf("%d claims for four pods with one port", len(plan.Claims))
	}
}

func TestF055WhenHostPortsClash(t *testing.T) {
	tests := []struct {
		port         int32
		protocol, ip string
		clash        bool
	}{
		{8080, "TCP", "", true}, {8080, "", "", true}, {8080, "TCP", "0.0.0.0", true}, {8080, "TCP", "10.0.0.1", true},
		{8080, "TCP", "10.0.0.2", false}, {8080, "UDP", "", false}, {8081, "TCP", "", false},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%d %s %s", test.port, test.protocol, test.ip), func(t *testing.T) {
			w := newWorld(32).pool("general", nil).node("n", nil).running("holder", "n", asPod(cpu(100), withPort(8080, "TCP", "10.0.0.1")))
			w.pods("web", 1, asPod(cpu(100), withPort(test.port, test.protocol, test.ip)))
			if plan := w.complete(t); (len(plan.Claims) == 1) != test.clash {
				t.Errorf("claims = %d, want clash = %v", len(plan.Claims), test.clash)
			}
		})
	}
}

func TestF056NodesAtTheirAttachLimitTakeNoMoreVolumes(t *testing.T) {
	w := newWorld(32).pool("general", nil).storage("standard", nil).zoned(4000, "a")
	w.in.Snapshot.CSINodes = []model.CSINode{{Node: "node-a", Limits: map[string]int64{"ebs.csi.aws.com": 3}}}
	w.running("old", "node-a", cpu(100)).withClaim("old", func(_ int, v *model.Volume) { boundIn("a", v) })
	w.pods("db", 4, cpu(100)).withClaim("db", func(int, *model.Volume) {})
	w.pods("web", 2, cpu(100))
	plan := w.complete(t)
	if got := w.perDomain(plan, model.LabelHostname, "db"); got["node-a"] != 2 {
		t.Errorf("pods with volumes by node: %v, want two where one of three is taken", got)
	}
	if got := w.perDomain(plan, model.LabelHostname, "web"); got["node-a"] != 2 {
		t.Errorf("pods without by node: %v", got)
	}
}

func TestF056OneVolumeIsAttachedOnceAndOtherDriversAreFree(t *testing.T) {
	w := newWorld(32).pool("general", nil).storage("standard", nil).storage("files", func(s *model.Storage) { s.Provisioner = "efs.csi.aws.com" }).zoned(4000, "a")
	w.in.Snapshot.CSINodes = []model.CSINode{{Node: "node-a", Limits: map[string]int64{"ebs.csi.aws.com": 1}}}
	w.pods("shared", 3, cpu(100)).pods("files", 2, cpu(100)).withClaim("files", func(_ int, v *model.Volume) { v.Class = "files" })
	w.in.Snapshot.Volumes = append(w.in.Snapshot.Volumes, model.Volume{Namespace: "default", Name: "one"})
	boundIn("a", &w.in.Snapshot.Volumes[len(w.in.Snapshot.Volumes)-1])
	for i := range 3 {
		w.in.Snapshot.Pods[i].Claims = []string{"one"}
	}
	if plan := w.complete(t); len(plan.Claims) != 0 {
		t.Errorf("%d claims, nominations %+v", len(plan.Claims), plan.Nominations)
	}
}

func TestF041BestEffortMinValuesAreLoweredAndToldSo(t *testing.T) {
	w := newWorld(64).pool("general", families(20)).pods("web", 3, nil)
	w.in.BestEffortMinValues = true
	plan := w.complete(t)
	if len(plan.Claims) == 0 {
		t.Fatal("no claim")
	}
	for _, claim := range plan.Claims {
		if claim.Annotations[model.AnnotationMinValuesRelaxed] != "true" {
			t.Errorf("annotations = %v", claim.Annotations)
		}
		for _, r := range claim.Requirements {
			if r.MinValues >= 20 {
				t.Errorf("the claim still asks for %d values of %s", r.MinValues, r.Key)
			}
		}
	}
	met := newWorld(64).pool("general", families(2)).pods("web", 1, nil)
	met.in.BestEffortMinValues = true
	if claim, err := onlyClaim(met.complete(t)); err != nil || claim.Annotations[model.AnnotationMinValuesRelaxed] == "true" {
		t.Errorf("annotations = %v although nothing was lowered, %v", claim.Annotations, err)
	}
}

func TestF040MinValuesHoldForPodsOnNodesOfTheirOwn(t *testing.T) {
	for name, rule := range map[string]func(*model.PodShape){
		"spread over hosts": spreadBy(model.LabelHostname, 1), "apart on hosts": apartFrom(model.LabelHostname, "web"), "host ports": withPort(80, "TCP", ""),
		"together in a zone": nearApp(model.LabelZone, "web"), "spread over zones": spreadBy(model.LabelZone, 1),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(64).pool("strict", func(p *model.Pool) { p.Weight = 9; families(5)(p) }).pool("lax", nil)
			w.pods("web", 3, asPod(appPod("web"), selecting(model.LabelArch, "arm64"), rule)).pods("plain", 3, cpu(500))
			w.complete(t)
		})
	}
}
