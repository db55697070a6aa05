package ec2

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
)

// DefaultAccount is the account of a model that is not given one.
const DefaultAccount = "123456789012"

// Type is an instance type of the catalog.
type Type = catalog.Type

// Options describe the account and region to model. Only Clock is required.
type Options struct {
	Clock   clock.Clock
	Account string         // twelve digits; "" means DefaultAccount
	Timing  *Timing        // nil means DefaultTiming()
	Network *Network       // nil means DefaultNetwork("joiner")
	Types   []catalog.Type // nil means catalog.Types()
	// Seed varies ids and boot delays. Two models with the same seed and the
	// same calls in the same order give the same ids.
	Seed uint64
	// SpotRole says that spot instances need the account's service-linked role, and that nobody who launches may create it. False: they do not.
	SpotRole bool
	// Readings are of what EC2 leaves open; nil means what the environment says.
	Readings *reading.Set
}

// Model is one account in one region. Its methods are safe for concurrent use.
type Model struct {
	clock   clock.Clock
	account string
	seed    uint64
	reads   *reading.Set

	spotRole bool // see Options

	mu      sync.Mutex
	after   []func() // hooks to call, in order
	calling bool     // a goroutine is calling them
	ids     uint64   // counts ids handed out
	timing  Timing
	types   map[string]catalog.Type
	names   []string // of types, sorted
	vpcs    []*vpc
	subnets []*subnet
	groups  []*securityGroup

	templates       map[string]*launchTemplate // by id
	held            []*reservation             // capacity reservations
	placements      []*placementGroup
	instances       map[string]*instance // by id; until an hour after termination
	order           []string             // ids of instances, by launch
	launches        []Launch
	spotRequests    []*spotRequest // by launch
	fleets          []*fleet
	tokens          map[string]token // by action and token
	tags            tagStore
	detached        []detachedVolume     // volumes that are attached to nothing
	profiles        map[string]Profile   // by name
	removedProfiles map[string]int       // how many of a name
	knowsProfiles   bool                 // there is or was one
	roles           map[string]Role      // by name
	images          []catalog.Image      // of the account's own
	copies          map[string]string    // which image one of the account's own was copied from
	deprecated      map[string]time.Time // when images are, where that was changed
	stock           map[Pool]int         // remaining capacity; absent means plenty
	faults          []poolFault
	spotPrices      map[Pool][]spotPrice // prices that were set, oldest first
	market          SpotMarketOptions
	quota           Quota
	throttle        throttle
	denials         map[int]Denial // by the order of their making
	nextDenial      int

	onState      []func(Instance)
	onRunning    []func(Instance)
	onTerminated []func(Instance)
	onEvent      []func(source, detailType string, detail any, resources []string)
}

// New returns a model with the network of opts and no instances.
func New(opts Options) *Model {
	m := &Model{
		clock: opts.Clock, account: opts.Account, seed: opts.Seed, reads: opts.Readings, spotRole: opts.SpotRole,
		types:     map[string]catalog.Type{},
		templates: map[string]*launchTemplate{},
		instances: map[string]*instance{},
		tokens:    map[string]token{},
		tags:      tagStore{},
		profiles:  map[string]Profile{}, removedProfiles: map[string]int{}, copies: map[string]string{}, deprecated: map[string]time.Time{}, roles: map[string]Role{},
		stock:      map[Pool]int{},
		spotPrices: map[Pool][]spotPrice{},
		throttle:   throttle{buckets: map[string]*bucket{}},
	}
	if m.account == "" {
		m.account = DefaultAccount
	}
	timing := DefaultTiming()
	if opts.Timing != nil {
		timing = *opts.Timing
	}
	m.timing = m.lagging(timing)
	types := opts.Types
	if types == nil {
		types = catalog.Types()
	}
	for _, t := range types {
		m.types[t.Name] = t
		m.names = append(m.names, t.Name)
	}
	network := opts.Network
	if network == nil {
		n := DefaultNetwork("joiner")
		network = &n
	}
	m.addNetwork(*network)
	return m
}

// Reads reports whether the other reading of a doubt is taken.
func (m *Model) Reads(doubt string) bool { return m.reads.Takes(doubt) }

// Account returns the twelve digits of the account.
func (m *Model) Account() string { return m.account }

// lock and unlock bracket every method that changes the model. Hooks that the
// change calls for run once the lock is free, one at a time and in the order of
// the changes; they may call the model, and what that calls for runs after them.
func (m *Model) lock() { m.mu.Lock() }

func (m *Model) unlock() {
	if m.calling { // whoever is at it calls these too
		m.mu.Unlock()
		return
	}
	m.calling = true
	defer func() {
		m.calling = false
		m.mu.Unlock()
	}()
	for len(m.after) > 0 {
		f := m.after[0]
		m.after = m.after[1:]
		m.call(f)
	}
}

// call runs f without the lock.
func (m *Model) call(f func()) {
	m.mu.Unlock()
	defer m.mu.Lock()
	f()
}

// newID returns an id such as "i-0123456789abcdef0" for the prefix "i".
func (m *Model) newID(prefix string) string {
	m.ids++
	return prefix + "-0" + digest(fmt.Sprintf("%s/%d/%d", prefix, m.seed, m.ids))[:16]
}

// newUUID returns an id of the form EC2 gives fleets.
func (m *Model) newUUID() string {
	m.ids++
	d := digest(fmt.Sprintf("uuid/%d/%d", m.seed, m.ids))
	return d[:8] + "-" + d[8:12] + "-" + d[12:16] + "-" + d[16:20] + "-" + d[20:32]
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func (m *Model) now() time.Time { return m.clock.Now() }

func (m *Model) arn(resource string) string {
	return "arn:aws:ec2:" + catalog.Region + ":" + m.account + ":" + resource
}
