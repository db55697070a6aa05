package disrupt_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/disrupt"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/shared/work"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

func drained(t *testing.T, h *house, names ...string) {
	t.Helper()
	for _, claim := range h.load().Claims {
		if want := slices.Contains(names, claim.Name); (claim.State == model.Draining) != want {
			t.Errorf("claim %s is %s\n%s", claim.Name, claim.State, h.state())
		}
	}
}

// untouched fails where any node is tainted, or any live claim is held by an open command or says that it is disrupted.
func untouched(t *testing.T, h *house) {
	t.Helper()
	for name, node := range h.nodes {
		if tainted(&node.Node) && h.claim("c-"+name).State != model.Draining {
			t.Errorf("node %s is tainted", name)
		}
	}
	for _, claim := range h.load().Claims {
		if claim.State != model.Draining && (claim.Command != "" || h.objects[claim.Name].reason != "") {
			t.Errorf("claim %s is in command %q and says %q", claim.Name, claim.Command, h.objects[claim.Name].reason)
		}
	}
}

// F139, R43: a node that is empty goes in one look: committed, tainted, read, and only then draining.
func TestR43EmptyNodesAreCommittedTaintedReadAndThenDrained(t *testing.T) {
	h := newHouse(t, 3)
	grace := int64(600)
	h.change("c-n0", func(c *model.Claim) { c.GraceSeconds = &grace })
	h.nodes["n0"].Pods, h.nodes["n1"].Pods = nil, nil
	h.publish()
	h.wants(planned(model.ReasonEmpty, 0, "n0", "n1"))
	out := h.check()
	if out.Done != 1 || out.Drained != 2 || len(h.drains) != 1 || len(h.replaces) != 1 || len(h.decisions) != 1 || out.Open != 0 {
		t.Errorf("%+v; drains %v, provision %v, decisions %d", out, h.drains, h.replaces, len(h.decisions))
	}
	drained(t, h, "c-n0", "c-n1")
	claim := h.claim("c-n0")
	if claim.FailureCode != model.ReasonEmpty || claim.FailureMessage == "" || claim.Drain.SinceUnix != h.now || claim.Drain.DeadlineUnix != h.now+grace {
		t.Errorf("%+v %+v", claim, claim.Drain)
	}
	var order []string
	for _, line := range h.log {
		switch op, _, _ := strings.Cut(line, " "); op {
		case "commit", "taint", "read", "step", "end", "drain", "untaint":
			order = append(order, line)
		}
	}
	want := []string{"commit Empty", "taint n0", "read n0", "taint n1", "read n1", "end Done", "drain"}
	if !slices.Equal(order, want) {
		t.Errorf("%q, want %q", order, want)
	}
	if got, want := h.reasons(), []string{"Node/n0 DisruptionTerminating", "Node/n1 DisruptionTerminating", "NodeClaim/c-n0 DisruptionTerminating", "NodeClaim/c-n1 DisruptionTerminating"}; !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
	if d := h.decisions[0]; len(d.Committed) != 1 || d.Committed[0] != h.command().ID || d.Seq != h.published.Seq || d.Catalog.Version != "1" {
		t.Errorf("%+v", d)
	}
}

// F139, R36: nodes stay, tainted and undrained, until all that takes their place is initialized.
func TestF139ReplacementsComeFirst(t *testing.T) {
	h := newHouse(t, 3)
	h.wants(planned(model.ReasonDrifted, 2, "n0"))
	h.check()
	if c := h.command(); c.State != model.CommandReplacing || len(c.Replacements) != 2 || len(h.replaces) != 1 || !tainted(&h.nodes["n0"].Node) || h.objects["c-n0"].reason != model.ReasonDrifted {
		t.Fatalf("%+v, asked %q", c, h.replaces)
	}
	names := map[string]bool{}
	for _, r := range h.command().Replacements {
		if names[r.Name] = true; !strings.HasPrefix(r.Name, "web-") || len(r.Name) != len("web-")+5 {
			t.Errorf("replacement is called %q", r.Name)
		}
	}
	if len(names) != 2 {
		t.Errorf("replacements are called %v", names)
	}
	h.pass(20)
	drained(t, h)
	h.pass(25)
	drained(t, h, "c-n0")
	if c := h.command(); c.State != model.CommandDone || c.EndedUnix == 0 {
		t.Errorf("%+v", c)
	}
	if reasons := h.reasons(); !slices.ContainsFunc(reasons, func(r string) bool { return strings.HasSuffix(r, "DisruptionLaunching") }) {
		t.Errorf("told %q", reasons)
	}
}

// B4, F139, R36: where a replacement fails its nodes are disrupted to the scheduler within a minute, and none is lost.
func TestB4FailedReplacementGivesNodesBackWithinAMinute(t *testing.T) {
	h := newHouse(t, 3)
	h.barren = true
	command := planned(model.ReasonDrifted, 1, "n0")
	r := &command.Replacements[0]
	r.InstanceTypes, r.Zones, r.CapacityTypes = []string{"m5.large"}, []string{"a"}, []string{model.Spot}
	h.wants(command)
	h.check()
	h.pass(1) // provision loses the instance, and tells nobody
	at := h.now
	failed := []model.UnavailableOffering{{OfferingKey: model.OfferingKey{InstanceType: "m5.large", Zone: "a", CapacityType: model.Spot}}}
	must(t, h.ledger.MarkUnavailable(t.Context(), h.reg(), []model.UnavailableOffering{{OfferingKey: failed[0].OfferingKey, AtUnix: at, UntilUnix: at + 180, Failures: 1}}))
	for h.command().State.Open() && h.now < at+300 {
		h.pass(1)
	}
	if h.now-at > 60 {
		t.Errorf("undone after %d s", h.now-at)
	}
	if c := h.command(); c.State != model.CommandUndone || c.FailureCode != model.ReplacementFailed || !strings.Contains(c.FailureMessage, "there is none") || !slices.Equal(c.FailedOfferings, failed) {
		t.Errorf("%+v", c)
	}
	drained(t, h)
	untouched(t, h)
}

// F7: where provision says that a replacement cannot be launched its command is undone at once; what it said of an earlier command of the
// same name, before this one waited, does not count.
func TestF7ReplacementThatCannotBeLaunchedGivesNodesBackAtOnce(t *testing.T) {
	h := newHouse(t, 3)
	h.wants(planned(model.ReasonDrifted, 1, "n0"))
	h.check()
	command := h.command()
	say := func(at int64) {
		fence, err := h.ledger.Acquire(t.Context(), h.reg().Cluster, "provision", h.now, h.now+60)
		must(t, err)
		must(t, h.ledger.Remember(t.Context(), fence, model.Notes{Unfit: []model.Unfit{{Name: command.Replacements[0].Name, Why: "spec.limits[nodes]", AtUnix: at}}}))
		must(t, h.ledger.Release(t.Context(), fence))
	}
	say(command.ReplacingUnix - 1)
	h.check()
	if c := h.command(); !c.State.Open() || c.FailureCode != "" {
		t.Fatalf("%+v", c)
	}
	say(h.now)
	h.check()
	if c := h.command(); c.State != model.CommandUndone || c.FailureCode != model.ReplacementBarred || !strings.Contains(c.FailureMessage, "spec.limits[nodes]") || len(c.FailedOfferings) != 0 {
		t.Errorf("%+v", c)
	}
	drained(t, h)
	untouched(t, h)
}

// R36: a replacement that never joins takes no node with it, however long it is waited for; what comes late stays.
func TestR36ReplacementThatNeverJoinsCostsNoNode(t *testing.T) {
	h := newHouse(t, 3)
	h.boots = 24 * 3600
	h.wants(planned(model.ReasonDrifted, 1, "n0"), planned(model.ReasonDrifted, 1, "n1"))
	h.check()
	h.pass(19 * 60)
	drained(t, h)
	h.pass(3 * 60)
	drained(t, h)
	untouched(t, h)
	for _, c := range h.load().Commands {
		if c.State != model.CommandUndone || c.FailureCode != model.ReplacementFailed {
			t.Errorf("%+v", c)
		}
	}
	if n := len(h.load().Claims); n != 5 {
		t.Errorf("%d claims, want 3 and 2 that may come yet", n)
	}
}

// A replacement that came up and is being taken back meanwhile is none.
func TestB4ReplacementThatEndsAgainIsAFailure(t *testing.T) {
	h := newHouse(t, 2)
	h.boots = 40
	h.wants(planned(model.ReasonDrifted, 2, "n0"))
	h.check()
	h.pass(1)
	first := h.command().Replacements[0].Name
	h.change(first, func(c *model.Claim) { c.State = model.Initialized })
	h.change(first, func(c *model.Claim) {
		c.State, c.FailureCode, c.Drain = model.Draining, model.EndedSpotInterrupted, &model.Drain{SinceUnix: h.now}
	})
	h.pass(60)
	if c := h.command(); c.State != model.CommandUndone || c.FailureCode != model.ReplacementFailed {
		t.Errorf("%+v", c)
	}
	untouched(t, h)
}

// F131: a command to save money waits 15 s, on tainted nodes, and goes on where it still holds on a snapshot that shows the taint.
func TestF131SavingsAreRevalidatedAfterFifteenSeconds(t *testing.T) {
	h := newHouse(t, 3)
	evaluated := 0
	h.holds = func(in disruption.Input, c *model.Command) []model.KeptReason {
		evaluated++
		if h.now < c.SinceUnix+15 {
			t.Errorf("judged again after %d s", h.now-c.SinceUnix)
		}
		for _, node := range in.Snapshot.Nodes {
			if node.Name == "n0" && !tainted(&node) {
				t.Error("judged again by what was before")
			}
		}
		if len(in.Commands) != 1 || in.Commands[0].ID != c.ID {
			t.Errorf("commands %+v", in.Commands)
		}
		return nil
	}
	h.wants(planned(model.ReasonUnderutilized, 0, "n0"))
	h.check()
	h.pass(14)
	if evaluated != 0 || h.command().TaintedUnix == 0 {
		t.Fatalf("judged %d times, %+v", evaluated, h.command())
	}
	h.pass(5)
	if evaluated != 1 {
		t.Errorf("judged %d times", evaluated)
	}
	drained(t, h, "c-n0")
}

// F131: a pod that is bound in those 15 s aborts the command, and so does anything that was true of the node and is not.
func TestF131WhatChangesInFifteenSecondsAborts(t *testing.T) {
	for name, test := range map[string]struct {
		change func(h *house)
		code   string
	}{
		"a pod is bound":                          {func(h *house) { h.addPod("n0", "late") }, disruption.PodsArrived},
		"a pod must not be disrupted":             {func(h *house) { h.nodes["n0"].Pods[0].DoNotDisrupt = "true" }, disruption.PodDoNotDisrupt},
		"a pod must not be disrupted for a while": {func(h *house) { h.nodes["n0"].Pods[0].DoNotDisrupt = "1h" }, disruption.PodDoNotDisrupt},
		"the node must not be disrupted": {func(h *house) {
			h.nodes["n0"].Node.Annotations = map[string]string{model.AnnotationNotDisrupt: "true"}
		}, disruption.NodeDoNotDisrupt},
		"a budget is used up": {func(h *house) {
			h.budgets = []model.PDB{{Namespace: "default", Name: "web", Selector: &model.Selector{MatchLabels: map[string]string{"app": "web"}}}}
		}, disruption.DisruptionBudget},
		"another budget": {func(h *house) {
			all := &model.Selector{}
			h.budgets = []model.PDB{{Namespace: "default", Name: "a", Selector: all, DisruptionsAllowed: 1}, {Namespace: "default", Name: "b", Selector: all, DisruptionsAllowed: 1}}
		}, disruption.TooManyBudgets},
		"the node is being deleted": {func(h *house) { h.nodes["n0"].Node.DeletedUnix = h.now }, disruption.Ending},
		"it holds no more": {func(h *house) {
			h.holds = func(disruption.Input, *model.Command) []model.KeptReason {
				return []model.KeptReason{{Code: disruption.Unplaceable, Message: "no place"}}
			}
		}, disruption.Unplaceable},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, 3)
			h.wants(planned(model.ReasonUnderutilized, 1, "n0", "n1"))
			h.check()
			test.change(h)
			h.pass(30)
			if c := h.command(); c.State != model.CommandUndone || c.FailureCode != test.code || c.FailureMessage == "" {
				t.Errorf("%+v", c)
			}
			drained(t, h)
			untouched(t, h)
			if reported := h.reasons(); !slices.Contains(reported, "Node/n1 ConsolidationRejected") || !slices.Contains(reported, "NodeClaim/c-n0 ConsolidationRejected") || !slices.Contains(reported, "Node/n0 ConsolidationCandidate") {
				t.Errorf("told %q", reported)
			}
		})
	}
}

// What does not count: pods of daemons, pods that have ended or are going, budgets of others, and those with room.
func TestWhatDoesNotSpeakAgainstACommandAbortsNone(t *testing.T) {
	h := newHouse(t, 2)
	h.wants(planned(model.ReasonUnderutilized, 0, "n0"))
	h.check()
	h.addPod("n0", "daemon").OwnerKind = "DaemonSet"
	h.addPod("n0", "ended").Phase = model.Succeeded
	going := h.addPod("n0", "going")
	going.DeletedUnix, going.DoNotDisrupt = h.now+30, "true"
	invalid := &h.nodes["n0"].Pods[0]
	invalid.DoNotDisrupt = "yes"
	unready := &model.Selector{MatchLabels: map[string]string{"app": "web"}}
	h.budgets = []model.PDB{{Namespace: "other", Name: "a", Selector: unready}, {Namespace: "default", Name: "b", Selector: &model.Selector{MatchLabels: map[string]string{"app": "db"}}}, {Namespace: "default", Name: "c", Selector: unready, DisruptionsAllowed: 1}}
	h.pass(30)
	drained(t, h, "c-n0")
}

// B2: what landed between decision and taint is seen, since nodes are read after they were tainted.
func TestB2PodThatLandsBetweenDecisionAndTaintKeepsItsNode(t *testing.T) {
	for _, reason := range []string{model.ReasonEmpty, model.ReasonUnderutilized, model.ReasonDrifted, model.ReasonExpired} {
		t.Run(reason, func(t *testing.T) {
			h := newHouse(t, 2)
			h.before = func(op, about string) {
				if op == "taint" && about == "n0" && len(h.nodes["n0"].Pods) == 1 {
					h.addPod("n0", "vip").DoNotDisrupt = "true"
				}
			}
			h.wants(planned(reason, 0, "n0"))
			h.check()
			h.pass(60)
			drained(t, h)
			untouched(t, h)
			if c := h.command(); c.State != model.CommandUndone {
				t.Errorf("%+v", c)
			}
		})
	}
}

// B2: the annotation may come while replacements start, long after the first check.
func TestB2AnnotationThatComesWhileReplacementsStart(t *testing.T) {
	h := newHouse(t, 2)
	h.wants(planned(model.ReasonDrifted, 1, "n0"))
	h.check()
	h.pass(10)
	h.nodes["n0"].Pods[0].DoNotDisrupt = "true"
	h.pass(60)
	if c := h.command(); c.State != model.CommandUndone || c.FailureCode != disruption.PodDoNotDisrupt {
		t.Errorf("%+v", c)
	}
	drained(t, h)
	untouched(t, h)
}

// F137: with a terminationGracePeriod what drifted goes though pods would keep it.
func TestDriftedNodeWithAGracePeriodGoesWhateverItsPodsSay(t *testing.T) {
	h := newHouse(t, 2)
	grace := int64(300)
	h.change("c-n0", func(c *model.Claim) { c.GraceSeconds = &grace })
	h.nodes["n0"].Pods[0].DoNotDisrupt = "1h" // by the hour, so that the test cluster's own check of B2 is not meant
	h.wants(planned(model.ReasonDrifted, 0, "n0"))
	h.check()
	drained(t, h, "c-n0")
}

// Of empty nodes those that got pods stay, and the others go all the same.
func TestOfEmptyNodesThoseThatGotPodsStay(t *testing.T) {
	h := newHouse(t, 4)
	for _, node := range []string{"n0", "n1", "n2"} {
		h.nodes[node].Pods = nil
	}
	h.publish()
	h.addPod("n1", "late")
	h.wants(planned(model.ReasonEmpty, 0, "n0", "n1", "n2"))
	h.check()
	drained(t, h, "c-n0", "c-n2")
	untouched(t, h)
	if c := h.command(); c.State != model.CommandDone || h.claim("c-n1").Command != "" {
		t.Errorf("%+v", c)
	}
	if !slices.Contains(h.reasons(), "Node/n1 DisruptionBlocked") {
		t.Errorf("told %q", h.reasons())
	}
}

// B6: a node of the same name that is another is never tainted, and takes the command with it.
func TestB6RecreatedNodeIsNeverTouched(t *testing.T) {
	h := newHouse(t, 2)
	h.before = func(op, _ string) {
		if op == "commit" {
			h.nodes["n0"].Node.UID = "u-other"
		}
	}
	h.wants(planned(model.ReasonDrifted, 0, "n0"))
	h.check()
	if tainted(&h.nodes["n0"].Node) {
		t.Error("the other node is tainted")
	}
	drained(t, h)
	if c := h.command(); c.State != model.CommandUndone || c.FailureCode != "NodeGone" {
		t.Errorf("%+v", c)
	}
	h = newHouse(t, 2) // and when it was tainted already
	h.wants(planned(model.ReasonDrifted, 1, "n0"))
	h.check()
	h.nodes["n0"].Node.UID, h.nodes["n0"].Node.Taints = "u-other", nil
	h.pass(90)
	drained(t, h)
	if c := h.command(); tainted(&h.nodes["n0"].Node) || c.State != model.CommandUndone {
		t.Errorf("%+v", c)
	}
}

// A target that ends by itself is left to that; the others go on, and what is ending is not touched.
func TestTargetsThatEndByThemselvesAreNoFailure(t *testing.T) {
	h := newHouse(t, 3)
	h.wants(planned(model.ReasonUnderutilized, 1, "n0", "n1"))
	h.check()
	end := func(name string) {
		h.change(name, func(c *model.Claim) {
			c.State, c.FailureCode, c.Drain = model.Draining, model.EndedSpotInterrupted, &model.Drain{SinceUnix: h.now, DeadlineUnix: h.now + 120}
		})
	}
	end("c-n0")
	h.pass(90)
	drained(t, h, "c-n0", "c-n1")
	if c := h.command(); c.State != model.CommandDone || h.claim("c-n0").FailureCode != model.EndedSpotInterrupted || h.claim("c-n1").FailureCode != model.ReasonUnderutilized {
		t.Errorf("%+v", c)
	}

	h = newHouse(t, 2) // all of them
	h.wants(planned(model.ReasonUnderutilized, 1, "n0"))
	h.check()
	end("c-n0")
	h.pass(30)
	if c := h.command(); c.State != model.CommandUndone || c.FailureCode != "TargetsEnded" || !tainted(&h.nodes["n0"].Node) {
		t.Errorf("%+v; the drain's taint is there: %v", c, tainted(&h.nodes["n0"].Node))
	}
}

// Stops and a pause undo what is open, as long as it can be undone; nothing new is begun.
func TestStopsUndoWhatIsOpen(t *testing.T) {
	for name, stop := range map[string]func(h *house){
		"region": func(h *house) { must(t, h.ledger.Stop(t.Context(), h.reg(), model.Stop{Scope: model.StopRegion})) },
		"cluster": func(h *house) {
			must(t, h.ledger.Stop(t.Context(), h.reg(), model.Stop{Scope: model.StopCluster, Why: "sale"}))
		},
		"pool": func(h *house) {
			must(t, h.ledger.Stop(t.Context(), h.reg(), model.Stop{Scope: model.StopPool, Pool: "web"}))
		},
		"pause": func(h *house) {
			reg := h.reg()
			reg.Paused = true
			must(t, h.ledger.Register(t.Context(), reg))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, 3)
			h.wants(planned(model.ReasonUnderutilized, 0, "n0"), planned(model.ReasonDrifted, 1, "n1"))
			h.check()
			stop(h)
			h.pass(61)
			drained(t, h)
			untouched(t, h)
			for _, c := range h.load().Commands {
				if c.State != model.CommandUndone || c.FailureCode != "Stopped" && c.FailureCode != "Paused" {
					t.Errorf("%+v", c)
				}
			}
		})
	}
	h := newHouse(t, 2)
	must(t, h.ledger.Stop(t.Context(), h.reg(), model.Stop{Scope: model.StopPool, Pool: "other"}))
	h.wants(planned(model.ReasonDrifted, 0, "n0"))
	h.check()
	drained(t, h, "c-n0")
}

// D7: a look that disrupts nothing is kept once an hour with what was asked, so that a version that would disrupt more can be asked the
// same; a cluster without nodes leaves nothing.
func TestD7ALookThatGivesNothingBackIsKeptEachHour(t *testing.T) {
	h := newHouse(t, 2)
	h.plan = func(disruption.Input) model.DisruptPlan {
		return model.DisruptPlan{Kept: []model.KeptNode{{Node: "n0", Reasons: []model.KeptReason{{Code: disruption.NoSavings}}}}}
	}
	kept := func(want int, when string) {
		t.Helper()
		if out := h.check(); out.Decision != "" || len(h.decisions) != want {
			t.Fatalf("%s: %d looks are kept, want %d: %+v", when, len(h.decisions), want, out)
		}
	}
	kept(1, "at first")
	h.pass(1801) // it is planned again by then
	kept(1, "half an hour later")
	h.pass(1801)
	kept(2, "an hour later")
	if h.plans != 3 {
		t.Errorf("it was planned %d times, want 3: the test shows nothing", h.plans)
	}
	for _, d := range h.decisions {
		if d.ID == "" || d.Input == nil || d.Recorded == nil || len(d.Committed) > 0 || len(d.Plan.Kept) != 1 {
			t.Errorf("%+v", d)
		}
	}
	h.plan = nil
	h.pass(3601)
	kept(2, "without nodes")
}

// Whether a node has been left in peace for long enough is said on its NodeClaim, once, and taken back when it is not so any more.
func TestQuietNodesAreShown(t *testing.T) {
	h := newHouse(t, 3)
	quiet := []string{"c-n0", "c-n2"}
	h.plan = func(disruption.Input) model.DisruptPlan {
		return model.DisruptPlan{Quiet: quiet, Kept: []model.KeptNode{{Node: "n0", Reasons: []model.KeptReason{{Code: disruption.NoSavings}}}}}
	}
	shown := func(when string, said int, want string) {
		t.Helper()
		h.check()
		got := ""
		for _, name := range []string{"c-n0", "c-n1", "c-n2"} {
			if h.objects[name].quiet == "True" {
				got += name + " "
			}
		}
		if got != want || h.quieted != said {
			t.Errorf("%s: quiet are %q, said %d times; want %q, %d", when, got, h.quieted, want, said)
		}
	}
	shown("at first", 2, "c-n0 c-n2 ")
	h.pass(1801)
	shown("nothing has changed", 2, "c-n0 c-n2 ")
	quiet = []string{"c-n1", "c-n2"}
	h.pass(1801)
	shown("others are quiet", 4, "c-n1 c-n2 ")
	if h.plans < 3 { // what is written makes the next check one more
		t.Errorf("it was planned %d times: the test shows nothing", h.plans)
	}
}

// M9: when a pod last came to a node or left it is on its NodeClaim, written once for each time that the watcher saw,
// and never for a node of which it saw nothing.
func TestM9LastPodEventIsShown(t *testing.T) {
	h := newHouse(t, 3)
	h.plan = func(disruption.Input) model.DisruptPlan { return model.DisruptPlan{} }
	shown := func(when string, said int, n0, n1 int64) {
		t.Helper()
		h.check()
		if a, b, c := h.objects["c-n0"].podEvent, h.objects["c-n1"].podEvent, h.objects["c-n2"].podEvent; a != n0 ||
			b != n1 || c != 0 || h.podEvents != said {
			t.Errorf("%s: %d, %d, %d, said %d times; want %d, %d, 0, %d", when, a, b, c, h.podEvents, n0, n1, said)
		}
	}
	first := h.now - 40
	h.nodes["n0"].Node.PodEventUnix, h.nodes["n1"].Node.PodEventUnix = first, first+10
	h.publish()
	shown("at first", 2, first, first+10)
	h.pass(1801)
	shown("nothing has changed", 2, first, first+10)
	h.nodes["n1"].Node.PodEventUnix = first + 30
	h.pass(1801)
	shown("a pod has left", 3, first, first+30)
	h.nodes["n0"].Node.PodEventUnix = 0 // a watcher that has seen nothing since it began
	h.pass(1801)
	shown("the watcher knows nothing", 3, first, first+30)
}

// CT-07: a zonal shift that was recorded closes its zone for plans, and makes the next run plan anew; over, it closes
// nothing.
func TestCT07ZonalShiftsAreAskedBy(t *testing.T) {
	h := newHouse(t, 2)
	var asked []model.UnavailableOffering
	h.plan = func(in disruption.Input) model.DisruptPlan {
		asked = in.UnavailableOfferings
		return model.DisruptPlan{}
	}
	h.check()
	plans := h.plans
	shift := model.ZonalShift{ZoneID: "euc1-az1", SinceUnix: h.now, UntilUnix: h.now + 600}
	must(t, world.ZonesLedger{Ledger: h.ledger}.PutShifts(t.Context(), cluster, model.ZonalShifts{Managed: true,
		Shifts: []model.ZonalShift{shift}}))
	h.check()
	if h.plans == plans || len(asked) != 1 || asked[0].ZoneID != shift.ZoneID ||
		asked[0].Reason != model.ReasonZonalShift {
		t.Errorf("planned %d times, by %+v", h.plans-plans, asked)
	}
	h.pass(601)
	if h.check(); len(asked) != 0 {
		t.Errorf("after its end it is planned by %+v", asked)
	}
}

// A pause begins nothing.
func TestPausedClusterIsLeftAlone(t *testing.T) {
	h := newHouse(t, 2)
	reg := h.reg()
	reg.Paused = true
	must(t, h.ledger.Register(t.Context(), reg))
	h.wants(planned(model.ReasonEmpty, 0, "n0"))
	if out := h.check(); out.Undecided == "" || h.plans != 0 || len(h.load().Commands) != 0 {
		t.Errorf("%+v, planned %d times", out, h.plans)
	}
}

// B9: nothing is decided by a snapshot nobody has confirmed for 10 s, by one that is older than one already decided by, nor by
// one whose watcher's clock is ahead; what is on its way waits for a fresh one.
func TestB9NothingIsDecidedByAnOldSnapshot(t *testing.T) {
	h := newHouse(t, 2)
	h.wants(planned(model.ReasonEmpty, 0, "n0"))
	h.blind = true
	h.now += 11
	if out := h.check(); !strings.Contains(out.Undecided, "11 s old") || h.plans != 0 || len(h.hints) != 1 {
		t.Errorf("%+v, %d hints", out, len(h.hints))
	}
	h.now += 60
	if out := h.check(); out.Undecided == "" || h.plans != 0 {
		t.Errorf("%+v", out)
	}
	h.now -= 100
	if out := h.check(); !strings.Contains(out.Undecided, "ahead") || h.plans != 0 {
		t.Errorf("%+v", out)
	}

	h = newHouse(t, 3)
	h.wants(planned(model.ReasonUnderutilized, 0, "n0"))
	h.check()
	h.publish()
	h.blind = true
	h.pass(120)
	if c := h.command(); c.State != model.CommandCommitted {
		t.Errorf("without a snapshot the command is %s", c.State)
	}
	h.blind = false
	h.pass(65)
	drained(t, h, "c-n0")

	h = newHouse(t, 3)
	h.wants(planned(model.ReasonDrifted, 1, "n0"))
	h.published.Seq = 40
	h.publish()
	h.check()
	old := *h.published
	old.Seq = 7
	old.Epoch = 1
	h.published = &old
	h.blind = true
	plans := h.plans
	if out := h.checkAt(1, 7); !strings.Contains(out.Undecided, "older than one that was used already") || h.plans != plans {
		t.Errorf("%+v", out)
	}
}

// B9: a watcher whose clock is ahead stops. What it said last is as old as it is, also once the disruption function's clock has come to its time; a
// watcher that was set right, and one that leads after it, is believed.
func TestB9ASignOfLifeByAClockThatWasAheadDoesNotBecomeFresh(t *testing.T) {
	for name, later := range map[string]struct {
		epoch, heartbeat, after int64 // what the manifest says, and how long after the first check
		believed                bool
	}{
		"it stops":                            {1, 60, 65, false},
		"it stops a beat later":               {1, 70, 75, false},
		"it goes on, as far ahead":            {1, 120, 60, false},
		"it is set right":                     {1, 60 + 9, 60 + 10, false}, // nobody can tell this from the one that stopped, at first
		"it is set right before its old time": {1, 9, 10, true},
		"another leads":                       {2, 60, 65, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, 2)
			h.wants(planned(model.ReasonEmpty, 0, "n0"))
			h.blind = true
			begin, epoch, seq := h.now, h.published.Epoch, h.published.Seq
			says := func(epoch, heartbeat int64) string {
				h.rewound = &model.Manifest{Cluster: cluster, Epoch: epoch, HeadSeq: seq, HeartbeatAt: begin + heartbeat}
				return h.check().Undecided
			}
			if why := says(epoch, 60); !strings.Contains(why, "60 s ahead") {
				t.Fatalf("%q", why)
			}
			h.now = begin + later.after
			if why := says(epoch+later.epoch-1, later.heartbeat); (why == "") != later.believed {
				t.Errorf("%q", why)
			}
			if later.believed {
				return
			}
			for range 3 { // a clock that is right is believed once two looks in a row have shown it
				h.now += 10
				if why := says(epoch, h.now-begin-1); why == "" {
					return
				}
			}
			t.Error("a watcher whose clock is right again is not believed")
		})
	}
}

// checkAt runs with the manifest put back, as after the restore of a table.
func (h *house) checkAt(epoch, seq int64) disrupt.Outcome {
	h.t.Helper()
	h.rewound = &model.Manifest{Cluster: cluster, Epoch: epoch, HeadSeq: seq, HeartbeatAt: h.now}
	defer func() { h.rewound = nil }()
	if err := h.run(nil, true); err != nil {
		h.t.Fatal(err)
	}
	return h.outcome
}

// A watcher with no instance of ours to watch says each half minute that it lives; that is enough where nothing can be disrupted.
func TestAnOlderHeartbeatIsEnoughWhereNothingCanBeGivenBack(t *testing.T) {
	for nodes, undecided := range map[int]bool{0: false, 1: true} {
		h := newHouse(t, nodes)
		h.now += 30
		if out := h.check(); strings.Contains(out.Undecided, "last heartbeat is 30 s old") != undecided || undecided != (out.Undecided != "") {
			t.Errorf("%d nodes, a heartbeat of 30 s ago: undecided %q", nodes, out.Undecided)
		}
		h.now += 16
		if out := h.check(); out.Undecided == "" {
			t.Errorf("%d nodes, a heartbeat of 46 s ago is believed", nodes)
		}
	}
}

// R44: where there is nothing that could be disrupted a check that found nothing is good for as long as the cluster is taken to sleep,
// less a minute, in which the next check says so anew.
func TestR44AnEmptyClusterIsLookedAtBeforeItIsTakenToBeAwake(t *testing.T) {
	h := newHouse(t, 0)
	h.pass(60)
	first := h.load().Disrupt
	if h.plans == 0 || !first.Empty {
		t.Fatalf("%d plans, %+v", h.plans, first)
	}
	checks := map[int64]bool{}
	for range 20 {
		h.pass(60)
		ledger := h.load()
		checks[ledger.Disrupt.AtUnix] = true
		if ledger.Disrupt.ResyncDue(ledger.Manifest, h.now, "2026-03-01T12:01:00Z") {
			t.Fatalf("%d s after the last look it is taken to be awake", h.now-ledger.Disrupt.AtUnix)
		}
	}
	if len(checks) != 3 {
		t.Errorf("%d looks in 21 minutes, want 3", len(checks))
	}
}

// R44: a check that found nothing is remembered, until something changes or its time has come; one that only budgets constrained
// is looked at again as soon as the next window opens.
func TestR44NothingToDoIsRememberedNoLongerThanItIsTrue(t *testing.T) {
	h := newHouse(t, 3)
	h.plan = func(in disruption.Input) model.DisruptPlan {
		if in.NowUnix < began+200 {
			return model.DisruptPlan{Constrained: true, ReplanUnix: began + 200}
		}
		return model.DisruptPlan{Constrained: true, ReplanUnix: began + 2000}
	}
	h.pass(190)
	if h.plans != 1 {
		t.Errorf("planned %d times", h.plans)
	}
	h.pass(15)
	if h.plans != 2 {
		t.Errorf("planned %d times once its time had come", h.plans)
	}
}

// R44: what frees a budget may show in the ledger alone, such as a claim whose node was gone before.
func TestR44BudgetThatTheLedgerFreesIsSeenWithTheNextTick(t *testing.T) {
	h := newHouse(t, 3)
	h.plan = func(in disruption.Input) model.DisruptPlan {
		for _, claim := range in.Claims {
			if claim.Name == "c-n1" {
				return model.DisruptPlan{Constrained: true, ReplanUnix: began + 5000}
			}
		}
		return model.DisruptPlan{Commands: []model.PlannedCommand{planned(model.ReasonDrifted, 0, "n0")}}
	}
	h.pass(61)
	h.lose("c-n1")
	h.pass(60)
	if h.claim("c-n0").State != model.Draining {
		t.Errorf("planned %d times\n%s", h.plans, h.state())
	}
}

// R44: an offering that is not unavailable any more may have nodes replaced by it.
func TestR44OfferingThatIsAvailableAgainIsSeenWithTheNextTick(t *testing.T) {
	h := newHouse(t, 3)
	must(t, h.ledger.MarkUnavailable(t.Context(), h.reg(), []model.UnavailableOffering{{OfferingKey: model.OfferingKey{InstanceType: "m5.large", Zone: "a", CapacityType: model.Spot}, AtUnix: h.now, UntilUnix: h.now + 30, ForgetUnix: h.now + 100, Failures: 1}}))
	h.plan = func(disruption.Input) model.DisruptPlan { return model.DisruptPlan{ReplanUnix: began + 2000} }
	h.pass(90)
	if h.plans != 1 {
		t.Fatalf("planned %d times", h.plans)
	}
	h.pass(60)
	if h.plans != 2 {
		t.Errorf("planned %d times once the offering was available", h.plans)
	}
}

func TestR44WindowThatOpensIsLookedAtThen(t *testing.T) {
	h := newHouse(t, 3)
	opens := began + 400
	h.nodes["n0"].Pods = nil
	h.publish()
	h.plan = func(in disruption.Input) model.DisruptPlan {
		if in.NowUnix < opens {
			return model.DisruptPlan{Constrained: true, ReplanUnix: opens}
		}
		return model.DisruptPlan{Commands: []model.PlannedCommand{planned(model.ReasonEmpty, 0, "n0")}}
	}
	for h.claim("c-n0").State == model.Initialized && h.now < opens+60 {
		h.pass(1)
	}
	if h.now < opens || h.now > opens+2 {
		t.Errorf("drained %d s after the window opened", h.now-opens)
	}
}

// R44: what budgets constrain without an end in sight is looked at each minute.
func TestR44ConstrainedWithoutAnEndInSightIsNotRemembered(t *testing.T) {
	h := newHouse(t, 3)
	h.plan = func(disruption.Input) model.DisruptPlan { return model.DisruptPlan{Constrained: true} }
	h.pass(300)
	if h.plans != 5 {
		t.Errorf("planned %d times in 5 minutes", h.plans)
	}
}

// An idle cluster costs two reads a minute, and the ledger is read every few minutes all the same.
func TestIdleClusterCostsTwoReads(t *testing.T) {
	h := newHouse(t, 3)
	h.pass(60)
	if h.plans != 1 || h.happened("load") != 1 {
		t.Fatalf("planned %d times", h.plans)
	}
	before := len(h.log)
	h.pass(240)
	if got := h.log[before:]; !slices.Equal(got, []string{"glance", "glance", "glance", "glance"}) {
		t.Errorf("%q", got)
	}
	h.pass(120)
	if h.plans != 1 || h.happened("load") != 2 {
		t.Errorf("planned %d times, loaded %d times", h.plans, h.happened("load"))
	}
	h.change("c-n0", func(c *model.Claim) { c.Drift, c.DriftUnix = "NodePoolDrifted", h.now }) // no snapshot shows that
	h.hints = append(h.hints, hint{"drifted/1", h.now})
	h.pass(1)
	if h.plans != 2 {
		t.Errorf("planned %d times after a claim has drifted", h.plans)
	}
}

// A tick is no hint for a cluster where a check tells that a run would find nothing to do, and is one where it does not, or where
// nobody can tell.
func TestTickLeavesIdleClustersAlone(t *testing.T) {
	h := newHouse(t, 3)
	fan := func(want int) {
		t.Helper()
		h.hints = nil
		sent, err := h.flow(nil).FanOut(t.Context(), "2026-03-01T12:00:00Z")
		if err != nil || sent != want || len(h.hints) != want {
			t.Errorf("%d sent, %v, %d hints; want %d", sent, err, len(h.hints), want)
		}
	}
	fan(1) // nobody has looked yet
	h.pass(60)
	fan(0)
	h.nodes["n0"].Pods = nil
	h.publish() // another snapshot
	fan(1)
	h.pass(60)
	fan(0)
	h.errs["glance"] = errors.New("throttled")
	fan(1)
	delete(h.errs, "glance")
	h.now += 300 // the memory of the look is too old
	fan(1)
}

// What was found of a cluster says whether there was anything of ours in it.
func TestLookNotesWhetherAClusterIsEmpty(t *testing.T) {
	for nodes, want := range map[int]bool{0: true, 1: false} {
		h := newHouse(t, nodes)
		h.pass(60)
		if _, notes, _, err := h.ledger.Peek(t.Context(), cluster); err != nil || notes.Ledger == "" || notes.Empty != want {
			t.Errorf("%d nodes: %+v, %v", nodes, notes, err)
		}
	}
}

// B3, S30: of two runs that went by the same turn of a pool one is refused, and looks again.
func TestB3S30SecondCommitOfTheSameBudgetVersionIsRefused(t *testing.T) {
	h := newHouse(t, 4)
	h.wants(planned(model.ReasonEmpty, 0, "n0"), planned(model.ReasonEmpty, 0, "n1"))
	for _, node := range []string{"n0", "n1", "n2"} {
		h.nodes[node].Pods = nil
	}
	h.publish()
	once := false
	h.before = func(op, _ string) {
		if op == "commit" && !once { // another took the turn, and committed what this one knows nothing of
			once = true
			fence, err := h.ledger.AcquireLease(t.Context(), cluster, "other", "other", h.now, h.now+1)
			must(t, err)
			claim := h.claim("c-n2")
			command := model.Command{ID: "X", Version: 1, State: model.CommandCommitted, Reason: model.ReasonEmpty, SinceUnix: h.now, Targets: []model.Target{{Claim: "c-n2", Pool: "web", Node: "n2", NodeUID: "u-n2"}}}
			must(t, h.ledger.Commit(t.Context(), fence, command, []model.Claim{claim}, []model.BudgetVersion{{Pool: "web"}}))
		}
	}
	out := h.check()
	if out.Conflicts != 1 || len(out.Committed) != 0 || len(h.load().Commands) != 1 {
		t.Errorf("%+v", out)
	}
	h.pass(10)
	drained(t, h, "c-n0", "c-n1", "c-n2")
	if budgetVersions := h.load().BudgetVersions; len(budgetVersions) != 1 || budgetVersions[0].Version != 3 {
		t.Errorf("turns %+v", budgetVersions)
	}
}

// A command whose commit may have happened is committed once.
func TestC5CommitWhoseAnswerIsLostHappensOnce(t *testing.T) {
	h := newHouse(t, 3)
	h.nodes["n0"].Pods = nil
	h.publish()
	h.wants(planned(model.ReasonEmpty, 0, "n0"), planned(model.ReasonDrifted, 1, "n1"))
	h.lost = "commit"
	h.check()
	h.pass(90)
	drained(t, h, "c-n0", "c-n1")
	if n := len(h.load().Commands); n != 2 {
		t.Errorf("%d commands", n)
	}
}

// While something does not answer nothing is undone, untainted or drained; afterwards it goes on.
func TestOutagesHoldEverythingWhereItIs(t *testing.T) {
	down := errors.New("no answer")
	for _, what := range [][]string{
		{"load"}, {"glance"}, {"connect"}, {"read"}, {"taint"}, {"budgets"}, {"snapshot"}, {"machines"}, {"step"}, {"end"}, {"commit"}, {"recall"}, {"hint"},
		{"report"}, {"replace"}, {"drain"}, {"decision"}, {"read", "taint", "untaint", "report", "budgets"},
	} {
		t.Run(strings.Join(what, " "), func(t *testing.T) {
			h := newHouse(t, 4)
			h.nodes["n0"].Pods = nil
			h.publish()
			h.wants(planned(model.ReasonEmpty, 0, "n0"), planned(model.ReasonUnderutilized, 1, "n1", "n2"))
			for _, op := range what {
				h.errs[op] = down
			}
			_ = h.run(nil, true)
			h.pass(100)
			for _, c := range h.load().Commands {
				if c.State == model.CommandUndoing || c.State == model.CommandUndone {
					t.Errorf("undone for an outage: %+v", c)
				}
			}
			h.errs = map[string]error{}
			h.pass(180)
			drained(t, h, "c-n0", "c-n1", "c-n2")
		})
	}
}

// An outage that lasts while nodes are being disrupted to the scheduler ends with them disrupted.
func TestUndoingGoesOnAfterAnOutage(t *testing.T) {
	h := newHouse(t, 3)
	h.barren = true
	h.wants(planned(model.ReasonDrifted, 1, "n0"))
	h.check()
	h.errs["untaint"] = errors.New("no answer")
	h.pass(120)
	if c := h.command(); c.State != model.CommandUndoing || !tainted(&h.nodes["n0"].Node) {
		t.Errorf("%+v", c)
	}
	h.errs = map[string]error{}
	h.pass(65)
	untouched(t, h)
	if c := h.command(); c.State != model.CommandUndone {
		t.Errorf("%+v", c)
	}
}

// S12, B9: a watcher that lives and shows what was some time ago is not enough: the snapshot must show the taint.
func TestS12FrozenWatcherRevalidatesNoCommand(t *testing.T) {
	h := newHouse(t, 3)
	h.holds = func(disruption.Input, *model.Command) []model.KeptReason {
		t.Error("judged by a snapshot from before the command")
		return nil
	}
	h.wants(planned(model.ReasonUnderutilized, 0, "n0"))
	h.check()
	h.frozen = true
	h.pass(400)
	h.frozen = false
	h.pass(120)
	drained(t, h)
	untouched(t, h)
	if c := h.command(); c.FailureCode != "TooLate" {
		t.Errorf("%+v", c)
	}
}

// Who takes the taint off by hand does not have the node drained without it.
func TestTaintThatWasTakenOffIsPutOnAgainBeforeTheNodeIsDrained(t *testing.T) {
	for _, reason := range []string{model.ReasonDrifted, model.ReasonUnderutilized} {
		h := newHouse(t, 3)
		h.wants(planned(reason, 1, "n0"))
		h.check()
		h.pass(5)
		h.nodes["n0"].Node.Taints = nil
		h.pass(90)
		drained(t, h, "c-n0") // the test cluster sees to the taint
	}
}

// A claim that another command has is none of this one's.
func TestClaimOfAnotherCommandIsLeftAlone(t *testing.T) {
	h := newHouse(t, 3)
	h.wants(planned(model.ReasonDrifted, 1, "n0"))
	h.check()
	fence, err := h.ledger.AcquireLease(t.Context(), cluster, "other", "other", h.now, h.now+1)
	must(t, err)
	command := model.Command{ID: "Y", Version: 1, State: model.CommandCommitted, Reason: model.ReasonDrifted, SinceUnix: h.now, Targets: []model.Target{{Claim: "c-n1", Pool: "web", Node: "n1", NodeUID: "u-n1"}},
		Replacements: []model.PlannedClaim{{Name: "web-other", Pool: "web"}}}
	must(t, h.ledger.Commit(t.Context(), fence, command, []model.Claim{h.claim("c-n1")}, h.load().BudgetVersions))
	h.change("c-n0", func(c *model.Claim) { c.Command = "Y" })
	h.pass(25)
	for _, c := range h.load().Commands {
		if c.ID != "Y" && (c.State != model.CommandUndone || c.FailureCode != "TargetsEnded") {
			t.Errorf("%+v", c)
		}
	}
	if !tainted(&h.nodes["n0"].Node) || h.claim("c-n0").Command != "Y" {
		t.Errorf("what another command has was let go\n%s", h.state())
	}
}

// A command that cannot be found to hold does not keep its nodes for ever.
func TestCommandThatCannotBeRevalidatedIsUndone(t *testing.T) {
	h := newHouse(t, 3)
	h.wants(planned(model.ReasonUnderutilized, 0, "n0"))
	h.check()
	h.errs["machines"] = errors.New("no answer")
	h.pass(6 * 60)
	if c := h.command(); c.State != model.CommandUndone || c.FailureCode != "TooLate" {
		t.Errorf("%+v", c)
	}
	untouched(t, h)
}

// F150, C4: a taint nobody answers for is taken off; those of drains and of open commands are left.
func TestF150StrayTaintsAreTakenOff(t *testing.T) {
	h := newHouse(t, 4)
	taint := []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}}
	for _, node := range []string{"n0", "n1", "n2"} {
		h.nodes[node].Node.Taints = slices.Clone(taint)
		h.objects["c-"+node].reason = model.ReasonEmpty
	}
	h.change("c-n1", func(c *model.Claim) {
		c.State, c.FailureCode, c.Drain = model.Draining, model.EndedNodeDeleted, &model.Drain{SinceUnix: h.now}
	})
	h.change("c-n0", func(c *model.Claim) { c.Command = "of-long-ago" })
	h.nodes["n3"].Node.Taints = []model.Taint{{Key: "mine", Effect: model.NoSchedule}}
	h.nodes["n2"].Node.DeletedUnix = h.now
	h.publish()
	out := h.check()
	if out.Strays != 1 || tainted(&h.nodes["n0"].Node) || !tainted(&h.nodes["n1"].Node) || !tainted(&h.nodes["n2"].Node) || h.objects["c-n0"].reason != "" || h.objects["c-n1"].reason == "" {
		t.Errorf("%+v\n%s", out, h.state())
	}
	if len(h.nodes["n3"].Node.Taints) != 1 {
		t.Error("somebody else's taint is gone")
	}
	// One whose claim began to drain after the ledger was read.
	h.nodes["n0"].Node.Taints = slices.Clone(taint)
	h.publish()
	loads := 0
	h.before = func(op, _ string) {
		if op == "load" {
			if loads++; loads == 2 {
				h.change("c-n0", func(c *model.Claim) {
					c.State, c.FailureCode, c.Drain = model.Draining, model.EndedNodeDeleted, &model.Drain{SinceUnix: h.now}
				})
			}
		}
	}
	if out := h.check(); out.Strays != 0 || !tainted(&h.nodes["n0"].Node) {
		t.Errorf("%+v", out)
	}
}

// What could not be done is not forgotten for the sake of a check that found nothing else to do.
func TestF150StrayTaintThatCouldNotBeTakenOffIsTriedAgain(t *testing.T) {
	h := newHouse(t, 2)
	h.nodes["n0"].Node.Taints = []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}}
	h.publish()
	h.errs["untaint"] = errors.New("no answer")
	h.pass(70)
	h.errs = map[string]error{}
	h.pass(10)
	untouched(t, h)
}

// A node whose taint was taken off in this run is no stray, though the snapshot shows it still.
func TestUndoneCommandLeavesNoStrays(t *testing.T) {
	h := newHouse(t, 2)
	h.wants(planned(model.ReasonDrifted, 1, "n0"))
	h.check()
	h.publish()
	must(t, h.ledger.Stop(t.Context(), h.reg(), model.Stop{Scope: model.StopCluster}))
	if out := h.check(); out.Undone != 1 || out.Strays != 0 {
		t.Errorf("%+v", out)
	}
	untouched(t, h)
}

// F150, B2, B4, R43, C5: a process may die at any of its effects, before it or after it, and what comes of it in the end is the same.
func TestF150ProcessesMayDieAtAnyEffect(t *testing.T) {
	setups := map[string]func(h *house){
		"empty":     func(h *house) { h.wants(planned(model.ReasonEmpty, 0, "n0", "n1")) },
		"replaced":  func(h *house) { h.wants(planned(model.ReasonUnderutilized, 1, "n0", "n2")) },
		"two":       func(h *house) { h.wants(planned(model.ReasonDrifted, 2, "n2"), planned(model.ReasonEmpty, 0, "n0")) },
		"barren":    func(h *house) { h.barren = true; h.wants(planned(model.ReasonDrifted, 1, "n2")) },
		"blocked":   func(h *house) { h.wants(planned(model.ReasonEmpty, 0, "n0", "n3")) },
		"forbidden": func(h *house) { h.wants(planned(model.ReasonUnderutilized, 1, "n3", "n2")) },
	}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(setups)) {
		t.Run(name, func(t *testing.T) {
			begin := func() *house {
				h := newHouse(t, 5)
				h.nodes["n0"].Pods, h.nodes["n1"].Pods = nil, nil
				h.nodes["n3"].Pods[0].DoNotDisrupt = "1h"
				h.publish()
				setups[name](h)
				return h
			}
			h := begin()
			h.pass(240)
			want := h.state()
			untouched(t, h)
			// The k-th run dies at its n-th effect.
			for k := range 5 {
				for n := 1; ; n++ {
					died := false
					for _, after := range []bool{false, true} {
						h := begin()
						m := h.killing(k, n, after)
						if died = died || m.dead; !m.dead {
							continue
						}
						seen[m.names[len(m.names)-1]] = true
						h.pass(400)
						if got := h.state(); got != want {
							t.Errorf("run %d died at effect %d, %s (after it: %v):\n%s\nwant\n%s", k, n, m.names[len(m.names)-1], after, got, want)
						}
						untouched(t, h)
					}
					if !died {
						break
					}
				}
			}
		})
	}
	for _, effect := range disrupt.AllEffects {
		if !seen[effect] && effect != disrupt.EffectForget {
			t.Errorf("no process died at %q", effect)
		}
	}
}

// killing lets time pass until the k-th run has been, which dies at its n-th effect.
func (h *house) killing(k, n int, after bool) *mortal {
	h.t.Helper()
	m := &mortal{h: h, at: n, after: after}
	for runs := 0; runs <= k; {
		h.now++
		h.publish()
		h.provision()
		due := h.now == began+1 || h.now%60 == 0
		h.hints = slices.DeleteFunc(h.hints, func(k hint) bool { due = due || k.due <= h.now; return k.due <= h.now })
		if !due {
			if h.now > began+600 {
				return m
			}
			continue
		}
		var effects work.EffectHook
		if runs == k {
			effects = m
		}
		runs++
		_ = h.run(effects, true)
	}
	delete(h.errs, "release")
	if !m.dead {
		m.n = -1
	}
	return m
}

// The memory of a check that found nothing goes before the first commit, so that a process that dies right after it leaves a
// command that is looked after.
func TestF150CommandIsLookedAfterThoughNothingWasToDoBefore(t *testing.T) {
	h := newHouse(t, 3)
	h.nodes["n0"].Pods = nil
	h.publish()
	h.check()
	h.wants(planned(model.ReasonEmpty, 0, "n0"))
	m := &mortal{h: h, at: 2, after: true}
	h.change("c-n1", func(c *model.Claim) { c.DriftMessage = "x" }) // no snapshot shows that
	_ = h.run(m, true)
	if !slices.Equal(m.names, []string{disrupt.EffectForget, disrupt.EffectCommit}) {
		t.Fatalf("%q", m.names)
	}
	delete(h.errs, "release")
	h.pass(150)
	drained(t, h, "c-n0")
}

// A panic of planning or of one command stops nothing else.
func TestPanicOfOneCommandStopsNoOther(t *testing.T) {
	h := newHouse(t, 4)
	h.wants(planned(model.ReasonUnderutilized, 0, "n0"), planned(model.ReasonUnderutilized, 0, "n1"))
	h.holds = func(_ disruption.Input, c *model.Command) []model.KeptReason {
		if c.Targets[0].Node == "n0" {
			panic("n0")
		}
		return nil
	}
	h.check()
	h.pass(20)
	drained(t, h, "c-n1")
	h.holds = nil
	h.plan = func(disruption.Input) model.DisruptPlan { panic("planning") }
	h.pass(65)
	drained(t, h, "c-n0", "c-n1")
	if !slices.ContainsFunc(h.outcome.Problems, func(p string) bool { return strings.Contains(p, "planning: panic") }) {
		t.Errorf("%q", h.outcome.Problems)
	}
}

// Many commands of many nodes go side by side on goroutines.
func TestCommandsGoSideBySide(t *testing.T) {
	h := newHouse(t, 60)
	h.parallel = func(n int, do func(int)) { work.Parallel(n, 8, do) }
	var commands []model.PlannedCommand
	for i := range 20 {
		n := func(k int) string { return fmt.Sprintf("n%d", 3*i+k) }
		h.nodes[n(0)].Pods = nil
		commands = append(commands, planned(model.ReasonEmpty, 0, n(0)), planned(model.ReasonDrifted, 2, n(1), n(2)))
	}
	h.publish()
	h.wants(commands...)
	if out := h.check(); out.Done != 20 || out.Replacing != 20 || len(out.Committed) != 40 {
		t.Errorf("%+v", out)
	}
	h.pass(60)
	if n := h.happened("end Done"); n != 40 {
		t.Errorf("%d commands were carried out\n%s", n, h.state())
	}
}

// Another judge at work is no error; what somebody has seen change is looked at once it is done. A tick comes back, too, but later:
// the other may have died with the lease.
func TestHintThatMeetsAnotherRunComesBack(t *testing.T) {
	h := newHouse(t, 2)
	fence, err := h.ledger.AcquireLease(t.Context(), cluster, model.LeaseDisrupt, "other", h.now, h.now+60)
	must(t, err)
	if err := h.run(nil, true); err != nil || h.outcome.Skipped == "" || len(h.hints) != 1 {
		t.Errorf("%v %+v, %d hints", err, h.outcome, len(h.hints))
	}
	must(t, h.ledger.Release(t.Context(), fence))
	h.pass(5)
	if h.plans != 1 {
		t.Errorf("planned %d times", h.plans)
	}
}

// What somebody has seen change comes back for as long as a lease lasts and no longer: hints that meet each other each time would breed.
// One that comes for the first time beside one that has come back often is heard as such.
func TestHintThatMeetsAnotherRunComesBackAsLongAsALeaseLasts(t *testing.T) {
	h := newHouse(t, 2)
	_, err := h.ledger.AcquireLease(t.Context(), cluster, model.LeaseDisrupt, "dead", h.now, h.now+1000)
	must(t, err)
	request, began := disrupt.Request{Changed: true}, h.now
	for {
		must(t, h.asked(nil, request))
		if len(h.hints) == 0 {
			break
		}
		h.now, request = h.hints[0].due, disrupt.Request{}
		request.Take(wire.Hint{Tick: h.hints[0].key})
		h.hints = h.hints[1:]
	}
	if h.runs != 9 || h.now-began < 35 {
		t.Errorf("%d runs within %d s, want the first and eight more, for longer than a lease of 33 s", h.runs, h.now-began)
	}
	var r disrupt.Request
	for _, key := range []string{"due/busy/2/5", "again/7/1772366400", "drifted/1", "again/3/1772366400", "due/1772366400"} {
		r.Take(wire.Hint{Tick: key})
	}
	if want := (disrupt.Request{Changed: true}); r != want {
		t.Errorf("%+v, want %+v", r, want)
	}
}

// B4: a tick that meets the lease of a judge that died comes back until that is over, and not only with the next tick.
func TestB4TickThatMeetsTheLeaseOfADeadRunComesBack(t *testing.T) {
	h := newHouse(t, 2)
	_, err := h.ledger.AcquireLease(t.Context(), cluster, model.LeaseDisrupt, "dead", h.now, h.now+33)
	must(t, err)
	if err := h.run(nil, false); err != nil || h.outcome.Skipped == "" || len(h.hints) != 1 {
		t.Errorf("%v %+v, %d hints", err, h.outcome, len(h.hints))
	}
	if tick := 60 - h.now%60; tick > 32 && tick <= 50 {
		t.Fatalf("a tick is due in %d s: the test shows nothing", tick)
	}
	if h.pass(32); h.plans != 0 {
		t.Errorf("planned %d times while the lease ran", h.plans)
	}
	if h.pass(18); h.plans != 1 {
		t.Errorf("planned %d times within 50 s", h.plans)
	}
}

// Of however many hints one is left: runs do not breed.
func TestHintsOfWaitingCommandsDoNotMultiply(t *testing.T) {
	h := newHouse(t, 3)
	h.boots = 900
	h.wants(planned(model.ReasonDrifted, 1, "n0"))
	h.check()
	for range 10 {
		h.check()
	}
	runs := h.runs
	h.pass(600)
	if n := h.runs - runs; n < 30 || n > 45 {
		t.Errorf("%d runs in 10 minutes", n)
	}
}

// A look that is asked for sooner than it may come is remembered for as long as the hint takes that was sent for it: looks in between send
// none of their own. Each second somebody sees something change that turns out to change nothing here.
func TestR44LooksInBetweenSendNoHintsOfTheirOwn(t *testing.T) {
	h := newHouse(t, 3)
	h.plan = func(in disruption.Input) model.DisruptPlan { // some pod becomes quiet every few seconds
		return model.DisruptPlan{ReplanUnix: in.NowUnix + 7}
	}
	h.check()
	sent, most := 0, 0
	for range 60 {
		before := len(h.hints)
		h.check()
		sent += max(0, len(h.hints)-before)
		most = max(most, len(h.hints))
		h.pass(1)
	}
	if sent > 8 || most > 2 || h.plans > 8 {
		t.Errorf("in a minute %d looks sent %d hints, at most %d at a time, and %d planned; want one each 10 s", h.runs, sent, most, h.plans)
	}
}

// C1: while very many drains have just begun nobody learns why nodes stay; afterwards people do.
func TestC1_WhyNodesStayIsToldAfterARush(t *testing.T) {
	const drains = 21
	h := newHouse(t, drains+1)
	for i := range drains {
		h.change(fmt.Sprintf("c-n%d", i), func(c *model.Claim) { c.State, c.Drain = model.Draining, &model.Drain{SinceUnix: h.now} })
	}
	stays := fmt.Sprintf("n%d", drains)
	h.plan = func(disruption.Input) model.DisruptPlan {
		return model.DisruptPlan{Constrained: true, Kept: []model.KeptNode{{Node: stays, Reasons: []model.KeptReason{{Code: disruption.NoSavings, Message: "it is good"}}}}}
	}
	h.check()
	if len(h.events) > 0 {
		t.Errorf("in the rush people are told %q", h.reasons())
	}
	h.pass(60)
	if want := []string{"Node/" + stays + " Unconsolidatable", "NodeClaim/c-" + stays + " Unconsolidatable"}; !slices.Equal(h.reasons(), want) {
		t.Errorf("afterwards people are told %q, want %q", h.reasons(), want)
	}
}

// F149: people learn why a node stays, once in a quarter of an hour, and again when the reason changes.
func TestF149PeopleAreToldWhyNodesStay(t *testing.T) {
	h := newHouse(t, 4)
	code := disruption.NoSavings
	h.plan = func(disruption.Input) model.DisruptPlan {
		kept := func(node, code, message string) model.KeptNode {
			return model.KeptNode{Node: node, Reasons: []model.KeptReason{{Code: code, Message: message}}}
		}
		return model.DisruptPlan{Constrained: true, Kept: []model.KeptNode{
			kept("n0", code, "it is good"), kept("n1", disruption.PodDoNotDisrupt, "pod p"), kept("n2", disruption.NotQuiet, "q"), kept("n3", disruption.NodeBudget, "no room"),
		}}
	}
	want := []string{"Node/n0 Unconsolidatable", "Node/n1 DisruptionBlocked", "NodeClaim/c-n0 Unconsolidatable", "NodeClaim/c-n1 DisruptionBlocked", "NodePool/web DisruptionBlocked"}
	h.pass(60)
	if got := h.reasons(); !slices.Equal(got, want) || len(h.events) != len(want) {
		t.Errorf("told %q, want %q", got, want)
	}
	h.pass(13 * 60)
	if len(h.events) != len(want) {
		t.Errorf("told %d times", len(h.events))
	}
	code = disruption.Unplaceable
	h.pass(60)
	if len(h.events) != len(want)+2 {
		t.Errorf("told %d times once the reason had changed", len(h.events))
	}
	h.pass(3 * 60)
	if len(h.events) <= len(want)+2 {
		t.Errorf("told %d times after a quarter of an hour", len(h.events))
	}
}

// U44: of a class that the catalog function has not resolved, a node's event says that, and where to look.
func TestU44AClassThatIsNotResolvedIsSaidAsThat(t *testing.T) {
	for name, c := range map[string]struct {
		status model.ClassStatus
		want   string
	}{
		"never": {model.ClassStatus{}, "EC2NodeClass bottlerocket: it is not resolved yet; " +
			"its conditions say what is missing: kubectl describe ec2nodeclass bottlerocket"},
		"before its last change": {model.ClassStatus{ObservedGeneration: 1, ResolvedUnix: began},
			"EC2NodeClass bottlerocket: it is not resolved yet; its conditions"},
		"long ago": {model.ClassStatus{ObservedGeneration: 2, ResolvedUnix: began - 86_400},
			"EC2NodeClass bottlerocket: it was resolved 86420 s ago, and not since; " +
				"its conditions say what is missing: kubectl describe ec2nodeclass bottlerocket"},
	} {
		h := newHouse(t, 1)
		h.classes = []model.Class{{Name: "bottlerocket", UID: "u-class", Generation: 2, Status: c.status}}
		h.plan = disruption.Plan
		h.publish()
		h.pass(120)
		if !slices.ContainsFunc(h.events, func(e model.Event) bool {
			return e.Kind == "Node" && e.Reason == "DisruptionBlocked" && strings.Contains(e.Message, c.want)
		}) {
			t.Errorf("%s: told %+v", name, h.events)
		}
	}
}

// What cannot be looked at is an error, so that its hint comes back, and changes nothing.
func TestLookThatCannotBeMadeIsAnError(t *testing.T) {
	for _, op := range []string{"glance", "load", "connect"} {
		h := newHouse(t, 2)
		h.wants(planned(model.ReasonEmpty, 0, "n0"))
		h.errs[op] = fault.New(fault.Throttled, "", "slow down")
		if err := h.run(nil, true); !fault.Is(err, fault.Throttled) {
			t.Errorf("%s: %v", op, err)
		}
	}
}

// F18, X11: a snapshot that grew too old while it was planned by is not committed by.
func TestF18NothingIsCommittedByASnapshotThatGrewOld(t *testing.T) {
	for late, want := range map[int64]int{0: 1, 16: 0} {
		h := newHouse(t, 2)
		h.wants(planned(model.ReasonEmpty, 0, "n0"))
		plan := h.plan
		h.plan = func(in disruption.Input) model.DisruptPlan {
			h.now += late
			return plan(in)
		}
		must(t, h.run(nil, true))
		reported := slices.ContainsFunc(h.outcome.Problems, func(p string) bool { return strings.Contains(p, "became too old") })
		if n := len(h.load().Commands); n != want || reported != (want == 0) {
			t.Errorf("planning took %d s: %d commands, want %d: %q", late, n, want, h.outcome.Problems)
		}
	}
}
