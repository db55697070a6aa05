package provision_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// truth is a world with two pools and two classes that people have applied, whose pods take more than one pool may have. Instances of
// several sizes are sold, and the pool may buy one of them.
func truth(t *testing.T) *world.World {
	t.Helper()
	w := world.New(world.Options{Types: []string{"m5.large", "m5.xlarge", "c5.large"}})
	w.Cluster.AddClass(world.Class("default"))
	w.Cluster.AddClass(world.Class("other"))
	pool := world.Pool("default", "default", world.Need(model.LabelInstanceType, "m5.large"), world.Need(model.LabelCapacityType, model.OnDemand))
	pool.Limits, pool.Weight = model.Resources{model.Nodes: 2}, 10
	pool.Template.Labels = map[string]string{"team": "blue"}
	pool.Template.Taints = []model.Taint{{Key: "dedicated", Effect: model.PreferNoSchedule}}
	expiry := int64(3600)
	pool.Template.ExpireAfterSeconds = &expiry
	w.Cluster.AddPool(pool)
	w.Cluster.AddPool(world.Pool("second", "other", world.Need(model.LabelInstanceType, "c5.large")))
	pending(w, "web", 3, world.Shape(1500, gib))
	return w
}

// bought is all that a run asked of EC2 and wrote down of its claims, without what names and times are in it.
func bought(t *testing.T, w *world.World) (string, provision.Outcome) {
	t.Helper()
	launches, out := launched(t, w, nil)
	for i := range launches {
		launches[i].Intent, launches[i].Token, launches[i].Claims = "", "", nil
		launches[i].Class.Status.ResolvedUnix = 0
	}
	claims := load(t, w).Claims
	for i := range claims {
		claims[i] = model.Claim{
			Pool: claims[i].Pool, PoolUID: claims[i].PoolUID, Class: claims[i].Class, Requirements: claims[i].Requirements, InstanceType: claims[i].InstanceType,
			Labels: claims[i].Labels, Annotations: claims[i].Annotations, Taints: claims[i].Taints, StartupTaints: claims[i].StartupTaints,
			GraceSeconds: claims[i].GraceSeconds, ExpireSeconds: claims[i].ExpireSeconds, Reserved: claims[i].Reserved,
		}
	}
	text, err := json.MarshalIndent([]any{launches, claims}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text), out
}

func poolOf(s *model.Snapshot, name string) *model.Pool {
	for i := range s.Pools {
		if s.Pools[i].Name == name {
			return &s.Pools[i]
		}
	}
	return nil
}

func classIn(s *model.Snapshot, name string) *model.Class {
	for i := range s.Classes {
		if s.Classes[i].Name == name {
			return &s.Classes[i]
		}
	}
	return nil
}

// lies are what a hostile watcher may say of NodePools and EC2NodeClasses, with what of the outcome tells.
var lies = map[string]struct {
	says  string
	spoil func(s *model.Snapshot)
}{
	"a pool with other requirements": {"NodePool default has other template", func(s *model.Snapshot) { poolOf(s, "default").Template.Requirements = nil }},
	"a pool without limits":          {"NodePool default has other limits", func(s *model.Snapshot) { poolOf(s, "default").Limits = nil }},
	"a pool with other taints":       {"NodePool default has other template", func(s *model.Snapshot) { poolOf(s, "default").Template.Taints = nil }},
	"a pool with other labels":       {"NodePool default has other template", func(s *model.Snapshot) { poolOf(s, "default").Template.Labels = map[string]string{"team": "red"} }},
	"a pool with a startup taint": {"NodePool default has other template", func(s *model.Snapshot) {
		poolOf(s, "default").Template.StartupTaints = []model.Taint{{Key: "x", Effect: model.NoSchedule}}
	}},
	"a pool with other annotations":   {"NodePool default has other template", func(s *model.Snapshot) { poolOf(s, "default").Template.Annotations = map[string]string{"a": "b"} }},
	"a pool whose nodes never expire": {"NodePool default has other template", func(s *model.Snapshot) { poolOf(s, "default").Template.ExpireAfterSeconds = nil }},
	"a pool of another class":         {"NodePool default has other template", func(s *model.Snapshot) { poolOf(s, "default").Template.ClassName = "other" }},
	"a pool of another weight":        {"NodePool second has other weight", func(s *model.Snapshot) { poolOf(s, "second").Weight = 100 }},
	"a pool of another hash":          {"NodePool default has other hash", func(s *model.Snapshot) { poolOf(s, "default").Hash = "1" }},
	"a pool of another UID":           {"NodePool default has other uid", func(s *model.Snapshot) { poolOf(s, "default").UID = "x" }},
	"a pool with another budget":      {"NodePool default has other disruption", func(s *model.Snapshot) { poolOf(s, "default").Disruption.Budgets = []model.Budget{{Nodes: "0"}} }},
	"a pool with another annotation":  {"NodePool default has other annotations", func(s *model.Snapshot) { poolOf(s, "default").Annotations = map[string]string{"joiner.sh/x": "y"} }},
	"a pool that became static":       {"NodePool second has other replicas", func(s *model.Snapshot) { n := int64(40); poolOf(s, "second").Replicas = &n }},
	"a pool nobody made": {"NodePool made-up does not exist", func(s *model.Snapshot) {
		p := *poolOf(s, "second")
		p.Name, p.UID, p.Weight = "made-up", "m", 100
		s.Pools = append(s.Pools[:1:1], p, s.Pools[1])
	}},
	"a static pool nobody made": {"NodePool made-up does not exist", func(s *model.Snapshot) {
		n := int64(40)
		p := *poolOf(s, "second")
		p.Name, p.Replicas = "made-up", &n
		s.Pools = append(s.Pools[:1:1], p, s.Pools[1])
	}},
	"a pool that is not told of": {"NodePool default is not in the snapshot", func(s *model.Snapshot) { s.Pools = s.Pools[1:] }},
	"a pool and a class nobody made": {"EC2NodeClass made-up does not exist", func(s *model.Snapshot) {
		c := *classIn(s, "default")
		c.Name, c.UserData = "made-up", "evil"
		s.Classes = append(s.Classes[:1:1], c, s.Classes[1])
		poolOf(s, "default").Template.ClassName = "made-up"
	}},
	"a class of another role":      {"EC2NodeClass default has other role", func(s *model.Snapshot) { classIn(s, "default").Role = "admin" }},
	"a class of another profile":   {"EC2NodeClass default has other instanceProfile", func(s *model.Snapshot) { classIn(s, "default").InstanceProfile = "admin" }},
	"a class with other user data": {"EC2NodeClass default has other userData", func(s *model.Snapshot) { classIn(s, "default").UserData = "#!/bin/sh\nevil" }},
	"a class of another image": {"EC2NodeClass default has other images", func(s *model.Snapshot) {
		classIn(s, "default").Images = []model.SelectorTerm{{ID: "ami-0123456789abcdef0"}}
	}},
	"a class of another family":        {"EC2NodeClass default has other family", func(s *model.Snapshot) { classIn(s, "default").Family = "Bottlerocket" }},
	"a class of other subnets":         {"EC2NodeClass default has other subnets", func(s *model.Snapshot) { classIn(s, "default").Subnets = []model.SelectorTerm{{ID: "subnet-1"}} }},
	"a class of other security groups": {"EC2NodeClass default has other securityGroups", func(s *model.Snapshot) { classIn(s, "default").SecurityGroups = []model.SelectorTerm{{ID: "sg-1"}} }},
	"a class with other tags":          {"EC2NodeClass default has other tags", func(s *model.Snapshot) { classIn(s, "default").Tags = map[string]string{"owner": "evil"} }},
	"a class with other disks": {"EC2NodeClass default has other blockDevices", func(s *model.Snapshot) {
		classIn(s, "default").BlockDevices = []model.BlockDevice{{DeviceName: "/dev/xvda", SnapshotID: "snap-1", VolumeSizeGiB: 20}}
	}},
	"a class without IMDSv2":        {"EC2NodeClass default has other metadata", func(s *model.Snapshot) { classIn(s, "default").Metadata.HTTPTokens = "optional" }},
	"a class with another kubelet":  {"EC2NodeClass default has other kubelet", func(s *model.Snapshot) { classIn(s, "default").Kubelet.MaxPods = 500 }},
	"a class with a public address": {"EC2NodeClass default has other associatePublicIPAddress", func(s *model.Snapshot) { yes := true; classIn(s, "default").AssociatePublicIPAddress = &yes }},
	"a class of another generation": {"EC2NodeClass default has other generation", func(s *model.Snapshot) { classIn(s, "default").Generation = 7 }},
	"a class of another status": {"EC2NodeClass default has another status", func(s *model.Snapshot) {
		c := classIn(s, "default")
		c.Status.ObservedGeneration, c.Status.ResolvedUnix = c.Generation, s.AtUnix+1000
		c.Status.Subnets = []model.Subnet{{ID: "subnet-evil", Zone: "us-west-2a", FreeAddresses: 500}}
		c.Status.SecurityGroups = []model.SecurityGroup{{ID: "sg-evil"}}
		c.Status.Images = []model.Image{{ID: "ami-evil"}}
		c.Status.InstanceProfile = "evil"
	}},
}

// W6: whatever a watcher publishes of NodePools and EC2NodeClasses, what is launched is what people have applied, in the same run; the
// outcome names what was said otherwise, and the decision is made once more from its record.
func TestW6WhatIsLaunchedIsWhatPeopleHaveApplied(t *testing.T) {
	honest := truth(t)
	if err := honest.Publish(t.Context(), 1, 1); err != nil {
		t.Fatal(err)
	}
	want, out := bought(t, honest)
	if out.Source != "snapshot" || out.Claims != 3 || len(out.Corrected) != 0 {
		t.Fatalf("the truth: %+v", out)
	}
	for name, lie := range lies {
		t.Run(name, func(t *testing.T) {
			w := truth(t)
			if err := w.Pretend(t.Context(), 1, 1, lie.spoil); err != nil {
				t.Fatal(err)
			}
			got, out := bought(t, w)
			if got != want || out.Source != "snapshot" || out.Claims != 3 {
				t.Errorf("%+v\nwas launched\n%s\nwant\n%s", out, got, want)
			}
			if said := strings.Join(out.Corrected, "; "); !strings.Contains(said, lie.says) {
				t.Errorf("the outcome says %q, want %q", said, lie.says)
			}
			d, _ := w.Store.Decision(out.Decision)
			facts, err := w.Catalogs().Facts(d.Input, d.Catalog)
			if err != nil {
				t.Fatal(err)
			}
			for i, plan := range replay.ReplayProvision(&d, facts) {
				if !replay.Identical(plan, d.Rounds[i].Plan) {
					t.Errorf("round %d comes out otherwise:\nwas %+v\nis  %+v", i, d.Rounds[i].Plan, plan)
				}
			}
		})
	}
}

// W6: nothing is launched from a pool or a class that the API server is deleting, or does not have, though the snapshot has it.
func TestW6NothingIsLaunchedFromWhatIsBeingDeleted(t *testing.T) {
	for name, change := range map[string]func(w *world.World){
		"the pool is being deleted": func(w *world.World) {
			p := world.Pool("default", "default")
			p.DeletedUnix = w.Clock.Now().Unix()
			w.Cluster.AddPool(p)
		},
		"the pool is gone":  func(w *world.World) { w.Cluster.Delete(world.KindPool, "default") },
		"the class is gone": func(w *world.World) { w.Cluster.DeleteClass("default") },
		"the class is being deleted": func(w *world.World) {
			c := world.Class("default")
			c.DeletedUnix = w.Clock.Now().Unix()
			w.Cluster.AddClass(c)
		},
		"the pool cannot be used": func(w *world.World) {
			p := world.Pool("default", "default")
			p.Invalid = []string{"spec.limits: \"x\": is none. Remedy: correct it"}
			w.Cluster.AddPool(p)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, world.Options{Types: []string{"m5.large"}})
			pending(w, "web", 1, world.Shape(900, gib))
			if err := w.Publish(t.Context(), 1, 1); err != nil {
				t.Fatal(err)
			}
			change(w)
			out := pass(t, w, provision.TriggerBatch)
			if out.Source != "snapshot" || out.Claims != 0 || out.Unschedulable != 1 || len(out.Corrected) == 0 || len(w.Fleet.Instances()) != 0 {
				t.Errorf("%+v", out)
			}
		})
	}
}

// reads counts what is asked of the API server, by request.
func reads(w *world.World, refuse func(request string) error) map[string]int {
	asked := map[string]int{}
	w.Cluster.Refuse(func(request string) error {
		asked[request]++
		return refuse(request)
	})
	return asked
}

// W6: where the API server does not say what it has, nothing is launched, the outcome and the pods say why, and the run fails so that it
// is asked for again. What else a run does is done.
func TestW6NothingIsLaunchedWhileTheAPIServerDoesNotAnswer(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	pending(w, "web", 2, world.Shape(1500, gib))
	w.Tick(2 * time.Minute)
	if err := w.Publish(t.Context(), 1, 1); err != nil {
		t.Fatal(err)
	}
	asked := reads(w, func(request string) error {
		if request == "list configuration" {
			return fault.New(fault.Internal, "Down", "nobody is there")
		}
		return nil
	})
	out, err := w.Process(world.Fault{}).Run(t.Context(), provision.TriggerBatch)
	if fault.KindOf(err) != fault.Internal || !strings.Contains(err.Error(), "nothing is launched") || !strings.Contains(err.Error(), "nobody is there") {
		t.Errorf("the run ends with %v", err)
	}
	if out.Source != "snapshot" || out.Claims != 0 || out.Withheld != 2 || len(w.Fleet.Instances()) != 0 || asked["list configuration"] != 1 {
		t.Errorf("asked %v: %+v", asked, out)
	}
	if n := w.Cluster.EventCount("Pod", "web-0", "FailedScheduling"); n != 1 {
		t.Errorf("the pod was told %d times: %+v", n, w.Cluster.Events("Pod", "web-0"))
	}
	if intents := load(t, w).Intents; len(intents) != 0 {
		t.Errorf("recorded: %+v", intents)
	}
	w.Cluster.Refuse(nil)
	if out := pass(t, w, provision.TriggerBatch); out.Claims != 2 || out.Withheld != 0 {
		t.Errorf("once it answers: %+v", out)
	}
}

// W6: where NodePools are not defined any more, a snapshot that has some launches nothing.
func TestW6NothingIsLaunchedWhileNodePoolsAreNotDefined(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	pending(w, "web", 1, world.Shape(900, gib))
	if err := w.Publish(t.Context(), 1, 1); err != nil {
		t.Fatal(err)
	}
	w.Cluster.DeleteDefinitions()
	out, err := w.Process(world.Fault{}).Run(t.Context(), provision.TriggerBatch)
	if fault.CodeOf(err) != model.CodeUndefined || out.Withheld != 1 || len(w.Fleet.Instances()) != 0 {
		t.Errorf("%v, %+v", err, out)
	}
}

// W6: what is read live costs one read in a run that launches, however many rounds and launches it has, and none in any other: neither
// in one that has nothing to launch nor in one that has listed the cluster.
func TestW6PoolsAndClassesAreReadOnceAndOnlyToLaunch(t *testing.T) {
	none := func(string) error { return nil }
	w := start(t, world.Options{Types: []string{"m5.large", "c5.large"}})
	publish := func(seq int64) {
		if err := w.Publish(t.Context(), 1, seq); err != nil {
			t.Fatal(err)
		}
	}
	publish(1)
	asked := reads(w, none)
	if out := pass(t, w, provision.TriggerResync); out.Source != "snapshot" || asked["list configuration"] != 0 {
		t.Fatalf("nobody waits: asked %v, %+v", asked, out)
	}
	pending(w, "huge", 1, world.Shape(1<<30, gib))
	publish(2)
	asked = reads(w, none)
	if out := pass(t, w, provision.TriggerBatch); out.Unschedulable != 1 || asked["list configuration"] != 0 {
		t.Fatalf("nothing can be bought: asked %v, %+v", asked, out)
	}
	w.Fleet.Break(model.OfferingKey{CapacityType: model.Spot}, "InsufficientInstanceCapacity")
	pending(w, "web", 40, world.Shape(1500, gib))
	publish(3)
	asked = reads(w, none)
	if out := pass(t, w, provision.TriggerBatch); out.Rounds < 2 || out.Claims != 40 || len(out.Intents) < 2 || asked["list configuration"] != 1 {
		t.Fatalf("asked %v, %+v", asked, out)
	}
	pending(w, "more", 1, world.Shape(1500, gib))
	w.Clock.Advance(time.Hour) // nobody publishes any more
	asked = reads(w, none)
	if out := pass(t, w, provision.TriggerBatch); out.Source != "list" || out.Claims == 0 || asked["list configuration"] != 0 {
		t.Errorf("listed: asked %v, %+v", asked, out)
	}
}

// W6: static pools, room of CapacityBuffers and NodeClaims that people make go the same way.
func TestW6EverythingThatLaunchesGoesByWhatPeopleHaveApplied(t *testing.T) {
	evil := func(s *model.Snapshot) {
		for i := range s.Classes {
			s.Classes[i].UserData = "evil"
		}
		for i := range s.Pools {
			if s.Pools[i].Replicas != nil {
				n := int64(50)
				s.Pools[i].Replicas = &n
			}
			s.Pools[i].Limits = nil
		}
	}
	for name, test := range map[string]struct {
		world   func(t *testing.T) *world.World
		trigger string
		claims  int
	}{
		"a static pool": {func(t *testing.T) *world.World { return static(t, 2) }, provision.TriggerResync, 2},
		"room of a CapacityBuffer": {func(t *testing.T) *world.World {
			w := start(t, world.Options{Types: []string{"m5.large"}})
			p := world.Pool("default", "default")
			p.Limits = model.Resources{model.Nodes: 1}
			w.Cluster.AddPool(p)
			w.Cluster.AddBuffer("spare", 5, world.Shape(1500, gib))
			return w
		}, provision.TriggerHeadroom, 1},
		"a NodeClaim made by hand": {func(t *testing.T) *world.World {
			w, _ := made(byHand("mine"), world.Options{Types: []string{"m5.xlarge"}})
			return w
		}, provision.TriggerConfig, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := test.world(t)
			if err := w.Pretend(t.Context(), 1, 1, evil); err != nil {
				t.Fatal(err)
			}
			var launches []model.Launch
			flow := w.Process(world.Fault{}).Flow()
			flow.Connector = watched{flow.Connector, &launches}
			out, err := flow.Run(t.Context(), provision.Request{Cluster: world.Name, Trigger: test.trigger, Owner: "one", Deadline: w.Clock.Now().Add(world.InvocationTimeout)})
			if err != nil || out.Source != "snapshot" || out.Claims != test.claims || len(out.Corrected) == 0 {
				t.Errorf("%v, %+v", err, out)
			}
			for _, launch := range launches {
				if launch.Class.UserData != "" {
					t.Errorf("launched with %q", launch.Class.UserData)
				}
			}
		})
	}
}

// W6: a replacement, which was planned by another snapshot, is launched only if its NodePool as it is now would have it; otherwise it is
// noted as one that waiting does not help, and its command is undone.
func TestW6ReplacementsAreLaunchedOnlyAsTheirPoolWouldHaveThem(t *testing.T) {
	for name, test := range map[string]struct {
		want  string // in what is noted; empty = launched
		spoil func(p *model.PlannedClaim)
	}{
		"as it is": {"", func(*model.PlannedClaim) {}},
		"narrower": {"", func(p *model.PlannedClaim) {
			p.Requirements = append(p.Requirements, model.Requirement{Key: model.LabelArch, Operator: model.In, Values: []string{"amd64"}})
		}},
		"another machine type": {"requirements[" + model.LabelInstanceType + "]", func(p *model.PlannedClaim) {
			p.InstanceTypes = []string{"m5.xlarge"}
			need(p, model.LabelInstanceType, "m5.xlarge")
		}},
		"any zone":                      {"requirements[" + model.LabelZone + "]", func(p *model.PlannedClaim) { without(p, model.LabelZone) }},
		"no taint":                      {"spec.taints", func(p *model.PlannedClaim) { p.Taints = nil }},
		"another taint":                 {"spec.taints", func(p *model.PlannedClaim) { p.Taints[0].Value = "x" }},
		"a startup taint":               {"startupTaints", func(p *model.PlannedClaim) { p.StartupTaints = p.Taints }},
		"another label":                 {"labels[team]", func(p *model.PlannedClaim) { p.Labels["team"] = "red" }},
		"one more label":                {"labels[evil]", func(p *model.PlannedClaim) { p.Labels["evil"] = "true" }},
		"another annotation":            {"annotations", func(p *model.PlannedClaim) { p.Annotations = map[string]string{"a": "b"} }},
		"a pool that is not there":      {"does not exist", func(p *model.PlannedClaim) { p.Pool = "made-up" }},
		"a class that the pool has not": {"uses EC2NodeClass", func(p *model.PlannedClaim) { p.Class = "made-up" }},
	} {
		t.Run(name, func(t *testing.T) {
			w := world.New(world.Options{Types: []string{"m5.large", "m5.xlarge"}})
			w.Cluster.AddClass(world.Class("default"))
			p := world.Pool("default", "default", world.Need(model.LabelInstanceType, "m5.large"), world.Need(model.LabelZone, "us-west-2a", "us-west-2b"))
			p.Template.Taints = []model.Taint{{Key: "dedicated", Effect: model.PreferNoSchedule}}
			p.Template.Labels = map[string]string{"team": "blue"}
			w.Cluster.AddPool(p)
			w.Workloads.Add(world.Workload{Kind: world.Deployment, Name: "web", Shape: world.Shape(1500, gib), Replicas: 1})
			w.Tick(5 * time.Second)
			first := pass(t, w, provision.TriggerBatch)
			settle(t, w)
			d, _ := w.Store.Decision(first.Decision)
			planned := d.Rounds[0].Plan.Claims[0]
			planned.Name = "default-replacement"
			test.spoil(&planned)
			command := evaluate(t, w).commit(model.CommandReplacing, onlyClaim(t, w), planned)
			if err := w.Pretend(t.Context(), 1, 1, func(s *model.Snapshot) { // a pool that would have all of it
				s.Pools[0].Name, s.Pools[0].Template = planned.Pool, model.Template{
					ClassGroup: "karpenter.k8s.aws", ClassKind: "EC2NodeClass", ClassName: planned.Class, Taints: planned.Taints, StartupTaints: planned.StartupTaints, Labels: planned.Labels, Annotations: planned.Annotations,
				}
				s.Classes[0].Name = planned.Class
			}); err != nil {
				t.Fatal(err)
			}
			out := pass(t, w, provision.TriggerReplace)
			notes := load(t, w).Notes.Unfit
			if test.want == "" {
				if out.Claims != 1 || len(notes) != 0 {
					t.Errorf("%s: %+v, noted %+v", command.ID, out, notes)
				}
				return
			}
			if out.Claims != 0 || len(notes) != 1 || !strings.Contains(notes[0].Why, test.want) || len(living(w)) != 1 {
				t.Errorf("%s: %+v, noted %+v, want %q", command.ID, out, notes, test.want)
			}
		})
	}
}

// need has a planned claim require other values of a label.
func need(p *model.PlannedClaim, key string, values ...string) {
	without(p, key)
	p.Requirements = append(p.Requirements, world.Need(key, values...))
}

func without(p *model.PlannedClaim, key string) {
	var rest []model.Requirement
	for _, r := range p.Requirements {
		if r.Key != key {
			rest = append(rest, r)
		}
	}
	p.Requirements = rest
}
