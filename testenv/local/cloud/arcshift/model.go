package arcshift

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Options describe the account and region.
type Options struct {
	Clock clock.Clock
	// OnEvent hears what goes to EventBridge: a detail-type and the ARN it is about. nil: nobody does.
	OnEvent func(detailType, arn string)
}

// Model is one account in one region. It is safe for concurrent use.
type Model struct {
	options Options

	mu        sync.Mutex
	resources []string // ARNs, sorted
	shifts    []*shift // active or over, in the order they were started
}

type shift struct {
	id, arn, zone, comment string
	auto, canceled         bool
	start, expiry          time.Time // an autoshift has no expiry
}

// active reports whether the shift is in force at a time.
func (s *shift) active(now time.Time) bool {
	return !s.canceled && (s.auto || s.expiry.After(now))
}

// New returns a model that manages no resource.
func New(o Options) *Model { return &Model{options: o} }

// Manage enables zonal shifts for a resource, such as a cluster.
func (m *Model) Manage(arn string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Contains(m.resources, arn) {
		m.resources = append(m.resources, arn)
		slices.Sort(m.resources)
	}
}

// Autoshift has AWS move a resource away from a zone, until EndAutoshift.
func (m *Model) Autoshift(arn, zone string) {
	m.mu.Lock()
	m.start(arn, zone, "", time.Time{})
	m.mu.Unlock()
	m.announce("Autoshift In Progress", arn)
}

// EndAutoshift ends the autoshifts of a resource.
func (m *Model) EndAutoshift(arn string) {
	m.mu.Lock()
	for _, s := range m.shifts {
		s.canceled = s.canceled || s.auto && s.arn == arn
	}
	m.mu.Unlock()
	m.announce("Autoshift Completed", arn)
}

func (m *Model) announce(detailType, arn string) {
	if m.options.OnEvent != nil {
		m.options.OnEvent(detailType, arn)
	}
}

// start adds a shift; without an expiry it is an autoshift.
func (m *Model) start(arn, zone, comment string, expiry time.Time) *shift {
	s := &shift{
		id: fmt.Sprintf("00000000-0000-4000-8000-%012d", len(m.shifts)+1), arn: arn, zone: zone, comment: comment,
		auto: expiry.IsZero(), start: m.options.Clock.Now(), expiry: expiry,
	}
	m.shifts = append(m.shifts, s)
	return s
}

// activeOf returns the shifts in force for a resource. The first is the one that is applied: a zonal shift goes before
// an autoshift.
func (m *Model) activeOf(arn string) []*shift {
	var out []*shift
	for _, s := range m.shifts {
		if s.arn == arn && s.active(m.options.Clock.Now()) {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b *shift) int {
		switch {
		case a.auto == b.auto:
			return 0
		case a.auto:
			return 1
		}
		return -1
	})
	return out
}

// zoneID is what a zone's ID looks like. Source: API reference, StartZonalShift, awayFrom.
var zoneID = regexp.MustCompile(`^[a-z0-9]+-az[0-9]+$`)

// expiresIn is what StartZonalShift takes. Source: API reference: minutes or hours.
var expiresIn = regexp.MustCompile(`^([1-9][0-9]*)(m|h)$`)

const longest = 72 * time.Hour // of a zonal shift

func notFound(arn string) error {
	return wire.StatusErrorf(http.StatusNotFound, "ResourceNotFoundException",
		"The resource %s is not registered for zonal shifts.", arn)
}

func invalid(format string, args ...any) error {
	return wire.Errorf("ValidationException", format, args...)
}
