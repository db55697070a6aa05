package shadow_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/shadow"
	"github.com/joiner-sh/joiner/shared/model"
)

// noon is on 2026-05-28.
var noon = time.Date(2026, 5, 28, 12, 0, 0, 0, time.UTC).Unix()

// bucket has decisions of one cluster, and findings about them.
type bucket struct {
	provisioned map[string]model.Decision
	evaluated   map[string]model.Disrupted
	found       map[string]model.Shadowed
	indexes     map[string]model.ShadowIndex
	refuse      error // by whoever is asked for a snapshot
}

func newBucket() *bucket {
	return &bucket{map[string]model.Decision{}, map[string]model.Disrupted{}, map[string]model.Shadowed{}, map[string]model.ShadowIndex{}, nil}
}

func (b *bucket) flow() *shadow.Flow {
	return &shadow.Flow{Records: b, Findings: b, By: "new", Catalogs: replay.Sources{
		Snapshot: func(p model.Manifest) (*model.Snapshot, error) { return &model.Snapshot{Seq: p.HeadSeq}, b.refuse },
		Catalog:  func(string, string, string) (*model.InstanceCatalog, error) { return &model.InstanceCatalog{}, nil },
	}}
}

func day(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.DateOnly) }

func (b *bucket) Recorded(_ context.Context, _ string, from, to int64) ([]model.Recorded, error) {
	var out []model.Recorded
	days := shadow.UTCDays(from, to)
	for id, d := range b.provisioned {
		if slices.Contains(days, day(d.AtUnix)) {
			out = append(out, model.Recorded{ID: id, Kind: model.KindProvision, Day: day(d.AtUnix)})
		}
	}
	for id, d := range b.evaluated {
		if slices.Contains(days, day(d.AtUnix)) {
			out = append(out, model.Recorded{ID: id, Kind: model.KindDisrupt, Day: day(d.AtUnix)})
		}
	}
	slices.SortFunc(out, func(a, b model.Recorded) int { return slices.Compare([]string{a.Day, a.ID}, []string{b.Day, b.ID}) })
	return out, nil
}

func (b *bucket) Decision(_ context.Context, _, _, id string) (model.Decision, error) {
	return b.provisioned[id], nil
}
func (b *bucket) Disruption(_ context.Context, _, _, id string) (model.Disrupted, error) {
	return b.evaluated[id], nil
}
func (b *bucket) PutShadow(_ context.Context, day string, s model.Shadowed) error {
	b.found[day+s.By+s.Decision] = s
	return nil
}
func (b *bucket) Shadow(_ context.Context, _, day, by, decision string) (model.Shadowed, error) {
	s, there := b.found[day+by+decision]
	return s, missing(there)
}
func (b *bucket) PutShadowIndex(_ context.Context, index model.ShadowIndex) error {
	b.indexes[index.Day+index.By] = index
	return nil
}
func (b *bucket) ShadowIndex(_ context.Context, _, day, by string) (model.ShadowIndex, error) {
	index, there := b.indexes[day+by]
	return index, missing(there)
}

func missing(there bool) error {
	if there {
		return nil
	}
	return fault.New(fault.NotFound, "NoSuchKey", "it is not there")
}

// decided is a decision about nothing.
func decided(at int64, price model.MicroUSD) model.Decision {
	return model.Decision{AtUnix: at, Build: "live", Input: &model.DecisionInput{Snapshot: &model.Manifest{HeadSeq: 7}},
		Rounds: []model.Round{{Input: &model.PlannerInput{}, Plan: model.Plan{Price: price}}}}
}

// D7: decisions of the span are dealt with, over days, and none beside it; a price that differs is reported, a plan after it for the same
// pods is not added to it.
func TestD7OnlyTheSpanIsComparedAndPricesCountOnce(t *testing.T) {
	b := newBucket()
	same := replay.Round(&model.PlannerInput{}, &model.Snapshot{}, nil)
	for id, at := range map[string]int64{"before": noon - 1, "first": noon, "next-day": noon + 24*3600 - 1, "after": noon + 24*3600} {
		d := decided(at, 0)
		d.Rounds[0].Plan = same
		b.provisioned[id] = d
	}
	twice := decided(noon+5, 70)
	twice.Rounds = append(twice.Rounds, twice.Rounds[0])
	b.provisioned["twice"] = twice

	pass, err := b.flow().Run(t.Context(), "shop", noon, noon+24*3600, nil)
	if err != nil || pass.Same != 2 || !slices.Equal(pass.Different, []string{"twice"}) || len(pass.Unanswered) != 0 {
		t.Fatalf("%+v, %v", pass, err)
	}
	r, err := b.flow().Report(t.Context(), "shop", noon, noon+24*3600)
	if err != nil || r.Compared != 3 || r.Same != 2 || r.Different != 1 || r.Wording != 1 || r.Provision != (shadow.Total{Different: 1, Live: 70}) || len(r.Decisions) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := b.flow().Report(t.Context(), "shop", noon+6, noon+24*3600); err != nil || r.Compared != 1 || r.Different != 0 {
		t.Errorf("of a part of the span: %+v, %v", r, err)
	}
	// What differed and does not any more, by the same build, is the same.
	twice.Rounds[0].Plan, twice.Rounds[1].Plan = same, same
	if _, err := b.flow().Run(t.Context(), "shop", noon, noon+24*3600, nil); err != nil {
		t.Fatal(err)
	}
	if r, err := b.flow().Report(t.Context(), "shop", noon, noon+24*3600); err != nil || r.Same != 3 || r.Different != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// D7: a version that panics over a question makes it otherwise, and goes on with the next.
func TestD7APanicIsADifference(t *testing.T) {
	b := newBucket()
	b.evaluated["bad"] = model.Disrupted{AtUnix: noon, Recorded: &model.DecisionInput{Snapshot: &model.Manifest{HeadSeq: 7}}} // asks nothing
	good := decided(noon+1, 0)
	good.Rounds[0].Plan = replay.Round(&model.PlannerInput{}, &model.Snapshot{}, nil)
	b.provisioned["good"] = good
	if pass, err := b.flow().Run(t.Context(), "shop", noon, noon+10, nil); err != nil || pass.Same != 1 || !slices.Equal(pass.Different, []string{"bad"}) {
		t.Fatalf("%+v, %v", pass, err)
	}
	if r, err := b.flow().Report(t.Context(), "shop", noon, noon+10); err != nil || len(r.Decisions) != 1 || r.Decisions[0].Panic == "" || r.Wording != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// D7: what is gone cannot be made once more, and is said; what cannot be read now is no finding.
func TestD7WhatCannotBeReadIsNoDifference(t *testing.T) {
	b := newBucket()
	b.provisioned["one"] = decided(noon, 70)
	b.refuse = fault.New(fault.Throttled, "SlowDown", "slow down")
	seen := shadow.Seen{}
	if pass, err := b.flow().Run(t.Context(), "shop", noon, noon+10, seen); !fault.Is(err, fault.Throttled) || pass.Compared() != 0 || len(pass.Unanswered) != 0 || len(seen) != 0 {
		t.Errorf("%+v, %v", pass, err)
	}
	if _, err := b.flow().Report(t.Context(), "shop", noon, noon+10); !fault.Is(err, fault.NotFound) {
		t.Errorf("nothing was compared, and yet: %v", err)
	}
	b.refuse = missing(false)
	pass, err := b.flow().Run(t.Context(), "shop", noon, noon+10, seen)
	if err != nil || len(pass.Unanswered) != 1 || len(pass.Problems) != 1 || !seen[model.KindProvision+"one"] {
		t.Errorf("%+v, %v", pass, err)
	}
	if r, err := b.flow().Report(t.Context(), "shop", noon, noon+10); err != nil || r.Compared != 0 || len(r.Unanswered) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}
