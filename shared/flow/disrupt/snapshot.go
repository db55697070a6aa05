package disrupt

import (
	"context"
	"fmt"

	"github.com/joiner-sh/joiner/shared/core/headroom"
	"github.com/joiner-sh/joiner/shared/model"
)

// view is the watcher's snapshot, if it is one that may be decided by.
type view struct {
	snapshot      *model.Snapshot // shared, never written to; nil = there is none that may be decided by
	manifest      model.Manifest  // to it
	heartbeatUnix int64           // when the watcher last confirmed it
	unseen        string          // why there is no snapshot
}

// readSnapshot takes the watcher's snapshot, if it is one that may be decided by: published or confirmed a moment ago, and none that is
// older than one already decided by.
func (r *session) readSnapshot(ctx context.Context) view {
	if r.state.Manifest == nil {
		if unseen := r.state.ManifestFault; unseen != "" {
			r.Problem("%s", unseen)
			return view{unseen: unseen}
		}
		return view{unseen: "no watcher has ever published the cluster"}
	}
	manifest := *r.state.Manifest
	ahead := r.watcherAhead(manifest)
	switch age := r.NowUnix() - manifest.HeartbeatAt; {
	case age < -maxClockOffset:
		return view{unseen: fmt.Sprintf("the watcher's clock is %d s ahead of the ledger's", -age)}
	case age+ahead > r.freshFor():
		if age <= seconds(r.settings.SilentAfter) {
			r.soon(missedHeartbeat)
		}
		return view{unseen: fmt.Sprintf("the watcher's last heartbeat is %d s old", age+ahead)}
	case r.state.older(&r.memo.notes, manifest.Epoch, manifest.HeadSeq):
		return view{unseen: fmt.Sprintf("snapshot %d/%d is older than one that was used already", manifest.Epoch, manifest.HeadSeq)}
	}
	snapshot, err := r.flow.Snapshots.SnapshotAt(ctx, manifest)
	if err != nil {
		unseen := fmt.Sprintf("snapshot %d/%d cannot be read", manifest.Epoch, manifest.HeadSeq)
		r.Problem("%s: %v", unseen, err)
		r.ReportLost(ctx, r.flow.Losses, manifest, err)
		r.soon(retryAfter)
		return view{unseen: unseen}
	}
	heartbeat := manifest.HeartbeatAt - ahead
	manifest.HeadSeq = snapshot.Seq // it may be newer
	return view{snapshot: headroom.WithPlaceholders(snapshot), manifest: manifest, heartbeatUnix: heartbeat}
}

// watcherAhead returns by how many seconds the watcher's clock may be ahead of the ledger's; 0 where that is little. It is remembered: where
// such a watcher then stops, its last heartbeat would look fresh once the ledger's clock has come to its time.
func (r *session) watcherAhead(manifest model.Manifest) int64 {
	before, now := r.memo.notes.WatcherAhead, r.NowUnix()
	ahead, next := before.Of(manifest, now), model.HeartbeatAhead{}
	if ahead <= maxClockOffset {
		ahead = 0
	} else {
		next = model.HeartbeatAhead{Epoch: manifest.Epoch, Heartbeat: manifest.HeartbeatAt, SeenAt: now, Seconds: ahead}
	}
	r.memo.notes.WatcherAhead, r.memo.changed = next, r.memo.changed || next != before
	return ahead
}

// freshFor is how old the watcher's heartbeat may be, in seconds. Where the ledger has no claim there is nothing to disrupt, and the watcher
// says less often that it lives.
func (r *session) freshFor() int64 {
	if len(r.state.Claims) == 0 && len(r.state.openIDs()) == 0 {
		return seconds(r.settings.SilentAfter)
	}
	return seconds(r.settings.FreshFor)
}
