package interruption

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/work"
)

// S28: what AWS takes back ends at once though an open command has it; the claim goes on saying of which command it is, so that the
// judge leaves its end alone.
func TestS28WarningWinsOverACommand(t *testing.T) {
	o := newOffice()
	claim := o.claim("spot")
	claim.Command = "c1"
	o.put("shop", claim)
	failed, out := o.handle(saidOf(t, "1", about(model.NoticeSpotInterrupted, "terminate", "i-spot")))
	got := o.claim("spot")
	if len(failed) != 0 || got.State != model.Draining || got.FailureCode != model.EndedSpotInterrupted || got.Command != "c1" || got.Drain == nil {
		t.Errorf("%+v, comes again: %v; %+v", got, failed, out)
	}
}

// M103: the table of notices: what each kind does to the claim, what it asks for, and what people learn.
func TestIN01EachKindOfNoticeHasItsActionItsEventsAndIsDeleted(t *testing.T) {
	const ends = "TerminatingOnInterruption"
	for _, c := range []struct {
		name        string
		notice      model.Notice
		state       model.ClaimState
		code        string
		deadline    int64 // after the notice, which is a second old; 0 = none
		events      []string
		unavailable model.UnavailableOffering // what it names
		check       bool
	}{
		{"spot", about(model.NoticeSpotInterrupted, "terminate", "i-spot"), model.Draining, model.EndedSpotInterrupted, 115, []string{"SpotInterrupted", ends},
			model.UnavailableOffering{OfferingKey: model.OfferingKey{InstanceType: "m5.large", Zone: "eu-central-1a", CapacityType: model.Spot}}, false},
		{"spot of a machine that has not joined", about(model.NoticeSpotInterrupted, "terminate", "i-young"), model.Terminating, model.EndedSpotInterrupted, 115,
			[]string{"SpotInterrupted", ends}, model.UnavailableOffering{OfferingKey: model.OfferingKey{InstanceType: "m5.large", Zone: "eu-central-1a", CapacityType: model.Spot}}, false},
		{"reservation", about(model.NoticeReservationInterrupted, "terminate", "i-reserved"), model.Draining, model.EndedReservationInterrupted, 115,
			[]string{"CapacityReservationInstanceInterrupted", ends}, model.UnavailableOffering{Reservation: "cr-1"}, false},
		{"scheduled change", about(model.NoticeScheduledChange, "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED", "i-demand"), model.Draining, model.EndedScheduledChange, 0,
			[]string{"InstanceUnhealthy", ends}, model.UnavailableOffering{}, false},
		{"rebalance", about(model.NoticeRebalance, "", "i-spot"), model.Initialized, "", 0, []string{"SpotRebalanceRecommendation (normal)"}, model.UnavailableOffering{}, false},
		{"stopping", about(model.NoticeStopped, "stopping", "i-demand"), model.Initialized, "", 0, []string{"InstanceStopping"}, model.UnavailableOffering{}, true},
		{"stopped", about(model.NoticeStopped, "stopped", "i-demand"), model.Initialized, "", 0, []string{"InstanceStopping"}, model.UnavailableOffering{}, true},
		{"shutting down", about(model.NoticeTerminated, "shutting-down", "i-demand"), model.Initialized, "", 0, []string{"InstanceTerminating"}, model.UnavailableOffering{}, true},
		{"terminated", about(model.NoticeTerminated, "terminated", "i-demand"), model.Initialized, "", 0, []string{"InstanceTerminating"}, model.UnavailableOffering{}, true},
		{"nothing", about(model.NoticeNothing, ""), model.Initialized, "", 0, nil, model.UnavailableOffering{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newOffice()
			failed, out := o.handle(saidOf(t, "1", c.notice))
			if len(failed) != 0 || out.Kinds[string(c.notice.Kind)] != 1 {
				t.Errorf("comes again: %v; %+v", failed, out)
			}
			kind := "spot"
			if len(c.notice.Instances) > 0 {
				kind = strings.TrimPrefix(c.notice.Instances[0], "i-")
			}
			claim, ended := o.claim(kind), c.code != ""
			if claim.State != c.state || claim.FailureCode != c.code || ended && (claim.FailureMessage == "" || claim.Drain == nil) {
				t.Errorf("claim %+v, want it %s %s", claim, c.state, c.code)
			}
			if ended && c.deadline != 0 && claim.Drain.DeadlineUnix != officeNow-1+c.deadline || ended && c.deadline == 0 && claim.Drain.DeadlineUnix != 0 {
				t.Errorf("deadline %d s after the notice, want %d", claim.Drain.DeadlineUnix-officeNow+1, c.deadline)
			}
			if (out.Begun[string(c.notice.Kind)] == 1) != ended {
				t.Errorf("begun: %v", out.Begun)
			}
			if ended { // the drain run notifies people, of what the claim says
				if claims, nodes := o.reported(); len(claims)+len(nodes) > 0 || claim.Drain.Notice != c.notice.Kind {
					t.Errorf("told at once: %q %q; left to be told: %q", claims, nodes, claim.Drain.Notice)
				}
				o.events = append(o.events, endEvents(claim, claim.Drain.Notice)...)
			}
			claims, nodes := o.reported()
			if slices.Sort(c.events); !slices.Equal(claims, c.events) || kind != "young" && !slices.Equal(nodes, c.events) || kind == "young" && len(nodes) != 0 {
				t.Errorf("told of the claim %q and of the node %q, want %q", claims, nodes, c.events)
			}
			want := map[string]int{}
			if ended {
				want["plan"], want["drain"] = 1, 1
			}
			if ended && kind != "young" {
				want["taint"] = 1
			}
			if c.check {
				want["look"] = 1
			}
			for _, op := range []string{"plan", "drain", "taint", "look"} {
				if o.times(op) != want[op] {
					t.Errorf("%s: %d times, want %d", op, o.times(op), want[op])
				}
			}
			if c.unavailable == (model.UnavailableOffering{}) != (len(o.unavailableOfferings) == 0) || len(o.unavailableOfferings) > 0 && o.unavailableOfferings[0].About() != c.unavailable.About() {
				t.Errorf("marked %+v, want %+v", o.unavailableOfferings, c.unavailable)
			}
			for _, unavailable := range o.unavailableOfferings {
				if unavailable.AtUnix != officeNow-1 || unavailable.UntilUnix != officeNow-1+180 || unavailable.ForgetUnix != unavailable.UntilUnix+3600 || unavailable.Failures != 1 || unavailable.Reason != c.code {
					t.Errorf("mark %+v", unavailable)
				}
			}
		})
	}
}

// R69, S38: an event of an instance nobody here knows is done with in one step, and counted; it delays and fails nothing.
func TestIN02ForeignInstancesAreDroppedAndCounted(t *testing.T) {
	o := newOffice()
	failed, out := o.handle(
		saidOf(t, "1", about(model.NoticeSpotInterrupted, "terminate", "i-of-others")), saidOf(t, "2", about(model.NoticeTerminated, "terminated", "i-of-others")),
		saidOf(t, "3", about(model.NoticeScheduledChange, "X", "i-of-others", "i-of-more")))
	if len(failed) != 0 || out.Foreign != 3 || len(o.diary) != 1 {
		t.Errorf("failed %v, %+v, did %q", failed, out, o.diary)
	}
}

func TestR69EventsOfOtherClustersOfTheAccountCostOneReadForABatch(t *testing.T) {
	o := newOffice()
	var batch []Received
	for i := range 9 {
		batch = append(batch, saidOf(t, fmt.Sprint(i), about(model.NoticeSpotInterrupted, "terminate", fmt.Sprintf("i-0%d", i))))
	}
	failed, out := o.handle(append(batch, saidOf(t, "ours", about(model.NoticeSpotInterrupted, "terminate", "i-spot")))...)
	if len(failed) != 0 || out.Foreign != 9 || out.Begun["spot_interrupted"] != 1 || o.times("find") != 1 || o.times("registry") != 1 {
		t.Errorf("failed %v, %+v, did %q", failed, out, o.diary)
	}
}

// B7: an event of another account or region never touches a claim, whatever instance it names.
func TestEventsOfAnotherAccountOrRegionTouchNothing(t *testing.T) {
	o := newOffice()
	forged, far := about(model.NoticeSpotInterrupted, "terminate", "i-spot"), about(model.NoticeSpotInterrupted, "terminate", "i-demand")
	forged.Account, far.Region = "666666666666", "us-west-2"
	failed, out := o.handle(saidOf(t, "1", forged), saidOf(t, "2", far))
	if len(failed) != 0 || out.Elsewhere != 2 || len(out.Problems) != 2 || o.times("advance")+o.times("connect")+o.times("mark")+o.times("taint") != 0 {
		t.Errorf("failed %v, %+v, did %q", failed, out, o.diary)
	}
}

func TestNoticesOfDetachedAndPausedClustersAreDropped(t *testing.T) {
	for name, change := range map[string]func(*office){
		"detached": func(o *office) { delete(o.regs, "shop") },
		"paused": func(o *office) {
			o.regs["shop"] = model.Registration{Cluster: "shop", Region: officeRegion, Paused: true}
		},
	} {
		o := newOffice()
		change(o)
		failed, out := o.handle(saidOf(t, "1", about(model.NoticeSpotInterrupted, "terminate", "i-spot")))
		if len(failed) != 0 || out.Idle != 1 || o.times("advance") != 0 {
			t.Errorf("%s: failed %v, %+v, did %q", name, failed, out, o.diary)
		}
	}
}

// C7: what is no event is dropped and told; the rest of its batch is handled.
func TestIN03MalformedBodiesAreDroppedAndTold(t *testing.T) {
	o := newOffice()
	failed, out := o.handle(
		Received{"1", []byte("{")}, saidOf(t, "2", about(model.NoticeSpotInterrupted, "terminate", "i-spot")), Received{"3", nil},
		Received{"4", []byte(`{"version":"0","source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning","detail":{}}`)})
	if len(failed) != 0 || out.Malformed != 2 || out.Kinds["no_op"] != 1 || out.Begun["spot_interrupted"] != 1 {
		t.Errorf("failed %v, %+v", failed, out)
	}
	if text := strings.Join(out.Problems, "\n"); !strings.Contains(text, "message 1") || !strings.Contains(text, "message 4") || !strings.Contains(text, "instance-id") {
		t.Errorf("told: %s", text)
	}
}

// What each failure leaves undone comes again, and only that; the second time it is done.
func TestIN03WhatFailsComesAgainAndNothingElse(t *testing.T) {
	batch := func(t *testing.T) []Received {
		return []Received{
			saidOf(t, "spot", about(model.NoticeSpotInterrupted, "terminate", "i-spot")), saidOf(t, "change", about(model.NoticeScheduledChange, "X", "i-demand")),
			saidOf(t, "stop", about(model.NoticeStopped, "stopping", "i-reserved")), saidOf(t, "foreign", about(model.NoticeRebalance, "", "i-of-others")),
			{"garbage", []byte("?")},
		}
	}
	down := fault.New(fault.Internal, "", "down")
	for op, want := range map[string][]string{
		"find":               {"spot", "change", "stop", "foreign"}, // it is unknown yet whose they are
		"registry":           {"spot", "change", "stop"},
		"connect":            {"spot", "change", "stop"},
		"advance web-spot":   {"spot"},
		"advance web-demand": {"change"},
		"taint node-spot":    {"spot"},
		"mark":               {"spot"},
		"plan":               {"spot", "change"},
		"drain":              {"spot", "change"},
		"look":               {"stop"},
		"tell":               nil, // for people only
	} {
		t.Run(op, func(t *testing.T) {
			o := newOffice()
			o.errs[op] = down
			failed, out := o.handle(batch(t)...)
			slices.Sort(want)
			if slices.Sort(failed); !slices.Equal(failed, want) || out.Failed != len(want) || len(out.Problems) < 2 {
				t.Errorf("come again: %v, want %v; %+v", failed, want, out)
			}
			delete(o.errs, op)
			var again []Received
			for _, received := range batch(t) {
				if slices.Contains(failed, received.Message) {
					again = append(again, received)
				}
			}
			if failed, out := o.handle(again...); len(failed) != 0 {
				t.Errorf("the second time: %v, %+v", failed, out)
			}
			for _, kind := range []string{"spot", "demand"} {
				if o.claim(kind).State != model.Draining {
					t.Errorf("%s is %s", kind, o.claim(kind).State)
				}
			}
			if len(o.unavailableOfferings) == 0 || o.times("plan") == 0 || o.times("drain") == 0 || o.times("look") == 0 {
				t.Errorf("did %q", o.diary)
			}
		})
	}
}

// S38: a message whose node could not be tainted is not deleted, and the node is tainted when it comes again.
func TestS38MessageStaysUntilItsNodeIsTainted(t *testing.T) {
	o := newOffice()
	o.errs["taint"] = fault.New(fault.Throttled, "", "slow down")
	message := saidOf(t, "1", about(model.NoticeSpotInterrupted, "terminate", "i-spot"))
	for try := range 3 {
		if failed, _ := o.handle(message); !slices.Equal(failed, []string{"1"}) {
			t.Fatalf("try %d: %v", try, failed)
		}
		if o.claim("spot").State != model.Draining || o.times("plan") != try+1 {
			t.Errorf("try %d: %+v, %d plans", try, o.claim("spot"), o.times("plan"))
		}
	}
	delete(o.errs, "taint")
	if failed, out := o.handle(message); len(failed) != 0 || out.Already != 1 || o.times("taint") != 4 {
		t.Errorf("%v %+v", failed, out)
	}
	// A node that is gone, or another of its name, needs no taint.
	for _, kind := range []fault.Kind{fault.NotFound, fault.Conflict} {
		o := newOffice()
		o.errs["taint"] = fault.New(kind, "", "gone")
		if failed, _ := o.handle(message); len(failed) != 0 {
			t.Errorf("%s: %v", kind, failed)
		}
	}
}

// S38: what leaves two minutes is done before what has time, wherever it stands in the batch.
func TestS38WarningsComeBeforeWhatHasTime(t *testing.T) {
	o := newOffice()
	o.handle(
		saidOf(t, "1", about(model.NoticeScheduledChange, "X", "i-demand")), saidOf(t, "2", about(model.NoticeRebalance, "", "i-young")),
		saidOf(t, "3", about(model.NoticeReservationInterrupted, "terminate", "i-reserved")), saidOf(t, "4", about(model.NoticeSpotInterrupted, "terminate", "i-spot")))
	at := func(op string) int { return slices.Index(o.diary, op) }
	if at("taint node-demand") < max(at("taint node-spot"), at("taint node-reserved"), at("mark shop")) || at("plan shop") < at("mark shop") || at("tell ") < at("drain shop") {
		t.Errorf("did %q", o.diary)
	}
}

// R63: whatever is not known to be done comes again: a panic, or time that runs out.
func TestR63UnfinishedMessagesComeAgain(t *testing.T) {
	message := func(kind string) Received {
		return saidOf(t, kind, about(model.NoticeSpotInterrupted, "terminate", "i-"+kind))
	}
	twoSpot := func() *office {
		o := newOffice()
		claim := o.claim("demand")
		claim.CapacityType = model.Spot
		o.put("shop", claim)
		return o
	}
	o := twoSpot()
	o.before = func(op string) {
		if op == "advance web-spot" {
			panic("no such luck")
		}
	}
	failed, out := o.handle(message("spot"), message("demand"))
	if !slices.Equal(failed, []string{"spot"}) || out.Begun["spot_interrupted"] != 1 || !strings.Contains(strings.Join(out.Problems, ""), "no such luck") {
		t.Errorf("after a panic: %v %+v", failed, out)
	}

	o = twoSpot()
	at := time.Unix(officeNow, 0)
	o.before = func(op string) {
		if op == "taint node-demand" {
			at = at.Add(time.Minute)
		}
	}
	flow := &Flow{
		Registry: o, Finder: o, Steps: o, Unavailable: o, RequestPlan: o.Plan, RequestDrain: o.Drain, RequestPass: o.RequestPass, Connector: o, Now: func() time.Time { return at },
		Parallel: work.Sequential,
	}
	failed, out = flow.Notices(t.Context(), []Received{message("spot"), message("demand")}, at.Add(20*time.Second))
	if !slices.Equal(failed, []string{"spot"}) || out.Begun["spot_interrupted"] != 1 || o.claim("spot").State != model.Initialized {
		t.Errorf("out of time: %v %+v", failed, out)
	}
}

// R64: a call that is throttled loses nothing and is not repeated on the spot.
func TestR64ThrottledCallsLoseNoNotice(t *testing.T) {
	for _, op := range []string{"find", "advance", "mark", "plan", "drain", "taint"} {
		o := newOffice()
		o.errs[op] = fault.New(fault.Throttled, "ThrottlingException", "slow down")
		message := saidOf(t, "1", about(model.NoticeSpotInterrupted, "terminate", "i-spot"))
		if failed, _ := o.handle(message); !slices.Equal(failed, []string{"1"}) || o.times(op) != 1 {
			t.Errorf("%s: %v, asked for %d times", op, failed, o.times(op))
		}
		delete(o.errs, op)
		if failed, _ := o.handle(message); len(failed) != 0 || o.claim("spot").State != model.Draining || len(o.unavailableOfferings) == 0 {
			t.Errorf("%s again: %v", op, failed)
		}
	}
}

// R70: no message is deleted before its effect is confirmed: a lost answer is no answer.
func TestR70MessageIsDeletedOnlyAfterItsEffect(t *testing.T) {
	for _, op := range []string{"advance", "taint", "mark", "plan", "drain"} {
		o := newOffice()
		o.errs[op] = errors.New("the answer was lost")
		failed, _ := o.handle(saidOf(t, "1", about(model.NoticeSpotInterrupted, "terminate", "i-spot")))
		if !slices.Equal(failed, []string{"1"}) {
			t.Errorf("%s: %v", op, failed)
		}
	}
}

// C5: a message that was handled changes nothing when it comes again, however late.
func TestNoticesThatComeAgainChangeNothing(t *testing.T) {
	o := newOffice()
	batch := []Received{
		saidOf(t, "1", about(model.NoticeSpotInterrupted, "terminate", "i-spot")), saidOf(t, "2", about(model.NoticeScheduledChange, "X", "i-demand")),
		saidOf(t, "3", about(model.NoticeReservationInterrupted, "terminate", "i-reserved")),
	}
	if failed, _ := o.handle(batch...); len(failed) != 0 {
		t.Fatal(failed)
	}
	for _, kind := range []string{"spot", "demand", "reserved"} { // a drain run has been here
		claim := o.claim(kind)
		drain := *claim.Drain
		drain.TaintedUnix = officeNow
		claim.Drain = &drain
		o.put("shop", claim)
	}
	claims, unavailableOfferings := maps.Clone(o.claims), slices.Clone(o.unavailableOfferings)
	o.diary, o.events = nil, nil
	for _, late := range []int64{1, 60, 100} {
		o.nowUnix, o.unavailableOfferings = officeNow+late, nil
		failed, out := o.handle(append(batch, batch...)...)
		if len(failed) != 0 || out.Already != 3 || o.times("advance")+o.times("taint")+o.times("plan")+o.times("drain")+len(o.events) != 0 {
			t.Errorf("%d s late: %v %+v, did %q", late, failed, out, o.diary)
		}
		if !reflect.DeepEqual(o.unavailableOfferings, unavailableOfferings) || !reflect.DeepEqual(o.claims, claims) {
			t.Errorf("%d s late: marks %+v, were %+v; claims %+v, were %+v", late, o.unavailableOfferings, unavailableOfferings, o.claims, claims)
		}
	}
	o.nowUnix, o.unavailableOfferings = officeNow+200, nil
	if o.handle(batch...); len(o.unavailableOfferings) != 0 {
		t.Errorf("marks that are over: %+v", o.unavailableOfferings)
	}
}

// A claim that is to end already is only hastened, and one that is Gone is left alone.
func TestNoticeBringsAnEndForward(t *testing.T) {
	for name, c := range map[string]struct {
		state    model.ClaimState
		deadline int64
		want     int64
		changed  bool
	}{
		"no deadline yet":  {model.Draining, 0, officeNow + 114, true},
		"a later deadline": {model.Draining, officeNow + 3600, officeNow + 114, true},
		"a sooner one":     {model.Draining, officeNow + 10, officeNow + 10, false},
		"terminating":      {model.Terminating, officeNow + 3600, officeNow + 3600, false},
		"gone":             {model.Gone, 0, 0, false},
	} {
		o := newOffice()
		claim := o.claim("spot")
		claim.State, claim.FailureCode, claim.Drain = c.state, model.EndedExpired, &model.Drain{SinceUnix: officeNow - 50, DeadlineUnix: c.deadline, TaintedUnix: officeNow - 49, EndUnix: officeNow - 1}
		o.put("shop", claim)
		failed, out := o.handle(saidOf(t, "1", about(model.NoticeSpotInterrupted, "terminate", "i-spot")))
		got := o.claim("spot")
		if len(failed) != 0 || got.Drain.DeadlineUnix != c.want || (got.Version != claim.Version) != c.changed || got.FailureCode != model.EndedExpired || got.State != c.state {
			t.Errorf("%s: %v, %+v, drain %+v", name, failed, got, got.Drain)
		}
		if (out.Hastened == 1) != c.changed || (o.times("drain") == 1) != c.changed || (out.Already == 1) == c.changed {
			t.Errorf("%s: %+v, did %q", name, out, o.diary)
		}
	}
}

// W1: a warning whose time has come has come true or has not: EC2 is asked, and nothing is drained on its word.
func TestStaleWarningRequestsAPassAndHarmsNothing(t *testing.T) {
	for late, want := range map[int64]model.ClaimState{100: model.Draining, 119: model.Draining, 120: model.Initialized, 500: model.Initialized, 4 * 24 * 3600: model.Initialized} {
		o := newOffice()
		notice := about(model.NoticeSpotInterrupted, "terminate", "i-spot")
		notice.AtUnix = officeNow - late
		failed, out := o.handle(saidOf(t, "1", notice))
		stale := want == model.Initialized
		if len(failed) != 0 || o.claim("spot").State != want || (out.Stale == 1) != stale || (o.times("look") == 1) != stale || (o.times("taint") == 0) != stale {
			t.Errorf("%d s late: %v %+v, %s, did %q", late, failed, out, o.claim("spot").State, o.diary)
		}
		if late > 180 && len(o.unavailableOfferings) != 0 {
			t.Errorf("%d s late: %+v", late, o.unavailableOfferings)
		}
	}
	// Nor on the word of one that names an end which is past, however young it says it is.
	for _, at := range []int64{officeNow, officeNow - 30} {
		for _, end := range []int64{officeNow, officeNow - 1, officeNow - 3600} {
			o := newOffice()
			notice := about(model.NoticeReservationInterrupted, "terminate", "i-reserved")
			notice.AtUnix, notice.EndUnix = at, end
			if _, out := o.handle(saidOf(t, "1", notice)); o.claim("reserved").State != model.Initialized || out.Stale != 1 || o.times("look") != 1 || o.times("taint") != 0 {
				t.Errorf("an end %d s ago: %+v, did %q", officeNow-end, out, o.diary)
			}
		}
	}
	// A change that AWS Health announced weeks ago is still to come.
	o := newOffice()
	change := about(model.NoticeScheduledChange, "X", "i-demand")
	change.AtUnix = officeNow - 14*24*3600
	if o.handle(saidOf(t, "1", change)); o.claim("demand").State != model.Draining {
		t.Errorf("%+v", o.claim("demand"))
	}
}

// W1: EC2 takes back spot instances and those in capacity reservations. Of any other instance such a warning asks for a check alone, and no
// offering is left alone for it.
func TestW1WarningThatDoesNotFitTheInstanceRequestsAPass(t *testing.T) {
	for instance, kinds := range map[string][]model.NoticeKind{
		"demand":   {model.NoticeSpotInterrupted, model.NoticeReservationInterrupted},
		"spot":     {model.NoticeReservationInterrupted},
		"reserved": {model.NoticeSpotInterrupted},
	} {
		for _, kind := range kinds {
			o := newOffice()
			failed, out := o.handle(saidOf(t, "1", about(kind, "terminate", "i-"+instance)))
			if len(failed) != 0 || o.claim(instance).State != model.Initialized || out.Unfit != 1 || o.times("look") != 1 || o.times("taint") != 0 || len(o.unavailableOfferings) != 0 {
				t.Errorf("%s of a machine bought as %s: %v %+v, %s, did %q", kind, instance, failed, out, o.claim(instance).State, o.diary)
			}
		}
	}
}

// C12: the deadline is AWS's time of the warning and AWS's time of now, and never earlier than those say.
func TestDeadlineOfAWarning(t *testing.T) {
	for name, c := range map[string]struct {
		at, end int64
		kind    model.NoticeKind
		want    int64
	}{
		"two minutes less a margin": {officeNow - 30, 0, model.NoticeReservationInterrupted, officeNow + 85},
		"a clock that is ahead":     {officeNow + 50, 0, model.NoticeReservationInterrupted, officeNow + 115},
		"the end EC2 names":         {officeNow - 30, officeNow + 300, model.NoticeReservationInterrupted, officeNow + 295},
		"an end before the warning": {officeNow + 50, officeNow + 40, model.NoticeReservationInterrupted, officeNow + 115},
		"seconds before its time":   {officeNow - 117, 0, model.NoticeReservationInterrupted, officeNow - 2},
	} {
		o := newOffice()
		notice := about(c.kind, "terminate", "i-reserved")
		notice.AtUnix, notice.EndUnix = c.at, c.end
		o.handle(saidOf(t, "1", notice))
		if got := o.claim("reserved").Drain; got == nil || got.DeadlineUnix != c.want || got.SinceUnix != officeNow {
			t.Errorf("%s: %+v, want a deadline in %d s", name, got, c.want-officeNow)
		}
	}
}

// Several notices of one instance begin one end: the most urgent says why, and the earliest deadline holds.
func TestNoticesOfOneInstanceBeginOneEnd(t *testing.T) {
	o := newOffice()
	later := about(model.NoticeSpotInterrupted, "terminate", "i-spot")
	later.AtUnix = officeNow
	failed, out := o.handle(
		saidOf(t, "1", about(model.NoticeTerminated, "shutting-down", "i-spot")), saidOf(t, "2", about(model.NoticeScheduledChange, "X", "i-spot", "i-demand", "i-of-others")),
		saidOf(t, "3", later), saidOf(t, "4", about(model.NoticeSpotInterrupted, "terminate", "i-spot")), saidOf(t, "5", about(model.NoticeRebalance, "", "i-spot")))
	claim := o.claim("spot")
	if len(failed) != 0 || claim.FailureCode != model.EndedSpotInterrupted || claim.Drain.DeadlineUnix != officeNow+114 || claim.Version != 4 {
		t.Errorf("%v %+v %+v", failed, claim, claim.Drain)
	}
	if o.claim("demand").State != model.Draining || out.Foreign != 0 || o.times("plan") != 1 || o.times("drain") != 1 || len(o.unavailableOfferings) != 1 || o.unavailableOfferings[0].AtUnix != officeNow {
		t.Errorf("%+v, marks %+v, did %q", out, o.unavailableOfferings, o.diary)
	}
}

// C6: of two who write a claim at once one reads it again; where it goes on changing the message comes again.
func TestNoticeReadsAgainWhatSomebodyElseWrote(t *testing.T) {
	o := newOffice()
	writes := 1
	o.before = func(op string) {
		if op == "advance web-spot" && writes > 0 {
			writes--
			claim := o.claim("spot")
			claim.Version++
			o.put("shop", claim)
		}
	}
	message := saidOf(t, "1", about(model.NoticeSpotInterrupted, "terminate", "i-spot"))
	if failed, _ := o.handle(message); len(failed) != 0 || o.claim("spot").State != model.Draining || o.claim("spot").Version != 5 {
		t.Errorf("%v %+v", failed, o.claim("spot"))
	}
	o = newOffice()
	writes = 100
	o.before = func(op string) {
		if op == "advance web-spot" {
			claim := o.claim("spot")
			claim.Version++
			o.put("shop", claim)
		}
	}
	if failed, _ := o.handle(message); !slices.Equal(failed, []string{"1"}) || o.times("advance") != 3 {
		t.Errorf("%v, did %q", failed, o.diary)
	}
}

// One cluster that cannot be reached, or whose registration is broken, delays no other of the batch.
func TestNoticesOfClustersAreApart(t *testing.T) {
	for _, op := range []string{"registry web", "connect web"} {
		o := newOffice()
		o.regs["web"] = model.Registration{Cluster: "web", Account: officeAccount, Region: officeRegion}
		o.put("web", model.Claim{Name: "web-spot", State: model.Initialized, InstanceID: "i-web", NodeName: "node-web", NodeUID: "u", CapacityType: model.Spot})
		o.errs[op] = fault.New(fault.Denied, "AccessDenied", "no")
		failed, out := o.handle(saidOf(t, "1", about(model.NoticeSpotInterrupted, "terminate", "i-web")), saidOf(t, "2", about(model.NoticeSpotInterrupted, "terminate", "i-spot")))
		if !slices.Equal(failed, []string{"1"}) || o.claim("spot").State != model.Draining || out.Begun["spot_interrupted"] != 1 {
			t.Errorf("%s: %v %+v", op, failed, out)
		}
	}
}

// R59, S35: a queue that is not there costs the hint and nothing else: the end is recorded, and the message comes again.
func TestR59_S35_MissingQueueIsNoEndOfTheWorld(t *testing.T) {
	o := newOffice()
	missing := fault.New(fault.NotFound, "AWS.SimpleQueueService.NonExistentQueue", "no such queue")
	o.errs["plan"], o.errs["drain"], o.errs["look"] = missing, missing, missing
	failed, out := o.handle(saidOf(t, "1", about(model.NoticeSpotInterrupted, "terminate", "i-spot")), saidOf(t, "2", about(model.NoticeStopped, "stopped", "i-demand")),
		saidOf(t, "3", about(model.NoticeRebalance, "", "i-reserved")))
	if !slices.Equal(failed, []string{"1", "2"}) || o.claim("spot").State != model.Draining || o.times("taint") != 1 || len(out.Problems) != 2 {
		t.Errorf("%v %+v", failed, out)
	}
	if !strings.Contains(strings.Join(out.Problems, "\n"), "no such queue") || len(o.events) == 0 {
		t.Errorf("told %q, events %v", out.Problems, o.events)
	}
}

// R61, S35: a call that never answers takes neither the rest of its batch nor the batch's answer with it.
func TestR61_S35_CallThatHangsEndsBeforeTheInvocation(t *testing.T) {
	synctest.Test(t, oneCallHangs)
}

func oneCallHangs(t *testing.T) {
	o := newOffice()
	o.hangs = "node-spot"
	flow := &Flow{Registry: o, Finder: o, Steps: o, Unavailable: o, RequestPlan: o.Plan, RequestDrain: o.Drain, RequestPass: o.RequestPass, Connector: o, Now: time.Now, Settings: Settings{StopBefore: time.Minute}}
	deadline := time.Now().Add(time.Minute + 200*time.Millisecond)
	failed, out := flow.Notices(t.Context(), []Received{
		saidOf(t, "1", about(model.NoticeSpotInterrupted, "terminate", "i-spot")), saidOf(t, "2", about(model.NoticeReservationInterrupted, "terminate", "i-reserved")),
	}, deadline)
	if left := time.Until(deadline); left < 30*time.Second || !slices.Equal(failed, []string{"1"}) || len(out.Problems) != 1 {
		t.Errorf("%s before its deadline: %v %+v", left, failed, out)
	}
	for _, kind := range []string{"spot", "reserved"} {
		if o.claim(kind).State != model.Draining {
			t.Errorf("%s is %s", kind, o.claim(kind).State)
		}
	}
}
