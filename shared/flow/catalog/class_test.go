package catalog

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

func TestClassIsResolvedTriedRecordedToldAndHinted(t *testing.T) {
	w := newWorld(t)
	out := w.pass(0, nil)
	status := w.status()
	if len(status.Problems) != 0 || status.ObservedGeneration != 1 || status.ResolvedUnix != began || len(out.Problems) != 0 {
		t.Fatalf("%+v, %+v", status, out)
	}
	record := w.ledger.Classes[0]
	if record.UID != "c1" || record.Version != 2 || record.Checked != began || record.Status.Subnets[0].FreeAddresses != 20 { // the second version: profiles swept
		t.Errorf("record %+v", record)
	}
	o := w.config.Classes[0]
	if !o.Finalized || o.Annotations[model.AnnotationClassHash] != o.Class.HashFor([]byte("pem")) || o.Annotations[model.AnnotationClassHashVersion] != "joiner-v1" {
		t.Errorf("object %+v", o)
	}
	if len(w.hints) != 1 || !strings.HasPrefix(w.hints[0], "ready web ready/c1/") {
		t.Errorf("hints %v", w.hints)
	}
	l := w.launches[0]
	if l.Pool != "pool" || l.CapacityType != model.OnDemand || len(l.Templates) != 1 || l.Templates[0].ImageID != "ami-1-arm64" || len(l.Templates[0].UserData) == 0 ||
		len(l.Templates[0].Overrides) != 2 || l.Templates[0].Overrides[0].InstanceType != "m6g.large" {
		t.Errorf("tried with %+v", l)
	}
}

// 6: an idle cluster's classes cause no call of AWS; used ones are looked up every few minutes.
func TestIdleClassesAreLeftAloneForAnHour(t *testing.T) {
	w := newWorld(t)
	w.pass(0, nil)
	for range 58 {
		if w.pass(time.Minute, nil); len(w.aws) != 0 || len(w.reported.Classes) != 0 {
			t.Fatalf("at %d s: %v", w.now-began, w.aws)
		}
	}
	if w.pass(2*time.Minute, nil); w.asked("Examine") != 1 {
		t.Errorf("after an hour: %v", w.aws)
	}
	w.ledger.Claims = []model.Claim{{Name: "a", Class: "default", State: model.Intended}}
	if w.pass(time.Minute, nil); len(w.aws) != 0 {
		t.Errorf("in use, after 1 min: %v", w.aws)
	}
	if w.pass(time.Minute, nil); w.asked("Examine") != 1 {
		t.Errorf("in use, after 2 min: %v", w.aws)
	}
	config := func(_ *Flow, r *Request) { r.Config = true }
	if w.pass(5*time.Second, config); len(w.aws) != 0 {
		t.Errorf("a hint right after a pass: %v", w.aws)
	}
	if w.pass(10*time.Second, config); w.asked("Examine") != 1 {
		t.Errorf("a hint: %v", w.aws)
	}
	w.class().Generation++
	if w.pass(time.Second, nil); w.asked("Examine") != 1 || w.status().ObservedGeneration != 2 {
		t.Errorf("another generation: %v", w.aws)
	}
}

func TestNC22VerdictIsKeptForHalfAnHourUnlessAnInputChanges(t *testing.T) {
	w := newWorld(t)
	w.ledger.Claims = []model.Claim{{Name: "a", Class: "default", State: model.Intended}}
	tried := func(after time.Duration) bool { w.pass(after, nil); return w.asked("DryFleet") > 0 }
	if !tried(0) || tried(5*time.Minute) || tried(24*time.Minute) || !tried(5*time.Minute) {
		t.Error("a verdict is kept for 30 minutes")
	}
	w.config.Classes[0].Annotations["example.com/again"] = "1"
	if !tried(time.Second) {
		t.Error("an annotation was added, and nothing was tried")
	}
	if tried(5 * time.Minute) {
		t.Error("the annotation is no news any more")
	}
	w.examined = func(_ model.Class, s *model.ClassStatus) error { s.Subnets[0].FreeAddresses = 3; return nil }
	if tried(5 * time.Minute) {
		t.Error("fewer free addresses are no other subnets")
	}
	w.examined = func(_ model.Class, s *model.ClassStatus) error { s.Subnets = s.Subnets[:1]; return nil }
	if !tried(5 * time.Minute) {
		t.Error("another set of subnets, and nothing was tried")
	}
	// A bad verdict is kept for two minutes: what it is about is mended elsewhere, and people wait for it.
	w.fail["DryFleet"] = fault.New(fault.Denied, "UnauthorizedOperation", "CreateFleet: You are not authorized")
	w.config.Classes[0].Annotations["example.com/again"] = "2"
	if !tried(time.Second) || tried(time.Minute) || w.problem(model.Validated) != reasonFleetDenied {
		t.Errorf("%+v", w.status())
	}
	delete(w.fail, "DryFleet") // somebody adds the permission
	if !tried(time.Minute) || w.problem(model.Validated) != "" {
		t.Errorf("after two minutes: %+v", w.status())
	}
}

// A trial that could not be made after something changed is made again; what was found out of what there was before says
// nothing about it.
func TestNC22TrialThatFailedAfterAChangeIsMadeAgain(t *testing.T) {
	w := newWorld(t)
	w.pass(0, nil)
	w.config.Classes[0].Annotations["example.com/again"] = "1"
	w.fail["DryFleet"] = fault.New(fault.Internal, "", "connection reset by peer")
	w.pass(time.Minute, nil)
	if w.problem(model.Validated) == "" {
		t.Fatalf("%+v", w.status())
	}
	delete(w.fail, "DryFleet")
	if w.pass(time.Minute, nil); w.problem(model.Validated) != "" {
		t.Errorf("still %+v", w.status().Problems)
	}
}

func TestNC23EachMissingRightHasItsReasonAndSource(t *testing.T) {
	for _, c := range []struct{ call, text, reason, source string }{
		{"CreateLaunchTemplate", "You are not authorized to perform this operation", "CreateLaunchTemplateAuthCheckFailed", "the policy of the cluster's role"},
		{"DryFleet", "not authorized because no permissions boundary allows ec2:CreateFleet", "CreateFleetAuthCheckFailed", "boundary"},
		{"DryRun", "with an explicit deny in a service control policy", "RunInstancesAuthCheckFailed", "organization"},
		{"DryRun", "Not authorized for images: [ami-1]", "RunInstancesAuthCheckFailed", "share the image"},
	} {
		w := newWorld(t)
		w.fail[c.call] = fault.New(fault.Denied, "UnauthorizedOperation", "%s: %s", c.call, c.text)
		w.pass(0, nil)
		i := slices.IndexFunc(w.status().Problems, func(p model.ClassProblem) bool { return p.Condition == model.Validated })
		if i < 0 || w.status().Problems[i].Reason != c.reason || !strings.Contains(w.status().Problems[i].Message, c.source) || w.status().Problems[i].Unknown {
			t.Errorf("%s: %+v", c.text, w.status().Problems)
		}
		if len(w.hints) != 0 || w.ledger.Classes[0].Checked != began {
			t.Errorf("%s: hints %v, record %+v", c.text, w.hints, w.ledger.Classes[0])
		}
	}
}

func TestNC24OneSubnetThatWouldDoIsEnough(t *testing.T) {
	w := newWorld(t)
	w.fail["DryRun subnet-a"] = fault.New(fault.Internal, "InternalError", "RunInstances: an internal error")
	w.pass(0, nil)
	if p := w.problem(model.Validated); p != "" || w.asked("DryRun") != 2 {
		t.Errorf("%s %v", p, w.aws)
	}
	// Where none would do the first one's answer counts: this one says nothing about the class.
	w = newWorld(t)
	w.fail["DryRun subnet-a"] = fault.New(fault.Throttled, "RequestLimitExceeded", "RunInstances: slow down")
	w.fail["DryRun subnet-b"] = fault.New(fault.Denied, "UnauthorizedOperation", "RunInstances: no")
	w.pass(0, nil)
	if p := w.problem(model.Validated); p != "Unknown ValidationFailed" || w.ledger.Classes[0].Checked != 0 {
		t.Errorf("%s, checked %d", p, w.ledger.Classes[0].Checked)
	}
	delete(w.fail, "DryRun subnet-a")
	if w.pass(2*time.Minute, nil); w.problem(model.Validated) != "" {
		t.Errorf("it is not tried again: %+v", w.status())
	}
}

func TestNC24DisableDryRunMakesNoCall(t *testing.T) {
	w := newWorld(t)
	w.pass(0, func(f *Flow, _ *Request) { f.Settings.NoDryRun = true })
	if w.problem(model.Validated) != "" || w.asked("Dry")+w.asked("Create") != 0 {
		t.Errorf("%+v %v", w.status(), w.aws)
	}
}

func TestWhatShowsWithoutATrialIsNotTried(t *testing.T) {
	for reason, change := range map[string]func(*world){
		"TagValidationFailed":         func(w *world) { w.class().Tags = map[string]string{"kubernetes.io/cluster/other": "owned"} },
		"ClusterCIDRResolutionFailed": func(w *world) { w.reg.ServiceCIDR = "" },
		"Unsupported":                 func(w *world) { w.class().Unsupported = []string{"spec.x: is not supported yet"} },
		"InvalidKubeletConfiguration": func(w *world) {
			w.class().Invalid = []model.ClassProblem{{Condition: model.Validated, Reason: "InvalidKubeletConfiguration"}}
		},
		"DependenciesNotReady":         func(w *world) { w.examined = noSubnets },
		"Unknown DependenciesNotReady": func(w *world) { w.fail["Examine"] = fault.New(fault.Internal, "", "down") },
		"UserDataSizeLimitExceeded":    func(w *world) { w.class().UserData = strings.Repeat("x", 20_000) },
	} {
		w := newWorld(t)
		change(w)
		w.pass(0, nil)
		if got := w.problem(model.Validated); got != reason || w.asked("Dry")+w.asked("Create") != 0 {
			t.Errorf("%s: got %q, calls %v", reason, got, w.aws)
		}
	}
}

func noSubnets(_ model.Class, s *model.ClassStatus) error {
	s.Subnets = nil
	s.Problems = []model.ClassProblem{{Condition: model.SubnetsReady, Reason: "SubnetsNotFound", Message: "none"}}
	return nil
}

// M13: a tag that only Joiner sets, and whatever else EC2 refuses of tags, keeps the class from being ready, with key
// and remedy.
func TestM13TagsThatOnlyJoinerSetsAreShownOnTheClass(t *testing.T) {
	w := newWorld(t)
	w.class().Tags = map[string]string{"joiner.sh/intent": "mine", "team": "a"}
	w.pass(0, nil)
	problems := w.status().Problems
	if len(problems) != 1 || problems[0].Reason != "TagValidationFailed" {
		t.Fatalf("%+v", problems)
	}
	for _, part := range []string{"spec.tags[joiner.sh/intent]", "Remedy: Remove it."} {
		if !strings.Contains(problems[0].Message, part) {
			t.Errorf("%q does not say %q", problems[0].Message, part)
		}
	}
}

// An API error leaves a condition, and what was found out, as they were for the same generation.
func TestWhatCannotBeFoundOutStaysAsItWas(t *testing.T) {
	w := newWorld(t)
	w.ledger.Claims = []model.Claim{{Name: "a", Class: "default", State: model.Intended}}
	w.pass(0, nil)
	w.fail["Examine"] = fault.New(fault.Internal, "", "down")
	out := w.pass(5*time.Minute, nil)
	if s := w.status(); len(s.Problems) != 0 || len(s.Subnets) != 2 || s.ResolvedUnix != began || len(out.Problems) == 0 {
		t.Errorf("%+v, %+v", s, out)
	}
	if w.pass(time.Minute, nil); w.asked("Examine") != 1 {
		t.Error("it is not asked again at the next tick")
	}
	w.class().Generation++
	if w.pass(time.Minute, nil); w.problem(model.SubnetsReady) != "Unknown ResolutionFailed" {
		t.Errorf("of another generation nothing is known: %+v", w.status())
	}
}

func TestOneBadClassStopsNoOther(t *testing.T) {
	w := newWorld(t)
	bad := object(func(c *model.Class) { c.Name, c.UID = "bad", "c0" })
	w.config.Classes = append([]model.ClassObject{bad}, w.config.Classes...)
	w.examined = func(c model.Class, _ *model.ClassStatus) error {
		if c.Name == "bad" {
			panic("no")
		}
		return nil
	}
	out := w.pass(0, nil)
	if len(w.reported.Classes) != 1 || w.reported.Classes[0].Class != "default" || len(out.Problems) != 1 {
		t.Errorf("%+v, %+v", w.reported.Classes, out)
	}
}

func TestAllowanceThatIsUsedUpLeavesClassesForTheNextTick(t *testing.T) {
	w := newWorld(t)
	w.allowance = model.Allowance{Version: 1, AtUnix: w.now, ClosedUntilUnix: w.now + 20}
	if out := w.pass(0, nil); len(w.aws) != 0 || len(out.Problems) != 1 {
		t.Errorf("%v %+v", w.aws, out)
	}
	if w.pass(time.Minute, nil); w.problem(model.Validated) != "" {
		t.Error("the next tick does not go on")
	}
}

// Many clusters that begin at once have their classes tried one after another. None waits for its turn to launch: a trial that was
// put off is reported as Unknown, says nothing against the class, and is made later.
func TestTrialThatIsPutOffKeepsNobodyFromLaunching(t *testing.T) {
	w := newWorld(t)
	w.allowance = model.Allowance{Version: 1, AtUnix: w.now, CallsMilli: 16_000, ReadsMilli: 80_000}
	out := w.pass(0, nil)
	if out.Tried != 0 || out.Resolved != 1 || len(out.NotReady) != 0 || w.problem(model.Validated) != "Unknown "+model.ReasonPostponed {
		t.Errorf("%+v %q", out, w.problem(model.Validated))
	}
	class := w.config.Classes[0].Class
	class.Status = w.ledger.Classes[0].Status
	if why := offering.ClassProblem(class); why != "" {
		t.Errorf("nothing is launched from the class: %s", why)
	}
	if !slices.ContainsFunc(w.hints, func(h string) bool { return strings.HasPrefix(h, "ready ") }) {
		t.Errorf("who launches is not told: %v", w.hints)
	}
	if out := w.pass(time.Minute, nil); out.Tried != 1 || w.problem(model.Validated) != "" {
		t.Errorf("a minute later %+v %q", out, w.problem(model.Validated))
	}
}

// Who provisions says on an EC2NodeClass that EC2 refused it. That is over a minute later, or ten, and an idle class is looked up once an hour.
func TestRefusalThatIsOverIsTakenOffItsClass(t *testing.T) {
	w := newWorld(t)
	w.pass(0, nil)
	refusal := model.ClassRefusal{Class: "default", Inputs: offering.Inputs(w.config.Classes[0].Class), Reason: "LaunchTemplateNotFound", Message: "nodepool pool: it does not exist", Failures: 1, UntilUnix: w.now + 90}
	w.ledger.Notes.Refusals = []model.ClassRefusal{refusal}
	for _, c := range []struct {
		name  string
		after time.Duration
		said  []model.ClassProblem // on the object
		want  string               // reason that is written; "-" = nothing is
	}{
		{"somebody took the refusal off the object", time.Minute, nil, "LaunchTemplateNotFound"},
		{"it says that it is refused, and is", time.Second, []model.ClassProblem{{Condition: model.Validated, Reason: refusal.Reason, Message: refusal.Message}}, "-"},
		{"it says that it is refused, and that is over", time.Minute, []model.ClassProblem{{Condition: model.Validated, Reason: refusal.Reason, Message: refusal.Message}}, ""},
		{"it says that it is ready, and is", time.Minute, nil, "-"},
	} {
		w.class().Status.Problems = c.said
		w.pass(c.after, nil)
		got := "-"
		if len(w.reported.Classes) > 0 {
			got = ""
			for _, p := range w.reported.Classes[0].Status.Problems {
				got = p.Reason
			}
		}
		if got != c.want || len(w.aws) > 0 {
			t.Errorf("%s: %q is written, want %q; asked AWS: %v", c.name, got, c.want, w.aws)
		}
	}
}
