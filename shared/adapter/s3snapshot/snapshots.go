package s3snapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/joiner-sh/joiner/shared/adapter/sdkerr"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

const digestName = "sha256" // of the metadata that holds the digest of the content

// snapshotBytes is the most that is read of a full snapshot or delta.
const snapshotBytes = wire.MaxSnapshotBytes

// Snapshots are full snapshots and deltas.
type Snapshots struct {
	*objects

	mu    sync.Mutex
	known []known // snapshots decoded before, the last used first
}

// known is a snapshot that was decoded before, and the full snapshot it grew from. Deltas after another full snapshot
// may number pod shapes otherwise.
type known struct {
	snapshotKey string
	snapshot    *model.Snapshot
}

// PutSnapshot stores an encoded full snapshot and returns its key. Storing the same bytes again is no error; Conflict
// where other bytes are there.
func (s *Snapshots) PutSnapshot(ctx context.Context, cluster string, epoch, seq int64, data []byte) (string, error) {
	key := snapshotKey(cluster, epoch, seq)
	return key, s.put(ctx, key, "application/gzip", data)
}

// PutDelta stores an encoded delta; otherwise as PutSnapshot.
func (s *Snapshots) PutDelta(ctx context.Context, cluster string, epoch, seq int64, data []byte) error {
	return s.put(ctx, deltaKey(cluster, epoch, seq), "application/gzip", data)
}

// Kept reports whether an object is there. S3 says of one that is missing that it is forbidden to whoever may not list
// the bucket, as the watcher. Source: Amazon S3 API reference, HeadObject, "Permissions".
func (s *Snapshots) Kept(ctx context.Context, key string) (bool, error) {
	_, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: &key})
	err = sdkerr.WrapStatus(err, "check for s3://%s/%s", s.bucket, key)
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Denied) {
		return false, nil
	}
	return err == nil, err
}

func (s *Snapshots) put(ctx context.Context, key, contentType string, data []byte) error {
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	_, err := s.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &s.bucket, Key: &key, Body: bytes.NewReader(data), ContentLength: aws.Int64(int64(len(data))),
		ContentType: &contentType, IfNoneMatch: aws.String("*"), Metadata: map[string]string{digestName: digest},
	}, repeatConflicts)
	err = sdkerr.WrapStatus(err, "write s3://%s/%s", s.bucket, key)
	if !fault.Is(err, fault.Conflict) {
		return err
	}
	// Something is there. An attempt whose answer was lost left these very bytes.
	head, headErr := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: &key})
	if headErr != nil {
		headErr = sdkerr.WrapStatus(headErr, "compare s3://%s/%s", s.bucket, key)
		if fault.CodeOf(err) == codeConflict && (fault.Is(headErr, fault.NotFound) || fault.Is(headErr, fault.Denied)) {
			return fault.Wrap(fault.Throttled, codeConflict, err, "write s3://%s/%s, which does not exist yet",
				s.bucket, key)
		}
		return headErr
	}
	if head.Metadata[digestName] == digest {
		return nil
	}
	return err
}

func snapshotPrefix(cluster string, epoch int64) string {
	return fmt.Sprintf("snap/%s/%020d/base-", cluster, epoch)
}

func deltaPrefix(cluster string, epoch int64) string {
	return fmt.Sprintf("snap/%s/%020d/seg-", cluster, epoch)
}

func snapshotKey(cluster string, epoch, seq int64) string {
	return fmt.Sprintf("%s%020d", snapshotPrefix(cluster, epoch), seq)
}

func deltaKey(cluster string, epoch, seq int64) string {
	return fmt.Sprintf("%s%020d", deltaPrefix(cluster, epoch), seq)
}

// numberAfter reads the number that a key is after its prefix; false where it is something else.
func numberAfter(key, prefix string) (int64, bool) {
	text, known := strings.CutPrefix(key, prefix)
	number, err := strconv.ParseInt(text, 10, 64)
	return number, known && err == nil
}
