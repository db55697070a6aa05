package s3snapshot

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// ManifestAsOf returns where the snapshot is that was the cluster's newest at a time, by when S3 stored its objects, to
// the second. Its times but HeadSeq's are not known. NotFound where none of then is kept. It needs s3:ListBucket.
func (s *Snapshots) ManifestAsOf(ctx context.Context, cluster string, atUnix int64) (model.Manifest, error) {
	epochs, err := s.epochs(ctx, cluster)
	if err != nil {
		return model.Manifest{}, err
	}
	for _, epoch := range slices.Backward(epochs) { // a watcher that took over wrote later than all before it
		manifest, err := s.lastSnapshot(ctx, cluster, epoch, atUnix)
		if err != nil {
			return manifest, err
		}
		if manifest.SnapshotKey != "" {
			return s.lastDelta(ctx, manifest, atUnix)
		}
	}
	return model.Manifest{}, fault.New(fault.NotFound, "NoSnapshot", "no snapshot of cluster %s is stored for %s",
		cluster, time.Unix(atUnix, 0).UTC().Format(time.RFC3339))
}

// epochs returns the epochs of a cluster of which anything is kept, ascending.
func (s *Snapshots) epochs(ctx context.Context, cluster string) ([]int64, error) {
	names, err := s.folders(ctx, "snap/"+cluster+"/")
	if err != nil {
		return nil, err
	}
	var epochs []int64
	for _, name := range names {
		if epoch, known := numberAfter(name, ""); known {
			epochs = append(epochs, epoch)
		}
	}
	return epochs, nil
}

// lastSnapshot returns a manifest to the newest full snapshot of an epoch that was stored by a time; with no key where
// there is none.
func (s *Snapshots) lastSnapshot(ctx context.Context, cluster string, epoch int64, atUnix int64) (model.Manifest,
	error) {
	var out model.Manifest
	prefix := snapshotPrefix(cluster, epoch)
	err := s.list(ctx, &s3.ListObjectsV2Input{Prefix: &prefix}, func(o types.Object) bool {
		seq, known := numberAfter(aws.ToString(o.Key), prefix)
		if !known || o.LastModified == nil || o.LastModified.Unix() > atUnix {
			return known // sequence numbers grow with time
		}
		out = model.Manifest{Cluster: cluster, Epoch: epoch, SnapshotKey: aws.ToString(o.Key), SnapshotSeq: seq,
			HeadSeq: seq, WrittenUnix: o.LastModified.Unix()}
		return true
	})
	return out, err
}

// lastDelta moves the manifest's head on to the last of the deltas without a gap after its full snapshot that were
// stored by a time.
func (s *Snapshots) lastDelta(ctx context.Context, manifest model.Manifest, atUnix int64) (model.Manifest, error) {
	prefix, after := deltaPrefix(manifest.Cluster, manifest.Epoch), deltaKey(manifest.Cluster, manifest.Epoch,
		manifest.SnapshotSeq)
	err := s.list(ctx, &s3.ListObjectsV2Input{Prefix: &prefix, StartAfter: &after}, func(o types.Object) bool {
		seq, known := numberAfter(aws.ToString(o.Key), prefix)
		if !known || seq != manifest.HeadSeq+1 || o.LastModified == nil || o.LastModified.Unix() > atUnix {
			return false
		}
		manifest.HeadSeq, manifest.WrittenUnix = seq, o.LastModified.Unix()
		return true
	})
	return manifest, err
}
