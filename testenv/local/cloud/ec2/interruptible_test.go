package ec2_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
)

func (b bench) lend(t *testing.T, source string, n int32) (*sdk.CreateInterruptibleCapacityReservationAllocationOutput, error) {
	return b.sdk.CreateInterruptibleCapacityReservationAllocation(t.Context(), &sdk.CreateInterruptibleCapacityReservationAllocationInput{CapacityReservationId: &source, InstanceCount: &n})
}

func TestAReservationLendsWhatItDoesNotUseAndTakesItBack(t *testing.T) {
	b := newBench(t)
	ctx := t.Context()
	source := b.reserve(3, func(r *ec2.Reservation) { r.Targeted = true })
	token, n := aws.String("once"), aws.Int32(2)
	in := &sdk.CreateInterruptibleCapacityReservationAllocationInput{CapacityReservationId: &source, InstanceCount: n, ClientToken: token}
	for range 2 { // the same token is the same allocation
		out, err := b.sdk.CreateInterruptibleCapacityReservationAllocation(ctx, in)
		if err != nil || *out.SourceCapacityReservationId != source || *out.TargetInstanceCount != 2 || out.InterruptionType != "adhoc" {
			t.Fatalf("%+v %v", out, err)
		}
	}
	from := b.described(t, source)
	if a := from.InterruptibleCapacityAllocation; a == nil || *a.InstanceCount != 2 || *a.TargetInstanceCount != 2 || a.Status != "active" || *from.TotalInstanceCount != 3 || *from.AvailableInstanceCount != 1 {
		t.Fatalf("the source: %+v", from)
	}
	to := *from.InterruptibleCapacityAllocation.InterruptibleCapacityReservationId
	if r := b.described(t, to); !*r.Interruptible || *r.TotalInstanceCount != 2 || *r.InterruptionInfo.SourceCapacityReservationId != source || r.State != "active" || *r.InstanceType != *from.InstanceType || r.InstanceMatchCriteria != "targeted" {
		t.Errorf("what it lends: %+v", r)
	}
	b.template(t, "nodes", into(to, "capacity-reservations-only", types.MarketTypeInterruptibleCapacityReservation))
	out := b.fleet(t, reservedFleet(1, types.DefaultTargetCapacityTypeReservedCapacity, b.over("m5.large", "a")))
	if len(launchedIDs(out)) != 1 {
		t.Fatalf("%+v", out.Errors)
	}
	id := launchedIDs(out)[0]
	b.clock.Advance(time.Minute)
	_, err := b.lend(t, source, 1)
	wantCode(t, "a second allocation", err, "InvalidCapacityReservationState")
	cancel := func() error {
		_, err := b.sdk.CancelCapacityReservation(ctx, &sdk.CancelCapacityReservationInput{CapacityReservationId: &source})
		return err
	}
	wantCode(t, "cancelling a reservation that lends", cancel(), "InvalidCapacityReservationState")
	update := func(n int32) (*sdk.UpdateInterruptibleCapacityReservationAllocationOutput, error) {
		return b.sdk.UpdateInterruptibleCapacityReservationAllocation(ctx, &sdk.UpdateInterruptibleCapacityReservationAllocationInput{CapacityReservationId: &source, TargetInstanceCount: &n})
	}
	_, err = update(4)
	wantCode(t, "more than there is", err, "InvalidParameterValue")
	more, err := update(3)
	if err != nil || *more.InstanceCount != 3 || *more.InterruptibleCapacityReservationId != to || *b.described(t, source).AvailableInstanceCount != 0 || *b.described(t, to).AvailableInstanceCount != 2 {
		t.Errorf("lent one more: %+v %v", more, err)
	}
	back, err := update(0)
	if err != nil || *back.InstanceCount != 1 || back.Status != "updating" {
		t.Errorf("all taken back: %+v %v", back, err)
	}
	if i, _ := b.Lookup(id); i.State != ec2.Running {
		t.Errorf("its instance is %s at once", i.State)
	}
	if r := b.described(t, source); *r.AvailableInstanceCount != 2 || b.described(t, to).State != "active" {
		t.Errorf("while an instance is warned: %+v", r)
	}
	b.clock.Advance(2 * time.Minute)
	b.clock.Advance(time.Minute)
	if i, _ := b.Lookup(id); i.State != ec2.Terminated {
		t.Errorf("its instance is %s after three minutes", i.State)
	}
	if r := b.described(t, to); r.State != "cancelled" {
		t.Errorf("what it lent is %s", r.State)
	}
	if r := b.described(t, source); *r.AvailableInstanceCount != 3 || r.InterruptibleCapacityAllocation != nil {
		t.Errorf("afterwards: %+v", r)
	}
	_, err = update(1)
	wantCode(t, "changing what there is no more", err, "InvalidCapacityReservationState")
	if err := cancel(); err != nil {
		t.Error(err)
	}
}

func TestAnInterruptibleReservationThatIsKeptStaysAtZero(t *testing.T) {
	b := newBench(t)
	source := b.reserve(1)
	in := &sdk.CreateInterruptibleCapacityReservationAllocationInput{CapacityReservationId: &source, InstanceCount: aws.Int32(1), ZeroSizePreference: types.ZeroSizePreferenceRetain}
	if _, err := b.sdk.CreateInterruptibleCapacityReservationAllocation(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	to := *b.described(t, source).InterruptibleCapacityAllocation.InterruptibleCapacityReservationId
	if _, err := b.sdk.UpdateInterruptibleCapacityReservationAllocation(t.Context(), &sdk.UpdateInterruptibleCapacityReservationAllocationInput{CapacityReservationId: &source, TargetInstanceCount: aws.Int32(0)}); err != nil {
		t.Fatal(err)
	}
	if r := b.described(t, to); r.State != "active" || *r.AvailableInstanceCount != 0 || *b.described(t, source).AvailableInstanceCount != 1 {
		t.Errorf("at zero: %+v", r)
	}
}

func TestReservationsThatCannotLendSaySo(t *testing.T) {
	b := newBench(t)
	for name, c := range map[string]struct {
		change func(*ec2.Reservation)
		n      int32
		code   string
	}{
		"more than is free":     {func(*ec2.Reservation) {}, 3, "InvalidParameterValue"},
		"nothing":               {func(*ec2.Reservation) {}, 0, "InvalidParameterValue"},
		"one with an end":       {func(r *ec2.Reservation) { r.End = start.Add(time.Hour) }, 1, "InvalidCapacityReservationState"},
		"one that begins later": {func(r *ec2.Reservation) { r.Start = start.Add(time.Hour) }, 1, "InvalidCapacityReservationState"},
		"a block":               {func(r *ec2.Reservation) { r.Block = true }, 1, "InvalidParameterValue"},
		"one that is lent":      {func(r *ec2.Reservation) { r.Interruptible = true }, 1, "InvalidParameterValue"},
		"another account's":     {func(r *ec2.Reservation) { r.OwnerID = "210987654321" }, 1, "InvalidParameterValue"},
	} {
		_, err := b.lend(t, b.reserve(2, c.change), c.n)
		wantCode(t, name, err, c.code)
	}
	_, err := b.lend(t, "cr-0123456789abcdef0", 1)
	wantCode(t, "an unknown id", err, "InvalidCapacityReservationId.NotFound")
	_, err = b.lend(t, "reservation", 1)
	wantCode(t, "no id", err, "InvalidCapacityReservationId.Malformed")
}
