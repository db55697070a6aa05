package audit

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// story is a world's log written by hand.
type story struct {
	at      time.Time
	entries []world.Entry
	shape   model.PodShape // of its pods
	index   int            // of the shape
	held    int64          // nodes of claims that twice finds there
}

func (s *story) report(fact world.Fact) {
	s.entries = append(s.entries, world.Entry{Seq: int64(len(s.entries)) + 1, At: s.at, Fact: fact})
}

func (s *story) wait(d time.Duration) { s.at = s.at.Add(d) }

var fence = model.Fence{Cluster: "world", Lease: "planner", Owner: "p", Token: 1}

const dearly = `{"capacityType":"spot","templates":[{"overrides":[{"InstanceType":"m5.large","Zone":"a"}]}]}`

var spotOffering = model.OfferingKey{InstanceType: "m5.large", Zone: "a", CapacityType: "spot"}

// balanced pods keep a balance between zones.
var balanced = model.PodShape{Spread: []model.Spread{{TopologyKey: model.LabelZone, MaxSkew: 1}}}

// driedUp is the mark of an offering that EC2 had no capacity for.
var driedUp = model.UnavailableOffering{OfferingKey: model.OfferingKey{InstanceType: "m5.large", Zone: "b", CapacityType: "spot"}, Reason: "InsufficientInstanceCapacity", Failures: 1}

func (s *story) pod(uid string) {
	p := &model.Pod{Namespace: "default", Name: uid, UID: uid, Shape: s.index, Unschedulable: true}
	s.report(world.ObjectWritten{Cluster: "world", Kind: world.KindPod, Name: p.Key(), UID: uid, Verb: "create", Pod: p, Shape: &s.shape})
}

func (s *story) pool(limits model.Resources) {
	s.report(world.ObjectWritten{Cluster: "world", Kind: world.KindPool, Name: "web", Verb: "create", Pool: &model.Pool{Name: "web", Limits: limits}})
}

// fixed has a pool of so many nodes made.
func (s *story) fixed(replicas int64, limits model.Resources) {
	pool := model.Pool{Name: "static", Replicas: &replicas, Limits: limits}
	s.report(world.ObjectWritten{Cluster: "world", Kind: world.KindPool, Name: "static", Verb: "create", Pool: &pool})
}

func claimOf(intent string, n int, state model.ClaimState, version int64, instance string) *model.Claim {
	c := &model.Claim{
		Name: fmt.Sprintf("web-%s-%d", intent, n), Pool: "web", Intent: intent, State: state, Version: version, InstanceID: instance,
		Reserved: model.Resources{model.Nodes: 1}, Pods: []model.PodRef{{Namespace: "default", Name: fmt.Sprintf("pod-%s-%d", intent, n), UID: fmt.Sprintf("pod-%s-%d", intent, n)}},
	}
	if state == model.Gone {
		c.Reserved = nil
	}
	if ends(state) || state == model.Gone {
		c.FailureCode = "SomethingTrue"
	}
	return c
}

// record records a launch of n claims, each for a pod of its own, and counts held nodes for the pool.
func (s *story) record(intent string, n int, held int64) {
	for i := range n {
		s.pod(fmt.Sprintf("pod-%s-%d", intent, i))
	}
	fact := world.LedgerWritten{Cluster: "world", Op: "record", Fence: &fence, Usage: []model.Usage{{Pool: "web", Reserved: model.Resources{model.Nodes: held}}}}
	var names []string
	for i := range n {
		c := claimOf(intent, i, model.Intended, 1, "")
		names = append(names, c.Name)
		fact.Claims = append(fact.Claims, world.ClaimChange{After: c})
	}
	fact.Intents = []model.Intent{{ID: intent, Pool: "web", Claims: names, State: model.IntentCalling, Request: []byte(dearly), Token: "t-" + intent}}
	s.report(fact)
}

func (s *story) start(intent, id string) {
	s.report(world.InstanceStarted{
		Cluster: "world", VisibleAt: s.at, Instance: model.Instance{ID: id, Zone: "a", Type: "m5.large", Tags: map[string]string{
			"kubernetes.io/cluster/world": "owned", tagIntent: intent, tagPool: "web",
		}},
	})
}

// unseen has a pod wait for an instance that ends at once, and that describing calls show after so long.
func (s *story) unseen(after time.Duration) {
	s.pool(nil)
	s.record("1", 1, 1)
	s.report(world.InstanceStarted{Cluster: "world", VisibleAt: s.at.Add(after), Instance: model.Instance{ID: "i-1-0", Zone: "a", Type: "m5.large", Tags: map[string]string{
		"kubernetes.io/cluster/world": "owned", tagIntent: "1", tagPool: "web",
	}}})
	s.report(world.FleetCalled{
		Cluster: "world", Intent: "1", Token: "t-1", Request: []byte(dearly), Wanted: 1, CapacityType: "spot", Pools: []model.OfferingKey{spotOffering}, Instances: []string{"i-1-0"},
	})
	s.settle("1", 1, "i-1-0")
	s.report(world.InstanceEnding{ID: "i-1-0", Cause: "failure"})
	s.report(world.InstanceEnded{ID: "i-1-0", Cause: "failure"})
}

func (s *story) call(intent string, wanted int, ids ...string) {
	for _, id := range ids {
		s.start(intent, id)
	}
	s.report(world.FleetCalled{
		Cluster: "world", Intent: intent, Token: "t-" + intent, Request: []byte(dearly), Wanted: wanted, CapacityType: "spot", Pools: []model.OfferingKey{spotOffering}, Instances: ids,
	})
}

// settle gives the claims of a launch their instances in order.
func (s *story) settle(intent string, held int64, ids ...string) {
	fact := world.LedgerWritten{Cluster: "world", Op: "settle", Fence: &fence, Usage: []model.Usage{{Pool: "web", Reserved: model.Resources{model.Nodes: held}}}}
	var names []string
	for i, id := range ids {
		after := claimOf(intent, i, model.Launched, 2, id)
		names = append(names, after.Name)
		fact.Claims = append(fact.Claims, world.ClaimChange{Before: claimOf(intent, i, model.Intended, 1, ""), After: after})
	}
	fact.Intents = []model.Intent{{ID: intent, Pool: "web", Claims: names, State: model.IntentDone, Request: []byte(dearly), Token: "t-" + intent}}
	s.report(fact)
}

// advance moves a claim to a state under the next version.
func (s *story) advance(intent string, n int, from, to model.ClaimState, version int64, instance string) {
	fact := world.LedgerWritten{Cluster: "world", Op: "advance", Claims: []world.ClaimChange{{
		Before: claimOf(intent, n, from, version, instance), After: claimOf(intent, n, to, version+1, instance),
	}}}
	s.report(fact)
}

// launch is a launch of n instances that goes well.
func (s *story) launch(intent string, n int, held int64) {
	s.record(intent, n, held)
	s.wait(time.Second)
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprintf("i-%s-%d", intent, i))
	}
	s.call(intent, n, ids...)
	s.settle(intent, held, ids...)
}

// served launches one instance, on which its pod runs.
func (s *story) served() {
	s.launch("1", 1, 1)
	bound := &model.Pod{Namespace: "default", Name: "pod-1-0", UID: "pod-1-0", NodeName: "n-i-1-0", Phase: model.Running}
	s.report(world.ObjectWritten{Kind: world.KindPod, Name: bound.Key(), UID: bound.UID, Verb: "bind", Pod: bound, Shape: &model.PodShape{}})
}

func (s *story) readyNode(instance string) {
	s.report(world.ObjectWritten{Cluster: "world", Kind: world.KindNode, Name: "n-" + instance, UID: "n", Verb: "create", Node: &model.Node{
		Name: "n-" + instance, UID: "n", ProviderID: "aws:///a/" + instance, Ready: true, Labels: map[string]string{model.LabelRegistered: "true"},
	}})
}

// bound records a claim for a pod that was bound minutes ago; stands = its node is still there.
func (s *story) bound(stands bool) {
	node := world.ObjectWritten{Cluster: "world", Kind: world.KindNode, Name: "n", UID: "n", Verb: "create", Node: &model.Node{Name: "n", UID: "n", ProviderID: "aws:///a/i-9", Ready: true}}
	s.report(node)
	s.pod("pod-1-0")
	bound := &model.Pod{Namespace: "default", Name: "pod-1-0", UID: "pod-1-0", NodeName: "n"}
	s.report(world.ObjectWritten{Kind: world.KindPod, Name: bound.Key(), UID: bound.UID, Verb: "bind", Pod: bound, Shape: &model.PodShape{}})
	s.wait(5 * time.Minute)
	if !stands {
		node.Verb = "gone"
		s.report(node)
	}
	fact := world.LedgerWritten{Cluster: "world", Op: "record", Fence: &fence, Claims: []world.ClaimChange{{After: claimOf("1", 0, model.Intended, 1, "")}}}
	fact.Intents = []model.Intent{{ID: "1", Pool: "web", Claims: []string{"web-1-0"}, State: model.IntentCalling}}
	s.report(fact)
}

// disowned has people delete the claim of an instance that ends, while things go wrong for so many minutes more.
func (s *story) disowned(minutes int) {
	s.pool(model.Resources{model.Nodes: 1})
	s.launch("1", 1, 1)
	s.report(world.ObjectWritten{Cluster: "world", Kind: world.KindNode, Name: "n", UID: "n", Verb: "create", Node: &model.Node{
		Name: "n", UID: "n", ProviderID: "aws:///a/i-1-0", Finalizer: true, DeletedUnix: s.at.Unix(), Labels: map[string]string{model.LabelRegistered: "true"},
	}})
	s.report(world.InstanceEnded{ID: "i-1-0", Cause: "failure"})
	s.report(world.LedgerMeddled{Cluster: "world", Claim: claimOf("1", 0, model.Launched, 2, "i-1-0")})
	for range minutes {
		s.wait(time.Minute)
		s.report(world.FaultInjected{What: "outage"})
	}
}

// released has a finalizer of others keep the Node of an instance that ended, and its NodeClaim with it, and lets the
// Node go in the end; checked = the function that drains is invoked each minute after that.
func (s *story) released(checked bool) {
	s.launch("1", 1, 1)
	closed := world.LedgerWritten{Cluster: "world", Op: "close", Fence: &fence, Usage: []model.Usage{{Pool: "web"}}}
	shown := func(from, to model.ClaimState, version int64) []world.ClaimChange {
		before, after := claimOf("1", 0, from, version, "i-1-0"), claimOf("1", 0, to, version+1, "i-1-0")
		before.ObjectUID, after.ObjectUID = "o", "o"
		return []world.ClaimChange{{Before: before, After: after}}
	}
	s.report(world.LedgerWritten{Cluster: "world", Op: "advance", Claims: shown(model.Launched, model.Terminating, 2)})
	s.report(world.ObjectWritten{
		Cluster: "world", Kind: world.KindNodeClaim, Name: "web-1-0", UID: "o", Verb: "delete",
		Finalizer: true, DeletedUnix: s.at.Unix(),
	})
	node := world.ObjectWritten{Cluster: "world", Kind: world.KindNode, Name: "n", UID: "n", Verb: "delete"}
	node.Node = &model.Node{
		Name: "n", UID: "n", ProviderID: "aws:///a/i-1-0", DeletedUnix: s.at.Unix(),
		Labels: map[string]string{model.LabelRegistered: "true"},
	}
	s.report(node)
	s.report(world.InstanceEnded{ID: "i-1-0", Cause: "terminate"})
	s.report(world.ProcessMoved{Process: "p", Program: "interruption", Verb: "start"})
	closed.Claims = shown(model.Terminating, model.Gone, 3)
	s.report(closed)
	s.wait(20 * time.Second)
	node.Verb = "gone"
	s.report(node)
	for range 4 {
		s.wait(time.Minute)
		if checked {
			s.report(world.ProcessMoved{Process: "p", Program: "interruption", Verb: "start"})
		}
	}
	s.report(world.ProcessMoved{Process: "q", Program: "disrupt", Verb: "end"})
}

// twice records two claims for one pod, the second half a minute after the first, and what happens in between.
func (s *story) twice(between ...world.Fact) { s.twiceAfter(30*time.Second, between...) }

// twiceAfter records two claims for one pod, and what happens in between, so long after the first.
func (s *story) twiceAfter(later time.Duration, between ...world.Fact) {
	s.launch("1", 1, s.held+1)
	s.wait(later)
	for _, fact := range between {
		s.report(fact)
	}
	s.again(claimOf("1", 0, model.Intended, 1, "").Pods)
}

// again records one claim more for pods that have one.
func (s *story) again(pods []model.PodRef) {
	again := claimOf("3", 0, model.Intended, 1, "")
	again.Pods = pods
	s.report(world.LedgerWritten{
		Cluster: "world", Op: "record", Fence: &fence, Claims: []world.ClaimChange{{After: again}},
		Usage:   []model.Usage{{Pool: "web", Reserved: model.Resources{model.Nodes: s.held + 2}}},
		Intents: []model.Intent{{ID: "3", Pool: "web", Claims: []string{again.Name}, State: model.IntentCalling}},
	})
}

// bothTwice records two claims for the same two pods, and what happens in between.
func (s *story) bothTwice(between ...world.Fact) {
	both := slices.Concat(claimOf("1", 0, model.Intended, 1, "").Pods, claimOf("1", 1, model.Intended, 1, "").Pods)
	s.pod("pod-1-1")
	s.launch("1", 1, 1)
	before, after := claimOf("1", 0, model.Launched, 2, "i-1-0"), claimOf("1", 0, model.Launched, 3, "i-1-0")
	after.Pods = both
	first := world.ClaimChange{Before: before, After: after}
	s.report(world.LedgerWritten{Cluster: "world", Op: "advance", Claims: []world.ClaimChange{first}})
	s.wait(30 * time.Second)
	for _, fact := range between {
		s.report(fact)
	}
	s.again(both)
}

// loseNode has an actor delete the Node of an instance; empty = somebody else.
func (s *story) loseNode(instance, actor string) {
	s.report(world.ObjectWritten{Cluster: "world", Kind: world.KindNode, Name: "n-" + instance, UID: "n", Verb: "gone", Node: &model.Node{
		Name: "n-" + instance, UID: "n", ProviderID: "aws:///a/" + instance, Ready: true,
	}})
	s.entries[len(s.entries)-1].Actor = actor
}

// came is a pod of another shape than those of claims.
var came = world.ObjectWritten{Kind: world.KindPod, Name: "default/came", UID: "came", Verb: "create", Shape: &model.PodShape{}, Pod: &model.Pod{
	Namespace: "default", Name: "came", UID: "came", Shape: 1, Phase: model.Pending,
}}

// TestEachRuleSeesWhatBreaksIt: every story but the first breaks exactly the rules named.
func TestEachRuleSeesWhatBreaksIt(t *testing.T) {
	for _, row := range []struct {
		name   string
		want   []string
		report func(s *story)
	}{
		{"all is well", nil, func(s *story) {
			s.pool(model.Resources{model.Nodes: 3})
			s.launch("1", 2, 2)
			s.advance("1", 0, model.Launched, model.Registered, 2, "i-1-0")
			s.wait(10 * time.Minute)
			s.pool(model.Resources{model.Nodes: 3})
		}},
		{"a launch within limits that were lowered a moment ago", nil, func(s *story) {
			s.pool(model.Resources{model.Nodes: 3})
			s.launch("1", 2, 2)
			s.wait(10 * time.Minute)
			s.pool(model.Resources{model.Nodes: 1})
			s.wait(time.Minute)
			s.record("2", 1, 3)
		}},
		{"a launch beyond limits that were lowered a while ago", []string{"A6"}, func(s *story) {
			s.pool(model.Resources{model.Nodes: 3})
			s.launch("1", 2, 2)
			s.wait(10 * time.Minute)
			s.pool(model.Resources{model.Nodes: 1})
			s.wait(3 * time.Minute)
			s.record("2", 1, 3)
		}},
		{"two machines for a claim", []string{"A1", "A3"}, func(s *story) {
			s.record("1", 1, 1)
			s.call("1", 1, "i-1")
			s.call("1", 1, "i-2")
			s.settle("1", 1, "i-1")
			s.wait(5 * time.Minute)
			s.pod("later")
		}},
		{"a machine with two claims", []string{"A1"}, func(s *story) {
			s.launch("1", 1, 1)
			s.record("2", 1, 2)
			s.call("2", 1)
			s.report(world.LedgerWritten{Cluster: "world", Op: "advance", Claims: []world.ClaimChange{{
				Before: claimOf("2", 0, model.Intended, 1, ""), After: claimOf("2", 0, model.Launched, 2, "i-1-0"),
			}}})
		}},
		{"a claim that changes its machine", []string{"A1"}, func(s *story) {
			s.launch("1", 1, 1)
			s.start("1", "i-other")
			s.report(world.LedgerWritten{Cluster: "world", Op: "advance", Claims: []world.ClaimChange{{
				Before: claimOf("1", 0, model.Launched, 2, "i-1-0"), After: claimOf("1", 0, model.Registered, 3, "i-other"),
			}}})
		}},
		{"a call that was not recorded", []string{"A2"}, func(s *story) { s.call("1", 1) }},
		{"a call with other bytes", []string{"A2"}, func(s *story) {
			s.record("1", 1, 1)
			s.report(world.FleetCalled{Intent: "1", Token: "t-1", Request: []byte(`{"capacityType":"on-demand"}`), Wanted: 1})
		}},
		{"a call with another token", []string{"A2"}, func(s *story) {
			s.record("1", 1, 1)
			s.report(world.FleetCalled{Intent: "1", Token: "another", Request: []byte(dearly), Wanted: 1})
		}},
		{"an orphan", []string{"A3"}, func(s *story) {
			s.launch("1", 1, 1)
			s.report(world.FleetCalled{Intent: "1", Token: "t-1", Request: []byte(dearly), Wanted: 1, Instances: []string{"i-1-0", "i-more"}})
			s.start("1", "i-more")
			s.wait(3 * time.Minute)
			s.pod("later")
		}},
		{"a ghost", []string{"A4"}, func(s *story) {
			s.launch("1", 1, 1)
			s.report(world.InstanceEnded{ID: "i-1-0", Cause: "spot"})
			s.wait(4 * time.Minute)
			s.pod("later")
		}},
		{"a ghost in troubled times", nil, func(s *story) {
			s.launch("1", 1, 1)
			s.report(world.InstanceEnded{ID: "i-1-0", Cause: "spot"})
			s.wait(3 * time.Minute)
			s.report(world.FaultInjected{What: "outage"})
			s.wait(time.Minute)
			s.pod("later")
		}},
		{"machines dealt out of order", []string{"A5"}, func(s *story) {
			s.record("1", 2, 2)
			s.call("1", 2, "i-1", "i-2")
			s.settle("1", 2, "i-2", "i-1")
		}},
		{"a limit that is passed", []string{"A6"}, func(s *story) {
			s.pool(model.Resources{model.Nodes: 1})
			s.record("1", 2, 2)
		}},
		{"a counter that says something else", []string{"A6"}, func(s *story) {
			s.launch("1", 2, 2)
			s.record("2", 1, 2)
		}},
		{"more machines than the limit", []string{"A6", "A3"}, func(s *story) {
			s.pool(model.Resources{model.Nodes: 1})
			s.launch("1", 1, 1)
			s.start("0", "i-forgotten")
			s.wait(5 * time.Minute)
			s.pod("later")
		}},
		{"calls that find nothing, too often", []string{"A7"}, func(s *story) {
			s.record("1", 1, 1)
			for range 21 {
				s.wait(2 * time.Second)
				s.report(world.FleetCalled{Intent: "1", Token: "t-1", Request: []byte(dearly), Wanted: 1, Errors: []model.LaunchError{{Code: "InsufficientInstanceCapacity", Offering: spotOffering}}})
			}
		}},
		{"calls that find nothing, seldom enough", nil, func(s *story) {
			s.record("1", 1, 1)
			for range 100 {
				s.wait(4 * time.Second)
				s.report(world.FleetCalled{Intent: "1", Token: "t-1", Request: []byte(dearly), Wanted: 1, Errors: []model.LaunchError{{Code: "InsufficientInstanceCapacity", Offering: spotOffering}}})
			}
		}},
		{"a dry offer tried again and again", []string{"A8"}, func(s *story) {
			s.report(world.LedgerWritten{Cluster: "world", Op: "mark", Unavailable: []model.UnavailableOffering{{OfferingKey: spotOffering, UntilUnix: s.at.Unix() + 180, Reason: "InsufficientInstanceCapacity"}}})
			s.wait(time.Second)
			s.record("1", 1, 1)
			s.wait(30 * time.Second)
			s.record("2", 1, 2)
		}},
		{"a dry offer asked for again and again, and nobody wrote it down", []string{"A8"}, func(s *story) {
			for i, id := range []string{"1", "2", "3"} {
				s.record(id, 1, int64(i)+1)
				fact := world.FleetCalled{Intent: id, Token: "t-" + id, Request: []byte(dearly), Wanted: 1, CapacityType: "spot", Pools: []model.OfferingKey{spotOffering}}
				if i == 0 {
					fact.Errors = []model.LaunchError{{Code: "InsufficientInstanceCapacity", Offering: spotOffering}}
				}
				s.report(fact)
				s.wait(30 * time.Second)
			}
		}},
		{"a machine that was found and forgotten", []string{"A5"}, func(s *story) {
			s.record("1", 2, 2)
			s.call("1", 2, "i-1", "i-2")
			s.wait(time.Minute)
			s.settle("1", 2, "i-1")
		}},
		{"throttling taken for a dry offer", []string{"A8"}, func(s *story) {
			s.report(world.LedgerWritten{Cluster: "world", Op: "mark", Unavailable: []model.UnavailableOffering{{OfferingKey: spotOffering, UntilUnix: s.at.Unix() + 180, Reason: "RequestLimitExceeded"}}})
			s.wait(10 * time.Minute)
			s.record("1", 1, 1)
		}},
		{"a node for a pod that is bound", []string{"A9"}, func(s *story) { s.bound(true) }},
		{"a node for a pod that is bound to a node that has gone", nil, func(s *story) { s.bound(false) }},
		{"a pod that two claims under way are for", []string{"A9"}, func(s *story) { s.twice() }},
		{"a pod that two claims under way are for, and a placeholder that takes the first", nil, func(s *story) {
			s.twice(world.ObjectWritten{Cluster: "world", Kind: world.KindBuffer, Name: "default/room", UID: "room", Verb: "create"})
		}},
		{"a pod that two claims under way are for, and a claim for another pod that ends before its node joins", nil, func(s *story) {
			s.shape, s.index = balanced, 1
			s.launch("2", 1, 1)
			s.shape, s.index, s.held = model.PodShape{}, 0, 1
			s.twice(world.LedgerWritten{Cluster: "world", Op: "advance", Claims: []world.ClaimChange{{
				Before: claimOf("2", 0, model.Launched, 2, "i-2-0"), After: claimOf("2", 0, model.Terminating, 3, "i-2-0"),
			}}})
		}},
		{"two pods that two claims under way are for", []string{"A9"}, func(s *story) { s.bothTwice() }},
		{"two pods that two claims under way are for, and one that came and takes all of it", nil, func(s *story) {
			s.bothTwice(came)
		}},
		{"a pod that two claims under way are for, and one that came in between and takes the first", nil, func(s *story) {
			s.twice(came)
		}},
		{"a pod that two claims under way are for, and another that has its own claim", []string{"A9"}, func(s *story) {
			s.shape, s.index = balanced, 1
			s.launch("2", 1, 1)
			s.shape, s.index, s.held = model.PodShape{}, 0, 1
			s.twice()
		}},
		{"a pod that two claims under way are for, and a DaemonSet that takes of the first", nil, func(s *story) {
			s.twice(world.ObjectWritten{Cluster: "world", Kind: world.KindDaemons, Name: "default/late", UID: "late", Verb: "create"})
		}},
		{"a pod of a balance that two claims under way are for, after the marks of the first one's launch", []string{"A9"}, func(s *story) {
			s.shape = balanced
			s.twiceAfter(2*time.Second, world.LedgerWritten{Cluster: "world", Op: "mark", Unavailable: []model.UnavailableOffering{driedUp}})
		}},
		{"a pod of a balance that two claims under way are for, and an offering that was to be tried again in between", nil, func(s *story) {
			s.shape = balanced
			s.twiceAfter(2*time.Second, world.LedgerWritten{Cluster: "world", Op: "probe", Unavailable: []model.UnavailableOffering{driedUp}})
		}},
		{"a launch of too many claims", []string{"C10"}, func(s *story) { s.record("1", 26, 26) }},
		{"a stranger's machine is ended", []string{"B7"}, func(s *story) {
			s.report(world.InstanceStarted{VisibleAt: s.at, Instance: model.Instance{ID: "i-theirs", Tags: map[string]string{"Name": "db"}}})
			s.report(world.TerminateCalled{IDs: []string{"i-theirs"}})
		}},
		{"a live claim's machine is ended", []string{"C11"}, func(s *story) {
			s.launch("1", 1, 1)
			s.report(world.TerminateCalled{IDs: []string{"i-1-0"}})
		}},
		{"a running node is ended", []string{"C11"}, func(s *story) {
			s.launch("1", 1, 1)
			s.readyNode("i-1-0")
			bound := &model.Pod{Namespace: "default", Name: "x", UID: "x", NodeName: "n-i-1-0", Phase: model.Running}
			s.report(world.ObjectWritten{Kind: world.KindPod, Name: bound.Key(), UID: bound.UID, Verb: "bind", Pod: bound, Shape: &model.PodShape{}})
			s.advance("1", 0, model.Launched, "Terminating", 2, "i-1-0")
			s.report(world.TerminateCalled{IDs: []string{"i-1-0"}})
		}},
		{"a machine of an open launch is ended", []string{"C11"}, func(s *story) {
			s.record("1", 1, 1)
			s.call("1", 1, "i-1")
			s.report(world.TerminateCalled{IDs: []string{"i-1"}})
		}},
		{"a claim closed while its machine runs", []string{"A4", "A6"}, func(s *story) {
			s.launch("1", 1, 1)
			s.report(world.LedgerWritten{
				Cluster: "world", Op: "close", Usage: []model.Usage{{Pool: "web", Reserved: model.Resources{model.Nodes: 1}}},
				Claims: []world.ClaimChange{{Before: claimOf("1", 0, model.Launched, 2, "i-1-0"), After: claimOf("1", 0, model.Gone, 3, "i-1-0")}},
			})
		}},
		{"a claim that goes back", []string{"C6"}, func(s *story) {
			s.launch("1", 1, 1)
			s.advance("1", 0, model.Launched, model.Initialized, 2, "i-1-0")
			s.advance("1", 0, model.Initialized, model.Registered, 3, "i-1-0")
		}},
		{"a lost update", []string{"C6"}, func(s *story) {
			s.launch("1", 1, 1)
			s.advance("1", 0, model.Launched, model.Registered, 2, "i-1-0")
			s.advance("1", 0, model.Launched, model.Initialized, 2, "i-1-0")
		}},
		{"a deposed planner writes", []string{"C6"}, func(s *story) {
			s.report(world.LeaseTaken{Fence: fence})
			newer := fence
			newer.Token = 2
			s.report(world.LeaseTaken{Fence: newer})
			s.record("1", 1, 1)
		}},
		{"a token given out twice", []string{"C6"}, func(s *story) {
			s.report(world.LeaseTaken{Fence: fence})
			s.report(world.LeaseTaken{Fence: fence})
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := &story{at: world.Start}
			row.report(s)
			a := New(DefaultRules)
			var got []string
			for first := 0; first < len(s.entries); { // what belongs to one moment comes at once, as in a run
				last := first
				for last < len(s.entries) && s.entries[last].At.Equal(s.entries[first].At) {
					last++
				}
				for _, v := range a.Check(s.entries[first:last]) {
					if !slices.Contains(got, v.Rule) {
						got = append(got, v.Rule)
					}
				}
				first = last
			}
			slices.Sort(got)
			want := slices.Sorted(slices.Values(row.want))
			if !slices.Equal(got, want) {
				t.Errorf("broken: %v, want %v", got, want)
			}
		})
	}
}

// TestRestIsEvaluated: what may be under way at any instant must not be so at rest.
func TestRestIsEvaluated(t *testing.T) {
	for _, row := range []struct {
		name   string
		want   []string
		report func(s *story)
	}{
		{"all is well", nil, func(s *story) {
			s.served()
		}},
		{"a launch that is open", []string{"C4"}, func(s *story) {
			s.pool(model.Resources{model.Nodes: 1})
			s.record("1", 1, 1)
		}},
		{"a pod that waits", []string{"C3"}, func(s *story) {
			s.pool(nil)
			s.pod("lost")
		}},
		{"a pod whose machine does not join", []string{"C3"}, func(s *story) {
			s.pool(nil)
			s.launch("1", 1, 1)
		}},
		{"a pod whose machine ended before EC2 showed it", []string{"A4"}, func(s *story) {
			s.unseen(10 * time.Minute)
		}},
		{"a pod whose machine ended long before EC2 showed it, which it has done for nine minutes", []string{"A4", "C3"}, func(s *story) {
			s.unseen(time.Minute)
		}},
		{"a pod whose machine lost its Node to somebody before it was registered", nil, func(s *story) {
			s.pool(nil)
			s.launch("1", 1, 1)
			s.readyNode("i-1-0")
			s.loseNode("i-1-0", "")
		}},
		{"a pod whose machine lost its Node to us before it was registered", []string{"B6", "C3"}, func(s *story) {
			s.pool(nil)
			s.launch("1", 1, 1)
			s.readyNode("i-1-0")
			s.loseNode("i-1-0", "interruption-1")
		}},
		{"a pod that waits at the limit", nil, func(s *story) {
			s.pool(model.Resources{model.Nodes: 0})
			s.pod("waits")
		}},
		{"a pod that waits, and a pool of a fixed size", nil, func(s *story) {
			s.fixed(0, nil)
			s.pod("waits")
		}},
		{"a pool of a fixed size that lacks a node", []string{"C3"}, func(s *story) {
			s.fixed(1, nil)
		}},
		{"a pool of a fixed size that lacks a node beyond its limit", nil, func(s *story) {
			s.fixed(1, model.Resources{model.Nodes: 0})
		}},
		{"a ready node that is not initialised", []string{"C4"}, func(s *story) {
			s.pool(model.Resources{model.Nodes: 1})
			s.launch("1", 1, 1)
			s.readyNode("i-1-0")
		}},
		{"a machine that never joined", []string{"C4"}, func(s *story) {
			s.pool(model.Resources{model.Nodes: 1})
			s.launch("1", 1, 1)
			s.wait(15 * time.Minute)
			s.pod("later")
		}},
		{"usage that people changed and nobody counted anew", []string{"A6"}, func(s *story) {
			s.served()
			s.report(world.LedgerMeddled{Cluster: "world", Usage: &model.Usage{Pool: "web", Reserved: model.Resources{model.Nodes: 3}}})
		}},
		{"usage that people changed, counted anew", nil, func(s *story) {
			s.served()
			s.report(world.LedgerMeddled{Cluster: "world", Usage: &model.Usage{Pool: "web", Reserved: model.Resources{model.Nodes: 3}}})
			s.wait(time.Minute)
			s.report(world.LedgerWritten{Cluster: "world", Op: "recount", Fence: &fence, Usage: []model.Usage{{Pool: "web", Reserved: model.Resources{model.Nodes: 1}}}})
		}},
		{"a claim that people deleted", []string{"A3", "A6"}, func(s *story) {
			s.served()
			s.report(world.LedgerMeddled{Cluster: "world", Claim: claimOf("1", 0, model.Launched, 2, "i-1-0")})
		}},
		{"a claim that people deleted, its machine adopted and usage counted anew", nil, func(s *story) {
			s.served()
			s.report(world.LedgerMeddled{Cluster: "world", Claim: claimOf("1", 0, model.Launched, 2, "i-1-0")})
			s.wait(time.Minute)
			adopted := claimOf("1", 7, model.Initialized, 1, "i-1-0")
			s.report(world.LedgerWritten{Cluster: "world", Op: "adopt", Claims: []world.ClaimChange{{After: adopted}}, Usage: []model.Usage{{Pool: "web", Reserved: model.Resources{model.Nodes: 2}}}})
			s.report(world.LedgerWritten{Cluster: "world", Op: "recount", Fence: &fence, Usage: []model.Usage{{Pool: "web", Reserved: model.Resources{model.Nodes: 1}}}})
		}},
		{"a Node held by our finalizer, of a machine that ended half an hour ago and whose claim people deleted", []string{"A4", "A6", "C3"}, func(s *story) { s.disowned(20) }},
		{"a Node held by our finalizer, of a machine that EC2 shows no more and whose claim people deleted", []string{"A6", "C3"}, func(s *story) { s.disowned(60) }},
		{"a NodeClaim held by our finalizer, minutes after others let its Node go", []string{"A4"}, func(s *story) {
			s.released(true)
		}},
		{"a NodeClaim held by our finalizer whose Node others let go, and no tick since", nil, func(s *story) {
			s.released(false)
		}},
		{"a queue nobody reads", []string{"C4"}, func(s *story) {
			for i := range 20 {
				s.report(world.MessageMoved{Queue: "plan", ID: fmt.Sprint(i), Verb: "send"})
			}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := &story{at: world.Start}
			row.report(s)
			a := New(DefaultRules)
			got := []string{}
			for _, v := range append(a.Check(s.entries), a.Quiet(s.at.Add(10*time.Minute))...) {
				got = append(got, v.Rule)
			}
			slices.Sort(got)
			if got = slices.Compact(got); !slices.Equal(got, append([]string{}, row.want...)) {
				t.Errorf("broken: %v, want %v", got, row.want)
			}
		})
	}
}

// An orphan ends once two lists half a minute apart have named it. A list that misses it, or fails, gives that its time anew, and no more.
func TestA3AnOrphanThatEC2DidNotListHasTimeAnew(t *testing.T) {
	for _, c := range []struct {
		last time.Duration // since when EC2 has listed all again, when the orphan is looked at
		want bool
	}{{time.Minute, false}, {3 * time.Minute, true}} {
		s := &story{at: world.Start}
		s.launch("1", 1, 1)
		s.report(world.FleetCalled{Intent: "1", Token: "t-1", Request: []byte(dearly), Wanted: 1, Instances: []string{"i-1-0", "i-more"}})
		s.start("1", "i-more")
		s.wait(2 * time.Minute)
		s.report(world.ListFailed{Cluster: "world", Missing: 2})
		s.wait(c.last)
		s.pod("later")
		found := false
		for _, v := range New(DefaultRules).Check(s.entries) {
			found = found || v.Rule == "A3" && v.Object == "i-more"
		}
		if found != c.want {
			t.Errorf("%s after a list that missed it: found %t, want %t", c.last, found, c.want)
		}
	}
}
