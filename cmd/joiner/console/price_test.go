package console

import (
	"slices"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

func TestThePriceCurveGoesBackByWhatCameAndWent(t *testing.T) {
	changes := []change{{100, 5}, {200, 7}, {250, -7}, {250, -1}, {300, 2}, {10, 99}, {400, 99}}
	// at 350 it costs 20: before 300 two less, before 250 eight more, before 200 seven less, before 100 five less
	want := []PricePoint{{50, 14}, {100, 19}, {200, 26}, {250, 18}, {300, 20}, {350, 20}}
	if got := PriceCurve(350, 50, 20, changes); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestAPriceCurveOfNothingIsFlat(t *testing.T) {
	if got, want := PriceCurve(100, 40, 3, nil), []PricePoint{{40, 3}, {100, 3}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestU3AfterAPauseTheCurveSaysWhatHappened: what came and went while no page was open is in the curve of a page that
// opens again, of one that was there before the pause, and of a console that starts then, alike.
func TestU3AfterAPauseTheCurveSaysWhatHappened(t *testing.T) {
	now := start
	settings := Settings{Now: func() time.Time { return now }, Span: time.Hour}
	source := &script{cluster: small(0, 1, 0)}
	feed := NewFeed(source, settings)
	feed.Refresh(t.Context())
	messages, leave, err := feed.Subscribe()
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	there := &page{}
	there.take(t, <-messages)

	peak := model.Claim{
		Name: "default-9", Pool: "default", State: model.Launched, InstanceID: "i-9", Price: 4_000_000,
		InstanceType: "m.large", Zone: "z1", CapacityType: "spot",
		CreatedUnix: start.Unix() + 118, LaunchedUnix: start.Unix() + 120, Decision: "01A",
	}
	source.mu.Lock()
	source.records = Records{
		Decisions: []model.Decision{{
			ID: "01A", AtUnix: start.Unix() + 118, Pending: 9, Launched: []string{"default-9"},
			Rounds: []model.Round{{Launched: []model.Claim{peak}}},
		}},
		Removals: []model.Removal{{Claim: peak, GoneUnix: start.Unix() + 300, PricePerHour: 4_000_000}},
	}
	source.mu.Unlock()
	source.set(small(600, 1, 0), nil)
	now = start.Add(10 * time.Minute)
	feed.Refresh(t.Context())
	for len(messages) > 0 {
		there.take(t, <-messages)
	}
	fresh := NewFeed(source, settings)
	fresh.Refresh(t.Context())

	want := fresh.state.Prices
	up, down := PricePoint{start.Unix() + 120, 4_040_000}, PricePoint{start.Unix() + 300, 40_000}
	if !slices.Contains(want, up) || !slices.Contains(want, down) {
		t.Fatalf("the records' curve lacks the peak: %v", want)
	}
	if !slices.Equal(feed.state.Prices, want) {
		t.Errorf("the feed has  %v\na fresh one %v", feed.state.Prices, want)
	}
	if !slices.Equal(there.state.Prices, want) {
		t.Errorf("the page has  %v\na fresh one %v", there.state.Prices, want)
	}
}

// TestU3LateRecordsMendTheCurve: an instance that came and went between two looks is known by its record alone, which
// may be late.
func TestU3LateRecordsMendTheCurve(t *testing.T) {
	now := start
	source := &script{cluster: small(0, 1, 0)}
	feed := NewFeed(source, Settings{Now: func() time.Time { return now }, Span: time.Hour})
	for second := range 12 {
		if second == 9 {
			peak := model.Claim{Name: "default-9", InstanceID: "i-9", Price: 500_000, LaunchedUnix: start.Unix() + 2}
			source.records.Removals = []model.Removal{{Claim: peak, GoneUnix: start.Unix() + 3, PricePerHour: 500_000}}
		}
		now = start.Add(time.Duration(second) * time.Second)
		source.set(small(second, 1, 0), nil)
		feed.Refresh(t.Context())
	}
	if !slices.Contains(feed.state.Prices, PricePoint{start.Unix() + 2, 540_000}) {
		t.Errorf("the curve is %v", feed.state.Prices)
	}
}

// TestU3AClaimWithoutAnInstanceCountsFromWhenItWasMade: its price is not drawn into the time before.
func TestU3AClaimWithoutAnInstanceCountsFromWhenItWasMade(t *testing.T) {
	made := start.Unix() - 5
	intended := model.Claim{Name: "default-2", Pool: "default", State: model.Intended, Price: 70_000, CreatedUnix: made}
	source := &script{cluster: small(0, 1, 0, intended)}
	feed := NewFeed(source, Settings{Now: func() time.Time { return start }, Span: time.Hour})
	feed.Refresh(t.Context())
	early := PricePoint{start.Unix() - 3600, 110_000}
	if got := feed.state.Prices; !slices.Contains(got, PricePoint{made, 110_000}) || slices.Contains(got, early) {
		t.Errorf("the curve is %v", got)
	}
}
