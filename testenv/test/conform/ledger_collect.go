package conform

import (
	"reflect"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
)

// LedgerCollectPort is what a ledger is asked for by whoever collects.
type LedgerCollectPort interface {
	LedgerPort
	port.Leases
	interruption.CollectorStore
	interruption.Claims
}

// LedgerCollect is the contract of a ledger towards the collector. start returns an empty one for each case.
func LedgerCollect(t *testing.T, start func(t *testing.T) LedgerCollectPort) {
	for name, rule := range map[string]func(*testing.T, cache){
		"leases of one cluster are apart":                       leasesAreApart,
		"deposed collector writes nothing":                      staleCollectorWritesNothing,
		"survey shows live claims, gone machines, open intents": recordsShowGone,
		"survey shows what was found out of the classes":        recordsShowClasses,
		"ending shows what is to end and no other claim":        endingShowsWhatEnds,
		"notes are replaced on condition of their version":      notesNeedVersion,
		"claim that ends holds its share until it is closed":    closeRefundsOnce,
		"close needs the stored version":                        closeNeedsVersion,
		"adopt counts whatever the limits are, once":            adoptCountsOnce,
		"adopt takes no name that is in use or was":             adoptTakesNoName,
		"what ends or is closed is not settled or brought on":   endedStaysEnded,
	} {
		t.Run(name, func(t *testing.T) {
			ledger := start(t)
			rule(t, cache{book{ledger, t}, ledger})
		})
	}
}

// cache is a ledger under test with the collector's ports.
type cache struct {
	book
	collect LedgerCollectPort
}

func (s cache) hold(owner string) model.Fence {
	s.t.Helper()
	fence, err := s.collect.AcquireLease(s.ctx(), "web", model.LeaseCollector, owner, ledgerBegin, ledgerSoon)
	if err != nil {
		s.t.Fatal(err)
	}
	return fence
}

func (s cache) records() model.ClusterRecords {
	s.t.Helper()
	records, err := s.collect.Records(s.ctx(), ledgerWeb)
	if err != nil {
		s.t.Fatal(err)
	}
	return records
}

// launched records and settles n claims of 600 milli-CPU each and returns them as they are stored.
func (s cache) launched(n int) []model.Claim {
	s.t.Helper()
	fence := s.acquire("planner")
	intent, claims := ledgerLaunch("1", n)
	s.must(s.Record(s.ctx(), fence, intent, claims, nil))
	s.must(s.Settle(s.ctx(), fence, ledgerOutcome(intent, claims, n)))
	return s.load().Claims
}

func recordsShowClasses(t *testing.T, s cache) {
	var want []model.ClassRecord
	for _, name := range []string{"b", "a"} {
		record, err := s.PutClass(s.ctx(), "web", model.ClassRecord{
			Name: name, UID: "u-" + name, Status: model.ClassStatus{Problems: []model.ClassProblem{{Condition: "AMIsReady", Reason: "AMINotFound", Message: "no image"}}},
		})
		s.must(err)
		want = append([]model.ClassRecord{record}, want...)
	}
	if got := s.records().Classes; !reflect.DeepEqual(got, want) {
		t.Errorf("classes %+v, want %+v", got, want)
	}
}

func endingShowsWhatEnds(t *testing.T, s cache) {
	reads := func() model.DrainInput {
		t.Helper()
		ending, err := s.collect.Ending(s.ctx(), ledgerWeb)
		s.must(err)
		return ending
	}
	if empty := reads(); len(empty.Claims) != 0 || empty.NowUnix == 0 {
		t.Errorf("of nothing: %+v", empty)
	}
	claims := s.launched(25) // of several shards
	s.must(s.Remember(s.ctx(), s.acquire("planner"), model.Notes{Replaced: []string{"a", "b"}}))
	if none := reads(); len(none.Claims) != 0 || !reflect.DeepEqual(none.Notes.Replaced, []string{"a", "b"}) {
		t.Errorf("while nothing ends: %+v", none)
	}
	var want []model.Claim
	for i, state := range []model.ClaimState{model.Draining, model.Terminating, model.Draining, model.Draining} {
		claim := claims[3*i+1]
		claim.State, claim.Drain = state, &model.Drain{SinceUnix: ledgerBegin}
		stored, err := s.collect.Advance(s.ctx(), "web", claim)
		s.must(err)
		want = append(want, stored)
	}
	s.must(s.collect.CloseClaim(s.ctx(), s.hold("a"), want[2], ledgerBegin))
	want = append(want[:2], want[3])
	if got := reads().Claims; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func leasesAreApart(t *testing.T, s cache) {
	planner := s.acquire("a")
	collector, err := s.collect.AcquireLease(s.ctx(), "web", model.LeaseCollector, "b", ledgerBegin, ledgerSoon)
	if err != nil || collector.Token != 1 || collector.Lease != model.LeaseCollector || planner.Lease != model.LeasePlanner {
		t.Fatalf("%+v beside %+v: %v", collector, planner, err)
	}
	holder, err := s.collect.AcquireLease(s.ctx(), "web", model.LeaseCollector, "c", ledgerBegin+1, ledgerSoon)
	s.want(fault.Conflict, "a second collector", err)
	if holder != collector || holder.SinceUnix != ledgerBegin {
		t.Errorf("the lease is held by %+v, and was taken as %+v", holder, collector)
	}
	s.must(s.Release(s.ctx(), collector))
	_, err = s.Acquire(s.ctx(), "web", "b", ledgerBegin, ledgerSoon)
	s.want(fault.Conflict, "the planner's lease after the collector's was released", err)
	if next := s.hold("c"); next.Token != 2 {
		t.Errorf("%+v", next)
	}
}

func staleCollectorWritesNothing(t *testing.T, s cache) {
	claims := s.launched(2)
	old := s.hold("a")
	_, err := s.collect.AcquireLease(s.ctx(), "web", model.LeaseCollector, "b", ledgerSoon+1, ledgerSoon+60)
	s.must(err)
	before := s.records()
	_, err = s.collect.PutCollectorState(s.ctx(), old, model.CollectorState{AtUnix: ledgerBegin})
	s.want(fault.Conflict, "note", err)
	s.want(fault.Conflict, "close", s.collect.CloseClaim(s.ctx(), old, claims[0], ledgerBegin))
	adopted := claims[0]
	adopted.Name, adopted.InstanceID = "other", "i-other"
	s.want(fault.Conflict, "adopt", s.collect.Adopt(s.ctx(), old, adopted))
	after := s.records()
	before.NowUnix, after.NowUnix = 0, 0
	if !reflect.DeepEqual(before, after) || s.held(model.Nodes) != 2 {
		t.Errorf("something was written:\n%+v\n%+v", before, after)
	}
}

func recordsShowGone(t *testing.T, s cache) {
	if empty := s.records(); len(empty.Claims)+len(empty.Intents)+len(empty.Collector.Suspects) != 0 || empty.Collector.Version != 0 || empty.NowUnix == 0 {
		t.Errorf("of nothing: %+v", empty)
	}
	fence := s.acquire("a")
	done, claims := ledgerLaunch("1", 3)
	s.must(s.Record(s.ctx(), fence, done, claims, nil))
	s.must(s.Settle(s.ctx(), fence, ledgerOutcome(done, claims, 2)))
	ended := s.load().Claims[1]
	s.must(s.collect.CloseClaim(s.ctx(), s.hold("b"), ended, s.load().NowUnix))
	open, more := ledgerLaunch("2", 1)
	s.must(s.Record(s.ctx(), fence, open, more, nil))
	hand, made := ledgerLaunch("3", 1)
	hand.Pool, hand.Claims, made[0].Name, made[0].Pool = "", []string{"mine"}, "mine", ""
	s.must(s.Record(s.ctx(), fence, hand, made, nil))
	failed := ledgerOutcome(hand, made, 0)
	failed.AtUnix = s.load().NowUnix
	s.must(s.Settle(s.ctx(), fence, failed))
	records := s.records()
	if len(records.Intents) != 1 || records.Intents[0].ID != "2" || len(records.Claims) != 4 {
		t.Fatalf("%+v", records)
	}
	for i, want := range []model.Claim{ // the claim of a pool that never had an instance left nothing
		{Name: claims[0].Name, State: model.Launched}, {Name: ended.Name, State: model.Gone}, {Name: more[0].Name, State: model.Intended}, {Name: "mine", State: model.Gone},
	} {
		if got := records.Claims[i]; got.Name != want.Name || got.State != want.State {
			t.Errorf("claim %d is %s and %s, want %s and %s", i, got.Name, got.State, want.Name, want.State)
		}
	}
}

func notesNeedVersion(t *testing.T, s cache) {
	fence := s.hold("a")
	notes := model.CollectorState{
		AtUnix: ledgerBegin, Suspects: []model.Suspect{{Kind: "Orphan", Subject: "i-1", SinceUnix: ledgerBegin}},
		Removals: []model.RemovalCount{{AtUnix: ledgerBegin, Nodes: 2}}, SeenVersion: 7, SeenUnix: ledgerBegin,
	}
	first, err := s.collect.PutCollectorState(s.ctx(), fence, notes)
	if err != nil || first.Version != 1 {
		t.Fatalf("%+v %v", first, err)
	}
	if stored := s.records().Collector; !reflect.DeepEqual(stored, first) {
		t.Errorf("stored %+v, want %+v", stored, first)
	}
	_, err = s.collect.PutCollectorState(s.ctx(), fence, notes)
	s.want(fault.Conflict, "notes of an older version", err)
	first.Suspects = nil
	if second, err := s.collect.PutCollectorState(s.ctx(), fence, first); err != nil || second.Version != 2 || len(s.records().Collector.Suspects) != 0 {
		t.Errorf("%+v %v", second, err)
	}
}

func closeRefundsOnce(t *testing.T, s cache) {
	claims := s.launched(2)
	fence := s.hold("a")
	claim := claims[0]
	claim.State = model.Terminating
	claim, err := s.Advance(s.ctx(), "web", claim)
	s.must(err)
	if s.held(model.CPU) != 1200 || s.held(model.Nodes) != 2 {
		t.Errorf("what only ends gave back: cpu %d, nodes %d", s.held(model.CPU), s.held(model.Nodes))
	}
	claim.FailureCode = model.EndedNodeGone
	for range 3 {
		s.must(s.collect.CloseClaim(s.ctx(), fence, claim, ledgerSoon))
	}
	if s.held(model.CPU) != 600 || s.held(model.Nodes) != 1 {
		t.Errorf("the pool holds cpu %d, nodes %d; want 600 and 1", s.held(model.CPU), s.held(model.Nodes))
	}
	if live := s.load().Claims; len(live) != 1 || live[0].Name != claims[1].Name {
		t.Errorf("live: %+v", live)
	}
	gone := s.records().Claims[0]
	if gone.State != model.Gone || gone.GoneUnix != ledgerSoon || gone.FailureCode != model.EndedNodeGone || len(gone.Reserved) != 0 || gone.InstanceID != claim.InstanceID {
		t.Errorf("gone: %+v", gone)
	}
}

func closeNeedsVersion(t *testing.T, s cache) {
	claim := s.launched(1)[0]
	fence := s.hold("a")
	moved, err := s.Advance(s.ctx(), "web", claim)
	s.must(err)
	s.want(fault.Conflict, "a claim that moved on", s.collect.CloseClaim(s.ctx(), fence, claim, ledgerSoon))
	if s.held(model.Nodes) != 1 {
		t.Errorf("%d nodes held, want 1", s.held(model.Nodes))
	}
	s.must(s.collect.CloseClaim(s.ctx(), fence, moved, ledgerSoon))
	never := claim
	never.Name = "never"
	s.want(fault.Conflict, "a claim that never was", s.collect.CloseClaim(s.ctx(), fence, never, ledgerSoon))
	if s.held(model.Nodes) != 0 {
		t.Errorf("%d nodes held, want 0", s.held(model.Nodes))
	}
}

func adoptCountsOnce(t *testing.T, s cache) {
	planner := s.acquire("planner")
	intent, claims := ledgerLaunch("1", 1)
	limits := model.Resources{model.Nodes: 1}
	s.must(s.Record(s.ctx(), planner, intent, claims, limits))
	fence := s.hold("a")
	claim := model.Claim{
		Name: "default-old", Pool: "default", State: model.Initialized, Intent: "0", InstanceID: "i-old", ProviderID: "aws:///z/i-old",
		Reserved: model.Resources{model.CPU: 4000, model.Nodes: 1},
	}
	for range 2 {
		s.must(s.collect.Adopt(s.ctx(), fence, claim))
	}
	if s.held(model.Nodes) != 2 || s.held(model.CPU) != 5000 {
		t.Errorf("the pool holds cpu %d, nodes %d; want 5000 and 2", s.held(model.CPU), s.held(model.Nodes))
	}
	other, others := ledgerLaunch("2", 1)
	s.want(fault.Exhausted, "a launch beyond the limit", s.Record(s.ctx(), planner, other, others, limits))
	for _, stored := range s.load().Claims {
		if stored.Name == claim.Name && (stored.Version != 1 || stored.State != model.Initialized || stored.InstanceID != "i-old") {
			t.Errorf("stored %+v", stored)
		}
	}
}

func adoptTakesNoName(t *testing.T, s cache) {
	claim := s.launched(1)[0]
	fence := s.hold("a")
	other := claim
	other.InstanceID = "i-other"
	s.want(fault.Conflict, "a name in use", s.collect.Adopt(s.ctx(), fence, other))
	s.must(s.collect.CloseClaim(s.ctx(), fence, claim, ledgerSoon))
	s.want(fault.Conflict, "a name that was in use", s.collect.Adopt(s.ctx(), fence, claim))
	if s.held(model.Nodes) != 0 {
		t.Errorf("%d nodes held, want 0", s.held(model.Nodes))
	}
}

func endedStaysEnded(t *testing.T, s cache) {
	planner := s.acquire("planner")
	intent, claims := ledgerLaunch("1", 1)
	s.must(s.Record(s.ctx(), planner, intent, claims, nil))
	fence := s.hold("a")
	s.must(s.collect.CloseClaim(s.ctx(), fence, claims[0], ledgerSoon))
	s.want(fault.Conflict, "settling", s.Settle(s.ctx(), planner, ledgerOutcome(intent, claims, 1)))
	_, err := s.Advance(s.ctx(), "web", claims[0])
	s.want(fault.Conflict, "advancing", err)
	if s.held(model.Nodes) != 0 || len(s.load().Claims) != 0 {
		t.Errorf("%+v", s.load())
	}
}
