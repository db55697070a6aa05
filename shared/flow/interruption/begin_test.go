package interruption

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// fakeHints is the ports begin needs: it writes down what is asked of it, and fails where it is set to.
type fakeHints struct {
	Objects
	stored  model.Claim
	patches []model.NodePatch
	hints   []string
	advance error
	patch   error
	hint    error
}

func (d *fakeHints) Advance(_ context.Context, _ string, claim model.Claim) (model.Claim, error) {
	if d.advance != nil {
		return claim, d.advance
	}
	claim.Version++
	d.stored = claim
	return claim, nil
}

func (d *fakeHints) PatchNode(_ context.Context, patch model.NodePatch) error {
	d.patches = append(d.patches, patch)
	return d.patch
}

func (d *fakeHints) Plan(_ context.Context, cluster, key string) error {
	d.hints = append(d.hints, "plan "+cluster+" "+key)
	return d.hint
}

func (d *fakeHints) Drain(_ context.Context, cluster, key string, after time.Duration) error {
	d.hints = append(d.hints, "drain "+cluster+" "+key+" "+after.String())
	return d.hint
}

func (d *fakeHints) begin(t *testing.T, claim model.Claim, why Cause) (model.Claim, bool, error) {
	t.Helper()
	flow := &Flow{Steps: d, RequestPlan: d.Plan, RequestDrain: d.Drain}
	return Begin(t.Context(), flow, Clients{Objects: d}, model.Registration{Cluster: "shop"}, claim, why)
}

func seconds(n int64) *int64 { return &n }

func TestBeginRecordsTheEndAndTaintsTheNode(t *testing.T) {
	joined := model.Claim{Name: "web-1", State: model.Initialized, Version: 4, NodeName: "n1", NodeUID: "u1"}
	cases := map[string]struct {
		claim    model.Claim
		why      Cause
		state    model.ClaimState
		deadline int64
		tainted  int
	}{
		"of a node":                    {joined, Cause{Code: model.EndedExpired, NowUnix: 1000}, model.Draining, 0, 1},
		"with a deadline":              {joined, Cause{Code: model.EndedSpotInterrupted, DeadlineUnix: 1115, NowUnix: 1000}, model.Draining, 1115, 1},
		"with grace":                   {with(joined, func(c *model.Claim) { c.GraceSeconds = seconds(600) }), Cause{NowUnix: 1000}, model.Draining, 1600, 1},
		"grace before deadline":        {with(joined, func(c *model.Claim) { c.GraceSeconds = seconds(60) }), Cause{DeadlineUnix: 1115, NowUnix: 1000}, model.Draining, 1060, 1},
		"no grace at all":              {with(joined, func(c *model.Claim) { c.GraceSeconds = seconds(0) }), Cause{NowUnix: 1000}, model.Draining, 1000, 1},
		"of a machine that never came": {with(joined, func(c *model.Claim) { c.State, c.NodeName, c.NodeUID = model.Launched, "", "" }), Cause{NowUnix: 1000}, model.Terminating, 0, 0},
	}
	for name, c := range cases {
		d := &fakeHints{}
		begun, tainted, err := d.begin(t, c.claim, c.why)
		if err != nil || !tainted || begun.State != c.state || begun.Version != 5 || begun.Drain == nil || begun.Drain.DeadlineUnix != c.deadline || begun.Drain.SinceUnix != 1000 {
			t.Errorf("%s: %+v %v %v", name, begun, tainted, err)
		}
		if begun.FailureCode != c.why.Code || len(d.patches) != c.tainted {
			t.Errorf("%s: %q, %d patches", name, begun.FailureCode, len(d.patches))
		}
		if c.tainted == 1 && (d.patches[0].UID != "u1" || d.patches[0].Labels[model.LabelExcludeBalancers] == "" || d.patches[0].AddTaints[0].Key != model.TaintDisrupted) {
			t.Errorf("%s: patched %+v", name, d.patches[0])
		}
		if c.claim.Drain != nil || c.claim.FailureCode != "" {
			t.Errorf("%s: the claim that was given was written to", name)
		}
	}
}

func with(claim model.Claim, change func(*model.Claim)) model.Claim {
	change(&claim)
	return claim
}

// Draining is irrevocable: what comes later may only bring the deadline forward.
func TestBeginOfWhatHasBegunOnlyHastensIt(t *testing.T) {
	draining := model.Claim{
		Name: "web-1", State: model.Draining, Version: 7, NodeName: "n1", NodeUID: "u1", FailureCode: model.EndedExpired,
		Drain: &model.Drain{SinceUnix: 900, DeadlineUnix: 2000, DueUnix: 1030},
	}
	d := &fakeHints{}
	begun, _, err := d.begin(t, draining, Cause{Code: model.EndedSpotInterrupted, DeadlineUnix: 1115, NowUnix: 1000})
	if err != nil || begun.Version != 8 || begun.Drain.DeadlineUnix != 1115 || begun.Drain.DueUnix != 0 || begun.Drain.SinceUnix != 900 || begun.FailureCode != model.EndedExpired {
		t.Errorf("%+v %+v %v", begun, begun.Drain, err)
	}
	if draining.Drain.DeadlineUnix != 2000 {
		t.Error("the claim that was given was written to")
	}
	for name, claim := range map[string]model.Claim{
		"later":       draining,
		"terminating": with(draining, func(c *model.Claim) { c.State = model.Terminating }),
		"gone":        with(draining, func(c *model.Claim) { c.State = model.Gone }),
	} {
		d := &fakeHints{advance: fault.New(fault.Internal, "", "must not be called")}
		why := Cause{Code: model.EndedSpotInterrupted, DeadlineUnix: 1115, NowUnix: 1000}
		if name == "later" {
			why.DeadlineUnix = 3000
		}
		if begun, tainted, err := d.begin(t, claim, why); err != nil || !tainted || !reflect.DeepEqual(begun, claim) || len(d.patches) > 0 {
			t.Errorf("%s: %+v %v", name, begun, err)
		}
	}
}

func TestBeginFails(t *testing.T) {
	joined := model.Claim{Name: "web-1", State: model.Registered, NodeName: "n1", NodeUID: "u1"}
	if _, _, err := (&fakeHints{}).begin(t, model.Claim{Name: "web-1", State: model.Intended}, Cause{}); !fault.Is(err, fault.Conflict) {
		t.Errorf("without a machine: %v", err)
	}
	d := &fakeHints{advance: fault.New(fault.Conflict, "ClaimChanged", "")}
	if _, _, err := d.begin(t, joined, Cause{}); !fault.Is(err, fault.Conflict) || len(d.patches) > 0 {
		t.Errorf("another version: %v, %d patches", err, len(d.patches))
	}
	d = &fakeHints{patch: fault.New(fault.Internal, "", "i/o timeout")}
	if begun, tainted, err := d.begin(t, joined, Cause{}); err != nil || tainted || begun.State != model.Draining {
		t.Errorf("not tainted: %+v %v %v", begun, tainted, err)
	}
	d = &fakeHints{patch: fault.New(fault.NotFound, "", "gone")}
	if _, tainted, err := d.begin(t, joined, Cause{}); err != nil || !tainted {
		t.Errorf("the node is gone: %v %v", tainted, err)
	}
}

func TestAnnounceAsksBothWhateverBecomesOfOne(t *testing.T) {
	d := &fakeHints{}
	flow := &Flow{RequestPlan: d.Plan, RequestDrain: d.Drain, Now: func() time.Time { return time.Unix(1000, 0) }}
	if err := sessionOf(flow, Clients{}, model.Registration{}).announce(t.Context(), "shop", "k", 3); err != nil || !reflect.DeepEqual(d.hints, []string{"plan shop k", "drain shop k@1000 0s"}) {
		t.Errorf("%v %v", d.hints, err)
	}
	d.hint = fault.New(fault.Internal, "", "queue down")
	if err := sessionOf(flow, Clients{}, model.Registration{}).announce(t.Context(), "shop", "k", 3); err == nil || len(d.hints) != 4 {
		t.Errorf("%v %v", d.hints, err)
	}
}

// C1: where many ends begin at once their drains begin when provision had a moment to ask for what the pods need.
func TestC1_DrainsOfManyEndsAreAskedForAMomentLater(t *testing.T) {
	d := &fakeHints{}
	flow := &Flow{RequestPlan: d.Plan, RequestDrain: d.Drain, Now: func() time.Time { return time.Unix(1000, 0) }}
	if err := sessionOf(flow, Clients{}, model.Registration{}).announce(t.Context(), "shop", "k", 4); err != nil || !reflect.DeepEqual(d.hints, []string{"plan shop k", "drain shop k@1000 2s"}) {
		t.Errorf("%v %v", d.hints, err)
	}
}

// R71, C1: a hint of something whoever holds the lease has read, or is about to, is done with; any other asks again.
func TestR71_HintIsDoneWithWhereTheRunAtWorkKnows(t *testing.T) {
	const now = 5000
	of := func(ticks ...string) *Request {
		r := &Request{}
		for _, tick := range ticks {
			r.Take(wire.Hint{Reason: wire.ReasonDrain, Tick: tick})
		}
		return r
	}
	for name, c := range map[string]struct {
		request *Request
		since   int64
		want    bool
	}{
		"recorded before the lease was taken":     {of("notice/1@4990", "step/4995/0"), 4998, true},
		"within what clocks may differ by":        {of("notice/1@4990", "notice/2@4997"), 4998, false},
		"recorded after":                          {of("notice/1@4999"), 4998, false},
		"one of which nobody knows when":          {of("notice/1@4990", "judge/7"), 4998, false},
		"tried before, and not known":             {of("step/0/2"), 4998, false},
		"tried before, and known":                 {of("step/4990/2"), 4998, true},
		"nothing is known":                        {of(), 4998, false},
		"the holder may have died meanwhile":      {of("notice/1@4900"), 4994, false},
		"the holder does not say since when":      {of("notice/1@4900"), 0, false},
		"the holder's clock is ahead":             {of("notice/1@4900"), 5002, false},
		"a hint of another kind of run says none": {of("x@", "step/4990/0"), 4998, false},
	} {
		if got := c.request.handled(model.Fence{SinceUnix: c.since}, now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
