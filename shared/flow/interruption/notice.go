package interruption

import (
	"context"
	"fmt"
	"hash/fnv"
	"runtime/debug"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// Received is a message of the queue of notices.
type Received struct {
	Message string // its id
	Body    []byte // an event of EventBridge
}

// NoticesOutcome is what one batch of notices came to, for one log line.
type NoticesOutcome struct {
	Messages  int              `json:"messages"`
	Kinds     map[string]int   `json:"kinds,omitempty"`     // messages by kind of notice
	Malformed int              `json:"malformed,omitempty"` // messages that are no event; dropped
	Foreign   int              `json:"foreign,omitempty"`   // messages about no instance of ours; dropped
	Elsewhere int              `json:"elsewhere,omitempty"` // claims named by another account or region than their instance's; dropped
	Idle      int              `json:"idle,omitempty"`      // claims of clusters that are detached or paused; nothing is done about them
	Stale     int              `json:"stale,omitempty"`     // warnings whose time has come already: a look asks EC2 instead
	Unfit     int              `json:"unfit,omitempty"`     // warnings that do not fit how the instance was bought: a look asks EC2 instead
	Begun     map[string]int   `json:"begun,omitempty"`     // claims whose end began, by kind of notice
	Hastened  int              `json:"hastened,omitempty"`  // claims that were to end already, and end sooner
	Already   int              `json:"already,omitempty"`   // claims that were to end already, or are Gone
	Marked    int              `json:"marked,omitempty"`    // offerings that are left alone for a while
	Passes    int              `json:"looks,omitempty"`     // looks that were asked for
	Failed    int              `json:"failed,omitempty"`    // messages that are to come again
	Millis    map[string]int64 `json:"millis,omitempty"`    // since the start, by what was reached
	Problems  []string         `json:"problems,omitempty"`
}

// noticeRank orders kinds of notices: what leaves least time comes first, whatever stands before it in the queue.
var noticeRank = map[model.NoticeKind]int{
	model.NoticeSpotInterrupted: 0, model.NoticeReservationInterrupted: 1, model.NoticeScheduledChange: 2,
	model.NoticeStopped: 3, model.NoticeTerminated: 4, model.NoticeRebalance: 5, model.NoticeNothing: 6,
}

// Notices does what AWS said of instances in a batch of messages: claims of instances that are about to end begin to end, and
// their pods are planned elsewhere in the same moment. It returns the ids of the messages that must come again, because
// something they ask for is not done for certain; every other message has had its effect, or has none. Handling one again is
// harmless, and so is one that is late, doubled, or a stranger's.
func (f *Flow) Notices(ctx context.Context, batch []Received, deadline time.Time) (failed []string, out NoticesOutcome) {
	n := &notices{Flow: f, settings: f.Settings.withDefaults(), started: f.Now(), failed: map[string]bool{}}
	n.last = deadline.Add(-n.settings.StopBefore)
	n.out = NoticesOutcome{Messages: len(batch), Kinds: map[string]int{}, Begun: map[string]int{}, Millis: map[string]int64{}}
	// What hangs must not take the answer with it: then the whole batch would come again.
	ctx, cancel := context.WithTimeout(ctx, max(0, n.last.Sub(n.started)))
	defer cancel()
	n.handleBatch(ctx, batch)
	n.reached("done")
	for _, received := range batch {
		if n.failed[received.Message] {
			failed = append(failed, received.Message)
		}
	}
	n.out.Failed = len(failed)
	return failed, n.out
}

// notices is one batch at work.
type notices struct {
	*Flow
	settings Settings
	started  time.Time
	last     time.Time // by this process's clock: nothing is begun after it
	nowUnix  int64     // by the ledger's

	mutex  sync.Mutex // of what follows
	out    NoticesOutcome
	failed map[string]bool // ids of messages
}

// clusterNotice is one message's notice.
type clusterNotice struct {
	message string
	model.Notice
}

// affectedClaim is a claim and what was said of its instance, the most urgent first.
type affectedClaim struct {
	claim   model.Claim
	notices []clusterNotice
}

func (n *notices) handleBatch(ctx context.Context, batch []Received) {
	// 1. What was said, and of which instances.
	heard, ids := n.read(batch)
	if len(ids) == 0 {
		return
	}

	// 2. Whose they are. While the ledger does not say nothing is known of any of them.
	found, nowUnix, err := n.Finder.ByInstance(ctx, ids)
	if err != nil {
		n.problem("find the claims of %d instances: %v", len(ids), err)
		n.fail(heard...)
		return
	}
	n.nowUnix = nowUnix
	clusters, homes := n.groupByCluster(heard, found)
	n.reached("found")

	// 3. Cluster by cluster side by side; what is wrong with one delays no other.
	n.parallel(len(clusters), func(i int) {
		h := &clusterBatch{notices: n, name: clusters[i], claims: homes[clusters[i]]}
		defer func() {
			if reason := recover(); reason != nil {
				n.problem("notices of cluster %s: panic: %v\n%s", h.name, reason, debug.Stack())
				n.fail(h.all()...)
			}
		}()
		h.beginEnds(ctx)
	})
}

// read decodes the messages. It returns those that ask for something, and the instances they name.
func (n *notices) read(batch []Received) (heard []clusterNotice, ids []string) {
	for _, received := range batch {
		notice, err := wire.DecodeEvent(received.Body)
		if err != nil {
			n.out.Malformed++
			n.problem("drop message %s, which is not an event: %v", received.Message, err)
			continue
		}
		n.out.Kinds[string(notice.Kind)]++
		if notice.Kind == model.NoticeNothing {
			continue
		}
		heard = append(heard, clusterNotice{received.Message, notice})
		ids = append(ids, notice.Instances...)
	}
	slices.Sort(ids)
	return heard, slices.Compact(ids)
}

// groupByCluster brings together what was said of each claim, by cluster, and drops what was said of nobody's instances.
func (n *notices) groupByCluster(heard []clusterNotice, found []model.FoundClaim) (clusters []string, homes map[string][]affectedClaim) {
	of := map[string][]clusterNotice{} // by instance id
	known := map[string]bool{}
	for _, claim := range found {
		known[claim.Claim.InstanceID] = true
	}
	for _, s := range heard {
		foreign := true
		for _, id := range s.Instances {
			of[id] = append(of[id], s)
			foreign = foreign && !known[id]
		}
		if foreign {
			n.out.Foreign++
		}
	}
	homes = map[string][]affectedClaim{}
	for _, claim := range found {
		about := slices.Clone(of[claim.Claim.InstanceID])
		if len(about) == 0 {
			continue
		}
		sort.SliceStable(about, func(i, j int) bool { return noticeRank[about[i].Kind] < noticeRank[about[j].Kind] })
		if homes[claim.Cluster] == nil {
			clusters = append(clusters, claim.Cluster)
		}
		homes[claim.Cluster] = append(homes[claim.Cluster], affectedClaim{claim.Claim, about})
	}
	slices.Sort(clusters)
	return clusters, homes
}

// fail has messages come again.
func (n *notices) fail(heard ...clusterNotice) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	for _, s := range heard {
		n.failed[s.message] = true
	}
}

func (n *notices) count(number *int, by int) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	*number += by
}

func (n *notices) reached(what string) { n.out.Millis[what] = n.Now().Sub(n.started).Milliseconds() }

// problem notes something that went wrong and stops nothing else.
func (n *notices) problem(format string, args ...any) {
	const most = 20
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if len(n.out.Problems) < most {
		n.out.Problems = append(n.out.Problems, fmt.Sprintf(format, args...))
	}
}

// clusterBatch is what was said of one cluster's instances.
type clusterBatch struct {
	*notices
	name   string
	claims []affectedClaim

	reg     model.Registration
	clients Clients

	// Under the mutex of the notices.
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
	reg, err := h.Registry.Cluster(ctx, h.name)
	switch {
	case fault.Is(err, fault.NotFound), err == nil && reg.Paused:
		h.count(&h.out.Idle, len(h.claims))
		return
	case err != nil:
		h.problem("read registration of cluster %s: %v", h.name, err)
		h.fail(h.all()...)
		return
	}
	h.reg = reg
	if h.dropForeign(); len(h.claims) == 0 {
		return
	}
	if h.clients, err = h.Connector.Connect(ctx, reg); err != nil {
		h.problem("connect to cluster %s: %v", h.name, err)
		h.fail(h.all()...)
		return
	}

	// 2. What leaves least time first: recorded and tainted, while offerings are marked, so that whoever plans next knows both.
	// What hangs may take half the time: the other half is for those who go on.
	work, stop := context.WithTimeout(ctx, max(0, h.last.Sub(h.Now())/2))
	defer stop()
	urgent, rest := h.split()
	h.parallel(len(urgent)+1, func(i int) {
		if i == len(urgent) {
			h.markUnavailable(work)
			return
		}
		h.claim(work, urgent[i])
	})
	h.parallel(len(rest), func(i int) { h.claim(work, rest[i]) })

	// 3. Told to those who go on from here, once for all of it.
	h.announce(ctx)
	h.requestPass(ctx)
	h.publishEvents(ctx)
}

// dropForeign drops what was said by another account or region than the cluster's: ids are unique in neither.
func (h *clusterBatch) dropForeign() {
	var left []affectedClaim
	for _, a := range h.claims {
		var about []clusterNotice
		for _, s := range a.notices {
			if h.reg.Account != "" && s.Account != h.reg.Account || s.Region != h.reg.Region {
				h.count(&h.out.Elsewhere, 1)
				h.problem("drop message %s about instance %s of cluster %s, account %q, region %s: it comes from account %.20q, region %.30q",
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
			h.problem("notices of claim %s: panic: %v\n%s", a.claim.Name, reason, debug.Stack())
			h.fail(a.notices...)
		}
	}()
	if !h.Now().Before(h.last) {
		h.problem("no time was left for claim %s", a.claim.Name)
		h.fail(a.notices...)
		return
	}
	cause, kind, ends := h.cause(a)
	ending := a.claim.State == model.Draining || a.claim.State == model.Terminating
	switch {
	case a.claim.State == model.Gone:
		h.count(&h.out.Already, 1)
	case ends:
		h.end(ctx, a, cause, kind)
	case ending: // whoever ends it asks EC2 how far that has come
		h.count(&h.out.Already, 1)
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
		h.problem("claim %s: %v", a.claim.Name, err)
		h.fail(a.notices...)
		return
	}
	changed := begun.Version != before.Version
	if !changed && unheard(begun) {
		tainted = h.taint(ctx, begun)
	}
	if !tainted {
		h.problem("claim %s: its node %s is not tainted yet", begun.Name, begun.NodeName)
		h.fail(a.notices...)
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
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
		h.events = append(h.events, eventsOf(begun, slices.DeleteFunc(slices.Clone(a.notices), func(s clusterNotice) bool { return s.Kind == kind }))...)
	default:
		h.out.Hastened++
	}
}

// record begins the end of a claim, and again where somebody else wrote it meanwhile, three times at most. It returns the
// claim as it was just before, too.
func (h *clusterBatch) record(ctx context.Context, claim model.Claim, cause Cause) (before, begun model.Claim, tainted bool, err error) {
	const most = 3
	for try := 1; ; try++ {
		begun, tainted, err = h.begin(ctx, h.clients, h.reg, claim, cause)
		if !fault.Is(err, fault.Conflict) || try == most {
			return claim, begun, tainted, err
		}
		found, _, err := h.Finder.ByInstance(ctx, []string{claim.InstanceID})
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

// taint does again what beginning could not: the claim's node is tainted, or is not there.
func (h *clusterBatch) taint(ctx context.Context, claim model.Claim) bool {
	if claim.NodeName == "" || claim.NodeUID == "" {
		return true
	}
	err := h.effect(ctx, EffectTaint, func() error { return h.clients.Objects.PatchNode(ctx, cordon(claim.NodeName, claim.NodeUID)) })
	return err == nil || absent(err)
}

// inform notes what is said of a claim that does not end for it.
func (h *clusterBatch) inform(a affectedClaim) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.events = append(h.events, eventsOf(a.claim, a.notices)...)
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

// announce asks for places for the pods of what was begun, and for the first step of the drains.
func (h *clusterBatch) announce(ctx context.Context) {
	if len(h.begun) == 0 {
		return
	}
	if err := h.Flow.announce(ctx, h.name, keyOf(h.begun), h.ends); err != nil {
		h.problem("%v", err)
		h.fail(h.begun...)
	}
}

// requestPass asks for a check of what EC2 says.
func (h *clusterBatch) requestPass(ctx context.Context) {
	if len(h.passes) == 0 {
		return
	}
	if err := h.effect(ctx, EffectHint, func() error { return h.Hints.RequestPass(ctx, h.name, keyOf(h.passes), 0) }); err != nil {
		h.problem("send a hint of cluster %s: %v", h.name, err)
		h.fail(h.passes...)
		return
	}
	h.count(&h.out.Passes, 1)
}

// publishEvents publishes the events. They are for people: what cannot be reported is not worth another try.
func (h *clusterBatch) publishEvents(ctx context.Context) {
	if len(h.events) == 0 {
		return
	}
	report := model.Report{Events: h.events}
	if err := h.effect(ctx, EffectReport, func() error { return h.clients.Reporter.Report(ctx, report) }); err != nil {
		h.problem("publish %d events of cluster %s: %v", len(h.events), h.name, err)
	}
}

// markUnavailable has offerings left alone that EC2 takes instances back of, and reservations that are, as if they had just failed to give
// any. It is dated by the warning, so that one which comes again changes nothing.
func (h *clusterBatch) markUnavailable(ctx context.Context) {
	var unavailableOfferings []model.UnavailableOffering
	var about []clusterNotice
	for _, a := range h.claims {
		for _, s := range a.notices {
			unavailable, ok := h.unavailableOf(a.claim, s.Notice)
			if !ok {
				continue
			}
			about = append(about, s)
			i := slices.IndexFunc(unavailableOfferings, func(m model.UnavailableOffering) bool { return m.About() == unavailable.About() })
			switch {
			case i < 0:
				unavailableOfferings = append(unavailableOfferings, unavailable)
			case unavailableOfferings[i].UntilUnix < unavailable.UntilUnix:
				unavailableOfferings[i] = unavailable
			}
		}
	}
	if len(unavailableOfferings) == 0 {
		return
	}
	if err := h.effect(ctx, EffectUnavailable, func() error { return h.Unavailable.MarkUnavailable(ctx, h.reg, unavailableOfferings) }); err != nil {
		h.problem("record %d unavailable offerings of cluster %s: %v", len(unavailableOfferings), h.name, err)
		h.fail(about...)
		return
	}
	h.count(&h.out.Marked, len(unavailableOfferings))
}

// unavailableOf is what a warning says about what can be bought; false where that is nothing, or not any more.
func (h *clusterBatch) unavailableOf(claim model.Claim, notice model.Notice) (model.UnavailableOffering, bool) {
	return taken(&claim, notice.Kind, h.at(notice), h.nowUnix)
}

// taken is the unavailable offering of what a claim's instance was bought as and EC2 took back at a time; false where it is none that can be
// marked, or that was too long ago.
func taken(claim *model.Claim, kind model.NoticeKind, atUnix, nowUnix int64) (model.UnavailableOffering, bool) {
	const backOff, forgetAfter = 3 * 60, 20 * 3 * 60 // seconds, as for a launch that gave nothing
	unavailable := model.UnavailableOffering{Reason: string(kind), Failures: 1, AtUnix: atUnix}
	switch {
	case kind == model.NoticeSpotInterrupted && claim.CapacityType == model.Spot:
		unavailable.Reason = model.EndedSpotInterrupted
		unavailable.OfferingKey = model.OfferingKey{InstanceType: claim.InstanceType, Zone: claim.Zone, CapacityType: model.Spot}
	case kind == model.NoticeReservationInterrupted && claim.Reservation != "":
		unavailable.Reason, unavailable.Reservation = model.EndedReservationInterrupted, claim.Reservation
	default:
		return unavailable, false
	}
	unavailable.UntilUnix = unavailable.AtUnix + backOff
	unavailable.ForgetUnix = unavailable.UntilUnix + forgetAfter
	return unavailable, unavailable.UntilUnix > nowUnix && (unavailable.Reservation != "" || unavailable.InstanceType != "" && unavailable.Zone != "")
}

// keyOf is a key for what a batch asks for: the same for the same messages, and short enough for a hint.
func keyOf(heard []clusterNotice) string {
	hash := fnv.New64a()
	for _, s := range heard {
		fmt.Fprintf(hash, "%s\n", s.message)
	}
	return fmt.Sprintf("notice/%016x", hash.Sum64())
}
