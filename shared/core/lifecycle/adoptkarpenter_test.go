package lifecycle_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/model"
)

// karpenters is one instance with node and NodeClaim as Karpenter leaves them, changed by change.
func karpenters(change func(*lifecycle.Handover)) *lifecycle.Handover {
	provider := "aws:///us-west-2a/i-1"
	claim := model.Claim{
		Name: "default-x7k2p", Pool: "default", Class: "default", State: model.Initialized, ProviderID: provider, ObjectUID: "o1",
		InstanceType: "m5.large", Zone: "us-west-2a", ZoneID: "usw2-az1", CapacityType: model.Spot, ImageID: "ami-1",
		Labels: map[string]string{model.LabelNodePool: "default", "team": "a"},
		Annotations: map[string]string{
			model.AnnotationPoolHash: "16553871846239834014", model.AnnotationPoolHashVersion: "v3",
			model.AnnotationClassHash: "3787823467582339877", model.AnnotationClassHashVersion: "v6", "karpenter.k8s.aws/tagged": "true",
		},
		Capacity: model.Resources{model.CPU: 2000, model.Memory: 8 << 30}, NodeName: "ip-10-0-0-1", CreatedUnix: now - 9000,
		LaunchedUnix: now - 8990, RegisteredUnix: now - 8900, InitializedUnix: now - 8890,
	}
	h := &lifecycle.Handover{
		Cluster: "web", CA: []byte("ca"), Intent: lifecycle.AdoptedIntent + "1",
		Instances: []model.Instance{{
			ID: "i-1", Type: "m5.large", Zone: "us-west-2a", CapacityType: model.Spot, ImageID: "ami-1", SubnetID: "subnet-1", State: "running", LaunchedUnix: now - 8995,
			Tags: map[string]string{
				"kubernetes.io/cluster/web": "owned", model.LabelNodePool: "default", "eks:eks-cluster-name": "web",
				model.LabelNodeClass: "default", "karpenter.sh/nodeclaim": "default-x7k2p", "Name": "ip-10-0-0-1",
			},
		}},
		Records: model.ClusterRecords{NowUnix: now},
		Live: model.LiveState{
			Nodes: []model.Node{{
				Name: "ip-10-0-0-1", UID: "n1", ProviderID: provider, Ready: true, Capacity: model.Resources{model.CPU: 2000, model.Memory: 7 << 30},
				Labels: map[string]string{model.LabelRegistered: "true", model.LabelInitialized: "true", model.LabelNodePool: "default"},
			}},
			Objects: []model.ClaimObject{{Claim: claim, Finalizer: true}},
		},
		Config: model.Configuration{
			Pools:   []model.Pool{{Name: "default", Hash: "11"}},
			Classes: []model.ClassObject{{Class: model.Class{Name: "default", Hash: "77"}}},
		},
		InstanceTypes: []model.InstanceTypeInfo{{Name: "m5.large", Offerings: []model.Offering{
			{Zone: "us-west-2a", CapacityType: model.OnDemand, Price: 96_000}, {Zone: "us-west-2a", CapacityType: model.Spot, Price: 35_000},
		}}},
	}
	if change != nil {
		change(h)
	}
	return h
}

func adoptionOf(t *testing.T, h *lifecycle.Handover) lifecycle.Adoption {
	t.Helper()
	all, _ := lifecycle.Adoptions(h)
	if len(all) == 0 {
		t.Fatal("nothing is said of the NodeClaim")
	}
	return all[0]
}

// F136, S31, R45, R18: a NodeClaim of Karpenter becomes a claim that is as far as it was, holds what its instance has, and has
// not drifted.
func TestR18_F136_NodeClaimOfKarpenterBecomesAClaim(t *testing.T) {
	h := karpenters(nil)
	a := adoptionOf(t, h)
	if a.Verdict != lifecycle.Take || !a.Tag || !a.Stamp || a.Untaint || a.Code != "" || len(a.Notes) != 0 {
		t.Fatalf("%+v", a)
	}
	c := a.Claim
	if c.State != model.Initialized || c.InstanceID != "i-1" || c.ProviderID != "aws:///us-west-2a/i-1" || c.Intent != "adopted-1" || c.ObjectUID != "o1" ||
		c.NodeName != "ip-10-0-0-1" || c.NodeUID != "n1" || c.RegisteredUnix != now-8900 || c.InitializedUnix != now-8890 || c.CreatedUnix != now-9000 || c.SubnetID != "subnet-1" {
		t.Errorf("%+v", c)
	}
	if want := (model.Resources{model.CPU: 2000, model.Memory: 7 << 30, model.Nodes: 1, model.Dollars: 35_000}); !reflect.DeepEqual(c.Reserved, want) || c.Price != 35_000 {
		t.Errorf("holds %v at %d, want %v", c.Reserved, c.Price, want)
	}
	class := h.Config.Classes[0].Class
	drift, err := lifecycle.Drifted(lifecycle.DriftView{Claim: c, Pool: &h.Config.Pools[0], Class: &class, CA: h.CA})
	if drift.Reason != "" || err == nil { // the image of a class without status is not known, which is after the hashes
		t.Errorf("%+v %v", drift, err)
	}
	if h.Live.Objects[0].Claim.Annotations[model.AnnotationPoolHashVersion] != "v3" {
		t.Error("the object that was read was written to")
	}
}

// A second check finds nothing to do, whatever the first did.
func TestAdoptionIsIdempotent(t *testing.T) {
	first := adoptionOf(t, karpenters(nil)).Claim
	first.Version = 1
	recorded := func(h *lifecycle.Handover) { h.Records.Claims = []model.Claim{first} }
	tag := func(h *lifecycle.Handover) { h.Instances[0].Tags["joiner.sh/intent"] = first.Intent }
	stamp := func(h *lifecycle.Handover) { h.Live.Objects[0].Claim.Annotations = first.Annotations }
	for name, test := range map[string]struct {
		done       []func(*lifecycle.Handover)
		verdict    lifecycle.AdoptionVerdict
		tag, stamp bool
	}{
		"recorded":           {[]func(*lifecycle.Handover){recorded}, lifecycle.Resume, true, true},
		"recorded, tagged":   {[]func(*lifecycle.Handover){recorded, tag}, lifecycle.Resume, false, true},
		"all":                {[]func(*lifecycle.Handover){recorded, tag, stamp}, lifecycle.Ours, false, false},
		"tagged, not stored": {[]func(*lifecycle.Handover){tag}, lifecycle.Take, false, true},
	} {
		a := adoptionOf(t, karpenters(func(h *lifecycle.Handover) {
			h.Intent = lifecycle.AdoptedIntent + "2"
			for _, do := range test.done {
				do(h)
			}
		}))
		if a.Verdict != test.verdict || a.Tag != test.tag || a.Stamp != test.stamp || a.Claim.Intent != first.Intent {
			t.Errorf("%s: %+v", name, a)
		}
	}
	// What the ledger says of instances that are ours anyway is not touched: another's hashes, a node's taint.
	native := first
	native.Intent = "01J"
	a := adoptionOf(t, karpenters(func(h *lifecycle.Handover) {
		h.Records.Claims = []model.Claim{native}
		h.Instances[0].Tags["joiner.sh/intent"] = "01J"
		h.Live.Nodes[0].Taints = []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}}
	}))
	if a.Verdict != lifecycle.Ours {
		t.Errorf("a claim launched here: %+v", a)
	}
}

func TestAdoptionVerdicts(t *testing.T) {
	seconds := func(n int64) *int64 { return &n }
	object := func(h *lifecycle.Handover) *model.ClaimObject { return &h.Live.Objects[0] }
	deleted := func(h *lifecycle.Handover) {
		object(h).Claim.State, object(h).DeletedUnix = model.Gone, now-100 // as a look shows it
		h.Live.Nodes[0].DeletedUnix = now - 99
	}
	for name, test := range map[string]struct {
		change func(*lifecycle.Handover)
		want   string // verdict and code, or state
	}{
		"registered": {func(h *lifecycle.Handover) {
			object(h).Claim.State, object(h).Claim.InitializedUnix = model.Registered, 0
		}, "adopt Registered"},
		"launched, no node": {func(h *lifecycle.Handover) {
			c := &object(h).Claim
			c.State, c.NodeName, c.RegisteredUnix, c.InitializedUnix, h.Live.Nodes = model.Launched, "", 0, 0, nil
		}, "adopt Launched"},
		"launched, node not registered": {func(h *lifecycle.Handover) {
			c := &object(h).Claim
			c.State, c.NodeName, c.RegisteredUnix, c.InitializedUnix, h.Live.Nodes[0].Labels = model.Launched, "", 0, 0, nil
		}, "adopt Launched"},
		"half drained": {deleted, "adopt Draining"},
		"deleted, class unsupported": {func(h *lifecycle.Handover) {
			deleted(h)
			h.Config.Classes[0].Class.Unsupported = []string{"spec.x"}
		}, "adopt Draining"},
		"deleted, never joined": {func(h *lifecycle.Handover) {
			deleted(h)
			c := &object(h).Claim
			c.NodeName, c.RegisteredUnix, c.InitializedUnix, h.Live.Nodes = "", 0, 0, nil
		}, "adopt Terminating"},
		"deleted, its machine not shown any more": {func(h *lifecycle.Handover) { deleted(h); h.Instances = nil }, "adopt Draining"},
		"its machine has ended":                   {func(h *lifecycle.Handover) { h.Instances[0].State = "terminated" }, "adopt Initialized"},
		"no pool of that name":                    {func(h *lifecycle.Handover) { h.Config.Pools = nil }, "adopt Initialized"},
		"not launched": {func(h *lifecycle.Handover) {
			object(h).Claim.ProviderID, object(h).Claim.State = "", model.Intended
		}, "wait NotLaunched"},
		"not launched, deleted": {func(h *lifecycle.Handover) { deleted(h); object(h).Claim.ProviderID = "" }, "refuse NothingToEnd"},
		"another's class":       {func(h *lifecycle.Handover) { object(h).ClassKind = "NodeClass.eks.amazonaws.com" }, "refuse OtherClass"},
		"standalone":            {func(h *lifecycle.Handover) { object(h).Claim.Pool = "" }, "refuse NoNodePool"},
		"not shown by EC2":      {func(h *lifecycle.Handover) { h.Instances = nil }, "refuse InstanceMissing"},
		"not tagged":            {func(h *lifecycle.Handover) { delete(h.Instances[0].Tags, "kubernetes.io/cluster/web") }, "refuse NotTagged"},
		"tagged for another cluster": {func(h *lifecycle.Handover) {
			delete(h.Instances[0].Tags, "kubernetes.io/cluster/web")
			h.Instances[0].Tags["kubernetes.io/cluster/shop"] = "owned"
		}, "refuse NotTagged"},
		"no pool tag":   {func(h *lifecycle.Handover) { h.Instances[0].Tags[model.LabelNodePool] = "" }, "refuse NotTagged"},
		"another pool":  {func(h *lifecycle.Handover) { h.Instances[0].Tags[model.LabelNodePool] = "spot" }, "refuse OtherPool"},
		"another claim": {func(h *lifecycle.Handover) { h.Instances[0].Tags["karpenter.sh/nodeclaim"] = "default-other" }, "refuse OtherClaim"},
		"deleted, another's machine": {func(h *lifecycle.Handover) {
			deleted(h)
			h.Instances[0].Tags["karpenter.sh/nodeclaim"] = "default-other"
		}, "refuse OtherClaim"},
		"stopped":       {func(h *lifecycle.Handover) { h.Instances[0].State = "stopped" }, "refuse InstanceStopped"},
		"node gone":     {func(h *lifecycle.Handover) { h.Live.Nodes = nil }, "refuse NodeMissing"},
		"two nodes":     {func(h *lifecycle.Handover) { h.Live.Nodes = append(h.Live.Nodes, h.Live.Nodes[0]) }, "refuse MultipleNodesFound"},
		"class refused": {func(h *lifecycle.Handover) { h.Config.Classes[0].Class.Unsupported = []string{"spec.x: no"} }, "refuse ClassUnsupported"},
		"ledger, another machine": {func(h *lifecycle.Handover) {
			h.Records.Claims = []model.Claim{{Name: "default-x7k2p", State: model.Launched, InstanceID: "i-2"}}
		}, "refuse ClaimExists"},
		"ledger, ended": {func(h *lifecycle.Handover) {
			h.Records.Claims = []model.Claim{{Name: "default-x7k2p", State: model.Gone, InstanceID: "i-1"}}
		}, "refuse ClaimEnded"},
		"adopted by a sweep under another name": {func(h *lifecycle.Handover) {
			h.Instances[0].Tags["joiner.sh/intent"] = "adopted-1"
			h.Records.Claims = []model.Claim{{Name: "default-1", State: model.Launched, InstanceID: "i-1", Intent: "adopted-1"}}
		}, "ours Launched"},
	} {
		t.Run(name, func(t *testing.T) {
			h := karpenters(test.change)
			h.Live.Objects[0].Claim.GraceSeconds = seconds(600)
			a := adoptionOf(t, h)
			got := fmt.Sprintf("%s %s", a.Verdict, a.Code)
			if a.Code == "" {
				got = fmt.Sprintf("%s %s", a.Verdict, a.Claim.State)
			}
			if got != test.want {
				t.Fatalf("%s (%s), want %s", got, a.Message, test.want)
			}
			if a.Code != "" && (a.Message == "" || a.Remedy == "") {
				t.Errorf("says neither why nor what to do: %+v", a)
			}
			if ends := a.Claim.Drain != nil; ends != strings.Contains(test.want, "ing") && a.Verdict == lifecycle.Take {
				t.Errorf("drain %+v", a.Claim.Drain)
			}
			if d := a.Claim.Drain; d != nil && (d.SinceUnix != now || d.DeadlineUnix != now-100+600 || a.Claim.FailureCode != model.EndedObjectDeleted || a.Stamp || a.Untaint) {
				t.Errorf("%+v %+v", a, d)
			}
		})
	}
}

// The deadline people know from the object is the one that counts.
func TestAdoptionKeepsTheDeadlineOfADrain(t *testing.T) {
	a := adoptionOf(t, karpenters(func(h *lifecycle.Handover) {
		o := &h.Live.Objects[0]
		o.Claim.State, o.DeletedUnix, o.DeadlineUnix = model.Gone, now-100, now+300
	}))
	if a.Claim.Drain == nil || a.Claim.Drain.DeadlineUnix != now+300 || !a.Tag {
		t.Errorf("%+v %+v", a, a.Claim.Drain)
	}
}

func TestAdoptionTakesOffATaintKarpenterLeft(t *testing.T) {
	tainted := func(h *lifecycle.Handover) {
		h.Live.Nodes[0].Taints = []model.Taint{{Key: "team", Value: "a", Effect: model.NoSchedule}, {Key: model.TaintDisrupted, Effect: model.NoSchedule}}
	}
	if a := adoptionOf(t, karpenters(tainted)); !a.Untaint || a.Verdict != lifecycle.Take {
		t.Errorf("%+v", a)
	}
	a := adoptionOf(t, karpenters(func(h *lifecycle.Handover) {
		tainted(h)
		h.Live.Objects[0].Claim.State, h.Live.Objects[0].DeletedUnix = model.Gone, now
	}))
	if a.Untaint {
		t.Error("it is being drained")
	}
}

// F136: what had drifted stays so.
func TestF136_AdoptionKeepsDrift(t *testing.T) {
	h := karpenters(func(h *lifecycle.Handover) { h.Live.Objects[0].Claim.Drift = lifecycle.ClassDrifted })
	a := adoptionOf(t, h)
	class := h.Config.Classes[0].Class
	drift, _ := lifecycle.Drifted(lifecycle.DriftView{Claim: a.Claim, Pool: &h.Config.Pools[0], Class: &class, CA: h.CA})
	if drift.Reason != lifecycle.ClassDrifted || len(a.Notes) != 1 {
		t.Errorf("%+v, notes %v", drift, a.Notes)
	}
}

// A reservation that ended is found by comparing what was bought with what is: the claim must say what was bought.
func TestAdoptionKeepsWhatWasBought(t *testing.T) {
	a := adoptionOf(t, karpenters(func(h *lifecycle.Handover) {
		h.Live.Objects[0].Claim.CapacityType = model.Reserved
		h.Instances[0].CapacityType = model.OnDemand
	}))
	if _, fell := lifecycle.FellBackToOnDemand(a.Claim, model.Instance{ID: "i-1", State: "running"}); !fell || a.Claim.Price != 0 {
		t.Errorf("%+v", a.Claim)
	}
}

func TestUnclaimedAreInstancesOfKarpenterWithoutANodeClaim(t *testing.T) {
	h := karpenters(func(h *lifecycle.Handover) {
		add := func(id string, change func(*model.Instance)) {
			i := h.Instances[0]
			i.ID, i.Tags = id, map[string]string{"kubernetes.io/cluster/web": "owned", model.LabelNodePool: "default"}
			change(&i)
			h.Instances = append(h.Instances, i)
		}
		add("i-3", func(*model.Instance) {})
		add("i-2", func(*model.Instance) {})
		add("i-4", func(i *model.Instance) { i.State = "terminated" })
		add("i-5", func(i *model.Instance) { i.Tags["joiner.sh/intent"] = "01J" })
		add("i-6", func(i *model.Instance) { delete(i.Tags, model.LabelNodePool) })
		h.Live.Nodes = append(h.Live.Nodes, model.Node{Name: "n3", ProviderID: "aws:///us-west-2a/i-3"})
	})
	_, got := lifecycle.Adoptions(h)
	if len(got) != 2 || got[0].Instance.ID != "i-2" || got[1].Instance.ID != "i-3" || got[1].Node != "n3" {
		t.Errorf("%+v", got)
	}
}

func TestRunning(t *testing.T) {
	down := model.Controller{Namespace: "kube-system", Name: "karpenter"}
	up := down
	up.Replicas = 2
	leaving := down
	leaving.Running = 1
	for name, test := range map[string]struct {
		karpenter model.Karpenter
		want      int
	}{
		"nothing":          {model.Karpenter{}, 0},
		"scaled down":      {model.Karpenter{Deployments: []model.Controller{down}, Lease: &model.Leadership{RenewedUnix: now - 61}}, 0},
		"running":          {model.Karpenter{Deployments: []model.Controller{down, up}}, 1},
		"leaving":          {model.Karpenter{Deployments: []model.Controller{leaving}}, 1},
		"renewed":          {model.Karpenter{Lease: &model.Leadership{Holder: "x", RenewedUnix: now - 59}}, 1},
		"renewed in vain":  {model.Karpenter{Lease: &model.Leadership{}}, 0},
		"from the future":  {model.Karpenter{Lease: &model.Leadership{RenewedUnix: now + 30}}, 1},
		"both at one time": {model.Karpenter{Deployments: []model.Controller{up}, Lease: &model.Leadership{RenewedUnix: now}}, 2},
	} {
		if got := lifecycle.Running(test.karpenter, now); len(got) != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
