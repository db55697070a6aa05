package audit

import (
	"slices"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// chosenStory is a story of two initialized instances of a pool that lets one node go at a time, and of a watcher that was heard.
func chosenStory() *story {
	after := int64(60)
	s := &story{at: world.Start}
	s.report(world.ObjectWritten{Kind: world.KindPool, Name: "web", Verb: "create", Pool: &model.Pool{Name: "web", Disruption: model.Disruption{
		ConsolidateAfterSeconds: &after, Budgets: []model.Budget{{Nodes: "1"}, {Nodes: "0", Schedule: "30 12 * * *", DurationSeconds: 600}},
	}}})
	for _, n := range []string{"1", "2"} {
		s.report(world.InstanceStarted{Cluster: world.Name, VisibleAt: s.at, Price: 100_000, Instance: model.Instance{ID: "i-" + n, Type: "m5.large", Zone: "a", Tags: map[string]string{
			"kubernetes.io/cluster/" + world.Name: "owned", tagPool: "web", tagIntent: n,
		}}})
		c := s.chosenClaim(n)
		s.report(world.LedgerWritten{Cluster: world.Name, Op: "advance", Claims: []world.ClaimChange{{After: c}}})
		s.chosenNode(n, false)
	}
	s.wait(10 * time.Minute)
	s.report(world.ManifestMoved{Cluster: world.Name, Epoch: 1, Seq: 5})
	return s
}

// decidedDespite has a command decided about a NodePool that names this alarm, a minute after alarm "errors" went on.
func (s *story) decidedDespite(name string) {
	after := int64(60)
	s.report(world.AlarmMoved{Name: "errors", On: true})
	s.report(world.ObjectWritten{Kind: world.KindPool, Name: "web", Verb: "update", Pool: &model.Pool{
		Name: "web", Annotations: map[string]string{model.AnnotationStopAlarms: name},
		Disruption: model.Disruption{ConsolidateAfterSeconds: &after, Budgets: []model.Budget{{Nodes: "1"}}},
	}})
	s.wait(time.Minute)
	s.report(world.ManifestMoved{Cluster: world.Name, Epoch: 1, Seq: 5})
	s.commit("1", nil)
}

func (s *story) chosenClaim(n string) *model.Claim {
	c := claimOf(n, 0, model.Initialized, 1, "i-"+n)
	c.InitializedUnix, c.Pods, c.Reserved = world.Start.Unix(), nil, nil
	return c
}

func (s *story) chosenNode(n string, taint bool) {
	node := &model.Node{Name: "n-" + n, UID: "u-" + n, ProviderID: "aws:///a/i-" + n, Ready: true, Labels: map[string]string{
		model.LabelNodePool: "web", model.LabelRegistered: "true", model.LabelInitialized: "true",
	}}
	if taint {
		node.Taints = []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}}
	}
	s.report(world.ObjectWritten{Kind: world.KindNode, Name: node.Name, UID: node.UID, Verb: "update", Node: node})
	s.entries[len(s.entries)-1].Actor = "disrupt-1"
}

// strays has the node of an instance not be ready, or be deleted, at version 7 of the API server, when the watcher has followed it to
// some version.
func (s *story) strays(n string, deleted bool, followed int64) {
	node := &model.Node{Name: "n-" + n, UID: "u-" + n, ProviderID: "aws:///a/i-" + n, Ready: deleted, Labels: map[string]string{
		model.LabelNodePool: "web", model.LabelRegistered: "true", model.LabelInitialized: "true",
	}}
	if deleted {
		node.DeletedUnix = s.at.Unix()
	}
	s.report(world.ObjectWritten{Kind: world.KindNode, Name: node.Name, UID: node.UID, Verb: "status", Version: 7, Node: node})
	s.watched(world.WatchFollowed{Cluster: world.Name, Version: followed})
	s.wait(2 * time.Minute)
	s.watched(world.ManifestMoved{Cluster: world.Name, Epoch: 1, Seq: 5})
}

// closes has people let no node of the pool go at version 7 of the API server, when the watcher has followed it to some version.
func (s *story) closes(followed int64) {
	after := int64(60)
	s.report(world.ObjectWritten{Kind: world.KindPool, Name: "web", Verb: "update", Version: 7, Pool: &model.Pool{Name: "web", Disruption: model.Disruption{
		ConsolidateAfterSeconds: &after, Budgets: []model.Budget{{Nodes: "0"}}}}})
	s.watched(world.WatchFollowed{Cluster: world.Name, Version: followed})
	s.wait(2 * time.Minute)
	s.watched(world.ManifestMoved{Cluster: world.Name, Epoch: 1, Seq: 5})
}

// watched is something the watcher does.
func (s *story) watched(fact world.Fact) {
	s.report(fact)
	s.entries[len(s.entries)-1].Actor = "watcher-1"
}

// commit records a command that disrupts the instance of that number.
func (s *story) commit(n string, change func(k *model.Command)) *model.Command {
	k := &model.Command{
		ID: "command-" + n, Version: 1, State: model.CommandCommitted, Reason: model.ReasonEmpty, Epoch: 1, Seq: 5, SinceUnix: s.at.Unix(),
		Targets: []model.Target{{Claim: "web-" + n + "-0", Pool: "web", Node: "n-" + n, NodeUID: "u-" + n}},
	}
	if change != nil {
		change(k)
	}
	before, after := s.chosenClaim(n), s.chosenClaim(n)
	after.Version, after.Command = 2, k.ID
	s.report(world.LedgerWritten{Cluster: world.Name, Op: "commit", Claims: []world.ClaimChange{{Before: before, After: after}}, Commands: []world.CommandChange{{After: k}}})
	return k
}

// end ends the command of an instance, whose claim is Draining for a reason.
func (s *story) end(n string, k *model.Command, reason string) {
	done := *k
	done.State, done.Version = model.CommandDone, k.Version+1
	before, after := s.chosenClaim(n), s.chosenClaim(n)
	before.Version, before.Command = 2, k.ID
	after.Version, after.Command, after.State, after.FailureCode = 3, k.ID, model.Draining, reason
	s.report(world.LedgerWritten{Cluster: world.Name, Op: "end", Claims: []world.ClaimChange{{Before: before, After: after}}, Commands: []world.CommandChange{{Before: k, After: &done}}})
}

// step has a command go on to a state, its claims being as they are.
func (s *story) step(k *model.Command, to model.CommandState) *model.Command {
	next := *k
	next.State, next.Version = to, k.Version+1
	s.report(world.LedgerWritten{Cluster: world.Name, Op: "step", Commands: []world.CommandChange{{Before: k, After: &next}}})
	return &next
}

// undone has an instance's command come to nothing, and its claim be free again.
func (s *story) undone(n string, k *model.Command) {
	k = s.step(k, model.CommandUndoing)
	next := *k
	next.State, next.Version = model.CommandUndone, k.Version+1
	before, after := s.chosenClaim(n), s.chosenClaim(n)
	before.Version, before.Command, after.Version = 2, k.ID, 3
	s.report(world.LedgerWritten{Cluster: world.Name, Op: "end", Claims: []world.ClaimChange{{Before: before, After: after}}, Commands: []world.CommandChange{{Before: k, After: &next}}})
}

// neverRan takes an instance out of the story.
func (s *story) neverRan(id string) {
	s.entries = slices.DeleteFunc(s.entries, func(e world.Entry) bool {
		started, ok := e.Fact.(world.InstanceStarted)
		return ok && started.Instance.ID == id
	})
}

// handedOver has a replacement of the command of instance 1 fail, and that instance be of another command from then on, which is in a
// state for two minutes.
func (s *story) handedOver(state model.CommandState) {
	k := s.commit("1", func(k *model.Command) {
		k.Reason, k.Replacements = model.ReasonUnderutilized, []model.PlannedClaim{{Name: "web-2-0", Price: 50_000}}
	})
	k = s.step(k, model.CommandReplacing)
	failed, gone := s.chosenClaim("2"), s.chosenClaim("2")
	failed.State, gone.Version, gone.State, gone.FailureCode = model.Launched, 2, model.Gone, "NoCapacity"
	s.neverRan("i-2")
	s.report(world.LedgerWritten{Cluster: world.Name, Op: "advance", Claims: []world.ClaimChange{{Before: failed, After: gone}}})
	s.undone("1", k)
	other := *k
	other.ID, other.Version, other.State, other.Reason, other.Replacements = "other", 1, model.CommandReplacing, model.ReasonDrifted, nil
	before, after := s.chosenClaim("1"), s.chosenClaim("1")
	before.Version, after.Version, after.Command = 3, 4, other.ID
	s.report(world.LedgerWritten{Cluster: world.Name, Op: "commit", Claims: []world.ClaimChange{{Before: before, After: after}}, Commands: []world.CommandChange{{Before: &other, After: &other}}})
	s.chosenNode("1", true)
	if state == model.CommandUndone {
		undone := other
		undone.Version, undone.State = 2, state
		s.report(world.LedgerWritten{Cluster: world.Name, Op: "end", Commands: []world.CommandChange{{Before: &undone, After: &undone}}})
	}
	for range 13 {
		s.wait(10 * time.Second)
		s.report(world.ManifestMoved{Cluster: world.Name, Epoch: 1, Seq: 5})
	}
}

// adopted has people delete the claim of a command's target, another adopted for its instance, and the command
// undone, which leaves the taint; stays = for good.
func (s *story) adopted(stays bool) {
	k := s.commit("1", nil)
	s.chosenNode("1", true)
	deleted := s.chosenClaim("1")
	deleted.Version = 2
	s.wait(time.Second)
	s.report(world.LedgerMeddled{Claim: deleted})
	change := world.ClaimChange{After: s.chosenClaim("1")}
	s.report(world.LedgerWritten{Cluster: world.Name, Op: "adopt", Claims: []world.ClaimChange{change}})
	s.step(s.step(k, model.CommandUndoing), model.CommandUndone)
	if !stays {
		s.chosenNode("1", false)
	}
	for range 20 {
		s.wait(10 * time.Second)
		s.report(world.ManifestMoved{Cluster: world.Name, Epoch: 1, Seq: 5})
	}
}

// turnRound has instance 2 be the replacement of one that is gone, by a command that came to an end, and be disrupted to save.
func (s *story) turnRound(end model.CommandState) { s.turnRoundAfter(end, func() {}) }

// turnRoundAfter is turnRound with something that happens in between.
func (s *story) turnRoundAfter(end model.CommandState, meanwhile func()) {
	first := &model.Command{ID: "first", Version: 1, State: model.CommandReplacing, Reason: model.ReasonUnderutilized, Epoch: 1, Seq: 5,
		Replacements: []model.PlannedClaim{{Name: "web-2-0", Pool: "web", Price: 50_000}, {Name: "spare-1-0", Pool: "spare", Price: 50_000}}}
	s.report(world.LedgerWritten{Cluster: world.Name, Op: "step", Commands: []world.CommandChange{{Before: first, After: first}}})
	ended := *first
	ended.State, ended.Version = end, 2
	s.report(world.LedgerWritten{Cluster: world.Name, Op: "end", Commands: []world.CommandChange{{Before: &ended, After: &ended}}})
	s.wait(time.Second)
	meanwhile()
	s.wait(10 * time.Minute)
	s.report(world.ManifestMoved{Cluster: world.Name, Epoch: 1, Seq: 5})
	s.commit("2", func(k *model.Command) { k.Reason = model.ReasonUnderutilized })
}

// Each rule about choices sees its breach, and nothing where all is well.
func TestRulesOfChoices(t *testing.T) {
	for name, c := range map[string]struct {
		report func(s *story)
		want   string
	}{
		"all is well": {func(s *story) {
			k := s.commit("1", nil)
			s.chosenNode("1", true)
			s.wait(time.Second)
			s.end("1", k, model.ReasonEmpty)
		}, ""},
		"B3 two of one": {func(s *story) {
			s.commit("1", nil)
			s.commit("2", nil)
		}, "B3"},
		"B3 one is not ready, and the snapshot shows it": {func(s *story) {
			s.strays("2", false, 7)
			s.commit("1", nil)
		}, "B3"},
		"one is not ready, and the watcher has not seen it": {func(s *story) {
			s.strays("2", false, 6)
			s.commit("1", nil)
		}, ""},
		"B3 a budget of none, and the snapshot shows it":        {func(s *story) { s.closes(8); s.commit("1", nil) }, "B3"},
		"a budget of none, and the watcher has not heard of it": {func(s *story) { s.closes(6); s.commit("1", nil) }, ""},
		"one is not ready, and that came after the snapshot": {func(s *story) {
			s.strays("2", false, 6)
			s.watched(world.WatchFollowed{Cluster: world.Name, Version: 7})
			s.commit("1", nil)
		}, ""},
		"B3 one is being deleted, and the snapshot shows it": {func(s *story) {
			s.strays("2", true, 8)
			s.commit("1", nil)
		}, "B3"},
		"one is being deleted, and the watcher has not seen it": {func(s *story) {
			s.strays("2", true, 6)
			s.commit("1", nil)
		}, ""},
		"B3 in a closed window": {func(s *story) {
			s.wait(21 * time.Minute)
			s.report(world.ManifestMoved{Cluster: world.Name, Epoch: 1, Seq: 5})
			s.commit("1", nil)
		}, "B3"},
		"B9 old": {func(s *story) {
			s.wait(20 * time.Second)
			s.commit("1", nil)
		}, "B9"},
		"B9 older than one before": {func(s *story) {
			s.end("1", s.commit("1", func(k *model.Command) { k.Seq = 5; s.chosenNode("1", true) }), model.ReasonEmpty)
			s.wait(2 * time.Second)
			s.commit("2", func(k *model.Command) { k.Seq = 4 })
		}, "B9"},
		"B10 saves too little": {func(s *story) {
			s.commit("1", func(k *model.Command) {
				k.Reason, k.Replacements = model.ReasonUnderutilized, []model.PlannedClaim{{Name: "web-r", Price: 99_500}}
			})
		}, "B10"},
		"B12 another size of consolidateAfter": {func(s *story) {
			after := int64(3600)
			s.report(world.ObjectWritten{Kind: world.KindPool, Name: "web", Verb: "update", Pool: &model.Pool{Name: "web", Disruption: model.Disruption{
				ConsolidateAfterSeconds: &after, Budgets: []model.Budget{{Nodes: "1"}}}}})
			s.wait(2 * time.Minute)
			s.report(world.ManifestMoved{Cluster: world.Name, Epoch: 1, Seq: 5})
			s.commit("1", nil)
		}, "B12"},
		"B4 emptied before replacements": {func(s *story) {
			k := s.commit("1", func(k *model.Command) {
				k.Reason, k.Replacements = model.ReasonUnderutilized, []model.PlannedClaim{{Name: "web-r", Price: 50_000}}
			})
			s.chosenNode("1", true)
			s.end("1", k, model.ReasonUnderutilized)
		}, "B4"},
		"somebody deletes the claim of a target before the command ends": {func(s *story) {
			k := s.commit("1", func(k *model.Command) {
				k.Reason, k.Replacements = model.ReasonUnderutilized, []model.PlannedClaim{{Name: "web-2-0", Price: 50_000}}
			})
			deleted := s.chosenClaim("1")
			deleted.Version = 2
			s.neverRan(deleted.InstanceID)
			s.report(world.LedgerMeddled{Claim: deleted})
			s.step(k, model.CommandDone)
		}, ""},
		"B2 never tainted": {func(s *story) { s.end("1", s.commit("1", nil), model.ReasonEmpty) }, "B2"},
		"tainted, and a patch that came late took that off": {func(s *story) {
			k := s.commit("1", nil)
			s.chosenNode("1", true)
			s.report(world.FaultInjected{Process: "disrupt-0", What: "happens later cluster.node"})
			s.chosenNode("1", false)
			s.end("1", k, model.ReasonEmpty)
		}, ""},
		"B2 tainted, and it was taken off again": {func(s *story) {
			k := s.commit("1", nil)
			s.chosenNode("1", true)
			s.chosenNode("1", false)
			s.end("1", k, model.ReasonEmpty)
		}, "B2"},
		"B2 a protected pod runs there": {func(s *story) {
			p := &model.Pod{Namespace: "default", Name: "p", UID: "p", NodeName: "n-1", Phase: model.Running, Ready: true, StartedUnix: world.Start.Unix()}
			s.report(world.ObjectWritten{Kind: world.KindPod, Name: p.Key(), UID: "p", Verb: "bind", Pod: p, Shape: &model.PodShape{DoNotDisrupt: "true"}})
			k := s.commit("1", nil)
			s.chosenNode("1", true)
			s.end("1", k, model.ReasonEmpty)
		}, "B2"},
		"B4 undone and tainted": {func(s *story) {
			k := s.commit("1", nil)
			s.chosenNode("1", true)
			s.undone("1", k)
		}, "B4"},
		"undone and tainted, and its claim was adopted since":               {func(s *story) { s.adopted(false) }, ""},
		"B4 undone and tainted for long, and its claim was adopted since":   {func(s *story) { s.adopted(true) }, "B4"},
		"F22 undone and tainted, for another command that is open for long": {func(s *story) { s.handedOver(model.CommandReplacing) }, ""},
		"F22 B4 undone and tainted, and the other command is undone, too":   {func(s *story) { s.handedOver(model.CommandUndone) }, "B4"},
		"undone and untainted": {func(s *story) {
			k := s.commit("1", nil)
			s.chosenNode("1", true)
			s.chosenNode("1", false)
			s.undone("1", k)
		}, ""},
		"C4 a command that stays where it is": {func(s *story) {
			s.commit("1", nil)
			s.wait(4 * time.Minute)
			s.report(world.ManifestMoved{Cluster: world.Name, Epoch: 1, Seq: 5})
		}, "C4"},
		"B9 found to hold long after the watcher's last word": {func(s *story) {
			k := s.commit("1", func(k *model.Command) {
				k.Reason, k.Replacements = model.ReasonUnderutilized, []model.PlannedClaim{{Name: "web-r", Price: 50_000}}
			})
			s.chosenNode("1", true)
			s.wait(2 * time.Minute)
			s.step(k, model.CommandReplacing)
		}, "B9"},
		"R38 what took the place of another is given back": {func(s *story) { s.turnRound(model.CommandDone) }, "R38"},
		"what took the place of another is given back, and its pool was changed": {func(s *story) {
			s.turnRoundAfter(model.CommandDone, func() {
				after := int64(60)
				s.report(world.ObjectWritten{Kind: world.KindPool, Name: "web", Verb: "update", Pool: &model.Pool{Name: "web", Disruption: model.Disruption{
					ConsolidateAfterSeconds: &after, Budgets: []model.Budget{{Nodes: "2"}}}}})
			})
		}, ""},
		"what took the place of another is given back, and the pool of a second replacement was changed": {func(s *story) {
			s.turnRoundAfter(model.CommandDone, func() {
				s.report(world.ObjectWritten{Kind: world.KindPool, Name: "spare", Verb: "update", Pool: &model.Pool{Name: "spare"}})
			})
		}, ""},
		"what was to take the place of another, and did not, is given back": {func(s *story) { s.turnRound(model.CommandUndone) }, ""},
		"D5 no reason": {func(s *story) {
			k := s.commit("1", nil)
			s.chosenNode("1", true)
			s.end("1", k, "")
		}, "D5"},
		"D5 another reason than the command's": {func(s *story) {
			k := s.commit("1", nil)
			s.chosenNode("1", true)
			s.end("1", k, model.ReasonDrifted)
		}, "D5"},
		"C4 tainted without a command": {func(s *story) { s.chosenNode("1", true) }, "C4"},
		"C4 tainted, and another of its name was judged": {func(s *story) {
			s.commit("1", func(k *model.Command) { k.Targets[0].NodeUID = "u-9" })
			s.chosenNode("1", true)
		}, "C4"},
		"D9 stopped": {func(s *story) {
			s.report(world.StopMoved{Cluster: world.Name, Stop: model.Stop{Scope: model.StopCluster}})
			s.wait(time.Minute)
			s.report(world.ManifestMoved{Cluster: world.Name, Epoch: 1, Seq: 5})
			s.commit("1", nil)
		}, "D9"},
		"D9 an alarm is on":                     {func(s *story) { s.decidedDespite("errors") }, "D9"},
		"D9 an alarm of another NodePool is on": {func(s *story) { s.decidedDespite("latency") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := chosenStory()
			c.report(s)
			var rules []string
			for _, v := range New(DefaultRules).Check(s.entries) {
				rules = append(rules, v.Rule)
			}
			if c.want == "" && len(rules) > 0 || c.want != "" && !slices.Contains(rules, c.want) {
				t.Errorf("broken: %v, want %q", rules, c.want)
			}
		})
	}
}

// The auditor's own reading of budgets: the strictest that is active and names the reason.
func TestAllowedReadsBudgetsByItself(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 35, 0, 0, time.UTC)
	for _, c := range []struct {
		budgets []model.Budget
		reason  string
		want    int
	}{
		{[]model.Budget{{Nodes: "10%"}}, model.ReasonEmpty, 2},
		{[]model.Budget{{Nodes: "5"}, {Nodes: "1", Reasons: []string{model.ReasonDrifted}}}, model.ReasonEmpty, 5},
		{[]model.Budget{{Nodes: "5"}, {Nodes: "1", Reasons: []string{model.ReasonDrifted}}}, model.ReasonExpired, 1},
		{[]model.Budget{{Nodes: "5"}, {Nodes: "0", Schedule: "30 12 * * *", DurationSeconds: 301}}, model.ReasonEmpty, 0},
		{[]model.Budget{{Nodes: "5"}, {Nodes: "0", Schedule: "30 12 * * *", DurationSeconds: 300}}, model.ReasonEmpty, 5},
	} {
		if got := allowed(c.budgets, c.reason, 11, at); got != c.want {
			t.Errorf("%+v allow %d for %s, want %d", c.budgets, got, c.reason, c.want)
		}
	}
}
