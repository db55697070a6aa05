package ec2

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

type describeCapacityReservationsInput struct {
	IDs        []string `query:"CapacityReservationId"`
	Filters    []Filter `query:"Filter"`
	NextToken  string
	MaxResults *int
}

type describeCapacityReservationsOutput struct {
	NextToken    string                            `xml:"nextToken,omitempty"`
	Reservations wire.Set[capacityReservationView] `xml:"capacityReservationSet"`
}

type capacityReservationView struct {
	ID                 string        `xml:"capacityReservationId"`
	OwnerID            string        `xml:"ownerId"`
	ARN                string        `xml:"capacityReservationArn"`
	AvailabilityZoneID string        `xml:"availabilityZoneId"`
	InstanceType       string        `xml:"instanceType"`
	Platform           string        `xml:"instancePlatform"`
	AvailabilityZone   string        `xml:"availabilityZone"`
	Tenancy            string        `xml:"tenancy"`
	Total              int           `xml:"totalInstanceCount"`
	Available          int           `xml:"availableInstanceCount"`
	EBSOptimized       bool          `xml:"ebsOptimized"`
	EphemeralStorage   bool          `xml:"ephemeralStorage"`
	State              string        `xml:"state"`
	StartDate          wire.Time     `xml:"startDate"`
	EndDate            *wire.Time    `xml:"endDate"`
	EndDateType        string        `xml:"endDateType"`
	MatchCriteria      string        `xml:"instanceMatchCriteria"`
	CreateDate         wire.Time     `xml:"createDate"`
	Tags               wire.Set[Tag] `xml:"tagSet"`
	ReservationType    string        `xml:"reservationType"`
	Interruptible      bool          `xml:"interruptible"`

	Allocation   *allocationView   `xml:"interruptibleCapacityAllocation"`
	Interruption *interruptionView `xml:"interruptionInfo"`
}

func (m *Model) viewReservation(r *reservation) capacityReservationView {
	now := m.now()
	v := capacityReservationView{
		ID: r.ID, OwnerID: r.OwnerID, ARN: r.arn, AvailabilityZone: r.Zone, AvailabilityZoneID: catalog.ZoneID(r.Zone), InstanceType: r.Type,
		Platform: r.Platform, Tenancy: r.Tenancy, Total: r.Total, Available: m.free(r), State: r.state(now), StartDate: wire.Time{Time: r.Start},
		EndDateType: "unlimited", MatchCriteria: "open", CreateDate: wire.Time{Time: r.created}, ReservationType: "default",
		Tags: wire.SetOf(tagList(m.tags.seen(r.ID, now))), Interruptible: r.Interruptible, Allocation: m.viewAllocation(r),
	}
	if r.lentBy != nil {
		v.Interruption = &interruptionView{r.lentBy.ID, interruptionAdhoc}
	}
	if v.State == "cancelled" || v.State == "expired" {
		v.Total = 0
	}
	if r.Targeted || r.Block || r.Interruptible {
		v.MatchCriteria = "targeted"
	}
	if r.Block {
		v.ReservationType = "capacity-block"
	}
	if !r.End.IsZero() {
		v.EndDate, v.EndDateType = &wire.Time{Time: r.End}, "limited"
	}
	return v
}

var reservationFields = fields[capacityReservationView]{
	"availability-zone":       func(r capacityReservationView) []string { return one(r.AvailabilityZone) },
	"availability-zone-id":    func(r capacityReservationView) []string { return one(r.AvailabilityZoneID) },
	"end-date-type":           func(r capacityReservationView) []string { return one(r.EndDateType) },
	"instance-match-criteria": func(r capacityReservationView) []string { return one(r.MatchCriteria) },
	"instance-platform":       func(r capacityReservationView) []string { return one(r.Platform) },
	"instance-type":           func(r capacityReservationView) []string { return one(r.InstanceType) },
	"owner-id":                func(r capacityReservationView) []string { return one(r.OwnerID) },
	"start-date":              func(r capacityReservationView) []string { return one(timeText(r.StartDate.Time)) },
	"state":                   func(r capacityReservationView) []string { return one(r.State) },
	"tenancy":                 func(r capacityReservationView) []string { return one(r.Tenancy) },
}

func (m *Model) describeCapacityReservations(_ context.Context, in *describeCapacityReservationsInput) (*describeCapacityReservationsOutput, error) {
	m.lock()
	defer m.unlock()
	if len(in.IDs) > 0 && in.MaxResults != nil {
		return nil, wire.Errorf("InvalidParameterCombination", "The parameter CapacityReservationIds cannot be used with the parameter MaxResults")
	}
	for _, id := range in.IDs {
		if !strings.HasPrefix(id, "cr-") {
			return nil, wire.Errorf("InvalidCapacityReservationId.Malformed", "Invalid id: \"%s\" (expecting \"cr-...\")", id)
		}
	}
	views := []capacityReservationView{}
	for _, r := range m.held {
		views = append(views, m.viewReservation(r))
	}
	id := func(v capacityReservationView) string { return v.ID }
	slices.SortFunc(views, func(a, b capacityReservationView) int { return strings.Compare(a.ID, b.ID) })
	views, err := pickByID(views, in.IDs, id, "InvalidCapacityReservationId.NotFound", "capacity reservation ID")
	if err != nil {
		return nil, err
	}
	tags := func(v capacityReservationView) map[string]string { return m.tags.seen(v.ID, m.now()) }
	if views, err = filter(views, in.Filters, reservationFields, tags); err != nil {
		return nil, err
	}
	views, next, err := page(views, id, pages{1, 1000, 1000}, in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	return &describeCapacityReservationsOutput{next, wire.SetOf(views)}, nil
}

type createCapacityReservationInput struct {
	ClientToken           string `json:"-"`
	InstanceType          string
	InstancePlatform      string
	AvailabilityZone      string
	AvailabilityZoneID    string `query:"AvailabilityZoneId"`
	Tenancy               string
	InstanceCount         int
	EBSOptimized          bool `query:"EbsOptimized"`
	EndDate               time.Time
	EndDateType           string
	InstanceMatchCriteria string
	TagSpecifications     []TagSpecification
}

type capacityReservationOutput struct {
	Reservation capacityReservationView `xml:"capacityReservation"`
}

// createCapacityReservation makes one on demand. Blocks are bought another way, which is not modeled: AddReservation.
func (m *Model) createCapacityReservation(_ context.Context, in *createCapacityReservationInput) (*capacityReservationOutput, error) {
	m.lock()
	defer m.unlock()
	if err := checkTagSpecifications(in.TagSpecifications, "capacity-reservation"); err != nil {
		return nil, err
	}
	if before, ok, err := m.replay("CreateCapacityReservation", in.ClientToken, in); ok || err != nil {
		out, _ := before.(*capacityReservationOutput)
		return out, err
	}
	if err := m.checkNewReservation(in); err != nil {
		return nil, err
	}
	r := m.addReservation(Reservation{Type: in.InstanceType, Zone: in.AvailabilityZone, Platform: in.InstancePlatform, Tenancy: in.Tenancy,
		Total: in.InstanceCount, Targeted: in.InstanceMatchCriteria == "targeted", End: in.EndDate, Tags: tagsFor("capacity-reservation", in.TagSpecifications...)})
	out := &capacityReservationOutput{m.viewReservation(r)}
	m.remember("CreateCapacityReservation", in.ClientToken, in, out)
	return out, nil
}

func (m *Model) checkNewReservation(in *createCapacityReservationInput) error {
	for _, z := range catalog.Zones() {
		if z.ID == in.AvailabilityZoneID && in.AvailabilityZone == "" {
			in.AvailabilityZone = z.Name
		}
	}
	t, known := m.types[in.InstanceType]
	switch {
	case in.InstancePlatform != linux && in.InstancePlatform != windows:
		return wire.Errorf("InvalidParameterValue", "Invalid value '%s' for InstancePlatform", in.InstancePlatform)
	case in.InstanceCount < 1:
		return wire.Errorf("InvalidParameterValue", "The parameter InstanceCount must be at least 1")
	case !slices.Contains([]string{"", "open", "targeted"}, in.InstanceMatchCriteria):
		return wire.Errorf("InvalidParameterValue", "Invalid value '%s' for InstanceMatchCriteria", in.InstanceMatchCriteria)
	case catalog.ZoneID(in.AvailabilityZone) == "":
		return wire.Errorf("InvalidAvailabilityZone", "Invalid availability zone: [%s]", in.AvailabilityZone)
	case !known || !t.OfferedIn(in.AvailabilityZone):
		return wire.Errorf("Unsupported", "The requested configuration is currently not supported: %s in %s.", in.InstanceType, in.AvailabilityZone)
	case (in.EndDateType == "limited") != !in.EndDate.IsZero():
		return wire.Errorf("InvalidParameterCombination", "An EndDate and the EndDateType 'limited' need each other.")
	case !in.EndDate.IsZero() && !in.EndDate.After(m.now()):
		return wire.Errorf("InvalidParameterValue", "The EndDate must be in the future.")
	}
	return nil
}

type cancelCapacityReservationInput struct {
	ID string `query:"CapacityReservationId"`
}

func (m *Model) cancelCapacityReservation(_ context.Context, in *cancelCapacityReservationInput) (*returnOutput, error) {
	m.lock()
	defer m.unlock()
	r := m.reservation(in.ID)
	if r == nil {
		return nil, wire.Errorf("InvalidCapacityReservationId.NotFound", "The capacity reservation ID '%s' does not exist", in.ID)
	}
	switch state := r.state(m.now()); state {
	case "active", "scheduled":
	case "cancelled": // again
		return &returnOutput{true}, nil
	default:
		return nil, wire.Errorf("InvalidCapacityReservationState", "The Capacity Reservation '%s' is %s.", in.ID, state)
	}
	if r.lends != nil {
		return nil, wire.Errorf("InvalidCapacityReservationState", "The Capacity Reservation '%s' has an active interruptible capacity allocation.", in.ID)
	}
	m.cancel(r)
	return &returnOutput{true}, nil
}
