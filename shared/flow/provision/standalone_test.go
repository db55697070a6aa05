package provision_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// byHand is a NodeClaim as people write it.
func byHand(name string) model.Claim {
	grace, expiry := int64(600), int64(7200)
	return model.Claim{
		Name: name, Class: "default", Requests: model.Resources{model.CPU: 3000, model.Memory: 4 * gib},
		Requirements: []model.Requirement{{Key: model.LabelCapacityType, Operator: model.In, Values: []string{model.OnDemand}}},
		Labels:       map[string]string{"team": "blue"}, Taints: []model.Taint{{Key: "dedicated", Value: "blue", Effect: model.NoSchedule}},
		StartupTaints: []model.Taint{{Key: "starting", Effect: model.NoSchedule}}, GraceSeconds: &grace, ExpireSeconds: &expiry,
	}
}

// made returns a world without any NodePool in which people made a NodeClaim, and that one's UID.
func made(claim model.Claim, options world.Options) (*world.World, string) {
	w := world.New(options)
	w.Cluster.HoldClaims(true)
	w.Cluster.AddClass(world.Class("default"))
	w.Cluster.MakeClaim(claim)
	return w, w.Cluster.Claims()[0].UID
}

// living returns the instances that run.
func living(w *world.World) (out []world.Instance) {
	for _, instance := range w.Fleet.Instances() {
		if !instance.Terminated {
			out = append(out, instance)
		}
	}
	return out
}

// resyncs lets minutes pass with the resync running, whatever becomes of it.
func resyncs(t *testing.T, w *world.World, n int) {
	for range n {
		w.Tick(20 * time.Second)
		_, _ = w.Process(world.Fault{}).Run(t.Context(), provision.TriggerResync)
	}
}

// F107: class, requirements and annotations of a NodeClaim that people make are honored.
func TestF107ClassAndRequirementsOfAClaimMadeByHand(t *testing.T) {
	claim := byHand("mine")
	claim.Class, claim.Annotations = "other", map[string]string{"example.com/any": "thing"}
	claim.StartupTaints = nil
	claim.Requirements = append(claim.Requirements,
		model.Requirement{Key: model.LabelInstanceType, Operator: model.NotIn, Values: []string{"m5.xlarge"}})
	w, _ := made(claim, world.Options{Types: []string{"m5.large", "m5.xlarge", "m5.2xlarge"}})
	w.Cluster.AddClass(world.Class("other"))
	pass(t, w, provision.TriggerConfig)
	resyncs(t, w, 6)
	if got := onlyClaim(t, w); got.InstanceType != "m5.2xlarge" || got.Class != "other" {
		t.Errorf("launched is a %s of EC2NodeClass %s", got.InstanceType, got.Class)
	}
	node := onlyNode(t, w)
	if node.Annotations["example.com/any"] != "thing" || node.Labels[model.LabelNodeClass] != "other" {
		t.Errorf("the node has annotations %v and labels %v", node.Annotations, node.Labels)
	}
}

// F107: a NodeClaim that people make is launched once, under its own name, as it says, and its node becomes ready. Pods may
// run there like anywhere.
func TestF107ClaimMadeByHandIsLaunchedAsItSays(t *testing.T) {
	w, uid := made(byHand("mine"), world.Options{Types: []string{"m5.large", "m5.xlarge", "m5.2xlarge"}})
	outcome := pass(t, w, provision.TriggerConfig)
	if outcome.Claims != 1 || len(outcome.Problems) != 0 {
		t.Fatalf("%+v", outcome)
	}
	claim := onlyClaim(t, w)
	if claim.Name != "mine" || claim.Pool != "" || claim.PoolUID != "" || claim.ObjectUID != uid || claim.InstanceType != "m5.xlarge" ||
		claim.CapacityType != model.OnDemand || *claim.GraceSeconds != 600 || *claim.ExpireSeconds != 7200 ||
		claim.Requests[model.CPU] != 3000 || claim.Labels["team"] != "blue" || claim.Labels[model.LabelNodePool] != "" {
		t.Errorf("claim %+v", claim)
	}
	instance := living(w)[0]
	if instance.Tags[model.LabelNodePool] != model.NoPool || instance.Tags["karpenter.sh/nodeclaim"] != "mine" {
		t.Errorf("tags %v", instance.Tags)
	}
	if object := w.Cluster.Claims()[0]; !object.Finalizer || object.UID != uid || object.Claim.ProviderID != claim.ProviderID {
		t.Errorf("object %+v", object)
	}
	for range 12 {
		w.Tick(10 * time.Second)
		pass(t, w, provision.TriggerResync)
		for _, node := range w.Cluster.Nodes() { // somebody's job is done
			node.Taints = nil
			if node.Registered() {
				node.Taints = []model.Taint{{Key: "dedicated", Value: "blue", Effect: model.NoSchedule}}
				w.Cluster.PutNode(node)
			}
		}
	}
	if claim := onlyClaim(t, w); claim.State != model.Initialized || len(living(w)) != 1 {
		t.Errorf("claim is %s, %d machines", claim.State, len(living(w)))
	}
	node := w.Cluster.Nodes()[0]
	if node.Labels["team"] != "blue" || !node.Finalizer || node.Pool() != "" || node.Labels[model.LabelNodeClass] != "default" {
		t.Errorf("node %+v", node)
	}
	shape := world.Shape(1000, gib)
	shape.NodeSelector = map[string]string{"team": "blue"}
	shape.Tolerations = []model.Toleration{{Key: "dedicated", Operator: "Exists"}}
	pending(w, "web", 1, shape)
	pass(t, w, provision.TriggerBatch)
	w.Tick(time.Minute)
	if waits := w.Cluster.Waiting(); len(waits) != 0 || len(living(w)) != 1 {
		t.Errorf("pods wait: %v; %d machines", waits, len(living(w)))
	}
	sound(t, w)
}

// F107, A1: the process is killed at every effect, in every way; there is never a second instance, and in the end there is one.
func TestF107ClaimMadeByHandKilledAnywhereIsOneInstance(t *testing.T) {
	standalone := byHand("mine")
	standalone.StartupTaints = nil
	options := world.Options{Types: []string{"m5.xlarge"}}
	calm, _ := made(standalone, options)
	process := calm.Process(world.Fault{})
	if _, err := process.Run(t.Context(), provision.TriggerConfig); err != nil {
		t.Fatal(err)
	}
	if len(process.Effects()) < 5 {
		t.Fatalf("effects %v", process.Effects())
	}
	for i, effect := range process.Effects() {
		for _, mode := range world.Modes {
			t.Run(fmt.Sprintf("%02d %s %s", i+1, effect, mode), func(t *testing.T) {
				t.Parallel()
				w, uid := made(standalone, options)
				_, _ = w.Process(world.Fault{At: i + 1, Mode: mode}).Run(t.Context(), provision.TriggerConfig)
				for range 30 {
					w.Tick(5 * time.Second)
					_, _ = w.Process(world.Fault{}).Run(t.Context(), provision.TriggerResync)
					if n := len(w.Fleet.Instances()); n > 1 {
						t.Fatalf("%d machines", n)
					}
				}
				if claim := onlyClaim(t, w); claim.State != model.Initialized || claim.Name != "mine" || claim.ObjectUID != uid || len(living(w)) != 1 {
					t.Errorf("%+v", claim)
				}
				sound(t, w)
			})
		}
	}
}

// F107: of two that ask for the same each is launched, by a launch of its own.
func TestF107LikeClaimsMadeByHandAreLaunchedEach(t *testing.T) {
	standalone := byHand("a")
	w, _ := made(standalone, world.Options{Types: []string{"m5.xlarge"}})
	standalone.Name = "b"
	w.Cluster.MakeClaim(standalone)
	pass(t, w, provision.TriggerConfig)
	ledger := load(t, w)
	if len(ledger.Claims) != 2 || ledger.Claims[0].Intent == ledger.Claims[1].Intent || len(living(w)) != 2 {
		t.Errorf("%s", claimsText(t, w))
	}
	for _, instance := range living(w) {
		if instance.Tags["karpenter.sh/nodeclaim"] == "" {
			t.Errorf("tags %v", instance.Tags)
		}
	}
}

// F107: without capacity the next offerings are tried in the same run; where none is left the object says so, is kept, and is
// launched once there is some. Pauses grow.
func TestF107ClaimMadeByHandWithoutCapacityIsAskedForAgain(t *testing.T) {
	standalone := byHand("mine")
	standalone.Requirements, standalone.StartupTaints = nil, nil
	w, uid := made(standalone, world.Options{Types: []string{"m5.xlarge"}})
	for _, capacityType := range []string{model.Spot, model.OnDemand} {
		for _, zone := range []string{"us-west-2a", "us-west-2b", "us-west-2c"} {
			w.Fleet.SetCapacity(model.OfferingKey{InstanceType: "m5.xlarge", Zone: zone, CapacityType: capacityType}, 0)
		}
	}
	pass(t, w, provision.TriggerConfig)
	if n := w.Fleet.Calls(); n < 2 {
		t.Errorf("%d calls: on-demand was not tried after spot", n)
	}
	said := w.Cluster.ClaimCondition("mine", "Launched")
	if said.Status != "Unknown" || said.Reason != "InsufficientCapacity" || said.Message == "" {
		t.Errorf("condition %+v", said)
	}
	if reported := eventOf(w.Cluster.Events("NodeClaim", "mine"), "InsufficientCapacity"); !reported.Warning {
		t.Errorf("events %+v", w.Cluster.Events("NodeClaim", "mine"))
	}
	before := w.Fleet.Calls()
	for range 60 {
		resyncs(t, w, 3)
	}
	if n := w.Fleet.Calls() - before; n == 0 || n > 20 {
		t.Errorf("%d calls in an hour", n)
	}
	if objects := w.Cluster.Claims(); len(objects) != 1 || objects[0].UID != uid {
		t.Fatalf("objects %+v", objects)
	}
	w.Fleet.Heal()
	for range 90 {
		resyncs(t, w, 3)
	}
	if claim := onlyClaim(t, w); claim.State != model.Initialized || claim.ObjectUID != uid {
		t.Errorf("%+v", claim)
	}
	sound(t, w)
}

// F107: where EC2 does not know the profile of a class that was made a moment ago, the NodeClaim waits no longer than
// its class.
func TestF107ClaimMadeByHandWhoseProfileIsNotKnownYetIsLaunchedSoon(t *testing.T) {
	w, _ := made(byHand("mine"), world.Options{Types: []string{"m5.large", "m5.xlarge", "m5.2xlarge"}})
	w.Fleet.RefuseNext(fault.New(fault.Invalid, "InvalidParameterValue",
		"Value (nodes) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name"))
	if pass(t, w, provision.TriggerConfig); len(living(w)) != 0 {
		t.Fatalf("instances %+v", living(w))
	}
	w.Tick(12 * time.Second)
	if outcome := pass(t, w, provision.TriggerResync); outcome.Claims != 1 || len(living(w)) != 1 {
		t.Fatalf("%+v", outcome)
	}
}

// F107: what cannot be had says which field, and why, and holds up nobody; neither is it taken for a sign that the ledger was
// lost.
func TestF107BadClaimMadeByHandIsToldAndHoldsUpNobody(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*model.Claim)
		want   string
	}{
		"class":    {func(c *model.Claim) { c.Class = "other" }, `EC2NodeClass "other" does not exist`},
		"requests": {func(c *model.Claim) { c.Requests = model.Resources{model.CPU: 900_000} }, "spec.resources.requests: none of the"},
		"zone": {func(c *model.Claim) {
			c.Requirements = []model.Requirement{{Key: model.LabelZone, Operator: model.In, Values: []string{"eu-west-9a"}}}
		}, "spec.requirements allow none"},
		"contradiction": {func(c *model.Claim) {
			c.Requirements = []model.Requirement{{Key: "disk", Operator: model.In, Values: []string{"a"}}, {Key: "disk", Operator: model.In, Values: []string{"b"}}}
		}, "spec.requirements: no value meets all requirements of disk"},
	} {
		t.Run(name, func(t *testing.T) {
			standalone := byHand("bad")
			standalone.Requests = nil
			c.change(&standalone)
			w := start(t, world.Options{Types: []string{"m5.large"}})
			w.Cluster.MakeClaim(standalone)
			w.Cluster.MakeClaim(model.Claim{Name: "good", Class: "default"})
			pending(w, "web", 1, world.Shape(900, gib))
			if outcome := pass(t, w, provision.TriggerResync); outcome.Claims != 2 {
				t.Fatalf("%+v", outcome)
			}
			settle(t, w)
			said := w.Cluster.ClaimCondition("bad", "Launched")
			if said.Status != "Unknown" || !strings.Contains(said.Message, c.want) || strings.Contains(said.Message, "template") || strings.Contains(said.Message, "NodePool") {
				t.Errorf("condition %+v", said)
			}
			if reported := eventOf(w.Cluster.Events("NodeClaim", "bad"), said.Reason); !reported.Warning || reported.Message != said.Message {
				t.Errorf("events %+v", w.Cluster.Events("NodeClaim", "bad"))
			}
			if n := len(living(w)); n != 2 {
				t.Errorf("%d machines", n)
			}
			reported := w.Cluster.Events("NodeClaim", "good")
			if slices.ContainsFunc(reported, func(e model.Event) bool { return e.Warning }) {
				t.Errorf("the other is told %+v", reported)
			}
		})
	}
}

// F107: an object of a name that was in use a moment ago is launched; one whose instance has ended is not launched again.
func TestF107NameOfAnEndedClaimMadeByHandMayBeUsedAgain(t *testing.T) {
	standalone := byHand("mine")
	standalone.StartupTaints = nil
	w, uid := made(standalone, world.Options{Types: []string{"m5.xlarge"}})
	pass(t, w, provision.TriggerConfig)
	resyncs(t, w, 6)
	first := onlyClaim(t, w)
	w.Fleet.EndByHand(first.InstanceID)
	w.Tick(2 * time.Minute)
	stale := w.Cluster.Claims()[0]
	for range 6 {
		w.Tick(20 * time.Second)
		if _, err := w.Process(world.Fault{}).Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if claims, objects := load(t, w).Claims, w.Cluster.Claims(); len(claims)+len(objects) != 0 {
		t.Fatalf("claims %+v, objects %+v", claims, objects)
	}
	again := stale.Claim // somebody makes it anew
	again.ProviderID, again.InstanceID, again.InstanceType, again.Zone, again.CapacityType, again.Labels = "", "", "", "", "", nil
	w.Cluster.MakeClaim(again)
	pass(t, w, provision.TriggerConfig)
	resyncs(t, w, 6)
	second := onlyClaim(t, w)
	if second.Name != "mine" || second.ObjectUID == uid || second.InstanceID == first.InstanceID || second.State != model.Initialized || second.Version <= first.Version {
		t.Errorf("%+v", second)
	}
	sound(t, w)
}

// F107: a name that the ledger keeps for a claim of a NodePool is reported, and tried once in a run.
func TestF107NameOfAPoolsEndedClaimIsTold(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.xlarge"}})
	pending(w, "web", 1, world.Shape(900, gib))
	settle(t, w)
	first := onlyClaim(t, w)
	w.Cluster.AddPool(model.Pool{Name: "default", UID: "none"})
	w.Fleet.EndByHand(first.InstanceID)
	for range 8 {
		w.Tick(30 * time.Second)
		if _, err := w.Process(world.Fault{}).Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.Cluster.MakeClaim(model.Claim{Name: first.Name, Class: "default"})
	if outcome := pass(t, w, provision.TriggerResync); outcome.Rounds > 2 {
		t.Errorf("%d rounds", outcome.Rounds)
	}
	if said := w.Cluster.ClaimCondition(first.Name, "Launched"); said.Reason != "NameInUse" || !strings.Contains(said.Message, first.Name) {
		t.Errorf("condition %+v", said)
	}
	if n := len(w.Fleet.Instances()); n != 1 {
		t.Errorf("%d machines", n)
	}
}
