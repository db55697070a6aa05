package lifecycle_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/model"
)

const now = int64(1_900_000_000)

// healthy is a view of one instance of every kind of age, of which nothing is wrong with any.
func healthy() lifecycle.View {
	view := lifecycle.View{Cluster: "web", Records: model.ClusterRecords{NowUnix: now}}
	add := func(id string, state model.ClaimState, age int64) {
		view.Instances = append(view.Instances, instance(id, now-age))
		claim := model.Claim{
			Name: "default-" + id, Pool: "default", State: state, Intent: "done", InstanceID: "i-" + id, ProviderID: "aws:///a/i-" + id,
			CreatedUnix: now - age, LaunchedUnix: now - age, ObjectUID: "o-" + id, Reserved: model.Resources{model.Nodes: 1},
		}
		shown := claim
		shown.InstanceID = ""
		view.Live.Objects = append(view.Live.Objects, model.ClaimObject{Claim: shown})
		if state != model.Launched {
			claim.NodeName, claim.NodeUID = "node-"+id, "n-"+id
			view.Live.Nodes = append(view.Live.Nodes, model.Node{
				Name: "node-" + id, UID: "n-" + id, ProviderID: claim.ProviderID, Ready: true,
				Labels: map[string]string{model.LabelRegistered: "true", model.LabelNodePool: "default"},
			})
		}
		view.Records.Claims = append(view.Records.Claims, claim)
	}
	add("old", model.Initialized, 86_400)
	add("young", model.Launched, 60)
	add("joined", model.Registered, 120)
	return view
}

func instance(id string, launched int64) model.Instance {
	return model.Instance{ID: "i-" + id, Type: "m5.large", Zone: "a", State: "running", LaunchedUnix: launched, Tags: map[string]string{
		"kubernetes.io/cluster/web": "owned", model.LabelNodePool: "default", "joiner.sh/intent": "done",
	}}
}

func TestNothingIsFoundWhereNothingIsWrong(t *testing.T) {
	if found := lifecycle.Diagnose(healthy(), lifecycle.Settings{}); len(found) > 0 {
		t.Errorf("%+v", found)
	}
	if found := lifecycle.Diagnose(lifecycle.View{}, lifecycle.Settings{}); len(found) > 0 {
		t.Errorf("of nothing: %+v", found)
	}
}

// Each case makes one thing wrong, or nearly, and names what is found.
func TestDiagnose(t *testing.T) {
	claim := func(v *lifecycle.View, i int) *model.Claim { return &v.Records.Claims[i] }
	without := func(v *lifecycle.View, i int) { v.Instances = slices.Delete(v.Instances, i, i+1) }
	const old, young, joined = 0, 1, 2
	for name, c := range map[string]struct {
		change func(v *lifecycle.View)
		want   string // kind, subject, wait and whether it takes a node away; empty = nothing
	}{
		"ended":                      {func(v *lifecycle.View) { v.Instances[old].State = "terminated" }, "Ended default-old 0 false"},
		"ending":                     {func(v *lifecycle.View) { v.Instances[old].State = "shutting-down" }, "Stopping default-old 0 false"},
		"ending before it joined":    {func(v *lifecycle.View) { v.Instances[young].State = "shutting-down" }, ""},
		"stopped by a person":        {func(v *lifecycle.View) { v.Instances[old].State = "stopped" }, "Stopping default-old 0 false"},
		"stopping":                   {func(v *lifecycle.View) { v.Instances[young].State = "stopping" }, "Stopping default-young 0 false"},
		"missing, its node Ready":    {func(v *lifecycle.View) { without(v, old) }, ""},
		"missing, its node NotReady": {func(v *lifecycle.View) { without(v, old); v.Live.Nodes[0].Ready = false }, "Missing default-old 30 true"},
		"missing, its node gone":     {func(v *lifecycle.View) { without(v, old); v.Live.Nodes = v.Live.Nodes[1:] }, "Missing default-old 30 true"},
		"young and missing":          {func(v *lifecycle.View) { without(v, young) }, "Missing default-young 300 false"},
		"to end, and runs":           {func(v *lifecycle.View) { claim(v, old).State = model.Terminating }, "Retired default-old 0 false"},
		"object gone":                {func(v *lifecycle.View) { v.Live.Objects = v.Live.Objects[:1] }, "ObjectDeleted default-joined 30 true, ObjectDeleted default-young 30 false"},
		"object being deleted":       {func(v *lifecycle.View) { v.Live.Objects[young].DeletedUnix = now }, "ObjectDeleted default-young 0 false"},
		"object is another":          {func(v *lifecycle.View) { v.Live.Objects[young].Claim.ObjectUID = "o-new" }, "ObjectDeleted default-young 30 false"},
		"object not made yet":        {func(v *lifecycle.View) { claim(v, young).ObjectUID = ""; v.Live.Objects[young].Claim.Name = "else" }, ""},
		"node gone":                  {func(v *lifecycle.View) { v.Live.Nodes = v.Live.Nodes[:1] }, "NodeGone default-joined 30 true"},
		"never joined":               {func(v *lifecycle.View) { v.Instances[young].LaunchedUnix = now - 900 }, "NeverJoined default-young 30 false"},
		"nearly never joined":        {func(v *lifecycle.View) { v.Instances[young].LaunchedUnix = now - 899 }, ""},
		"never joined, by its own clock": {func(v *lifecycle.View) {
			v.Instances[young].LaunchedUnix, claim(v, young).LaunchedUnix = 0, now-1000
		}, ""},
		"joined and not registered": {func(v *lifecycle.View) {
			v.Instances[young].LaunchedUnix = now - 9000
			v.Live.Nodes = append(v.Live.Nodes, model.Node{Name: "n", ProviderID: "aws:///a/i-young"})
		}, ""},
		"orphan":       {func(v *lifecycle.View) { v.Instances = append(v.Instances, instance("x", now)) }, "Orphan i-x 30 false"},
		"orphan twice": {func(v *lifecycle.View) { v.Instances = append(v.Instances, instance("x", now), instance("x", now)) }, "Orphan i-x 30 false"},
		"of an open launch": {func(v *lifecycle.View) {
			v.Instances = append(v.Instances, instance("x", now))
			v.Records.Intents = []model.Intent{{ID: "done", State: model.IntentCalling}}
		}, ""},
		"that a claim waits for": {func(v *lifecycle.View) {
			v.Instances = append(v.Instances, instance("x", now))
			v.Records.Claims = append(v.Records.Claims, model.Claim{Name: "w", State: model.Intended, Intent: "done"})
		}, "Stranded w 30 false"},
		"without the cluster's tag": {func(v *lifecycle.View) {
			v.Instances = append(v.Instances, instance("x", now))
			delete(v.Instances[3].Tags, "kubernetes.io/cluster/web")
		}, ""},
		"without a pool's tag": {func(v *lifecycle.View) {
			v.Instances = append(v.Instances, instance("x", now))
			delete(v.Instances[3].Tags, model.LabelNodePool)
		}, ""},
		"without an intent's tag": {func(v *lifecycle.View) {
			v.Instances = append(v.Instances, instance("x", now))
			delete(v.Instances[3].Tags, "joiner.sh/intent")
		}, ""},
		"of another cluster": {func(v *lifecycle.View) { v.Instances = append(v.Instances, instance("x", now)); v.Cluster = "shop" }, ""},
		"gone, object left":  {func(v *lifecycle.View) { claim(v, young).State = model.Gone; v.Instances[young].State = "terminated" }, "LeftObject default-young 0 false"},
		"gone, object left, node held by somebody else's": {func(v *lifecycle.View) {
			claim(v, old).State = model.Gone
			v.Instances[old].State = "terminated"
			v.Live.Nodes[old].DeletedUnix = 1
		}, ""},
		"gone, another's object": {func(v *lifecycle.View) {
			claim(v, young).State = model.Gone
			v.Instances[young].State = "terminated"
			v.Live.Objects[young].Claim.ObjectUID = "o-new"
		}, ""},
		"gone, node left": {func(v *lifecycle.View) {
			claim(v, old).State = model.Gone
			v.Instances[old].State = "terminated"
			v.Live.Objects = v.Live.Objects[1:]
		}, "LeftNode node-old 0 false"},
		"gone, node deleted and held by our finalizer": {func(v *lifecycle.View) {
			claim(v, old).State = model.Gone
			v.Instances[old].State = "terminated"
			v.Live.Objects = v.Live.Objects[1:]
			v.Live.Nodes[old].DeletedUnix, v.Live.Nodes[old].Finalizer = 1, true
		}, "LeftNode node-old 0 false"},
		"gone, node deleted and held by somebody else's": {func(v *lifecycle.View) {
			claim(v, old).State = model.Gone
			v.Instances[old].State = "terminated"
			v.Live.Objects = v.Live.Objects[1:]
			v.Live.Nodes[old].DeletedUnix = 1
		}, ""},
		"forgotten, node held by our finalizer": {func(v *lifecycle.View) {
			v.Instances[old].State = "terminated"
			v.Records.Claims = append(v.Records.Claims[:old:old], v.Records.Claims[old+1:]...)
			v.Live.Objects = v.Live.Objects[1:]
			v.Live.Nodes[old].Finalizer = true
		}, "LeftNode node-old 30 false"},
		"forgotten, node held by our finalizer, machine not ours": {func(v *lifecycle.View) {
			v.Instances[old].State, v.Instances[old].Tags = "terminated", nil
			v.Records.Claims = append(v.Records.Claims[:old:old], v.Records.Claims[old+1:]...)
			v.Live.Objects = v.Live.Objects[1:]
			v.Live.Nodes[old].Finalizer = true
		}, ""},
		"gone, node Ready and machine unseen": {func(v *lifecycle.View) {
			claim(v, old).State = model.Gone
			without(v, old)
			v.Live.Objects = v.Live.Objects[1:]
		}, ""},
		"made by hand, without a machine":                          {func(v *lifecycle.View) { v.Live.Objects = append(v.Live.Objects, byHand(0, false)) }, ""},
		"made by hand, deleted, held by somebody else's finalizer": {func(v *lifecycle.View) { v.Live.Objects = append(v.Live.Objects, byHand(1, false)) }, ""},
		"made by hand, deleted, held by our finalizer":             {func(v *lifecycle.View) { v.Live.Objects = append(v.Live.Objects, byHand(1, true)) }, "LeftObject mine 30 false"},
		"made by hand, got no machine": {func(v *lifecycle.View) {
			v.Live.Objects = append(v.Live.Objects, byHand(0, true))
			v.Records.Claims = append(v.Records.Claims, model.Claim{Name: "mine", ObjectUID: "o-mine", State: model.Gone, FailureCode: "Unfulfilled"})
		}, ""},
		"made by hand, got no machine, deleted": {func(v *lifecycle.View) {
			v.Live.Objects = append(v.Live.Objects, byHand(1, true))
			v.Records.Claims = append(v.Records.Claims, model.Claim{Name: "mine", ObjectUID: "o-mine", State: model.Gone, FailureCode: "Unfulfilled"})
		}, "LeftObject mine 30 false"},
		"made by hand, being launched, deleted": {func(v *lifecycle.View) {
			v.Live.Objects = append(v.Live.Objects, byHand(1, true))
			v.Records.Claims = append(v.Records.Claims, model.Claim{Name: "mine", ObjectUID: "o-mine", State: model.Intended, Intent: "open"})
			v.Records.Intents = append(v.Records.Intents, model.Intent{ID: "open", State: model.IntentCalling})
		}, ""},
		"object nobody recorded, machine ended": {func(v *lifecycle.View) {
			v.Records.Claims = slices.Delete(v.Records.Claims, young, young+1)
			v.Instances[young].State = "terminated"
		}, "LeftObject default-young 30 false"},
		"object of an earlier claim of the name, machine ended": {func(v *lifecycle.View) {
			claim(v, young).ObjectUID, claim(v, young).InstanceID = "", "i-new"
			v.Instances = append(v.Instances, instance("new", now))
			v.Instances[young].State = "terminated"
		}, "LeftObject default-young 30 false"},
		"object of an earlier claim of the name, machine runs": {func(v *lifecycle.View) {
			claim(v, young).ObjectUID, claim(v, young).InstanceID = "", "i-new"
			v.Instances = append(v.Instances, instance("new", now))
		}, "Orphan i-young 30 false"},
		"object nobody recorded, machine unseen": {func(v *lifecycle.View) {
			v.Records.Claims = slices.Delete(v.Records.Claims, young, young+1)
			without(v, young)
		}, ""},
		"object made by hand": {func(v *lifecycle.View) {
			v.Live.Objects = append(v.Live.Objects, model.ClaimObject{Claim: model.Claim{Name: "hand", ObjectUID: "h"}})
		}, ""},
		"blank ids": {func(v *lifecycle.View) {
			v.Instances = append(v.Instances, model.Instance{State: "running", Tags: v.Instances[0].Tags})
			v.Live.Nodes = append(v.Live.Nodes, model.Node{Name: "blank"}, model.Node{Name: "slash", ProviderID: "aws:///a/"})
			v.Records.Claims = append(v.Records.Claims, model.Claim{Name: "blank", State: model.Launched})
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			view := healthy()
			c.change(&view)
			var got string
			for i, f := range lifecycle.Diagnose(view, lifecycle.Settings{}) {
				if i > 0 {
					got += ", "
				}
				got += fmt.Sprintf("%s %s %d %v", f.Kind, f.Subject, f.Wait, f.Removes)
				if f.Why() == "" {
					t.Errorf("%s does not say why", f.Kind)
				}
			}
			if got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

// byHand is a NodeClaim that people made, which shows no instance.
func byHand(deletedUnix int64, finalizer bool) model.ClaimObject {
	return model.ClaimObject{Claim: model.Claim{Name: "mine", Class: "default", ObjectUID: "o-mine"}, DeletedUnix: deletedUnix, Finalizer: finalizer}
}

// F107: the instance of a NodeClaim made by hand is ours by a tag that no NodePool can have, and adopted as of none.
func TestF107InstanceOfNoPoolIsOursAndAdoptedOfNone(t *testing.T) {
	view := healthy()
	view.Records.Claims, view.Live.Objects = nil, nil
	for i := range view.Instances {
		view.Instances[i].Tags[model.LabelNodePool] = model.NoPool
	}
	found := lifecycle.Diagnose(view, lifecycle.Settings{})
	if len(found) != 3 {
		t.Fatalf("%+v", found)
	}
	for i := range found {
		claim := lifecycle.Adopt(&found[i], func(string) bool { return false }, now)
		if found[i].Kind != lifecycle.Orphan || claim.Pool != "" || claim.Name != "standalone-"+strings.TrimPrefix(claim.InstanceID, "i-") {
			t.Errorf("%s: %+v", found[i].Kind, claim)
		}
	}
}

func TestInstanceID(t *testing.T) {
	for provider, want := range map[string]string{
		"aws:///us-west-2a/i-0abc": "i-0abc", "i-0abc": "i-0abc", "": "", "aws:///us-west-2a/": "", "aws:///us-west-2a/i-": "", "gce://x/y/z": "",
	} {
		if got := lifecycle.InstanceID(provider); got != want {
			t.Errorf("%q is %q, want %q", provider, got, want)
		}
	}
}

// An orphan is adopted where it takes part in the cluster, with what its object, node and tags say.
func TestAdopt(t *testing.T) {
	view := healthy()
	lost := view
	lost.Records.Claims = nil
	found := lifecycle.Diagnose(lost, lifecycle.Settings{})
	if len(found) != 3 {
		t.Fatalf("%+v", found)
	}
	byID := map[string]model.Claim{}
	for i := range found {
		if found[i].Kind != lifecycle.Orphan || !lifecycle.Adoptable(&found[i]) {
			t.Errorf("%+v is not adoptable", found[i])
		}
		claim := lifecycle.Adopt(&found[i], func(string) bool { return false }, now)
		byID[claim.InstanceID] = claim
		used := func(name string) bool { return name == claim.Name }
		if taken := lifecycle.Adopt(&found[i], used, now); taken.Name == claim.Name || taken.ObjectUID != "" || taken.State != model.Launched {
			t.Errorf("where its name is taken: %+v", taken)
		}
	}
	for _, want := range view.Records.Claims {
		got := byID[want.InstanceID]
		state := want.State
		if state == model.Initialized {
			state = model.Registered // the node does not say more
		}
		if got.Name != want.Name || got.ProviderID != want.ProviderID || got.ObjectUID != want.ObjectUID || got.NodeUID != want.NodeUID || got.State != state ||
			got.Pool != "default" || got.Intent != "done" || got.Reserved[model.Nodes] != 1 {
			t.Errorf("adopted %+v, was %+v", got, want)
		}
	}

	condemned := found[0]
	condemned.Claim = &model.Claim{InstanceID: condemned.Instance.ID, State: model.Gone, FailureCode: model.EndedNodeGone}
	if lifecycle.Adoptable(&condemned) || !lifecycle.Condemned(&condemned) {
		t.Error("what was to end is adoptable")
	}
	bare := lifecycle.Finding{Kind: lifecycle.Orphan, Instance: found[0].Instance}
	if lifecycle.Adoptable(&bare) {
		t.Error("a machine nothing speaks for is adoptable")
	}
}

// Whatever order the lists are in, the findings are the same, and there is one at most for each subject of a kind.
func TestDiagnoseDoesNotDependOnOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		view := healthy()
		for i := range view.Instances {
			view.Instances[i].State = []string{"running", "pending", "terminated", "shutting-down"}[random.IntN(4)]
		}
		for _, id := range []string{"x", "y"} {
			if random.IntN(2) == 0 {
				view.Instances = append(view.Instances, instance(id, now-int64(random.IntN(2000))))
			}
		}
		if random.IntN(2) == 0 {
			view.Records.Claims[random.IntN(3)].State = []model.ClaimState{model.Gone, model.Terminating, model.Launched}[random.IntN(3)]
		}
		if random.IntN(2) == 0 {
			view.Live.Nodes = view.Live.Nodes[:random.IntN(3)]
		}
		want := summary(lifecycle.Diagnose(view, lifecycle.Settings{}))
		for range 5 {
			shuffle(random, view.Instances)
			shuffle(random, view.Live.Nodes)
			shuffle(random, view.Live.Objects)
			shuffle(random, view.Records.Claims)
			if got := summary(lifecycle.Diagnose(view, lifecycle.Settings{})); !reflect.DeepEqual(got, want) {
				t.Fatalf("%v, then %v", want, got)
			}
		}
		seen := map[string]bool{}
		for _, line := range want {
			if seen[line] {
				t.Fatalf("%s is found twice", line)
			}
			seen[line] = true
		}
	}
}

func shuffle[T any](random *rand.Rand, list []T) {
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

func summary(found []lifecycle.Finding) []string {
	var out []string
	for _, f := range found {
		out = append(out, fmt.Sprintf("%s %s %d %v", f.Kind, f.Subject, f.Wait, f.Removes))
	}
	return out
}
