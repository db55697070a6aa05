package disrupt

import (
	"context"
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/core/headroom"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/work"
)

const (
	maxClockOffset  = 5 // seconds by which the watcher's clock may be ahead of the ledger's for its heartbeat to be believed
	missedHeartbeat = 3 // seconds until another check, where the watcher's heartbeat is only a little late
	retryAfter      = 5 // seconds until another check, after something did not answer
	cameTooLate     = 2 // seconds until another check, after somebody else has written first
	sharedSource    = "s3"
)

// readSnapshot takes the watcher's snapshot, if it is one that may be decided by: published or confirmed a moment ago, and none that is
// older than one already decided by.
func (r *pass) readSnapshot(ctx context.Context) {
	manifest := r.ledger.Manifest
	if manifest == nil {
		if r.unseen = r.ledger.ManifestFault; r.unseen != "" {
			r.problem("%s", r.unseen)
			return
		}
		r.unseen = "no watcher has ever published the cluster"
		return
	}
	ahead := r.watcherAhead(*manifest)
	switch age := r.now() - manifest.HeartbeatAt; {
	case age < -maxClockOffset:
		r.unseen = fmt.Sprintf("the watcher's clock is %d s ahead of the ledger's", -age)
		return
	case age+ahead > r.freshFor():
		r.unseen = fmt.Sprintf("the watcher's last heartbeat is %d s old", age+ahead)
		if age <= seconds(r.settings.SilentAfter) {
			r.soon(missedHeartbeat)
		}
		return
	case r.older(manifest.Epoch, manifest.HeadSeq):
		r.unseen = fmt.Sprintf("snapshot %d/%d is older than one that was used already", manifest.Epoch, manifest.HeadSeq)
		return
	}
	snapshot, err := r.Snapshots.SnapshotAt(ctx, *manifest)
	if err != nil {
		r.unseen = fmt.Sprintf("snapshot %d/%d cannot be read", manifest.Epoch, manifest.HeadSeq)
		r.problem("%s: %v", r.unseen, err)
		if err := work.ReportLost(ctx, r.Losses, r.Effects, *manifest, err); err != nil {
			r.problem("%v", err)
		}
		r.soon(retryAfter)
		return
	}
	r.snapshot, r.heartbeatUnix = headroom.WithPlaceholders(snapshot), manifest.HeartbeatAt-ahead
	r.manifest = *manifest
	r.manifest.HeadSeq = snapshot.Seq // it may be newer
}

// watcherAhead returns by how many seconds the watcher's clock may be ahead of the ledger's; 0 where that is little. It is remembered: where
// such a watcher then stops, its last heartbeat would look fresh once the ledger's clock has come to its time.
func (r *pass) watcherAhead(manifest model.Manifest) int64 {
	before, now := r.notes.WatcherAhead, r.now()
	ahead := before.Of(manifest, now)
	if ahead <= maxClockOffset {
		ahead, r.notes.WatcherAhead = 0, model.HeartbeatAhead{}
	} else {
		r.notes.WatcherAhead = model.HeartbeatAhead{Epoch: manifest.Epoch, Heartbeat: manifest.HeartbeatAt, SeenAt: now, Seconds: ahead}
	}
	r.renoted = r.renoted || r.notes.WatcherAhead != before
	return ahead
}

// freshFor is how old the watcher's heartbeat may be, in seconds. Where the ledger has no claim there is nothing to disrupt, and the watcher
// says less often that it lives.
func (r *pass) freshFor() int64 {
	if len(r.ledger.Claims) == 0 && len(r.openIDs()) == 0 {
		return seconds(r.settings.SilentAfter)
	}
	return seconds(r.settings.FreshFor)
}

// older reports whether a snapshot is older than one that was decided by.
func (r *pass) older(epoch, seq int64) bool {
	before := func(e, s int64) bool { return epoch < e || epoch == e && seq < s }
	if before(r.notes.Epoch, r.notes.Seq) {
		return true
	}
	return slices.ContainsFunc(r.ledger.Commands, func(c model.Command) bool { return before(c.Epoch, c.Seq) })
}

// isFresh reports whether the snapshot may still be decided by.
func (r *pass) isFresh() bool {
	return r.now()-r.heartbeatUnix <= seconds(r.settings.FreshFor)
}

// readCatalog reads the region's instance catalog once.
func (r *pass) readCatalog(ctx context.Context) error {
	if r.catalog != nil {
		return nil
	}
	catalog, err := r.Catalogs.RegionCatalog(ctx, r.reg)
	if err != nil {
		return fmt.Errorf("read the catalog of instance types of %s: %w", r.reg.Region, err)
	}
	if age := r.now() - catalog.ReadUnix; age > seconds(r.settings.CatalogAfter) {
		return fault.New(fault.NotFound, "Stale", "the catalog of instance types of %s is %d s old", r.reg.Region, age)
	}
	use := offering.Use(sharedSource, catalog, r.now())
	r.catalog, r.out.Catalog = &catalog, &use
	return nil
}

// inputNow joins the snapshot with what the ledger knows beyond it, as this run has written it, and returns the question beside what it
// comes to. What classes can buy is worked out once.
func (r *pass) inputNow(ctx context.Context) (disruption.Input, model.DisruptionInput, error) {
	if r.input == nil {
		if err := r.readCatalog(ctx); err != nil {
			return disruption.Input{}, model.DisruptionInput{}, err
		}
		r.plannerInput = model.DisruptionInput{
			Offerings: r.settings.Offerings, Usage: r.ledger.Usage, UnavailableOfferings: r.unavailableOfferings(), SuspendedPools: r.suspendedPools(), Stops: r.ledger.Stops, Settings: r.settings.Disruption,
			Unclaimed: r.ledger.Unread.Claims() > 0,
		}
		r.plannerInput.Offerings.Region, r.plannerInput.Offerings.NowUnix = r.reg.Region, r.now()
		for i := range r.snapshot.Classes {
			r.plannerInput.Classes = append(r.plannerInput.Classes, r.plannerClass(r.snapshot.Classes[i]))
		}
		input := replay.DisruptionInput(&r.plannerInput, r.snapshot, r.catalog.Types)
		r.input = &input
	}
	q := r.plannerInput
	q.NowUnix = r.now()
	q.Commands = slices.Clone(r.ledger.Commands)
	for i := range r.ledger.Claims {
		if claim := &r.ledger.Claims[i]; claim.Live() {
			q.Claims = append(q.Claims, *claim)
		}
	}
	input := *r.input
	input.NowUnix, input.Commands, input.Claims = q.NowUnix, q.Commands, q.Claims
	return input, q, nil
}

// plannerClass says how a class stands. What EC2 refuses to launch, or whose instances do not join, buys nothing: its offerings have
// prices and are not available.
func (r *pass) plannerClass(class model.Class) model.PlannerClass {
	class.Status = offering.Latest(class, r.ledger.Classes)
	asked := model.PlannerClass{Name: class.Name, Suspended: r.suspended(class.Name)}
	age := r.now() - class.Status.ResolvedUnix
	switch {
	case class.Status.ObservedGeneration != class.Generation || class.Status.ResolvedUnix == 0:
		asked.Barred = "it is not resolved yet"
	case age > seconds(r.settings.ClassAfter):
		asked.Barred = fmt.Sprintf("it was resolved %d s ago, and not since", age)
	}
	asked.Status = offering.Less(class.Status, offering.Taken(&class.Status, r.ledger.Claims), r.ledger.UnavailableOfferings, r.now())
	return asked
}

// suspendedPools are the pools that nothing may be bought for: what takes their nodes' place would not take their pods.
func (r *pass) suspendedPools() []model.SuspendedPool {
	var out []model.SuspendedPool
	for i := range r.ledger.Notes.PoolSuspensions {
		if suspension := &r.ledger.Notes.PoolSuspensions[i]; suspension.Instances > 0 {
			out = append(out, model.SuspendedPool{Pool: suspension.Pool, Why: suspension.Text()})
		}
	}
	for _, u := range r.ledger.Unread.Of(model.UnreadUsage) {
		if !slices.ContainsFunc(out, func(p model.SuspendedPool) bool { return p.Pool == u.Name }) {
			out = append(out, model.SuspendedPool{Pool: u.Name, Why: u.Text()})
		}
	}
	return out
}

// unavailableOfferings are the ledger's, and what is half open is closed: whether there is capacity again is not for us to try out.
func (r *pass) unavailableOfferings() []model.UnavailableOffering {
	unavailableOfferings := slices.Clone(r.ledger.UnavailableOfferings)
	for i := range unavailableOfferings {
		unavailableOfferings[i].UntilUnix = max(unavailableOfferings[i].UntilUnix, unavailableOfferings[i].ForgetUnix)
	}
	return unavailableOfferings
}

// suspended reports whether launches from a class have failed lately for reasons that another offering would not get round.
func (r *pass) suspended(class string) bool {
	for i := range r.ledger.Notes.ClassSuspensions {
		if suspension := &r.ledger.Notes.ClassSuspensions[i]; suspension.Class == class && r.now() < suspension.UntilUnix {
			return true
		}
	}
	for i := range r.ledger.Notes.Refusals {
		if refusal := &r.ledger.Notes.Refusals[i]; refusal.Class == class && r.now() < refusal.UntilUnix {
			return true
		}
	}
	return false
}
