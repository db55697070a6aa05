package audit

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// occupied is a story of an instance whose claim is in a state, with a node and two pods, one of them critical.
func occupied(state model.ClaimState, drain *model.Drain) *story {
	s := &story{at: world.Start}
	instance := model.Instance{ID: "i-1", Type: "m5.large", Zone: "a", CapacityType: model.Spot, Tags: map[string]string{
		"kubernetes.io/cluster/" + world.Name: "owned", tagPool: "web", tagIntent: "1",
	}}
	s.report(world.InstanceStarted{Cluster: world.Name, Instance: instance, VisibleAt: s.at})
	s.claim(model.Initialized, 1, nil, "")
	s.node(model.Node{Finalizer: true})
	for uid, class := range map[string]string{"plain": "", "critical": "system-cluster-critical"} {
		p := &model.Pod{Namespace: "default", Name: uid, UID: uid, NodeName: "n", Phase: model.Running, Ready: true}
		s.report(world.ObjectWritten{Kind: world.KindPod, Name: p.Key(), UID: uid, Verb: "bind", Pod: p, Shape: &model.PodShape{PriorityClass: class, GraceSeconds: 30}})
	}
	if state != model.Initialized {
		s.claim(state, 2, drain, model.EndedObjectDeleted)
	}
	s.wait(time.Minute)
	return s
}

func (s *story) claim(state model.ClaimState, version int64, drain *model.Drain, code string) {
	c := claimOf("1", 0, state, version, "i-1")
	c.Drain, c.FailureCode = drain, code
	change := world.ClaimChange{After: c}
	if version > 1 {
		change.Before = claimOf("1", 0, model.Initialized, version-1, "i-1")
	}
	s.report(world.LedgerWritten{Cluster: world.Name, Op: "advance", Claims: []world.ClaimChange{change}})
}

func (s *story) node(n model.Node) {
	n.Name, n.UID, n.ProviderID, n.Ready = "n", "n-1", "aws:///a/i-1", true
	s.report(world.ObjectWritten{Kind: world.KindNode, Name: "n", UID: "n-1", Verb: "update", Node: &n, Finalizer: n.Finalizer})
	s.entries[len(s.entries)-1].Actor = "interruption-1"
}

func (s *story) leave(evaluated, uid string, forced bool, grace int64) {
	s.report(world.EvictionRequested{Pod: model.PodRef{Namespace: "default", Name: uid, UID: evaluated}, UID: uid, Node: "n", Forced: forced, GraceSeconds: grace})
}

// warned has the instance be warned, its drain be over by the time it is taken away, its node be tainted at once, and all that is to take
// its place be planned. One of its pods has been running since the story began, and says for how long it is not to be disrupted.
func (s *story) warned(shield string) {
	p := &model.Pod{Namespace: "default", Name: "guarded", UID: "guarded", NodeName: "n", Phase: model.Running, Ready: true, StartedUnix: world.Start.Unix()}
	shape := &model.PodShape{DoNotDisrupt: shield, GraceSeconds: 30}
	s.report(world.ObjectWritten{Kind: world.KindPod, Name: p.Key(), UID: p.UID, Verb: "bind", Pod: p, Shape: shape})
	s.wait(time.Second)
	s.report(world.InstanceWarned{ID: "i-1", Due: s.at.Add(10 * time.Minute)})
	s.report(world.EventMoved{Kind: "spot_interrupted", IDs: []string{"i-1"}, Verb: "send"})
	s.claim(model.Draining, 2, &model.Drain{SinceUnix: s.at.Unix(), DeadlineUnix: s.at.Add(10 * time.Minute).Unix()}, model.EndedSpotInterrupted)
	s.node(model.Node{Finalizer: true, Taints: []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}}})
}

// hastened has the instance of a drain that is under way be warned, and the drain be over, from then on, some time after the warning;
// zero = at no time.
func (s *story) hastened(by time.Duration) {
	due := s.at.Add(10 * time.Minute)
	s.report(world.InstanceWarned{ID: "i-1", Due: due})
	s.report(world.EventMoved{Kind: "spot_interrupted", IDs: []string{"i-1"}, Verb: "send"})
	if by != 0 {
		before, after := claimOf("1", 0, model.Draining, 2, "i-1"), claimOf("1", 0, model.Draining, 3, "i-1")
		after.Drain, after.FailureCode = &model.Drain{SinceUnix: world.Start.Unix(), DeadlineUnix: s.at.Add(by).Unix()}, model.EndedObjectDeleted
		s.report(world.LedgerWritten{Cluster: world.Name, Op: "advance", Claims: []world.ClaimChange{{Before: before, After: after}}})
	}
	s.wait(DefaultRules.Found + DefaultRules.Grace + time.Second)
	s.report(world.MessageMoved{Queue: "plan", Verb: "send"}) // rules about time are looked at whenever something happens
}

// unhealthy has so many of a pool's five nodes be unhealthy for longer than is tolerated, and one of them be repaired.
func (s *story) unhealthy(n int) {
	for i := range 5 {
		node := &model.Node{Name: fmt.Sprintf("n-%d", i), UID: fmt.Sprint(i), Ready: true, Labels: map[string]string{model.LabelNodePool: "web"}}
		if i == 0 {
			node.Name, node.UID, node.ProviderID = "n", "n-1", "aws:///a/i-1"
		}
		if i < n {
			node.Conditions = []model.NodeCondition{{Type: "NetworkUnavailable", Status: "True"}}
		}
		s.report(world.ObjectWritten{Kind: world.KindNode, Name: node.Name, UID: node.UID, Verb: "status", Node: node})
	}
	s.wait(31 * time.Minute)
	s.claim(model.Draining, 2, &model.Drain{SinceUnix: s.at.Unix()}, model.EndedUnhealthy)
}

// recovered has the node of a claim be unhealthy for so long, and be repaired so long after it was healthy again.
func (s *story) recovered(bad, ago time.Duration) {
	node := model.Node{Name: "n", UID: "n-1", ProviderID: "aws:///a/i-1", Ready: true}
	ill := node
	ill.Conditions = []model.NodeCondition{{Type: "NetworkUnavailable", Status: "True"}}
	s.report(world.ObjectWritten{Kind: world.KindNode, Name: "n", UID: "n-1", Verb: "status", Node: &ill})
	s.wait(bad)
	s.report(world.ObjectWritten{Kind: world.KindNode, Name: "n", UID: "n-1", Verb: "status", Node: &node})
	s.wait(ago)
	s.claim(model.Draining, 2, &model.Drain{SinceUnix: s.at.Unix()}, model.EndedUnhealthy)
}

// disown has people delete the claim from the ledger.
func (s *story) disown() {
	s.report(world.LedgerMeddled{Cluster: world.Name, Claim: claimOf("1", 0, model.Initialized, 1, "i-1")})
}

// tainted has the node be tainted for disruption.
func (s *story) tainted() {
	s.node(model.Node{Finalizer: true, Taints: []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}}})
}

// expire has the i-th claim of the pool end for its age.
func (s *story) expire(i int) {
	age, instance := int64(1), fmt.Sprintf("i-%d", i+1)
	before, after := claimOf("1", i, model.Initialized, 1, instance), claimOf("1", i, model.Draining, 2, instance)
	if i > 0 {
		s.report(world.LedgerWritten{Cluster: world.Name, Op: "advance", Claims: []world.ClaimChange{{After: before}}})
	}
	after.Drain, after.FailureCode, after.ExpireSeconds = &model.Drain{SinceUnix: s.at.Unix()}, model.EndedExpired, &age
	s.report(world.LedgerWritten{Cluster: world.Name, Op: "advance", Claims: []world.ClaimChange{{Before: before, After: after}}})
}

// expiring has two of the 20 nodes of a pool end for something else, and two for their age so much later.
func (s *story) expiring(later time.Duration) {
	for i := range 18 {
		c := claimOf("1", 10+i, model.Initialized, 1, fmt.Sprintf("i-%d", 10+i))
		s.report(world.LedgerWritten{Cluster: world.Name, Op: "advance", Claims: []world.ClaimChange{{After: c}}})
		if i < 2 {
			going := claimOf("1", 10+i, model.Draining, 2, c.InstanceID)
			going.Drain, going.FailureCode = &model.Drain{SinceUnix: s.at.Unix()}, model.EndedObjectDeleted
			s.report(world.LedgerWritten{Cluster: world.Name, Op: "advance", Claims: []world.ClaimChange{{Before: c, After: going}}})
		}
	}
	s.wait(later)
	s.expire(1)
	s.expire(0)
}

// checks has status checks of the instance fail for so long, as they do now, and mends what failed before.
func (s *story) checks(kind string, long time.Duration) {
	s.report(world.InstanceImpaired{ID: "i-1"})
	s.wait(time.Second)
	s.report(world.InstanceImpaired{ID: "i-1", Kind: kind})
	s.wait(long)
}

// detaching has the node's pods leave, a volume of theirs begin to detach, and the instance be ended so long after.
func (s *story) detaching(after time.Duration) {
	for _, uid := range []string{"plain", "critical"} {
		p := &model.Pod{Namespace: "default", Name: uid, UID: uid, NodeName: "n"}
		s.report(world.ObjectWritten{Kind: world.KindPod, Name: p.Key(), UID: uid, Verb: "gone", Pod: p})
	}
	volume := &world.VolumeAttachment{Attachment: model.Attachment{Name: "csi-1", Volume: "pv-1", DeletedUnix: s.at.Unix()}, Node: "n"}
	s.report(world.ObjectWritten{Kind: world.KindVolume, Name: volume.Name, Verb: "delete", Volume: volume})
	s.wait(after)
	s.claim(model.Terminating, 3, &model.Drain{SinceUnix: world.Start.Unix()}, model.EndedObjectDeleted)
	s.report(world.TerminateCalled{IDs: []string{"i-1"}})
}

// Each rule about what ends sees its breach, and nothing where all is well.
func TestRulesOfEnds(t *testing.T) {
	since := world.Start.Unix()
	draining := &model.Drain{SinceUnix: since}
	pressed := &model.Drain{SinceUnix: since, DeadlineUnix: since + 200}
	for name, c := range map[string]struct {
		report func(s *story)
		from   *story
		want   string
	}{
		"evicted in order":                                {func(s *story) { s.leave("plain", "plain", false, 0) }, occupied(model.Draining, draining), ""},
		"another pod than was meant":                      {func(s *story) { s.leave("old", "plain", false, 0) }, occupied(model.Draining, draining), "B6"},
		"from a node that does not end":                   {func(s *story) { s.leave("plain", "plain", false, 0) }, occupied(model.Initialized, nil), "B6"},
		"before an earlier tier":                          {func(s *story) { s.leave("critical", "critical", false, 0) }, occupied(model.Draining, draining), "B14"},
		"forced without a deadline":                       {func(s *story) { s.leave("plain", "plain", true, 30) }, occupied(model.Draining, draining), "B1"},
		"forced too early":                                {func(s *story) { s.leave("plain", "plain", true, 30) }, occupied(model.Draining, pressed), "B1"},
		"forced in time":                                  {func(s *story) { s.wait(2 * time.Minute); s.leave("plain", "plain", true, 20) }, occupied(model.Draining, pressed), ""},
		"forced without grace":                            {func(s *story) { s.wait(2 * time.Minute); s.leave("plain", "plain", true, 0) }, occupied(model.Draining, pressed), "B1"},
		"tainted while it lives":                          {func(s *story) { s.tainted() }, occupied(model.Initialized, nil), "C4"},
		"tainted just after people deleted its claim":     {func(s *story) { s.disown(); s.wait(5 * time.Second); s.tainted() }, occupied(model.Initialized, nil), ""},
		"tainted a minute after people deleted its claim": {func(s *story) { s.disown(); s.wait(time.Minute); s.tainted() }, occupied(model.Initialized, nil), "B7"},
		"B13 ended while a volume detaches":               {func(s *story) { s.detaching(15 * time.Second) }, occupied(model.Draining, draining), "B13"},
		"B13 ended when a volume has had ten minutes":     {func(s *story) { s.detaching(10 * time.Minute) }, occupied(model.Draining, draining), ""},
		"B13 decided before a volume detached, and written slowly": {func(s *story) {
			s.report(world.FaultInjected{Process: "interruption-1", What: "is slow ledger.advance"})
			s.detaching(15 * time.Second)
		}, occupied(model.Draining, draining), ""},
		"B13 ended long after a volume began to detach, though something was slow": {func(s *story) {
			s.report(world.FaultInjected{Process: "interruption-1", What: "is slow ledger.advance"})
			s.detaching(time.Minute)
		}, occupied(model.Draining, draining), "B13"},
		"finalizer off while the machine runs": {func(s *story) { s.node(model.Node{}) }, occupied(model.Draining, draining), "B7"},
		"deleted because its definition was": {func(s *story) {
			s.report(world.DefinitionsWritten{})
			s.wait(time.Minute)
			s.claim(model.Draining, 2, draining, model.EndedObjectDeleted)
		}, occupied(model.Initialized, nil), "C11"},
		"interrupted, and AWS never said so": {func(s *story) {
			s.claim(model.Draining, 2, draining, model.EndedSpotInterrupted)
		}, occupied(model.Initialized, nil), "C11"},
		"F21 asked late, when its do-not-disrupt has run out":      {func(s *story) { s.warned("4m"); s.wait(3 * time.Minute); s.leave("guarded", "guarded", false, 0) }, occupied(model.Initialized, nil), ""},
		"F21 asked long after its do-not-disrupt ran out":          {func(s *story) { s.warned("2m"); s.wait(3 * time.Minute); s.leave("guarded", "guarded", false, 0) }, occupied(model.Initialized, nil), "C1"},
		"F21 asked long after the warning, and nothing forbade it": {func(s *story) { s.warned(""); s.wait(time.Minute); s.leave("plain", "plain", false, 0) }, occupied(model.Initialized, nil), "C1"},
		"warned while it is drained, and no time is set":           {func(s *story) { s.hastened(0) }, occupied(model.Draining, draining), "C1"},
		"warned while it is drained, and the time is late":         {func(s *story) { s.hastened(11 * time.Minute) }, occupied(model.Draining, draining), "C1"},
		"warned while it is drained, and its drain is over before": {func(s *story) { s.hastened(9 * time.Minute) }, occupied(model.Draining, draining), ""},
		"its checks failed for four minutes, and other checks an hour before": {func(s *story) {
			s.checks(model.ImpairedInstance, time.Minute)
			s.wait(time.Hour)
			s.checks(model.ImpairedSystem, 4*time.Minute)
			s.claim(model.Draining, 2, draining, model.EndedStatusFailed)
		}, occupied(model.Initialized, nil), ""},
		"its checks failed for a minute, and an hour before": {func(s *story) {
			s.checks(model.ImpairedInstance, 5*time.Minute)
			s.wait(time.Hour)
			s.checks(model.ImpairedSystem, time.Minute)
			s.claim(model.Draining, 2, draining, model.EndedStatusFailed)
		}, occupied(model.Initialized, nil), "C11"},
		"its eviction is refused again each second": {func(s *story) {
			for range 25 {
				s.wait(time.Second)
				s.report(world.EvictionRequested{Pod: model.PodRef{Namespace: "default", Name: "plain", UID: "plain"}, UID: "plain", Node: "n", Refused: "a budget"})
			}
		}, occupied(model.Draining, draining), "R26"},
		"repaired while it alone is unhealthy":                                       {func(s *story) { s.unhealthy(1) }, occupied(model.Initialized, nil), ""},
		"repaired just after it is healthy again":                                    {func(s *story) { s.recovered(31*time.Minute, 10*time.Second) }, occupied(model.Initialized, nil), ""},
		"repaired a minute after it is healthy again":                                {func(s *story) { s.recovered(31*time.Minute, time.Minute) }, occupied(model.Initialized, nil), "C11"},
		"repaired though it was unhealthy for less long":                             {func(s *story) { s.recovered(20*time.Minute, 10*time.Second) }, occupied(model.Initialized, nil), "C11"},
		"repaired while most of its pool is as it is":                                {func(s *story) { s.unhealthy(4) }, occupied(model.Initialized, nil), "B8"},
		"ends for its age":                                                           {func(s *story) { s.expire(0) }, occupied(model.Initialized, nil), ""},
		"ends for its age while another does":                                        {func(s *story) { s.expire(1); s.expire(0) }, occupied(model.Initialized, nil), "S32"},
		"ends for its age, one of two of 20, two of which began to end a moment ago": {func(s *story) { s.expiring(time.Second) }, occupied(model.Initialized, nil), ""},
		"ends for its age, one of two of 20, two of which began to end a minute ago": {func(s *story) { s.expiring(time.Minute) }, occupied(model.Initialized, nil), "S32"},
		"taken for missing while its node is Ready": {func(s *story) {
			s.wait(10 * time.Minute)
			s.claim(model.Draining, 2, draining, model.EndedMissing)
		}, occupied(model.Initialized, nil), "C11"},
		"nothing comes about": {func(s *story) {
			for range 50 {
				s.wait(6 * time.Second)
				s.report(world.MessageMoved{Queue: "plan", Verb: "send"})
			}
		}, occupied(model.Draining, draining), "C4"},
	} {
		t.Run(name, func(t *testing.T) {
			c.report(c.from)
			a := New(DefaultRules)
			var found []string
			for _, e := range c.from.entries {
				for _, v := range a.Check([]world.Entry{e}) {
					found = append(found, v.Rule)
				}
			}
			if c.want == "" && len(found) > 0 || c.want != "" && (len(found) == 0 || found[0] != c.want) {
				t.Errorf("found %v, want %q", found, c.want)
			}
		})
	}
}

// A kubelet whose Node is deleted makes it anew, with the taint of nodes that are not registered. One that is being drained is not registered again.
func TestC4ANodeMadeAnewIsRegisteredUnlessItDrains(t *testing.T) {
	draining := &model.Drain{SinceUnix: world.Start.Unix()}
	for _, c := range []struct {
		of   *story
		want bool
	}{{occupied(model.Draining, draining), false}, {occupied(model.Initialized, nil), true}} {
		c.of.node(model.Node{Taints: []model.Taint{{Key: model.TaintUnregistered, Effect: "NoExecute"}}})
		a := New(DefaultRules)
		a.Check(c.of.entries)
		found := false
		for _, v := range a.Quiet(c.of.at.Add(10 * time.Minute)) {
			found = found || v.Rule == "C4" && strings.Contains(v.Text, model.TaintUnregistered)
		}
		if found != c.want {
			t.Errorf("taint found: %t, want %t", found, c.want)
		}
	}
}

// A drain moves on with each invocation of its function. Where ticks and messages were lost there was none.
func TestC4ADrainWaitsWhileItsFunctionIsNotInvoked(t *testing.T) {
	for name, c := range map[string]struct {
		invoked func(minute int) bool
		want    bool
	}{
		"invoked each minute, and nothing comes about":        {func(int) bool { return true }, true},
		"invoked again a moment ago, after three lost ticks":  {func(minute int) bool { return minute < 2 || minute > 5 }, false},
		"invoked again for minutes, after three lost ticks":   {func(minute int) bool { return minute < 2 || minute > 5 }, true},
		"not invoked any more, and the tick is only just due": {func(minute int) bool { return minute < 3 }, false},
	} {
		s := occupied(model.Draining, &model.Drain{SinceUnix: world.Start.Unix()})
		minutes := 7
		if strings.Contains(name, "for minutes") {
			minutes = 12
		}
		a, seen, broken := New(DefaultRules), 0, false
		for minute := range minutes {
			s.wait(time.Minute)
			if c.invoked(minute) {
				s.report(world.ProcessMoved{Process: fmt.Sprint(minute), Program: "interruption", Verb: "start"})
				s.report(world.ProcessMoved{Process: fmt.Sprint(minute), Program: "interruption", Verb: "end"})
			}
			s.report(world.Touched{Cluster: world.Name, What: "ledger"})
			for _, v := range a.Check(s.entries[seen:]) {
				broken = broken || v.Rule == "C4" && strings.Contains(v.Text, "nothing has come about")
			}
			seen = len(s.entries)
		}
		if broken != c.want {
			t.Errorf("%s: broken %v, want %v", name, broken, c.want)
		}
	}
}
