package ecr

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"maps"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Options say whose registry it is. The zero value is a working one.
type Options struct {
	Clock   clock.Clock // nil: the system's
	Account string      // twelve digits; "" means 123456789012
	Region  string      // "" means us-west-2
}

// Model is the private registry of one account and region. It is safe for concurrent use.
type Model struct {
	clock           clock.Clock
	account, region string

	mu           sync.Mutex
	host         string // of the registry; "" = as AWS calls it
	repositories map[string]*repository
	tokens       map[string]time.Time // when each expires
}

type repository struct {
	name    string
	created time.Time
	images  map[string]*image // by digest
}

type image struct {
	digest, mediaType string
	size              int64
	tags              []string // sorted
	pushed            time.Time
}

// tokenLife is how long one is logged in.
const tokenLife = 12 * time.Hour

var repositoryName = regexp.MustCompile(`^(?:[a-z0-9]+(?:[._-][a-z0-9]+)*/)*[a-z0-9]+(?:[._-][a-z0-9]+)*$`)

// New returns a registry without repositories.
func New(o Options) *Model {
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	return &Model{
		clock: o.Clock, account: cmp.Or(o.Account, "123456789012"), region: cmp.Or(o.Region, "us-west-2"),
		repositories: map[string]*repository{}, tokens: map[string]time.Time{},
	}
}

// Host is what references to images begin with: host and port of the registry.
func (m *Model) Host() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return cmp.Or(m.host, m.account+".dkr.ecr."+m.region+".amazonaws.com")
}

// Create makes a repository. The error is a *wire.Error.
func (m *Model) Create(name string) error {
	if len(name) < 2 || len(name) > 256 || !repositoryName.MatchString(name) {
		return wire.Errorf("InvalidParameterException", "Invalid parameter at 'repositoryName' failed to satisfy constraint: 'must satisfy regular expression '%s''", repositoryName)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.repositories[name] != nil {
		return wire.Errorf("RepositoryAlreadyExistsException", "The repository with name '%s' already exists in the registry with id '%s'", name, m.account)
	}
	m.repositories[name] = &repository{name: name, created: m.clock.Now(), images: map[string]*image{}}
	return nil
}

// Has reports whether there is a repository of a name.
func (m *Model) Has(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.repositories[name] != nil
}

// Delete deletes a repository, with force also what is in it. The error is a *wire.Error.
func (m *Model) Delete(name string, force bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.repository(name)
	if err != nil {
		return err
	}
	if len(r.images) > 0 && !force {
		return wire.Errorf("RepositoryNotEmptyException", "The repository with name '%s' in registry with id '%s' cannot be deleted because it still contains images", name, m.account)
	}
	delete(m.repositories, name)
	return nil
}

// Digests returns the images of a repository, sorted; nil where there is no such repository.
func (m *Model) Digests(name string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.repositories[name]
	if r == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(r.images))
}

// repository returns a repository by name. The lock is held.
func (m *Model) repository(name string) (*repository, error) {
	if r := m.repositories[name]; r != nil {
		return r, nil
	}
	return nil, wire.Errorf("RepositoryNotFoundException", "The repository with name '%s' does not exist in the registry with id '%s'", name, m.account)
}

// issue returns a new token and when it expires.
func (m *Model) issue() (string, time.Time) {
	secret := make([]byte, 240)
	rand.Read(secret) // never fails
	token := base64.RawURLEncoding.EncodeToString(secret)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tokens[token] = m.clock.Now().Add(tokenLife)
	return token, m.tokens[token]
}

// valid reports whether one is logged in by a token.
func (m *Model) valid(token string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.clock.Now().Before(m.tokens[token])
}

// pushed keeps what a manifest was pushed as: by its digest, or with a tag, which moves from the image that had it.
func (m *Model) pushed(name, digest, tag, mediaType string, size int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.repositories[name]
	if r == nil {
		return // deleted meanwhile
	}
	i := r.images[digest]
	if i == nil {
		i = &image{digest: digest, mediaType: mediaType, size: size, pushed: m.clock.Now()}
		r.images[digest] = i
	}
	if tag == "" {
		return
	}
	for _, other := range r.images {
		other.tags = slices.DeleteFunc(other.tags, func(t string) bool { return t == tag })
	}
	i.tags = append(i.tags, tag)
	slices.Sort(i.tags)
}
