package allowance

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/joiner-sh/joiner/shared/model"
)

var rates = Rates{}.WithDefaults()

func TestAllowanceThatWasNeverWrittenIsFull(t *testing.T) {
	a := rates.Refilled(model.Allowance{}, 1000)
	if a.CallsMilli != 50_000 || a.ReadsMilli != 80_000 || a.InsufficientMilli != 10_000 || a.AtUnix != 1000 {
		t.Errorf("%+v", a)
	}
}

func TestTakeNeverPassesWhatThereIs(t *testing.T) {
	a := rates.Refilled(model.Allowance{}, 1000)
	for _, c := range []struct{ ask, want int }{{30, 30}, {30, 20}, {1, 0}, {-5, 0}} {
		if got := Take(&a, 1000, c.ask); got != c.want {
			t.Errorf("asked for %d, got %d, want %d", c.ask, got, c.want)
		}
	}
	a.Version = 1
	if a = rates.Refilled(a, 1002); Take(&a, 1002, 50) != 10 {
		t.Error("two seconds bring ten calls")
	}
}

func TestReadsAreCountedApartAndWhollyOrNotAtAll(t *testing.T) {
	a := rates.Refilled(model.Allowance{}, 1000)
	if !TakeReads(&a, 1000, 70) || TakeReads(&a, 1000, 11) || !TakeReads(&a, 1000, 10) || a.CallsMilli != 50_000 || Take(&a, 1000, 50) != 50 {
		t.Errorf("%+v", a)
	}
	a.Version = 1
	if a = rates.Refilled(a, 1002); !TakeReads(&a, 1002, 30) || TakeReads(&a, 1002, 1) {
		t.Error("two seconds bring thirty looks")
	}
	if RecordThrottle(&a, 1002); TakeReads(&a, 1003, 0) && a.ReadsMilli != 0 {
		t.Error("a throttled region looks nothing up")
	}
}

func TestThrottledClosesForLongerEachTimeUntilAnAnswer(t *testing.T) {
	a := rates.Refilled(model.Allowance{}, 1000)
	for _, want := range []int64{10, 20, 40, 60, 60} {
		if RecordThrottle(&a, 1000); a.ClosedUntilUnix != 1000+want || Take(&a, 1000+want-1, 1) != 0 {
			t.Errorf("closed until %d, want %d", a.ClosedUntilUnix, 1000+want)
		}
	}
	RecordAnswer(&a)
	if RecordThrottle(&a, 2000); a.ClosedUntilUnix != 2010 {
		t.Errorf("after an answer it is closed until %d", a.ClosedUntilUnix)
	}
}

// Whatever was stored, by whatever clock, the buckets stay within their bounds and a wrong clock is forgotten.
func TestRefilledStaysWithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := rapid.Int64Range(1e6, 2e9).Draw(t, "now")
		a := model.Allowance{
			Version: 1, AtUnix: rapid.Int64Range(0, 4e9).Draw(t, "at"), CallsMilli: rapid.Int64Range(0, 50_000).Draw(t, "calls"),
			InsufficientMilli: rapid.Int64Range(0, 10_000).Draw(t, "dry"), ClosedUntilUnix: rapid.Int64Range(0, 4e9).Draw(t, "closed"),
		}
		b := rates.Refilled(a, now)
		if b.CallsMilli < a.CallsMilli || b.CallsMilli > 50_000 || b.InsufficientMilli < a.InsufficientMilli || b.InsufficientMilli > 10_000 {
			t.Fatalf("%+v became %+v", a, b)
		}
		if b.AtUnix > now+60 || b.ClosedUntilUnix > now+60 {
			t.Fatalf("a clock that is wrong is believed: %+v at %d", b, now)
		}
	})
}

// Of two clusters one takes whatever it gets. The other still finds calls at once, and none are left unused by that.
func TestShareLeavesCallsForWhoTookFew(t *testing.T) {
	a, greedy := rates.Refilled(model.Allowance{}, 1000), int64(0)
	taken := 0
	for now := int64(1000); now < 1060; now++ {
		a.Version = 1
		a = rates.Refilled(a, now)
		greedy = RecentUse(greedy, now-1, now, 60)
		got := Take(&a, now, min(100, rates.Share(a, greedy)))
		greedy += int64(got) * Milli
		taken += got
		if left := rates.Share(a, 0); left < 10 {
			t.Fatalf("after %d s %d calls are left for a cluster that took none", now-1000, left)
		}
	}
	if want := 50 + 59*5 - 20; taken < want-5 || taken > want {
		t.Errorf("the one that takes all it gets took %d in a minute, want %d: all there are but those kept", taken, want)
	}
	if n := rates.Share(model.Allowance{CallsMilli: 7 * Milli}, 0); n != 7 {
		t.Errorf("a cluster that took none may take %d of seven", n)
	}
}

func TestLatelyForgetsAndBelievesNoWrongClock(t *testing.T) {
	for _, c := range []struct{ used, at, now, perMinute, want int64 }{
		{10_000, 1000, 1000, 60, 10_000}, {10_000, 1000, 1004, 60, 6_000}, {10_000, 1000, 2000, 60, 0}, {10_000, 1000, 1090, 2, 7_000},
		{1e9, 1000, 1000, 60, 60_000}, {1e9, 1000, 1e18, 60, 0}, {10_000, 5000, 1000, 60, 0}, {10_000, 1030, 1000, 60, 10_000}, {0, 0, 1000, 60, 0},
	} {
		if got := RecentUse(c.used, c.at, c.now, c.perMinute); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
