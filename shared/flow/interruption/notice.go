package interruption

import (
	"context"
	"runtime/debug"
	"slices"
	"sort"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// noticeRank orders kinds of notices: what leaves least time comes first, whatever stands before it in the queue.
var noticeRank = map[model.NoticeKind]int{
	model.NoticeSpotInterrupted: 0, model.NoticeReservationInterrupted: 1, model.NoticeScheduledChange: 2,
	model.NoticeStopped: 3, model.NoticeTerminated: 4, model.NoticeRebalance: 5, model.NoticeZonalShift: 6,
	model.NoticeNothing: 7,
}

// Notices does what AWS said of instances in a batch of messages: claims of instances that are about to end begin to end, and
// their pods are planned elsewhere in the same moment. It returns the ids of the messages that must come again, because
// something they ask for is not done for certain; every other message has had its effect, or has none. Handling one again is
// harmless, and so is one that is late, doubled, or a stranger's.
func (f *Flow) Notices(ctx context.Context, batch []Received, deadline time.Time) (failed []string, out NoticesOutcome) {
	n := &notices{session: f.session(deadline), failed: map[string]bool{}}
	n.last = deadline.Add(-n.settings.StopBefore)
	n.out = NoticesOutcome{Messages: len(batch), Kinds: map[string]int{}, Begun: map[string]int{}}
	// What hangs must not take the answer with it: then the whole batch would come again.
	ctx, cancel := context.WithTimeout(ctx, max(0, n.last.Sub(n.Clock())))
	defer cancel()
	n.handleBatch(ctx, batch)
	n.Reached("done")
	for _, received := range batch {
		if n.failed[received.Message] {
			failed = append(failed, received.Message)
		}
	}
	n.out.Failed, n.out.Millis, n.out.Problems = len(failed), n.Millis(), n.Problems()
	return failed, n.out
}

// notices is one batch at work.
type notices struct {
	*session
	last    time.Time // by this process's clock: nothing is begun after it
	nowUnix int64     // by the ledger's

	// Under the invocation's mutex.
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

// kinds are the kinds of what was said, in its order.
func (a *affectedClaim) kinds() []model.NoticeKind {
	kinds := make([]model.NoticeKind, len(a.notices))
	for i := range a.notices {
		kinds[i] = a.notices[i].Kind
	}
	return kinds
}

func (n *notices) handleBatch(ctx context.Context, batch []Received) {
	// 1. What was said, and of which instances.
	heard, ids := n.decode(batch)
	heard = n.shifts(ctx, heard)
	if len(ids) == 0 {
		return
	}

	// 2. Whose they are. While the ledger does not say nothing is known of any of them.
	found, nowUnix, err := n.flow.Finder.ByInstance(ctx, ids)
	if err != nil {
		n.Problem("find the claims of %d instances: %v", len(ids), err)
		n.fail(heard...)
		return
	}
	n.nowUnix = nowUnix
	clusters, homes := n.groupByCluster(heard, found)
	n.Reached("found")

	// 3. Cluster by cluster side by side; what is wrong with one delays no other.
	n.each(len(clusters), func(i int) {
		own := *n.session
		h := &clusterBatch{notices: n, session: &own, name: clusters[i], claims: homes[clusters[i]]}
		defer func() {
			if reason := recover(); reason != nil {
				n.Problem("notices of cluster %s: panic: %v\n%s", h.name, reason, debug.Stack())
				n.fail(h.all()...)
			}
		}()
		h.beginEnds(ctx)
	})
}

// decode reads the messages. It returns those that ask for something, and the instances they name.
func (n *notices) decode(batch []Received) (heard []clusterNotice, ids []string) {
	for _, received := range batch {
		notice, err := wire.DecodeEvent(received.Body)
		if err != nil {
			n.out.Malformed++
			n.Problem("drop message %s, which is not an event: %v", received.Message, err)
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
	n.Mutex.Lock()
	defer n.Mutex.Unlock()
	for _, s := range heard {
		n.failed[s.message] = true
	}
}
