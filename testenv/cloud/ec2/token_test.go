package ec2_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/joiner-sh/joiner/testenv/cloud/ec2"
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

func TestRefusedRequestsDoNotUseUpTheirToken(t *testing.T) {
	b := newBench(t)
	in := fleetOf(1, onDemand, b.over("m5.large", "a"))
	in.ClientToken = aws.String("intent-1")
	_, err := b.sdk.CreateFleet(t.Context(), in)
	wantCode(t, "without its template", err, "InvalidLaunchTemplateName.NotFoundException")
	b.template(t, "nodes")
	b.fleet(t, in)
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
	b := newBench(t)
	b.template(t, "nodes")
	in := fleetOf(1, spot, b.over("m5.large", "a"))
	in.ClientToken = aws.String("intent-1")
	id := launchedIDs(b.fleet(t, in))[0]
	l := b.Launches()
	if len(l) != 1 || l[0].ClientToken != "intent-1" || l[0].ID != id || !l[0].LaunchTime.Equal(start) || l[0].CapacityType != ec2.Spot {
		t.Errorf("launches %+v", l)
	}
	b.clock.Advance(time.Minute)
	// EC2 gives instances of a fleet a token of its own making.
	if found := b.describe(t, by("client-token", "intent-1")); len(found) != 0 {
		t.Errorf("found %d instances by the token of the fleet", len(found))
	}
}
