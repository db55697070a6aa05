package interruption

import (
	"context"
	"fmt"
	"hash/fnv"
	"runtime/debug"
	"slices"
	"sort"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// clusterBatch is what was said of one cluster's instances.
type clusterBatch struct {
	*notices
	*session // the cluster's own
	name     string
	claims   []affectedClaim

	// Under the invocation's mutex.
	begun  []clusterNotice // messages that stand for ends that are to be announced
	ends   int             // of those, claims
	passes []clusterNotice // messages that ask for a check
	events []model.Event   // to be reported, one claim's after another's
}

// all returns every message about the cluster.
func (h *clusterBatch) all() []clusterNotice {
	var all []clusterNotice
	for i := range h.claims {
		all = append(all, h.claims[i].notices...)
	}
	return all
}

func (h *clusterBatch) beginEnds(ctx context.Context) {
	// 1. Whether the cluster is ours to care for, and the instances are in the account and region that AWS names.
	reg, err := h.flow.Registry.Cluster(ctx, h.name)
	switch {
	case fault.Is(err, fault.NotFound), err == nil && reg.Paused:
		h.Add(&h.out.Idle, len(h.claims))
		return
	case err != nil:
		h.Problem("read registration of cluster %s: %v", h.name, err)
		h.fail(h.all()...)
		return
	}
	h.reg = reg
	if h.dropForeign(); len(h.claims) == 0 {
		return
	}
	if h.clients, err = h.flow.Connector.Connect(ctx, reg); err != nil {
		h.Problem("connect to cluster %s: %v", h.name, err)
		h.fail(h.all()...)
		return
	}

	// 2. What leaves least time first: recorded and tainted, while offerings are marked, so that whoever plans next knows both.
	// What hangs may take half the time: the other half is for those who go on.
	work, stop := context.WithTimeout(ctx, max(0, h.last.Sub(h.Clock())/2))
	defer stop()
	urgent, rest := h.split()
	h.each(len(urgent)+1, func(i int) {
		if i == len(urgent) {
			h.markUnavailable(work)
			return
		}
		h.claim(work, urgent[i])
	})
	h.each(len(rest), func(i int) { h.claim(work, rest[i]) })

	// 3. Told to those who go on from here, once for all of it.
	if len(h.begun) > 0 {
		if err := h.announce(ctx, h.name, keyOf(h.begun), h.ends); err != nil {
			h.Problem("%v", err)
			h.fail(h.begun...)
		}
	}
	h.requestPass(ctx)
	// They are for people: what cannot be reported is not worth another try.
	h.report(ctx, fmt.Sprintf("publish %d events of cluster %s", len(h.events), h.name), h.events)
}

// dropForeign drops what was said by another account or region than the cluster's: ids are unique in neither.
func (h *clusterBatch) dropForeign() {
	var left []affectedClaim
	for _, a := range h.claims {
		var about []clusterNotice
		for _, s := range a.notices {
			if h.reg.Account != "" && s.Account != h.reg.Account || s.Region != h.reg.Region {
				h.Add(&h.out.Elsewhere, 1)
				h.Problem("drop message %s about instance %s of cluster %s, account %q, region %s: it comes from account %.20q, region %.30q",
					s.message, a.claim.InstanceID, h.name, h.reg.Account, h.reg.Region, s.Account, s.Region)
				continue
			}
			about = append(about, s)
		}
		if len(about) > 0 {
			left = append(left, affectedClaim{a.claim, about})
		}
	}
	h.claims = left
}

// split parts claims with a warning of minutes from the others, each the most urgent first.
func (h *clusterBatch) split() (urgent, rest []affectedClaim) {
	sort.SliceStable(h.claims, func(i, j int) bool {
		return noticeRank[h.claims[i].notices[0].Kind] < noticeRank[h.claims[j].notices[0].Kind]
	})
	for _, a := range h.claims {
		if noticeRank[a.notices[0].Kind] <= noticeRank[model.NoticeReservationInterrupted] {
			urgent = append(urgent, a)
		} else {
			rest = append(rest, a)
		}
	}
	return urgent, rest
}

// claim does what the notices about one claim ask for. Where it fails, or panics, all of them come again.
func (h *clusterBatch) claim(ctx context.Context, a affectedClaim) {
	defer func() {
		if reason := recover(); reason != nil {
			h.Problem("notices of claim %s: panic: %v\n%s", a.claim.Name, reason, debug.Stack())
			h.fail(a.notices...)
		}
	}()
	if !h.Clock().Before(h.last) {
		h.Problem("no time was left for claim %s", a.claim.Name)
		h.fail(a.notices...)
		return
	}
	cause, kind, ends := h.cause(a)
	ending := a.claim.State == model.Draining || a.claim.State == model.Terminating
	switch {
	case a.claim.State == model.Gone:
		h.Add(&h.out.Already, 1)
	case ends:
		h.end(ctx, a, cause, kind)
	case ending: // whoever ends it asks EC2 how far that has come
		h.Add(&h.out.Already, 1)
	default:
		h.inform(a)
	}
}

// cause is why the claim is to end, as its notices say, and which kind of them says so. False where none does: instances that
// stop or have ended are looked at, recommendations are for people, and a warning that is past, or that does not fit how the instance was
// bought, is for a look to confirm.
func (h *clusterBatch) cause(a affectedClaim) (cause Cause, kind model.NoticeKind, ends bool) {
	for _, s := range a.notices {
		code, message := endOf(s.Notice)
		if code == "" || h.stale(s.Notice) || !fits(&a.claim, s.Kind) {
			continue
		}
		if !ends {
			cause, kind, ends = Cause{Code: code, Message: message, NowUnix: h.nowUnix, Notice: s.Kind}, s.Kind, true
		}
		cause.DeadlineUnix = earliest(cause.DeadlineUnix, h.leaves(s.Notice))
	}
	return cause, kind, ends
}

// endOf returns why a claim ends of whose instance this was said, "" where it does not for that.
func endOf(notice model.Notice) (code, message string) {
	switch notice.Kind {
	case model.NoticeSpotInterrupted:
		return model.EndedSpotInterrupted, "EC2 has warned that it interrupts the spot instance"
	case model.NoticeReservationInterrupted:
		return model.EndedReservationInterrupted, "EC2 has warned that the owner of the capacity reservation reclaims its capacity"
	case model.NoticeScheduledChange:
		return model.EndedScheduledChange, "AWS Health has announced a change of the instance: " + notice.Detail
	}
	return "", ""
}

// at is when a notice was given, by AWS's clock, which is the ledger's: never later than now.
func (n *notices) at(notice model.Notice) int64 {
	if notice.AtUnix == 0 {
		return n.nowUnix
	}
	return min(notice.AtUnix, n.nowUnix)
}

// leaves returns when no pod may be left, as far as the notice itself says; 0 = it does not.
func (n *notices) leaves(notice model.Notice) int64 {
	switch notice.Kind {
	case model.NoticeSpotInterrupted, model.NoticeReservationInterrupted:
		if notice.EndUnix > notice.AtUnix {
			return notice.EndUnix - lifecycle.MarginSeconds
		}
		return n.at(notice) + lifecycle.WarningSeconds - lifecycle.MarginSeconds
	}
	return 0
}

// stale reports whether the time that a warning names has come: the instance has ended, or will not. What EC2 itself says now is better,
// and an end whose deadline is past would leave pods no time at all.
func (n *notices) stale(notice model.Notice) bool {
	left := n.leaves(notice)
	return left != 0 && left+lifecycle.MarginSeconds <= n.nowUnix || notice.EndUnix != 0 && notice.EndUnix <= n.nowUnix
}

// fits reports whether EC2 may say this of an instance that was bought as the claim's was: it takes back spot instances and those in
// capacity reservations, and no others.
func fits(claim *model.Claim, kind model.NoticeKind) bool {
	switch kind {
	case model.NoticeSpotInterrupted:
		return claim.CapacityType == model.Spot
	case model.NoticeReservationInterrupted:
		return claim.CapacityType == model.Reserved || claim.Reservation != ""
	}
	return true
}

// end begins the end of a claim, or brings it forward. What an earlier try left undone is done again.
func (h *clusterBatch) end(ctx context.Context, a affectedClaim, cause Cause, kind model.NoticeKind) {
	before, begun, tainted, err := h.record(ctx, a.claim, cause)
	if err != nil {
		h.Problem("claim %s: %v", a.claim.Name, err)
		h.fail(a.notices...)
		return
	}
	changed := begun.Version != before.Version
	if !changed && unheard(begun) {
		tainted = begun.NodeName == "" || begun.NodeUID == "" || h.taint(ctx, cordon(begun.NodeName, begun.NodeUID)) == nil
	}
	if !tainted {
		h.Problem("claim %s: its node %s is not tainted yet", begun.Name, begun.NodeName)
		h.fail(a.notices...)
	}
	h.Mutex.Lock()
	defer h.Mutex.Unlock()
	if changed || unheard(begun) {
		h.begun = append(h.begun, a.notices...)
		h.ends++
	}
	switch {
	case !changed:
		h.out.Already++
	case before.State != begun.State:
		h.out.Begun[string(kind)]++
		// Of what it ends for the drain run tells, once pods were asked to leave: of hundreds of warnings at once the events alone
		// would keep the API server from tainting nodes for seconds.
		h.events = append(h.events, eventsOf(begun, slices.DeleteFunc(a.kinds(), func(k model.NoticeKind) bool { return k == kind })...)...)
	default:
		h.out.Hastened++
	}
}

// record begins the end of a claim, and again where somebody else wrote it meanwhile, three times at most. It returns the
// claim as it was just before, too.
func (h *clusterBatch) record(ctx context.Context, claim model.Claim, cause Cause) (before, begun model.Claim, tainted bool, err error) {
	const most = 3
	for try := 1; ; try++ {
		begun, tainted, err = h.begin(ctx, claim, cause)
		if !fault.Is(err, fault.Conflict) || try == most {
			return claim, begun, tainted, err
		}
		found, _, err := h.flow.Finder.ByInstance(ctx, []string{claim.InstanceID})
		if err != nil {
			return claim, claim, false, fmt.Errorf("read it again: %w", err)
		}
		i := slices.IndexFunc(found, func(c model.FoundClaim) bool { return c.Cluster == h.name && c.Claim.Name == claim.Name })
		if i < 0 {
			return claim, claim, false, fault.New(fault.Conflict, "", "it cannot be found again")
		}
		claim = found[i].Claim
	}
}

// unheard reports whether no drain run has begun with a claim that is to end: the hint for it may be lost.
func unheard(claim model.Claim) bool {
	switch {
	case claim.Drain == nil:
		return claim.State == model.Draining
	case claim.State == model.Draining:
		return claim.Drain.TaintedUnix == 0
	}
	return claim.State == model.Terminating && claim.Drain.EndUnix == 0
}

// inform notes what is said of a claim that does not end for it.
func (h *clusterBatch) inform(a affectedClaim) {
	h.Mutex.Lock()
	defer h.Mutex.Unlock()
	h.events = append(h.events, eventsOf(a.claim, a.kinds()...)...)
	for _, s := range a.notices {
		switch code, _ := endOf(s.Notice); {
		case code != "" && !fits(&a.claim, s.Kind):
			h.out.Unfit++
			h.passes = append(h.passes, s)
		case code != "":
			h.out.Stale++
			h.passes = append(h.passes, s)
		case s.Kind == model.NoticeStopped || s.Kind == model.NoticeTerminated:
			h.passes = append(h.passes, s)
		}
	}
}

// requestPass asks for a check of what EC2 says.
func (h *clusterBatch) requestPass(ctx context.Context) {
	if len(h.passes) == 0 {
		return
	}
	if err := h.Effect(ctx, EffectHint, func() error { return h.flow.RequestPass(ctx, h.name, keyOf(h.passes), 0) }); err != nil {
		h.Problem("send a hint of cluster %s: %v", h.name, err)
		h.fail(h.passes...)
		return
	}
	h.Add(&h.out.Passes, 1)
}

// markUnavailable has offerings left alone that EC2 takes instances back of, and reservations that are, as if they had just failed to give
// any. It is dated by the warning, so that one which comes again changes nothing.
func (h *clusterBatch) markUnavailable(ctx context.Context) {
	var offerings []model.UnavailableOffering
	var about []clusterNotice
	for _, a := range h.claims {
		for _, s := range a.notices {
			unavailable, ok := taken(&a.claim, s.Kind, h.at(s.Notice), h.nowUnix)
			if !ok {
				continue
			}
			about = append(about, s)
			i := slices.IndexFunc(offerings, func(m model.UnavailableOffering) bool { return m.About() == unavailable.About() })
			switch {
			case i < 0:
				offerings = append(offerings, unavailable)
			case offerings[i].UntilUnix < unavailable.UntilUnix:
				offerings[i] = unavailable
			}
		}
	}
	if len(offerings) == 0 {
		return
	}
	text := fmt.Sprintf("record %d unavailable offerings of cluster %s", len(offerings), h.name)
	if !h.Try(ctx, EffectUnavailable, text, func() error { return h.flow.Unavailable.MarkUnavailable(ctx, h.reg, offerings) }) {
		h.fail(about...)
		return
	}
	h.Add(&h.out.Marked, len(offerings))
}

// keyOf is a key for what a batch asks for: the same for the same messages, and short enough for a hint.
func keyOf(heard []clusterNotice) string {
	hash := fnv.New64a()
	for _, s := range heard {
		fmt.Fprintf(hash, "%s\n", s.message)
	}
	return fmt.Sprintf("notice/%016x", hash.Sum64())
}
