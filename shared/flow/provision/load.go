package provision

import (
	"context"
	"fmt"

	"github.com/joiner-sh/joiner/shared/core/headroom"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/work"
)

// load reads what there is to know of the cluster, under the planner lease: the ledger, and the snapshot or a list. It
// returns nil where the cluster is to be skipped.
func (f *Flow) load(ctx context.Context, v *invocation) (*state, Clients, error) {
	s := &state{invocation: v, store: f.Claims, memory: f.Memory}
	var err error
	if s.ledger, err = s.load(ctx); err != nil {
		return nil, Clients{}, err
	}
	clients, err := f.Connector.Connect(ctx, v.reg)
	if err != nil {
		return nil, Clients{}, fmt.Errorf("connect to cluster %s: %w", v.reg.Cluster, err)
	}
	if err := f.readSnapshot(ctx, s, clients.Cluster); err != nil || v.out.Skipped != "" {
		return nil, Clients{}, err
	}
	s.excludeLeavingNodes()
	for _, text := range s.ledger.Unread.Texts() {
		s.problem("%s", text)
	}
	s.reached("snapshot")
	return s, clients, nil
}

// readSnapshot takes the watcher's snapshot, and lists the cluster where there is no watcher to be heard or its
// snapshot is older than the hint. One in which the chart is not installed yet is skipped.
func (f *Flow) readSnapshot(ctx context.Context, s *state, cluster Cluster) error {
	if s.ledger.ManifestFault != "" {
		s.problem("listing instead of reading a snapshot: %s", s.ledger.ManifestFault)
	}
	if manifest := s.ledger.Manifest; manifest != nil && s.isAlive(*manifest) && s.request.reachedBy(*manifest) {
		snapshot, err := f.Snapshots.SnapshotAt(ctx, *manifest)
		if err == nil {
			s.shown, s.source = headroom.WithPlaceholders(snapshot), sourceSnapshot
			s.manifest, s.out.Source = read(*manifest, snapshot), s.source
			return nil
		}
		s.problem("read snapshot %d/%d, listing instead: %v", manifest.Epoch, manifest.HeadSeq, err)
		if err := work.ReportLost(ctx, f.Losses, f.Effects, *manifest, err); err != nil {
			s.problem("%v", err)
		}
	}
	var snapshot *model.Snapshot
	var err error
	s.out.Skipped, err = work.ReadInstalled(s.ledger.NeverPublished, s.reg.RelayURL != "", func() (err error) {
		snapshot, err = cluster.List(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("list cluster %s: %w", s.reg.Cluster, err)
	}
	if s.out.Skipped != "" {
		return nil
	}
	s.shown, s.source, s.listed = headroom.WithPlaceholders(snapshot), sourceList, snapshot
	s.out.Source = s.source
	return nil
}

// read returns the manifest to exactly what was read by it, which may be newer.
func read(manifest model.Manifest, snapshot *model.Snapshot) *model.Manifest {
	manifest.HeadSeq = snapshot.Seq
	return &manifest
}

// isAlive reports whether the watcher has been heard lately.
func (s *state) isAlive(manifest model.Manifest) bool {
	return s.now()-manifest.HeartbeatAt <= int64(s.settings.SilentAfter.Seconds())
}

// reachedBy reports whether the manifest's snapshot is at least as new as the one the hint names.
func (r *Request) reachedBy(manifest model.Manifest) bool {
	if manifest.Epoch != r.Epoch {
		return manifest.Epoch > r.Epoch
	}
	return manifest.HeadSeq >= r.Seq
}
