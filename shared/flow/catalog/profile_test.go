package catalog

import (
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// the profile the class has now.
func (w *world) profile() string { return w.ledger.Classes[0].Status.InstanceProfile }

func TestCT03RoleChangeMakesANewProfileAndTheOldOneGoesWhenNothingNeedsIt(t *testing.T) {
	w := newWorld(t)
	w.roles["other"] = true
	w.pass(0, nil)
	first := w.profile()
	made := w.profiles[first]
	if made.Role != "nodes" || made.Path != "/karpenter/us-west-2/web/c1/" || !strings.HasPrefix(first, "web_") || len(first) > 128 ||
		made.Tags["kubernetes.io/cluster/web"] != "owned" || made.Tags["eks:eks-cluster-name"] != "web" || made.Tags[model.LabelNodeClass] != "default" ||
		made.Tags[model.LabelRegion] != "us-west-2" {
		t.Errorf("made %+v", made)
	}
	w.ledger.Claims = []model.Claim{{Name: "a", Class: "default", State: model.Intended, Annotations: map[string]string{model.AnnotationInstanceProfile: first}}}
	w.class().Role, w.class().Generation = "other", 2
	w.pass(2*time.Hour, nil)
	second := w.profile()
	if second == first || w.profiles[second].Role != "other" {
		t.Fatalf("%s, then %s: %+v", first, second, w.profiles)
	}
	has := func(when string, want bool) {
		t.Helper()
		if _, there := w.profiles[first]; there != want {
			t.Errorf("%s: the old profile is there: %v", when, there)
		}
	}
	has("right after", true)
	w.pass(59*time.Minute, nil)
	has("within the hour", true)
	w.pass(31*time.Minute, nil)
	has("a claim was launched with it", true)
	w.ledger.Claims = nil
	w.pass(time.Hour, nil)
	has("nobody needs it", false)
	if _, there := w.profiles[second]; !there || w.profile() != second {
		t.Error("the profile in use is gone")
	}
	// Switching to a profile of one's own leaves ours, and its instances, alone for an hour too.
	w.class().Role, w.class().InstanceProfile, w.class().Generation = "", "mine", 3
	w.pass(time.Minute, nil)
	if _, there := w.profiles[second]; !there || w.profile() != "mine" {
		t.Errorf("%s, %+v", w.profile(), w.profiles)
	}
}

// A cluster that Karpenter ran, or a ledger that was lost: instances run with profiles that no claim of the ledger names, under
// the very path that ours are under.
func TestCT03ProfilesOfInstancesTheLedgerDoesNotKnowStay(t *testing.T) {
	w := newWorld(t)
	w.pass(0, nil)
	karpenters := model.InstanceProfile{Name: "web_4067990795380418201", Path: "/karpenter/us-west-2/web/c1/", Role: "nodes", CreatedUnix: w.now - 86_400}
	w.profiles[karpenters.Name] = karpenters
	stays := func(when string, want bool) {
		t.Helper()
		w.pass(time.Hour, nil)
		if _, there := w.profiles[karpenters.Name]; there != want {
			t.Errorf("%s: the profile is there: %v", when, there)
		}
	}
	object := model.ClaimObject{Claim: model.Claim{
		Name: "default-x7k2p", Class: "default", ProviderID: "aws:///a/i-1", Annotations: map[string]string{model.AnnotationInstanceProfile: karpenters.Name},
	}}
	w.live.Objects = []model.ClaimObject{object}
	stays("a NodeClaim names it", true)
	object.Claim.Annotations = nil
	w.live.Objects = []model.ClaimObject{object}
	stays("a NodeClaim does not say which it has", true)
	w.fail["Sight"] = fault.New(fault.Internal, "", "down")
	w.live.Objects = nil
	stays("nobody can see", true)
	delete(w.fail, "Sight")
	object.Claim.Annotations = map[string]string{model.AnnotationInstanceProfile: karpenters.Name}
	w.live.Objects = []model.ClaimObject{object}
	w.ledger.Claims = []model.Claim{{Name: "default-x7k2p", Class: "default", State: model.Initialized, InstanceID: "i-1", Annotations: object.Claim.Annotations}}
	stays("it was taken over", true)
	w.ledger.Claims, w.live.Objects = nil, nil
	stays("nothing has it", false)
}

// The name says what a profile is for, so that a crash between making and recording it leaves no second one.
func TestCT03ProfileIsMadeOnce(t *testing.T) {
	w := newWorld(t)
	w.pass(0, nil)
	w.ledger.Classes = nil
	w.pass(time.Minute, nil)
	if len(w.profiles) != 1 {
		t.Errorf("%+v", w.profiles)
	}
	// §12.9: a role written with its path is the same role.
	w.class().Role, w.class().Generation = "/teams/a/nodes", 2
	w.pass(time.Minute, nil)
	if len(w.profiles) != 1 {
		t.Errorf("%+v", w.profiles)
	}
}

func TestRoleThatDoesNotExistIsAProblemThatNamesIt(t *testing.T) {
	w := newWorld(t)
	w.class().Role = "nobody"
	w.pass(0, nil)
	if w.problem(model.ProfileReady) != "RoleNotFound" || w.problem(model.Validated) != "DependenciesNotReady" || !strings.Contains(w.status().Problems[0].Message, `"nobody"`) {
		t.Errorf("%+v", w.status().Problems)
	}
	w.roles["nobody"] = true
	if w.pass(time.Minute, nil); len(w.status().Problems) != 0 || len(w.hints) != 1 {
		t.Errorf("%+v", w.status().Problems)
	}
	w = newWorld(t)
	w.fail["MakeProfile"] = fault.New(fault.Internal, "ServiceFailure", "down")
	if w.pass(0, nil); w.problem(model.ProfileReady) != "Unknown InstanceProfileFailed" {
		t.Errorf("%+v", w.status().Problems)
	}
}

func TestSE02IsolatedNetworkAsksNothingOfIAM(t *testing.T) {
	isolated := func(f *Flow, _ *Request) { f.Settings.IsolatedVPC = true }
	w := newWorld(t)
	w.pass(0, isolated)
	if w.problem(model.ProfileReady) != "InstanceProfileNotFound" || !strings.Contains(w.status().Problems[0].Message, "spec.instanceProfile") {
		t.Errorf("%+v", w.status().Problems)
	}
	w.class().Role, w.class().InstanceProfile, w.class().Generation = "", "mine", 2
	if w.pass(time.Minute, isolated); len(w.status().Problems) != 0 {
		t.Errorf("%+v", w.status().Problems)
	}
	w.class().DeletedUnix = w.now
	w.pass(time.Minute, isolated)
	if len(w.config.Classes) != 0 || w.asked("MakeProfile")+w.asked("Profiles")+w.asked("DeleteProfile") != 0 {
		t.Errorf("%v", w.aws)
	}
}

func TestCT04DeletedClassWaitsForItsClaimsAndThenTakesWhatWasMadeForItAlong(t *testing.T) {
	w := newWorld(t)
	w.pass(0, nil)
	w.ledger.Claims = []model.Claim{{Name: "pool-1", Class: "default", State: model.Terminating}}
	w.class().DeletedUnix = w.now
	w.pass(time.Minute, nil)
	if len(w.reported.Events) != 1 || w.reported.Events[0].Reason != "WaitingOnNodeClaimTermination" || !strings.Contains(w.reported.Classes[0].Waiting, "pool-1") || len(w.aws) != 0 {
		t.Errorf("%+v %v", w.reported, w.aws)
	}
	// Nor does a ledger that was lost let it go.
	w.ledger.Claims = nil
	w.live.Objects = []model.ClaimObject{{Claim: model.Claim{Name: "pool-2", Class: "default"}}}
	if w.pass(time.Minute, nil); len(w.config.Classes) != 1 || !strings.Contains(w.reported.Classes[0].Waiting, "pool-2") {
		t.Errorf("%+v", w.reported)
	}
	w.live.Objects = nil
	w.fail["Sight"] = fault.New(fault.Internal, "", "down")
	if w.pass(time.Minute, nil); len(w.config.Classes) != 1 || len(w.profiles) != 1 {
		t.Error("what cannot be seen is no evidence")
	}
	delete(w.fail, "Sight")
	w.fail["DeleteTemplates"] = fault.New(fault.Throttled, "", "slow down")
	if w.pass(time.Minute, nil); len(w.config.Classes) != 1 || len(w.ledger.Classes) != 1 {
		t.Error("it went before its templates")
	}
	delete(w.fail, "DeleteTemplates")
	out := w.pass(time.Minute, nil)
	if len(w.config.Classes) != 0 || len(w.ledger.Classes) != 0 || len(w.profiles) != 0 || len(out.Ended) != 1 {
		t.Errorf("%+v, %+v, %+v", w.config.Classes, w.profiles, out)
	}
}

// A class that is deleted because its definition is goes without what was made for it: its instances need that. While nobody can
// tell whether the definition goes nothing is done.
func TestClassThatGoesWithItsDefinitionLeavesWhatWasMadeForIt(t *testing.T) {
	w := newWorld(t)
	w.pass(0, nil)
	w.class().DeletedUnix, w.going = w.now, true
	w.config.Undefined = []string{"nodepools"} // nothing held those, so that their definition is gone before
	w.fail["Definitions"] = fault.New(fault.Denied, "", "no permission")
	if out := w.pass(time.Minute, nil); len(w.config.Classes) != 1 || len(out.Problems) != 1 || !strings.Contains(out.Problems[0], "not carried out") {
		t.Errorf("%+v", out)
	}
	delete(w.fail, "Definitions")
	out := w.pass(time.Minute, nil)
	if len(w.config.Classes) != 0 || len(w.profiles) != 1 || len(w.templates) != 0 || len(out.Vanished) != 1 || len(out.Ended) != 0 {
		t.Errorf("%+v %+v %v", out, w.profiles, w.templates)
	}
	// Without any definition nothing is deleted either.
	w.config.Undefined = []string{"ec2nodeclasses"}
	if out := w.pass(2*time.Hour, nil); !strings.Contains(out.Skipped, "missing in the cluster") || len(w.profiles) != 1 {
		t.Errorf("%+v %+v", out, w.ledger.Classes)
	}
}

// A launch that has not heard of the deletion may be under way.
func TestCT04DeletionWaitsForLaunchesUnderWay(t *testing.T) {
	w := newWorld(t)
	w.pass(0, nil)
	w.class().DeletedUnix = w.now
	if w.pass(10*time.Second, nil); len(w.config.Classes) != 1 || len(w.profiles) != 1 {
		t.Error("it went at once")
	}
	if w.pass(20*time.Second, nil); len(w.config.Classes) != 0 {
		t.Error("it stayed")
	}
}
