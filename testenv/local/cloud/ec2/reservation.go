package ec2

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Reserved is the capacity type of pools that are launched from by naming a capacity reservation: FailPool takes it.
const Reserved = "reserved"

// Markets an instance can be bought on besides OnDemand and Spot.
const (
	marketBlock         = "capacity-block"
	marketInterruptible = "interruptible-capacity-reservation"
)

// Preferences of a launch about reservations.
const (
	preferOpen = "open"
	preferNone = "none"
	preferOnly = "capacity-reservations-only"
)

// Reservation is capacity held for instances of one type in one zone.
type Reservation struct {
	ID       string // made up when empty
	OwnerID  string // "" means the account of the model; another's is shared with it
	Type     string
	Zone     string // name
	Platform string // "" means Linux/UNIX
	Tenancy  string // "" means default
	Total    int    // instances
	// Targeted ones take only instances that name them; the others also take every launch on demand that fits and does
	// not ask to be left out. Blocks and interruptible ones have to be named either way.
	Targeted      bool
	Block         bool      // a capacity block: its instances end half an hour before it does
	Interruptible bool      // its owner may take the capacity back: TakeBack
	Start         time.Time // zero means now; until then it is scheduled
	End           time.Time // zero means never; instances of one that is no block go on as on-demand ones
	Tags          map[string]string
}

// blockEnds is how long before its end the instances of a capacity block are terminated. Source: user guide, "Capacity
// Blocks for ML".
const blockEnds = 30 * time.Minute

type reservation struct {
	Reservation
	created  time.Time
	canceled bool
	arn      string
	lends    *allocation  // what of it is an interruptible one's; nil: nothing
	lentBy   *reservation // whose capacity an interruptible one has; nil when somebody else's
}

// AddReservation makes a capacity reservation and returns its id.
func (m *Model) AddReservation(r Reservation) string {
	m.lock()
	defer m.unlock()
	return m.addReservation(r).ID
}

func (m *Model) addReservation(r Reservation) *reservation {
	if r.ID == "" {
		r.ID = m.newID("cr")
	}
	if r.Start.IsZero() {
		r.Start = m.now()
	}
	r.OwnerID, r.Platform, r.Tenancy = cmp.Or(r.OwnerID, m.account), cmp.Or(r.Platform, linux), cmp.Or(r.Tenancy, "default")
	added := &reservation{Reservation: r, created: m.now(),
		arn: "arn:aws:ec2:" + catalog.Region + ":" + r.OwnerID + ":capacity-reservation/" + r.ID}
	m.held = append(m.held, added)
	m.tags.set(r.ID, r.Tags, m.now())
	if r.End.IsZero() {
		return added
	}
	last := r.End
	if r.Block {
		last = last.Add(-blockEnds)
	}
	m.clock.AfterFunc(last.Sub(m.now()), func() {
		m.lock()
		defer m.unlock()
		m.leave(added)
	})
	return added
}

// CancelReservation ends a reservation now, and reports whether there was one to end.
func (m *Model) CancelReservation(id string) bool {
	m.lock()
	defer m.unlock()
	r := m.reservation(id)
	if r == nil || r.state(m.now()) == "cancelled" || r.state(m.now()) == "expired" {
		return false
	}
	m.cancel(r)
	return true
}

func (m *Model) cancel(r *reservation) {
	r.canceled = true
	m.leave(r)
}

// ResizeReservation changes for how many instances a reservation is, and reports whether there is one of that id. Those
// that are in it stay.
func (m *Model) ResizeReservation(id string, total int) bool {
	m.lock()
	defer m.unlock()
	r := m.reservation(id)
	if r != nil {
		r.Total = total
	}
	return r != nil
}

// leave ends what a reservation that is over does for its instances: those of a block are terminated, those of others
// run on without it.
func (m *Model) leave(r *reservation) {
	for _, i := range m.inside(r) {
		if r.Block || r.Interruptible {
			m.terminate(i, reasonReservation)
			continue
		}
		i.reservation, i.facts.ReservationID = nil, ""
	}
}

// inside returns the instances that take up room in a reservation, by launch: until they are stopped or terminated.
func (m *Model) inside(r *reservation) []*instance {
	var in []*instance
	for _, id := range m.order {
		if i := m.instances[id]; i.reservation == r && i.facts.State != Terminated && i.facts.State != Stopped {
			in = append(in, i)
		}
	}
	return in
}

// free returns for how many more instances there is room.
func (m *Model) free(r *reservation) int {
	if r.state(m.now()) != "active" {
		return 0
	}
	return max(0, r.Total-len(m.inside(r))-m.lent(r))
}

func (r *reservation) state(now time.Time) string {
	switch {
	case r.canceled:
		return "cancelled"
	case now.Before(r.Start):
		return "scheduled"
	case !r.End.IsZero() && !now.Before(r.End):
		return "expired"
	}
	return "active"
}

// closing reports whether a block takes no more instances because it ends them already.
func (r *reservation) closing(now time.Time) bool {
	return r.Block && !r.End.IsZero() && !now.Before(r.End.Add(-blockEnds))
}

func (r *reservation) market() string {
	switch {
	case r.Block:
		return marketBlock
	case r.Interruptible:
		return marketInterruptible
	}
	return OnDemand
}

func (m *Model) reservation(id string) *reservation {
	i := slices.IndexFunc(m.held, func(r *reservation) bool { return r.ID == id })
	if i < 0 {
		return nil
	}
	return m.held[i]
}

// resolveReservations finds the reservations a launch may use, in the order it uses them, and refuses what EC2 refuses
// before it looks for room in them.
func (m *Model) resolveReservations(spec *launchSpec) *wire.Error {
	standalone := value(spec.data.CapacityReservation)
	target := ""
	if standalone.Target != nil {
		if standalone.Target.ResourceGroupARN != "" {
			return wire.Errorf("UnsupportedOperation", "Groups of capacity reservations are not modelled")
		}
		target = standalone.Target.ID
	}
	switch {
	case standalone.Preference != "" && !slices.Contains([]string{preferOpen, preferNone, preferOnly}, standalone.Preference):
		return wire.Errorf("InvalidParameterValue", "Invalid value '%s' for CapacityReservationPreference", standalone.Preference)
	case target != "" && standalone.Preference != "" && standalone.Preference != preferOnly:
		return wire.Errorf("InvalidParameterCombination", "You can specify only one parameter (CapacityReservationPreference or CapacityReservationTarget) in a CapacityReservationSpecification")
	case spec.pool.CapacityType == Spot && (target != "" || standalone.Preference == preferOnly):
		return wire.Errorf("InvalidParameterCombination", "You can't launch Spot Instances into a Capacity Reservation.")
	case target != "":
		return m.resolveTarget(spec, target)
	case spec.market == marketBlock || spec.market == marketInterruptible:
		return wire.Errorf("InvalidParameterCombination", "The market type '%s' needs the ID of a Capacity Reservation as target.", spec.market)
	case spec.pool.CapacityType == Spot || standalone.Preference == preferNone:
		return nil
	}
	spec.reservedOnly = standalone.Preference == preferOnly
	for _, r := range m.held {
		if !r.Targeted && r.market() == OnDemand && r.fits(spec) {
			spec.reservations = append(spec.reservations, r)
		}
	}
	slices.SortFunc(spec.reservations, func(a, b *reservation) int { return strings.Compare(a.ID, b.ID) })
	return nil
}

func (m *Model) resolveTarget(spec *launchSpec, id string) *wire.Error {
	if !strings.HasPrefix(id, "cr-") {
		return wire.Errorf("InvalidCapacityReservationId.Malformed", "Invalid id: \"%s\" (expecting \"cr-...\")", id)
	}
	r := m.reservation(id)
	switch {
	case r == nil:
		return wire.Errorf("InvalidCapacityReservationId.NotFound", "The capacity reservation ID '%s' does not exist", id)
	case r.state(m.now()) != "active":
		return wire.Errorf("InvalidCapacityReservationState", "The Capacity Reservation '%s' is not in the active state, but %s.", id, r.state(m.now()))
	case r.market() != spec.market:
		return wire.Errorf("InvalidParameterCombination", "The Capacity Reservation '%s' is launched into with the market type '%s', not '%s'.", id, r.market(), spec.market)
	case !r.fits(spec):
		return wire.Errorf("InvalidParameterValue", "The attributes of the instance (%s, %s, %s) do not match those of the Capacity Reservation '%s' (%s, %s, %s).",
			spec.pool.Type, spec.pool.Zone, spec.image.Platform, id, r.Type, r.Zone, r.Platform)
	}
	spec.reservations, spec.reservedOnly = []*reservation{r}, true
	return nil
}

// fits reports whether instances of a launch are what a reservation is for.
func (r *reservation) fits(spec *launchSpec) bool {
	return r.Type == spec.pool.Type && r.Zone == spec.pool.Zone && r.Platform == spec.image.Platform && r.Tenancy == spec.tenancy()
}

// room returns how many instances of a launch its reservations take, what the book has noted already counted.
func (m *Model) room(b *book, spec *launchSpec) int {
	n := 0
	for _, r := range spec.reservations {
		if !r.closing(m.now()) {
			n += max(0, m.free(r)-b.reserved[r.ID])
		}
	}
	return n
}

// note books n instances into the reservations of a launch, in their order.
func (m *Model) note(b *book, spec *launchSpec, n int) {
	for _, r := range spec.reservations {
		take := min(n, max(0, m.free(r)-b.reserved[r.ID]))
		b.reserved[r.ID] += take
		n -= take
	}
}

// enterReservation puts a new instance into the first of its launch's reservations with room, if any.
func (m *Model) enterReservation(i *instance, spec *launchSpec) {
	for _, r := range spec.reservations {
		if m.free(r) > 0 && !r.closing(m.now()) {
			i.reservation, i.facts.ReservationID = r, r.ID
			return
		}
	}
}

func noReservedCapacity() *wire.Error {
	return wire.Errorf("ReservationCapacityExceeded", "The requested reservation does not have sufficient compatible and available capacity for this request.")
}
