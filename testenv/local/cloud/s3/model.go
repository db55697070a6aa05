package s3

import (
	"crypto/md5"
	"encoding/hex"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Options of a model.
type Options struct {
	Clock   clock.Clock // nil: the system's
	Account string      // twelve digits
	Region  string
	// Readings are of what S3 leaves open; nil means what the environment says.
	Readings *reading.Set
}

// Model holds the buckets of an account and region. It is safe for concurrent
// use, and every answer reflects every write answered before it.
type Model struct {
	clock   clock.Clock
	account string
	region  string
	reads   *reading.Set

	mu          sync.Mutex
	buckets     map[string]*bucket // by name
	conditional int                // puts with a condition so far
}

type bucket struct {
	name      string
	created   time.Time
	objects   map[string]*object // by key
	lifecycle *lifecycle         // nil: none
	uploads   map[string]*upload // by id; nil: none
}

// object is immutable once stored; a write replaces it.
type object struct {
	key       string
	body      []byte
	etag      string // quoted
	modified  time.Time
	header    http.Header       // what GET returns as it was put: content type, encoding, metadata, …
	checksums map[string]string // by algorithm, base64; never empty
}

// NewModel returns a model without buckets.
func NewModel(o Options) *Model {
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	return &Model{clock: o.Clock, account: o.Account, region: o.Region, reads: o.Readings, buckets: map[string]*bucket{}}
}

var (
	bucketName  = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	ipLikeName  = regexp.MustCompile(`^\d+\.\d+\.\d+\.\d+$`)
	errorBucket = wire.StatusErrorf(http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist")
	errorKey    = wire.StatusErrorf(http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
)

// CreateBucket makes an empty bucket. It returns an *wire.Error with code
// InvalidBucketName or BucketAlreadyOwnedByYou when it cannot.
func (m *Model) CreateBucket(name string) error {
	if !bucketName.MatchString(name) || ipLikeName.MatchString(name) || strings.Contains(name, "..") {
		return wire.Errorf("InvalidBucketName", "The specified bucket is not valid.")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.buckets[name] != nil {
		return wire.StatusErrorf(http.StatusConflict, "BucketAlreadyOwnedByYou",
			"Your previous request to create the named bucket succeeded and you already own it.")
	}
	m.buckets[name] = &bucket{name: name, created: m.clock.Now(), objects: map[string]*object{}}
	return nil
}

// Has reports whether there is a bucket of a name, whoever made it.
func (m *Model) Has(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.buckets[name] != nil
}

func (m *Model) deleteBucket(name string) error {
	return m.with(name, func(b *bucket) error {
		if len(b.objects) > 0 {
			return wire.StatusErrorf(http.StatusConflict, "BucketNotEmpty", "The bucket you tried to delete is not empty")
		}
		delete(m.buckets, name)
		return nil
	})
}

// Keys returns the keys in a bucket that begin with prefix, sorted; nil when
// there are none or there is no such bucket.
func (m *Model) Keys(bucketName, prefix string) (keys []string) {
	m.with(bucketName, func(b *bucket) error { // a missing bucket has no keys
		keys = b.keys(prefix)
		return nil
	})
	return keys
}

// Get returns the body of an object; ok is false when it does not exist. The
// caller must not change the body.
func (m *Model) Get(bucketName, key string) (body []byte, ok bool) {
	m.with(bucketName, func(b *bucket) error {
		if o := b.objects[key]; o != nil {
			body, ok = o.body, true
		}
		return nil
	})
	return body, ok
}

// with calls f with a bucket from which what has expired is gone, under the
// lock. It returns NoSuchBucket when there is none.
func (m *Model) with(name string, f func(*bucket) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.buckets[name]
	if b == nil {
		return errorBucket
	}
	b.expire(m.clock.Now())
	return f(b)
}

func (b *bucket) keys(prefix string) []string {
	var keys []string
	for key := range b.objects {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func etagOf(body []byte) string {
	sum := md5.Sum(body)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}
