package world

import (
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// trouble is what is set to go wrong with a fleet.
type trouble struct {
	shortages []Shortage
	refusals  []error // of the next calls, in order
	forget    bool
	lose      int
	surplus   int
	halves    int
	doubles   int
	outage    time.Time // until then nothing gets through
	buckets   map[string]*bucket
	chances   Chances
	calm      bool
}

// Shortage makes launches from some offers fail. Empty fields of Offer and SubnetID match any.
type Shortage struct {
	Offering    model.OfferingKey
	SubnetID    string
	Code        string        // EC2's; "" ends every shortage that was set for the same offer and subnet
	From, Until time.Time     // zero = since ever, for ever
	Period      time.Duration // 0 = all the time; else on for a period, off for the next, and so on from From
	OneAtATime  bool          // a call that meets it gives nothing more and names no other offer
}

func (s *Shortage) holds(now time.Time, c choice) bool {
	fits := func(pattern, value string) bool { return pattern == "" || pattern == value }
	switch {
	case !fits(s.Offering.InstanceType, c.offering.InstanceType), !fits(s.Offering.Zone, c.offering.Zone), !fits(s.Offering.CapacityType, c.offering.CapacityType),
		!fits(s.SubnetID, c.subnet), now.Before(s.From), !s.Until.IsZero() && !now.Before(s.Until):
		return false
	}
	return s.Period == 0 || now.Sub(s.From)/s.Period%2 == 0
}

// Short sets a shortage beside those that are set already.
func (f *Fleet) Short(s Shortage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.Code != "" {
		f.shortages = append(f.shortages, s)
		return
	}
	var rest []Shortage
	for _, other := range f.shortages {
		if other.Offering != s.Offering || other.SubnetID != s.SubnetID {
			rest = append(rest, other)
		}
	}
	f.shortages = rest
}

// short returns the first shortage that concerns a pool now, nil where none does.
func (f *Fleet) short(c choice) *Shortage {
	for i := range f.shortages {
		if f.shortages[i].holds(f.now(), c) {
			return &f.shortages[i]
		}
	}
	return nil
}

// Break makes every launch from an offering fail with a code; empty fields of the offering match any. The code "" mends it.
func (f *Fleet) Break(offering model.OfferingKey, code string) {
	f.Short(Shortage{Offering: offering})
	f.Short(Shortage{Offering: offering, Code: code})
}

// SetCapacity says how many more instances an offering can give. An instance that came out of a stock goes back when it ends;
// a stock below zero is plenty again.
func (f *Fleet) SetCapacity(offering model.OfferingKey, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n < 0 {
		delete(f.stock, offering)
		return
	}
	f.stock[offering] = n
}

// RefuseNext makes the next calls fail as a whole, one error each, without any effect.
func (f *Fleet) RefuseNext(errs ...error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refusals = append(f.refusals, errs...)
}

// RefuseNextWith is RefuseNext with errors of EC2's codes.
func (f *Fleet) RefuseNextWith(codes ...string) {
	for _, code := range codes {
		f.RefuseNext(refusal(code, "injected"))
	}
}

// ForgetBeforeNext deletes every launch template just before the next call, as somebody tidying up would.
func (f *Fleet) ForgetBeforeNext() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forget = true
}

// LoseNextReply carries the next call out and answers with an error that says nothing.
func (f *Fleet) LoseNextReply() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lose++
}

func (f *Fleet) losesReply() bool {
	if f.lose > 0 {
		f.lose--
		return true
	}
	return f.by(f.chances.LostReply)
}

// ForgetTokens lets every client token lapse.
func (f *Fleet) ForgetTokens() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tokens = map[string]answer{}
}

// GiveMore makes every launch give n instances more than it was asked for.
func (f *Fleet) GiveMore(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.surplus = n
}

// HalveNext makes the next n calls of Owned miss half of their pages.
func (f *Fleet) HalveNext(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.halves = n
}

// DoubleNext makes the next n listings name instances twice.
func (f *Fleet) DoubleNext(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.doubles = n
}

// Unreachable lets no call through until a time.
func (f *Fleet) Unreachable(until time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.outage = until
}

func (f *Fleet) unreachable() bool { return f.now().Before(f.outage) }

// Chances say how often something goes wrong by chance, each between 0 and 1 and drawn once a call. Nothing does in a
// fleet without Rand.
type Chances struct {
	ServerError float64 // a call fails with an internal error and nothing happened
	LostReply   float64 // a launch is carried out and its answer lost
	Partial     float64 // a launch gives one instance less than asked for, without a reason
	Surplus     float64 // a launch gives one instance more than asked for
	Half        float64 // Owned misses half of its pages
	Double      float64 // a listing names instances twice
}

// SetChances replaces the chances.
func (f *Fleet) SetChances(c Chances) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.chances = c
}

// by draws whether something of that chance happens.
func (f *Fleet) by(chance float64) bool {
	return chance > 0 && f.options.Rand != nil && f.options.Rand.Float64() < chance
}

// Heal ends all trouble: nothing goes wrong by chance any more, nothing is short, refused, throttled or out of reach.
func (f *Fleet) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.trouble = trouble{buckets: map[string]*bucket{}, calm: true}
	f.stock = map[model.OfferingKey]int{}
}

// bucket lets calls through at a rate: a token bucket as EC2 describes its request throttling.
type bucket struct {
	perSecond, burst, tokens float64
	at                       time.Time
}

// Throttle lets an API take burst calls at once and perSecond calls in the long run, and refuses what is more. An API is
// CreateFleet, CreateLaunchTemplate, DescribeInstances or TerminateInstances. burst 0 takes the limit away.
func (f *Fleet) Throttle(api string, perSecond, burst float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.buckets, api)
	if burst > 0 {
		f.buckets[api] = &bucket{perSecond, burst, burst, f.now()}
	}
}

// throttled takes a token, or refuses.
func (f *Fleet) throttled(api string) error {
	b := f.buckets[api]
	if b == nil {
		return nil
	}
	now := f.now()
	b.tokens = min(b.burst, b.tokens+b.perSecond*now.Sub(b.at).Seconds())
	b.at = now
	if b.tokens < 1 {
		return refusal("RequestLimitExceeded", "request limit of %s exceeded", api)
	}
	b.tokens--
	return nil
}

// reach is how calls other than a launch begin.
func (f *Fleet) reach(api string) error {
	if f.unreachable() {
		return unreachable()
	}
	if err := f.throttled(api); err != nil {
		return err
	}
	if f.by(f.chances.ServerError) {
		return refusal("InternalError", "an internal error has occurred")
	}
	return nil
}

func unreachable() error { return fault.New(fault.Internal, "", "dial tcp: i/o timeout") }

// codesOf lists EC2's codes by what they mean for a whole call. Source: EC2 API reference, error codes.
var codesOf = map[fault.Kind][]string{
	fault.NoCapacity: {
		"InsufficientInstanceCapacity", "UnfulfillableCapacity", "VcpuLimitExceeded", "MaxSpotInstanceCountExceeded", "InstanceLimitExceeded",
		"MaxFleetCountExceeded", "InsufficientFreeAddressesInSubnet",
	},
	fault.Throttled: {"RequestLimitExceeded", "Throttling", "EC2ThrottledException"},
	fault.Denied:    {"UnauthorizedOperation", "AuthFailure", "AuthFailure.ServiceLinkedRoleCreationNotPermitted", "OptInRequired", "Blocked", "PendingVerification"},
	fault.Conflict:  {"IdempotentParameterMismatch"},
	fault.Internal:  {"InternalError", "Unavailable", "ServiceUnavailable", "Unsupported", "SpotMaxPriceTooLow", "ReservationCapacityExceeded"},
}

// refusal is a whole call's error of one of EC2's codes.
func refusal(code, format string, args ...any) error {
	for kind, codes := range codesOf {
		for _, c := range codes {
			if c == code {
				return fault.New(kind, code, format, args...)
			}
		}
	}
	if strings.HasPrefix(code, "Invalid") {
		return fault.New(fault.Invalid, code, format, args...)
	}
	return fault.New(fault.Internal, code, format, args...)
}
