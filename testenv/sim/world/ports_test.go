package world_test

import (
	"context"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// repeating carries launches out so many times, and has the process hear the last answer.
type repeating int

func (n repeating) Pass(_ context.Context, op world.Op, act func() error) (err error) {
	times := 1
	if op.Name == "fleet.launch" {
		times = int(n)
	}
	for range times {
		err = act()
	}
	return err
}

// A launch that was sent twice was sent again because its first answer was lost: as with the SDK (F6), a refusal of the second is no word
// of what came of the first. Sent once, EC2's own word stands.
func TestF6ALaunchSentTwiceAndThrottledIsUnknown(t *testing.T) {
	for times, want := range map[int]fault.Kind{1: fault.Throttled, 2: fault.Internal} {
		w := world.New(world.Options{Types: []string{"c5.large", "m5.large"}})
		site, err := w.Ports(repeating(times), "one").Connect(t.Context(), world.Registration())
		if err != nil {
			t.Fatal(err)
		}
		request, err := site.Fleet.PrepareRequest(t.Context(), draft("a", model.OnDemand, 1))
		if err != nil {
			t.Fatal(err)
		}
		w.Fleet.Throttle("CreateFleet", 0.001, 1) // one call and no more
		if times == 1 {
			w.Fleet.RefuseNextWith("RequestLimitExceeded")
		}
		_, err = site.Fleet.Launch(t.Context(), request)
		if fault.KindOf(err) != want || len(w.Fleet.Instances()) != times-1 {
			t.Errorf("sent %d times: kind %s with %d machines, want %s: %v", times, fault.KindOf(err), len(w.Fleet.Instances()), want, err)
		}
	}
}
