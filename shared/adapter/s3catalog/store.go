package s3catalog

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/joiner-sh/joiner/shared/adapter/sdkerr"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// Settings of a store.
type Settings struct {
	Now func() time.Time // nil = time.Now
}

// checkEvery is how long RegionCatalog trusts what is in memory without asking S3 whether it changed.
const checkEvery = 30 * time.Second

// Store is one bucket. It may be used from many goroutines. Catalogs it returns are shared and must not be written to.
type Store struct {
	client   *s3.Client
	bucket   string
	settings Settings

	mu   sync.Mutex
	kept map[string]kept      // by key
	put  map[string]time.Time // when versions were kept, by key, lately
}

// kept is what was read or written last.
type kept struct {
	revision  string
	catalog   *model.InstanceCatalog
	checkedAt time.Time
}

// New returns the store in a bucket, which must exist.
func New(client *s3.Client, bucket string, settings Settings) *Store {
	if settings.Now == nil {
		settings.Now = time.Now
	}
	return &Store{client: client, bucket: bucket, settings: settings, kept: map[string]kept{},
		put: map[string]time.Time{}}
}

func keyOf(reg model.Registration) string {
	return fmt.Sprintf("catalog/%s/%s.jnc", cmp.Or(reg.Account, "own"), reg.Region)
}

// RegionCatalog returns the catalog of the registration's account and region, which may be as old in memory as
// checkEvery. Where S3 cannot be asked, what was read before is returned: it carries its age. NotFound where nobody has
// stored one.
func (s *Store) RegionCatalog(ctx context.Context, reg model.Registration) (model.InstanceCatalog, error) {
	known := s.recall(reg)
	if known.catalog != nil && s.settings.Now().Sub(known.checkedAt) < checkEvery {
		return *known.catalog, nil
	}
	catalog, _, err := s.Read(ctx, reg)
	if err != nil && known.catalog != nil && !fault.Is(err, fault.NotFound) {
		return *known.catalog, nil
	}
	return catalog, err
}

// Read returns the catalog of the registration's account and region as it is stored now, and the revision that Write
// conditions on. NotFound where nobody has stored one; Invalid where what is stored cannot be read, together with its
// revision, so that it can be replaced.
func (s *Store) Read(ctx context.Context, reg model.Registration) (model.InstanceCatalog, string, error) {
	key, known := keyOf(reg), s.recall(reg)
	input := &s3.GetObjectInput{Bucket: &s.bucket, Key: &key}
	if known.catalog != nil {
		input.IfNoneMatch = &known.revision
	}
	out, err := s.client.GetObject(ctx, input)
	if known.catalog != nil && sdkerr.Status(err) == http.StatusNotModified {
		s.keep(key, known.revision, known.catalog)
		return *known.catalog, known.revision, nil
	}
	if err != nil {
		err = sdkerr.WrapStatus(err, "read s3://%s/%s", s.bucket, key)
		if fault.Is(err, fault.NotFound) {
			s.forget(key)
		}
		return model.InstanceCatalog{}, "", err
	}
	defer out.Body.Close()
	data, err := io.ReadAll(io.LimitReader(out.Body, wire.MaxCatalogBytes+1))
	if err != nil {
		return model.InstanceCatalog{}, "", sdkerr.WrapStatus(err, "read s3://%s/%s", s.bucket, key)
	}
	revision := aws.ToString(out.ETag)
	catalog, err := wire.DecodeCatalog(data)
	if err != nil {
		return model.InstanceCatalog{}, revision, fmt.Errorf("read s3://%s/%s: %w", s.bucket, key, err)
	}
	s.keep(key, revision, catalog)
	return *catalog, revision, nil
}

// Write stores a catalog on condition that revision is what is stored now, "" meaning nothing. Conflict where it is
// not, and nothing was written.
func (s *Store) Write(ctx context.Context, reg model.Registration, catalog model.InstanceCatalog,
	revision string) error {
	key := keyOf(reg)
	data, err := wire.EncodeCatalog(&catalog)
	if err != nil {
		return err
	}
	input := &s3.PutObjectInput{
		Bucket: &s.bucket, Key: &key, Body: bytes.NewReader(data), ContentLength: aws.Int64(int64(len(data))),
		ContentType: aws.String("application/gzip"),
	}
	if revision == "" {
		input.IfNoneMatch = aws.String("*")
	} else {
		input.IfMatch = &revision
	}
	// S3 answers 409 where another write of the object goes on, and asks for the request again. Source: Amazon S3 user
	// guide, "Add preconditions to S3 operations with conditional requests".
	out, err := s.client.PutObject(ctx, input, func(o *s3.Options) {
		o.Retryer = retry.AddWithErrorCodes(o.Retryer, "ConditionalRequestConflict")
	})
	if err != nil {
		err = sdkerr.WrapStatus(err, "write s3://%s/%s", s.bucket, key)
		if revision != "" && fault.Is(err, fault.NotFound) { // somebody took away what was read
			return fault.Wrap(fault.Conflict, "CatalogueGone", err, "write s3://%s/%s", s.bucket, key)
		}
		return err
	}
	s.keep(key, aws.ToString(out.ETag), &catalog)
	return s.keepVersion(ctx, reg, catalog.Version, data)
}

// putAgain is after how long a version that is written still is kept anew: the bucket forgets it after a month.
const putAgain = 24 * time.Hour

// keepVersion keeps a catalog under its version, so that what was decided by it can be decided once more.
func (s *Store) keepVersion(ctx context.Context, reg model.Registration, version string, data []byte) error {
	key, now := versionKey(reg.Account, reg.Region, version), s.settings.Now()
	s.mu.Lock()
	at, known := s.put[key]
	s.mu.Unlock()
	if version == "" || known && now.Sub(at) < putAgain {
		return nil
	}
	_, err := s.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &s.bucket, Key: &key, Body: bytes.NewReader(data), ContentLength: aws.Int64(int64(len(data))),
		ContentType: aws.String("application/gzip"),
	})
	if err != nil {
		return sdkerr.WrapStatus(err, "write s3://%s/%s", s.bucket, key)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for other, at := range s.put {
		if now.Sub(at) >= putAgain {
			delete(s.put, other)
		}
	}
	s.put[key] = now
	return nil
}

// ReadVersion returns a catalog of an account ("" = not known) and region as it was under that version. NotFound where
// it is not kept.
func (s *Store) ReadVersion(ctx context.Context, account, region, version string) (*model.InstanceCatalog, error) {
	key := versionKey(account, region, version)
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: &key})
	if err != nil {
		return nil, sdkerr.WrapStatus(err, "read s3://%s/%s", s.bucket, key)
	}
	defer out.Body.Close()
	data, err := io.ReadAll(io.LimitReader(out.Body, wire.MaxCatalogBytes+1))
	if err != nil {
		return nil, sdkerr.WrapStatus(err, "read s3://%s/%s", s.bucket, key)
	}
	return wire.DecodeCatalog(data)
}

func versionKey(account, region, version string) string {
	return fmt.Sprintf("versions/%s/%s/%s.jnc", cmp.Or(account, "own"), region, version)
}

func (s *Store) recall(reg model.Registration) kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept[keyOf(reg)]
}

func (s *Store) keep(key, revision string, catalog *model.InstanceCatalog) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[key] = kept{revision, catalog, s.settings.Now()}
}

func (s *Store) forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.kept, key)
}
