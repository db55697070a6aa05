package ec2_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
)

func TestSameTokenGivesTheFirstAnswerAgain(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes")
	b.SetCapacity(pool("c5.large", "a", ec2.OnDemand), 0)
	request := func() *sdk.CreateFleetInput {
		in := fleetOf(2, onDemand, b.over("c5.large", "a"), b.over("m5.large", "a"))
		in.ClientToken = aws.String("intent-1")
		in.TagSpecifications = tagged("instance", "joiner.sh/intent")
		return in
	}
	first := b.fleet(t, request())
	b.clock.Advance(10 * time.Minute)
	b.ClearCapacity(pool("c5.large", "a", ec2.OnDemand)) // the world has changed; the answer has not
	again := b.fleet(t, request())
	if *first.FleetId != *again.FleetId || !slices.Equal(launchedIDs(first), launchedIDs(again)) || !slices.Equal(failures(first), failures(again)) {
		t.Errorf("second answer %s %v %v, want %s %v %v", *again.FleetId, launchedIDs(again), failures(again), *first.FleetId, launchedIDs(first), failures(first))
	}
	if n := len(b.Launches()); n != 2 {
		t.Errorf("%d launches, want 2", n)
	}
}

func TestSameTokenWithOtherParametersIsRefused(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes")
	in := fleetOf(1, onDemand, b.over("m5.large", "a"))
	in.ClientToken = aws.String("intent-1")
	b.fleet(t, in)
	in.TargetCapacitySpecification.TotalTargetCapacity = aws.Int32(2)
	_, err := b.sdk.CreateFleet(t.Context(), in)
	wantCode(t, "repeat with another target", err, "IdempotentParameterMismatch")
	in.ClientToken = aws.String("intent-2")
	b.fleet(t, in)
	if n := len(b.Launches()); n != 3 {
		t.Errorf("%d launches, want 3", n)
	}
}

// Whether a request that was refused as a whole uses up its token is read in two ways.
func TestRefusedRequestsUseUpTheirTokenOrNot(t *testing.T) {
	for name, c := range map[string]struct {
		reads *reading.Set
		want  string
	}{
		"used up":     {reading.Strict(reading.TokenRefused), "InvalidLaunchTemplateName.NotFoundException"},
		"not used up": {reading.Other(reading.TokenRefused), ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := readAs(t, c.reads.Without(delays...))
			in := fleetOf(1, onDemand, b.over("m5.large", "a"))
			in.ClientToken = aws.String("intent-1")
			_, err := b.sdk.CreateFleet(t.Context(), in)
			wantCode(t, "without its template", err, "InvalidLaunchTemplateName.NotFoundException")
			b.template(t, "nodes")
			if _, err = b.sdk.CreateFleet(t.Context(), in); c.want == "" && err != nil {
				t.Error(err)
			} else if c.want != "" {
				wantCode(t, "the same request again", err, c.want)
			}
		})
	}
}

// Whether a fleet that got nothing uses up its token is read in two ways. One that got something always does.
func TestUnfulfilledFleetsUseUpTheirTokenOrNot(t *testing.T) {
	for name, c := range map[string]struct {
		reads *reading.Set
		want  int
	}{
		"used up":     {reading.Strict(reading.TokenUnfulfilled), 0},
		"not used up": {reading.Other(reading.TokenUnfulfilled), 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := readAs(t, c.reads.Without(delays...))
			b.template(t, "nodes")
			b.SetCapacity(pool("m5.large", "a", ec2.OnDemand), 0)
			in := fleetOf(1, onDemand, b.over("m5.large", "a"))
			in.ClientToken = aws.String("intent-1")
			if first := b.fleet(t, in); len(launchedIDs(first)) != 0 || failures(first)[0] == "" {
				t.Fatalf("a dry pool gave %v, %v", launchedIDs(first), failures(first))
			}
			b.ClearCapacity(pool("m5.large", "a", ec2.OnDemand))
			if again := b.fleet(t, in); len(launchedIDs(again)) != c.want {
				t.Errorf("the same request again launched %v, want %d", launchedIDs(again), c.want)
			}
		})
	}
}

func TestConcurrentRequestsWithOneTokenLaunchOnce(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes")
	in := fleetOf(1, onDemand, b.over("m5.large", "a"))
	in.ClientToken = aws.String("intent-1")
	var wg sync.WaitGroup
	ids := make([]string, 20)
	for i := range ids {
		wg.Go(func() {
			out, err := b.sdk.CreateFleet(t.Context(), in)
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = launchedIDs(out)[0]
		})
	}
	wg.Wait()
	slices.Sort(ids)
	if unique := slices.Compact(ids); len(unique) != 1 {
		t.Errorf("launched %v, want one instance", unique)
	}
	if n := len(b.Launches()); n != 1 {
		t.Errorf("%d launches, want 1", n)
	}
}

func TestLaunchesRememberTheTokenOfTheirRequest(t *testing.T) {
	for name, c := range map[string]struct {
		reads *reading.Set
		found int
	}{
		"a token of EC2's making": {reading.Strict(reading.FleetInstanceToken), 0},
		"the token of the fleet":  {reading.Other(reading.FleetInstanceToken), 1},
	} {
		t.Run(name, func(t *testing.T) { rememberToken(t, readAs(t, c.reads.Without(delays...)), c.found) })
	}
}

func rememberToken(t *testing.T, b bench, want int) {
	b.template(t, "nodes")
	in := fleetOf(1, spot, b.over("m5.large", "a"))
	in.ClientToken = aws.String("intent-1")
	id := launchedIDs(b.fleet(t, in))[0]
	l := b.Launches()
	if len(l) != 1 || l[0].ClientToken != "intent-1" || l[0].ID != id || !l[0].LaunchTime.Equal(start) || l[0].CapacityType != ec2.Spot {
		t.Errorf("launches %+v", l)
	}
	b.clock.Advance(time.Minute)
	if found := b.describe(t, by("client-token", "intent-1")); len(found) != want {
		t.Errorf("found %d instances by the token of the fleet, want %d", len(found), want)
	}
}
