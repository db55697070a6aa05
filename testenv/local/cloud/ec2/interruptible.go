package ec2

import (
	"context"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// What becomes of an interruptible reservation that has given everything back.
const (
	zeroCancels = "default"
	zeroRetains = "retain"
)

// interruptionAdhoc is the only way instances of interruptible reservations are ended.
const interruptionAdhoc = "adhoc"

// maxAllocation is how many instances can be allocated at once. Source: user guide, "Interruptible Capacity Reservations
// for capacity owners".
const maxAllocation = 1000

// allocation is capacity of a reservation that is lent to an interruptible one.
type allocation struct {
	to     *reservation
	target int  // instances; to.Total is how many it takes in, and what is inside counts until it has ended
	retain bool // to stays at zero
}

// lent returns how many instances of a reservation are not its own now.
func (m *Model) lent(r *reservation) int {
	if r.lends == nil {
		return 0
	}
	return max(r.lends.to.Total, len(m.inside(r.lends.to)))
}

// settle cancels an interruptible reservation that has given everything back and is not to stay.
func (m *Model) settle(r *reservation) {
	if a := r.lends; a != nil && !a.retain && a.target == 0 && m.lent(r) == 0 {
		a.to.canceled = true
		r.lends = nil
	}
}

type allocationView struct {
	InstanceCount       int    `xml:"instanceCount"`
	TargetInstanceCount int    `xml:"targetInstanceCount"`
	Status              string `xml:"status"`
	ReservationID       string `xml:"interruptibleCapacityReservationId"`
	InterruptionType    string `xml:"interruptionType"`
	ZeroSizePreference  string `xml:"zeroSizePreference"`
}

type interruptionView struct {
	SourceID         string `xml:"sourceCapacityReservationId"`
	InterruptionType string `xml:"interruptionType"`
}

func (m *Model) viewAllocation(r *reservation) *allocationView {
	if r.lends == nil {
		return nil
	}
	v := &allocationView{m.lent(r), r.lends.target, "active", r.lends.to.ID, interruptionAdhoc, zeroCancels}
	if v.InstanceCount != v.TargetInstanceCount {
		v.Status = "updating"
	}
	if r.lends.retain {
		v.ZeroSizePreference = zeroRetains
	}
	return v
}

type createAllocationInput struct {
	ClientToken        string `json:"-"`
	ReservationID      string `query:"CapacityReservationId"`
	InstanceCount      int
	ZeroSizePreference string
	TagSpecifications  []TagSpecification `query:"TagSpecification"`
}

type createAllocationOutput struct {
	SourceID            string `xml:"sourceCapacityReservationId"`
	TargetInstanceCount int    `xml:"targetInstanceCount"`
	Status              string `xml:"status"`
	InterruptionType    string `xml:"interruptionType"`
}

// createAllocation makes an interruptible reservation of what a reservation does not use. The answer does not name it:
// describing the source does.
func (m *Model) createAllocation(_ context.Context, in *createAllocationInput) (*createAllocationOutput, error) {
	m.lock()
	defer m.unlock()
	if err := checkTagSpecifications(in.TagSpecifications, "capacity-reservation"); err != nil {
		return nil, err
	}
	if before, ok, err := m.replay("CreateInterruptibleCapacityReservationAllocation", in.ClientToken, in); ok || err != nil {
		out, _ := before.(*createAllocationOutput)
		return out, err
	}
	r, err := m.lender(in.ReservationID, in.ZeroSizePreference)
	switch {
	case err != nil:
		return nil, err
	case r.lends != nil:
		return nil, wire.Errorf("InvalidCapacityReservationState", "The Capacity Reservation '%s' already has an active interruptible capacity allocation.", r.ID)
	case r.state(m.now()) != "active" || !r.End.IsZero():
		return nil, wire.Errorf("InvalidCapacityReservationState", "The Capacity Reservation '%s' must be active and have no end date.", r.ID)
	case in.InstanceCount < 1 || in.InstanceCount > maxAllocation:
		return nil, wire.Errorf("InvalidParameterValue", "The parameter InstanceCount must be between 1 and %d", maxAllocation)
	case in.InstanceCount > m.free(r):
		return nil, wire.Errorf("InvalidParameterValue", "The Capacity Reservation '%s' has %d available instances, and %d were to be allocated.", r.ID, m.free(r), in.InstanceCount)
	}
	to := m.addReservation(Reservation{Type: r.Type, Zone: r.Zone, Platform: r.Platform, Tenancy: r.Tenancy, Total: in.InstanceCount, Targeted: true,
		Interruptible: true, Tags: tagsFor("capacity-reservation", in.TagSpecifications...)})
	to.lentBy = r
	r.lends = &allocation{to, in.InstanceCount, in.ZeroSizePreference == zeroRetains}
	out := &createAllocationOutput{r.ID, in.InstanceCount, "active", interruptionAdhoc}
	m.remember("CreateInterruptibleCapacityReservationAllocation", in.ClientToken, in, out)
	return out, nil
}

// lender finds the reservation that lends or is to lend.
func (m *Model) lender(id, zero string) (*reservation, error) {
	if !strings.HasPrefix(id, "cr-") {
		return nil, wire.Errorf("InvalidCapacityReservationId.Malformed", "Invalid id: \"%s\" (expecting \"cr-...\")", id)
	}
	r := m.reservation(id)
	switch {
	case r == nil:
		return nil, wire.Errorf("InvalidCapacityReservationId.NotFound", "The capacity reservation ID '%s' does not exist", id)
	case r.Block || r.Interruptible || r.OwnerID != m.account:
		return nil, wire.Errorf("InvalidParameterValue", "The Capacity Reservation '%s' cannot lend capacity: only On-Demand Capacity Reservations of the account's own can.", id)
	case !slices.Contains([]string{"", zeroCancels, zeroRetains}, zero):
		return nil, wire.Errorf("InvalidParameterValue", "Invalid value '%s' for ZeroSizePreference", zero)
	}
	return r, nil
}

type updateAllocationInput struct {
	ReservationID       string `query:"CapacityReservationId"`
	TargetInstanceCount *int
	ZeroSizePreference  string
}

type updateAllocationOutput struct {
	ReservationID       string `xml:"interruptibleCapacityReservationId"`
	SourceID            string `xml:"sourceCapacityReservationId"`
	InstanceCount       int    `xml:"instanceCount"`
	TargetInstanceCount int    `xml:"targetInstanceCount"`
	Status              string `xml:"status"`
	InterruptionType    string `xml:"interruptionType"`
}

// updateAllocation lends more, or takes back: instances that no longer fit are warned, and what they hold is the lender's
// again once they have ended.
func (m *Model) updateAllocation(_ context.Context, in *updateAllocationInput) (*updateAllocationOutput, error) {
	m.lock()
	defer m.unlock()
	r, err := m.lender(in.ReservationID, in.ZeroSizePreference)
	if err != nil {
		return nil, err
	}
	a := r.lends
	switch {
	case a == nil:
		return nil, wire.Errorf("InvalidCapacityReservationState", "The Capacity Reservation '%s' doesn't have an active interruptible capacity allocation.", r.ID)
	case in.TargetInstanceCount == nil && in.ZeroSizePreference == "":
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameter TargetInstanceCount")
	case in.TargetInstanceCount != nil && *in.TargetInstanceCount < 0:
		return nil, wire.Errorf("InvalidParameterValue", "The parameter TargetInstanceCount must not be negative")
	case in.TargetInstanceCount != nil && *in.TargetInstanceCount > m.lent(r)+m.free(r):
		return nil, wire.Errorf("InvalidParameterValue", "The Capacity Reservation '%s' has %d available instances, and %d more were to be allocated.", r.ID, m.free(r), *in.TargetInstanceCount-a.target)
	}
	if in.ZeroSizePreference != "" {
		a.retain = in.ZeroSizePreference == zeroRetains
	}
	if in.TargetInstanceCount != nil {
		a.target = *in.TargetInstanceCount
		if less := a.to.Total - a.target; less > 0 {
			m.takeBack(a.to, less)
		}
		a.to.Total = a.target
	}
	v := m.viewAllocation(r)
	m.settle(r)
	return &updateAllocationOutput{v.ReservationID, r.ID, v.InstanceCount, v.TargetInstanceCount, v.Status, interruptionAdhoc}, nil
}
