package sts

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire/sigv4"
)

// Limits of a session's duration.
const (
	MinSession        = 15 * time.Minute
	DefaultSession    = time.Hour
	maxChainedSession = time.Hour // where a session assumes a role
)

// Options of a model.
type Options struct {
	Clock   clock.Clock // nil: the system's
	Account string      // twelve digits
}

// Credentials are an access key as its holder has it.
type Credentials struct {
	AccessKeyID     string
	SecretAccessKey string
	SessionToken    string    // empty for a long-lived key
	Expires         time.Time // zero for a long-lived key
}

// Role is something identities may become.
type Role struct {
	Name string
	Path string // "/" when empty; else begins and ends with a slash
	// Account is the account the role is in; the model's own when empty.
	Account string
	// TrustedARNs may assume it: ARNs of users, roles (then every session of
	// the role), sessions, or an account's root (then everyone in the account).
	// Nobody when empty.
	TrustedARNs []string
	// ExternalID must be given to assume the role; empty: none is asked for.
	ExternalID string
	MaxSession time.Duration // one hour when 0; at most twelve
}

// ARN returns the ARN of the role, in its account.
func (r Role) ARN() string {
	return fmt.Sprintf("arn:aws:iam::%s:role%s%s", r.Account, r.Path, r.Name)
}

// Model holds keys, roles and sessions. It is safe for concurrent use.
type Model struct {
	// Federated says why somebody who brings a token of an OIDC provider, by its
	// ARN, may not do what it asks for; "" if it may. nil: nobody may.
	Federated func(provider string, a wire.Access) string

	clock   clock.Clock
	account string

	mu        sync.Mutex
	keys      map[string]key      // by access key id
	roles     map[string]role     // by ARN
	providers map[string]Provider // by issuer
}

type key struct {
	sigv4.Credential
	principal string // ARN of the user or role behind it
	session   string // session name; empty for a user's key
}

type role struct {
	Role
	id string // AROA…
}

var _ sigv4.Keys = (*Model)(nil)

// NewModel returns a model that knows nobody yet.
func NewModel(o Options) *Model {
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	return &Model{
		clock: o.Clock, account: o.Account,
		keys: map[string]key{}, roles: map[string]role{}, providers: map[string]Provider{},
	}
}

// Account returns the account of the model.
func (m *Model) Account() string { return m.account }

// AddRootKey issues the given long-lived key to the root of the account.
func (m *Model) AddRootKey(accessKeyID, secretAccessKey string) {
	m.addKey(accessKeyID, secretAccessKey, fmt.Sprintf("arn:aws:iam::%s:root", m.account), m.account)
}

// AddUser creates a user and returns the long-lived key issued to it.
func (m *Model) AddUser(name string) Credentials {
	c := Credentials{AccessKeyID: newID("AKIA", 16), SecretAccessKey: newSecret()}
	m.addKey(c.AccessKeyID, c.SecretAccessKey, fmt.Sprintf("arn:aws:iam::%s:user/%s", m.account, name), newID("AIDA", 17))
	return c
}

// AddService returns a key by which an AWS service acts, e.g. "events.amazonaws.com": its name stands for its ARN.
func (m *Model) AddService(name string) Credentials {
	c := Credentials{AccessKeyID: newID("AKIA", 16), SecretAccessKey: newSecret()}
	m.addKey(c.AccessKeyID, c.SecretAccessKey, name, name)
	return c
}

func (m *Model) addKey(id, secret, arn, userID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keys[id] = key{
		Credential: sigv4.Credential{
			SecretAccessKey: secret,
			Identity:        wire.Identity{Account: m.account, ARN: arn, UserID: userID, AccessKeyID: id},
		},
		principal: arn,
	}
}

// AddRole creates r, or replaces it under the same ARN, and returns its ARN.
// Sessions of a replaced role stay valid.
func (m *Model) AddRole(r Role) string {
	if r.Account == "" {
		r.Account = m.account
	}
	if r.Path == "" {
		r.Path = "/"
	}
	if r.MaxSession == 0 {
		r.MaxSession = time.Hour
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	id := m.roles[r.ARN()].id
	if id == "" {
		id = newID("AROA", 17)
	}
	m.roles[r.ARN()] = role{r, id}
	return r.ARN()
}

// RemoveRole deletes a role, whose sessions stay valid until they expire, and have no rights.
func (m *Model) RemoveRole(arn string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.roles, arn)
}

// RoleID returns the unique id of a role, which is how AWS shows who sent a message; "" where there is no such role.
func (m *Model) RoleID(arn string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.roles[arn].id
}

// Assume issues a session of a role without asking whether anyone trusts
// anyone, as Lambda does for the role of a function. The error says that the
// role does not exist.
func (m *Model) Assume(roleARN, session string, d time.Duration) (Credentials, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.roles[roleARN]
	if !ok {
		return Credentials{}, fmt.Errorf("assume role %s: no such role", roleARN)
	}
	return m.issue(r, session, d), nil
}

// issue makes the keys of a session. The lock is held.
func (m *Model) issue(r role, session string, d time.Duration) Credentials {
	c := Credentials{
		AccessKeyID:     newID("ASIA", 16),
		SecretAccessKey: newSecret(),
		SessionToken:    newToken(),
		Expires:         m.clock.Now().Add(d).UTC().Truncate(time.Second),
	}
	m.keys[c.AccessKeyID] = key{
		Credential: sigv4.Credential{
			SecretAccessKey: c.SecretAccessKey,
			SessionToken:    c.SessionToken,
			Expires:         c.Expires,
			Identity: wire.Identity{
				Account:     r.Account,
				ARN:         fmt.Sprintf("arn:aws:sts::%s:assumed-role/%s/%s", r.Account, r.Name, session),
				UserID:      r.id + ":" + session,
				AccessKeyID: c.AccessKeyID,
			},
		},
		principal: r.ARN(),
		session:   session,
	}
	return c
}

// Credential implements sigv4.Keys.
func (m *Model) Credential(accessKeyID string) (sigv4.Credential, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, ok := m.keys[accessKeyID]
	return k.Credential, ok
}

// Principal returns the ARN of the user or role behind an access key and, for
// a role, the name of the session. Both are empty for an unknown key.
func (m *Model) Principal(accessKeyID string) (arn, session string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.keys[accessKeyID]
	return k.principal, k.session
}

// trusts tells whether the caller behind k may assume r.
func (r role) trusts(k key) bool {
	return slices.Contains(r.TrustedARNs, k.principal) ||
		slices.Contains(r.TrustedARNs, k.Identity.ARN) ||
		slices.Contains(r.TrustedARNs, fmt.Sprintf("arn:aws:iam::%s:root", k.Identity.Account))
}

var sessionName = regexp.MustCompile(`^[\w+=,.@-]{2,64}$`)

// newID returns prefix and then n characters of base 32, as IAM forms ids.
func newID(prefix string, n int) string {
	return prefix + base32.StdEncoding.EncodeToString(random(20))[:n]
}

func newSecret() string { return base64.StdEncoding.EncodeToString(random(30)) }

// newToken is as long as those of STS, which matters where tokens have limits.
func newToken() string {
	return strings.TrimRight(base64.StdEncoding.EncodeToString(random(480)), "=")
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return b
}
