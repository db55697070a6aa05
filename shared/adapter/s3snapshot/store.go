package s3snapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/joiner-sh/joiner/shared/adapter/sdkerr"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/wire"
)

const digestName = "sha256" // of the metadata that holds the digest of the content

// Store is one bucket. It may be used from many goroutines.
type Store struct {
	client *s3.Client
	bucket string

	mu    sync.Mutex
	known []known // snapshots decoded before, the last used first

	memory *memoryBudget
}

// New returns the store in a bucket, which must exist.
func New(client *s3.Client, bucket string) *Store {
	return &Store{client: client, bucket: bucket, memory: newMemoryBudget(0)}
}

// Within says how much memory the program has, in bytes; 0 = nobody bounds it. A snapshot that takes more than an eighth is refused, and
// those that are held take a quarter at most. It returns the store and must be called before it is used.
func (s *Store) Within(memory int64) *Store {
	s.memory = newMemoryBudget(memory)
	return s
}

// PutSnapshot stores an encoded full snapshot and returns its key. Storing the same bytes again is no error; Conflict where other
// bytes are there.
func (s *Store) PutSnapshot(ctx context.Context, cluster string, epoch, seq int64, data []byte) (string, error) {
	key := snapshotKey(cluster, epoch, seq)
	return key, s.put(ctx, key, "application/gzip", data)
}

// PutDelta stores an encoded delta; otherwise as PutSnapshot.
func (s *Store) PutDelta(ctx context.Context, cluster string, epoch, seq int64, data []byte) error {
	return s.put(ctx, deltaKey(cluster, epoch, seq), "application/gzip", data)
}

// Kept reports whether an object is there. S3 says of one that is missing that it is forbidden to whoever may not list the bucket, as the
// watcher. Source: Amazon S3 API reference, HeadObject, "Permissions".
func (s *Store) Kept(ctx context.Context, key string) (bool, error) {
	_, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: &key})
	err = sdkerr.WrapStatus(err, "check for s3://%s/%s", s.bucket, key)
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Denied) {
		return false, nil
	}
	return err == nil, err
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

func (s *Store) put(ctx context.Context, key, contentType string, data []byte) error {
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
			return fault.Wrap(fault.Throttled, codeConflict, err, "write s3://%s/%s, which does not exist yet", s.bucket, key)
		}
		return headErr
	}
	if head.Metadata[digestName] == digest {
		return nil
	}
	return err
}

// codeConflict is what S3 answers where another write of the object goes on, and asks for the request again. Source: Amazon S3 user guide,
// "Add preconditions to S3 operations with conditional requests".
const codeConflict = "ConditionalRequestConflict"

// repeatConflicts has the SDK repeat a write that another one was in the way of.
func repeatConflicts(o *s3.Options) { o.Retryer = retry.AddWithErrorCodes(o.Retryer, codeConflict) }

// get reads a whole object of at most limit bytes.
func (s *Store) get(ctx context.Context, key string, limit int64) ([]byte, error) {
	data, done, err := s.open(ctx, key, limit)
	if err == nil {
		done()
	}
	return data, err
}

// open is get for what is unpacked: done says that the bytes are needed no more. Before that they count against the room.
func (s *Store) open(ctx context.Context, key string, limit int64) (data []byte, done func(), err error) {
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: &key})
	if err != nil {
		return nil, nil, sdkerr.WrapStatus(err, "read s3://%s/%s", s.bucket, key)
	}
	defer out.Body.Close()
	size := aws.ToInt64(out.ContentLength)
	if out.ContentLength == nil {
		size = limit
	}
	if size > limit {
		return nil, nil, fault.New(fault.Invalid, "TooLarge", "s3://%s/%s has %d bytes, at most %d are read", s.bucket, key, size, limit)
	}
	if done, err = s.memory.fetch(ctx, size); err != nil {
		return nil, nil, err
	}
	whole := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	_, err = whole.ReadFrom(io.LimitReader(out.Body, limit+1))
	switch {
	case err != nil:
		err = sdkerr.WrapStatus(err, "read s3://%s/%s", s.bucket, key)
	case int64(whole.Len()) > limit:
		err = fault.New(fault.Invalid, "TooLarge", "s3://%s/%s has more than %d bytes", s.bucket, key, limit)
	default:
		return whole.Bytes(), done, nil
	}
	done()
	return nil, nil, err
}

// snapshotBytes is the most that is read of a full snapshot or delta.
const snapshotBytes = wire.MaxSnapshotBytes
