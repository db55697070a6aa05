package s3snapshot

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/oklog/ulid/v2"

	"github.com/joiner-sh/joiner/shared/adapter/sdkerr"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

const (
	readers   = 16         // records read at once
	daySecond = 24 * 3600  // seconds of a day
	disrupt   = "disrupt-" // begins the ids of decisions about disruption
	extension = ".json.gz"
)

// Decisions reads the records of decisions to provision taken from fromUnix up to and without toUnix, in the order of their ids,
// which is that of their times. What they were asked is left out: Decision has it. Reading needs s3:ListBucket beside
// s3:GetObject.
func (s *Store) Decisions(ctx context.Context, cluster string, fromUnix, toUnix int64) ([]model.Decision, error) {
	keys, err := s.recordKeys(ctx, "decisions/", cluster, fromUnix, toUnix, func(id string) bool { return !strings.HasPrefix(id, disrupt) })
	if err != nil {
		return nil, err
	}
	return readAll(ctx, s, keys, func(d *model.Decision) bool {
		d.Input = nil
		for i := range d.Rounds {
			d.Rounds[i].Input = nil
		}
		return fromUnix <= d.AtUnix && d.AtUnix < toUnix
	})
}

// Disruptions reads the records of decisions about disruption, otherwise as Decisions does.
func (s *Store) Disruptions(ctx context.Context, cluster string, fromUnix, toUnix int64) ([]model.Disrupted, error) {
	keys, err := s.recordKeys(ctx, "decisions/", cluster, fromUnix, toUnix, func(id string) bool { return strings.HasPrefix(id, disrupt) })
	if err != nil {
		return nil, err
	}
	return readAll(ctx, s, keys, func(d *model.Disrupted) bool {
		d.Recorded, d.Input = nil, nil
		return fromUnix <= d.AtUnix && d.AtUnix < toUnix
	})
}

// Removals reads the records of instances closed from fromUnix up to and without toUnix, by time, then by name.
func (s *Store) Removals(ctx context.Context, cluster string, fromUnix, toUnix int64) ([]model.Removal, error) {
	keys, err := s.recordKeys(ctx, "removals/", cluster, fromUnix, toUnix, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	removals, err := readAll(ctx, s, keys, func(r *model.Removal) bool { return fromUnix <= r.GoneUnix && r.GoneUnix < toUnix })
	slices.SortStableFunc(removals, func(a, b model.Removal) int { return int(a.GoneUnix - b.GoneUnix) })
	return removals, err
}

// FindDecision reads a decision to provision by its id alone, which says its day. NotFound where there is none.
func (s *Store) FindDecision(ctx context.Context, cluster, id string) (model.Decision, error) {
	return find(id, func(day string) (model.Decision, error) { return s.Decision(ctx, cluster, day, id) })
}

// FindDisruption reads a decision about disruption by its id alone, which says its day. NotFound where there is none.
func (s *Store) FindDisruption(ctx context.Context, cluster, id string) (model.Disrupted, error) {
	return find(id, func(day string) (model.Disrupted, error) { return s.Disruption(ctx, cluster, day, id) })
}

// find tries the day of an id and, since the clocks that made id and record are not one, those around it.
func find[T any](id string, read func(day string) (T, error)) (out T, err error) {
	parsed, err := ulid.ParseStrict(id)
	if err != nil {
		return out, fault.Wrap(fault.Invalid, "", err, "%q is not the id of a decision", id)
	}
	at := int64(parsed.Time() / 1000)
	for _, unix := range []int64{at, at + daySecond, at - daySecond} {
		if out, err = read(Day(unix)); !fault.Is(err, fault.NotFound) {
			return out, err
		}
	}
	return out, err
}

// recordKeys lists the keys of the days of a span, in order.
func (s *Store) recordKeys(ctx context.Context, prefix, cluster string, fromUnix, toUnix int64, wanted func(id string) bool) ([]string, error) {
	var keys []string
	for day := fromUnix - fromUnix%daySecond; day < toUnix; day += daySecond {
		folder := prefix + cluster + "/" + Day(day) + "/"
		err := s.list(ctx, &s3.ListObjectsV2Input{Prefix: &folder}, func(o types.Object) bool {
			key := aws.ToString(o.Key)
			if id, known := strings.CutSuffix(strings.TrimPrefix(key, folder), extension); known && wanted(id) {
				keys = append(keys, key)
			}
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// list calls each for the objects a listing shows, in the order of their keys, until it returns false.
func (s *Store) list(ctx context.Context, input *s3.ListObjectsV2Input, each func(types.Object) bool) error {
	input.Bucket = &s.bucket
	for pages := s3.NewListObjectsV2Paginator(s.client, input); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return sdkerr.WrapStatus(err, "list s3://%s/%s", s.bucket, aws.ToString(input.Prefix))
		}
		for _, object := range page.Contents {
			if !each(object) {
				return nil
			}
		}
	}
	return nil
}

// readAll reads records side by side and returns those that are wanted, in the order of their keys. One that was deleted since it was
// listed is left out.
func readAll[T any](ctx context.Context, s *Store, keys []string, want func(*T) bool) ([]T, error) {
	read, errs := make([]T, len(keys)), make([]error, len(keys))
	wanted := make([]bool, len(keys))
	var wg sync.WaitGroup
	free := make(chan struct{}, readers)
	for i := range keys {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			if read[i], errs[i] = record[T](ctx, s, keys[i]); errs[i] == nil {
				wanted[i] = want(&read[i])
			}
		})
	}
	wg.Wait()
	var out []T
	for i := range read {
		switch {
		case fault.Is(errs[i], fault.NotFound):
		case errs[i] != nil:
			return nil, errs[i]
		case wanted[i]:
			out = append(out, read[i])
		}
	}
	return out, nil
}

// ManifestAsOf returns where the snapshot is that was the cluster's newest at a time, by when S3 stored its objects, to the second. Its times
// but HeadSeq's are not known. NotFound where none of then is kept. It needs s3:ListBucket.
func (s *Store) ManifestAsOf(ctx context.Context, cluster string, atUnix int64) (model.Manifest, error) {
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
	return model.Manifest{}, fault.New(fault.NotFound, "NoSnapshot", "no snapshot of cluster %s is stored for %s", cluster, time.Unix(atUnix, 0).UTC().Format(time.RFC3339))
}

// epochs returns the epochs of a cluster of which anything is kept, ascending.
func (s *Store) epochs(ctx context.Context, cluster string) ([]int64, error) {
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

// lastSnapshot returns a manifest to the newest full snapshot of an epoch that was stored by a time; with no key where there is none.
func (s *Store) lastSnapshot(ctx context.Context, cluster string, epoch int64, atUnix int64) (model.Manifest, error) {
	var out model.Manifest
	prefix := snapshotPrefix(cluster, epoch)
	err := s.list(ctx, &s3.ListObjectsV2Input{Prefix: &prefix}, func(o types.Object) bool {
		seq, known := numberAfter(aws.ToString(o.Key), prefix)
		if !known || o.LastModified == nil || o.LastModified.Unix() > atUnix {
			return known // sequence numbers grow with time
		}
		out = model.Manifest{Cluster: cluster, Epoch: epoch, SnapshotKey: aws.ToString(o.Key), SnapshotSeq: seq, HeadSeq: seq, WrittenUnix: o.LastModified.Unix()}
		return true
	})
	return out, err
}

// lastDelta moves the manifest's head on to the last of the deltas without a gap after its full snapshot that were stored by a time.
func (s *Store) lastDelta(ctx context.Context, manifest model.Manifest, atUnix int64) (model.Manifest, error) {
	prefix, after := deltaPrefix(manifest.Cluster, manifest.Epoch), deltaKey(manifest.Cluster, manifest.Epoch, manifest.SnapshotSeq)
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
