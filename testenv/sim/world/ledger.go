package world

import (
	"context"
	"math/rand/v2"
	"reflect"
	"sort"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Ledger is the ledger in memory. Everything that is one transaction in the real one is one here.
//
// What it stores and hands out is shared with whoever wrote and reads it: nobody writes to it.
type Ledger struct {
	now    func() time.Time
	log    *Log       // nil = nobody is told
	chance *rand.Rand // see Tear

	mu                   sync.Mutex
	registrations        map[string]model.Registration
	leases               map[[2]string]*lease                                               // by cluster and name
	clusters             map[string]*clusterItems                                           // by cluster
	unavailableOfferings map[string]map[model.UnavailableOffering]model.UnavailableOffering // by account and region, then by what they are about
	allowances           map[string]model.Allowance                                         // by account and region
	learned              map[string]map[[2]string]model.LearnedOf                           // by account and region, then type and images
	stops                map[string]model.Stop                                              // of accounts and regions
}

type lease struct {
	owner               string
	until, token, since int64
}

// clusterItems is what the ledger keeps of one cluster.
type clusterItems struct {
	claims    map[string]model.Claim
	intents   map[string]model.Intent
	usage     map[string]model.Usage
	manifest  *model.Manifest
	epoch     int64
	notes     model.Notes
	collector model.CollectorState
	seen      int64 // the newest version of the API server that a collector state has named
	classes   map[string]model.ClassRecord
	shifts    model.ZonalShifts
	index     map[string]indexed // of claims, by instance id

	commands       map[string]model.Command
	budgetVersions map[string]model.BudgetVersion // by pool
	disrupt        model.DisruptNotes
	stops          map[string]model.Stop // by pool; "" = the whole cluster

	written LedgerWritten // by the transaction under way
	undo    past          // what it changed
	history []past        // of the last minutes, oldest first
	fresh   bool          // the transaction wrote claims that have instances

	spoilt map[spoiltItem]bool // items that cannot be read
}

// commit notes what a transaction changed. It is deferred right after the mutex was taken.
func (l *Ledger) commit(cluster, op string, fence *model.Fence) {
	b := l.items(cluster)
	written := b.written
	b.written = LedgerWritten{}
	if len(written.Claims)+len(written.Intents)+len(written.Usage)+len(written.Commands)+len(written.Turns) > 0 {
		written.Cluster, written.Op, written.Fence = cluster, op, fence
		l.note(written)
		b.undo.claims = written.Claims
		l.indexClaims(b)
		b.keep(l.now())
	}
}

func (l *Ledger) note(fact Fact) {
	if l.log != nil {
		l.log.Note(fact)
	}
}

// setIntent stores an intent.
func (b *clusterItems) setIntent(intent model.Intent) {
	b.undo.intents = remember(b.undo.intents, b.intents, intent.ID)
	b.intents[intent.ID] = intent
	delete(b.spoilt, spoiltItem{model.UnreadIntent, intent.ID})
	b.written.Intents = append(b.written.Intents, intent)
}

// setClaim stores a claim.
func (b *clusterItems) setClaim(claim model.Claim) {
	change := ClaimChange{After: &claim}
	if before, known := b.claims[claim.Name]; known {
		change.Before = &before
	}
	b.claims[claim.Name] = claim
	delete(b.spoilt, spoiltItem{model.UnreadClaim, claim.Name})
	b.fresh = b.fresh || claim.InstanceID != ""
	b.written.Claims = append(b.written.Claims, change)
}

// NewLedger returns an empty ledger. now tells which marks have run out.
func NewLedger(now func() time.Time) *Ledger {
	return &Ledger{
		now: now, registrations: map[string]model.Registration{}, leases: map[[2]string]*lease{}, clusters: map[string]*clusterItems{},
		unavailableOfferings: map[string]map[model.UnavailableOffering]model.UnavailableOffering{}, allowances: map[string]model.Allowance{}, learned: map[string]map[[2]string]model.LearnedOf{},
		stops: map[string]model.Stop{},
	}
}

func (l *Ledger) items(cluster string) *clusterItems {
	if l.log != nil {
		l.log.Touch(cluster, "ledger")
	}
	if l.clusters[cluster] == nil {
		l.clusters[cluster] = &clusterItems{
			claims: map[string]model.Claim{}, intents: map[string]model.Intent{}, usage: map[string]model.Usage{}, classes: map[string]model.ClassRecord{}, index: map[string]indexed{},
			commands: map[string]model.Command{}, budgetVersions: map[string]model.BudgetVersion{}, stops: map[string]model.Stop{},
		}
	}
	return l.clusters[cluster]
}

// Register attaches a cluster.
func (l *Ledger) Register(_ context.Context, reg model.Registration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.registrations[reg.Cluster] = reg
	return nil
}

// Clusters returns every registration, by name.
func (l *Ledger) Clusters(context.Context) ([]model.Registration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := []model.Registration{}
	for _, reg := range l.registrations {
		out = append(out, reg)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Cluster < out[j].Cluster })
	return out, nil
}

// Cluster returns one registration, or NotFound.
func (l *Ledger) Cluster(_ context.Context, name string) (model.Registration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	reg, ok := l.registrations[name]
	if !ok {
		return reg, fault.New(fault.NotFound, "", "cluster %s is not attached", name)
	}
	return reg, nil
}

// Acquire takes the planner lease.
func (l *Ledger) Acquire(ctx context.Context, cluster, owner string, nowUnix, untilUnix int64) (model.Fence, error) {
	return l.AcquireLease(ctx, cluster, model.LeasePlanner, owner, nowUnix, untilUnix)
}

// AcquireLease takes a lease.
func (l *Ledger) AcquireLease(_ context.Context, cluster, name, owner string, nowUnix, untilUnix int64) (model.Fence, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := l.leases[[2]string{cluster, name}]
	if held == nil {
		held = &lease{}
		l.leases[[2]string{cluster, name}] = held
	}
	// One taken after this one would end was taken by a clock that is ahead.
	if held.until >= nowUnix && held.since <= untilUnix && held.until != 0 && held.owner != owner {
		fence := model.Fence{Cluster: cluster, Lease: name, Owner: held.owner, Token: held.token, UntilUnix: held.until, SinceUnix: held.since}
		return fence, fault.New(fault.Conflict, "LeaseHeld", "the %s lease of cluster %s is held by %s", name, cluster, held.owner)
	}
	held.owner, held.until, held.since = owner, untilUnix, nowUnix
	held.token++
	fence := model.Fence{Cluster: cluster, Lease: name, Owner: owner, Token: held.token, UntilUnix: untilUnix, SinceUnix: nowUnix}
	l.note(LeaseTaken{Fence: fence})
	return fence, nil
}

// Release gives the lease back, unless somebody else has it.
func (l *Ledger) Release(_ context.Context, fence model.Fence) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holds(fence) {
		l.leases[[2]string{fence.Cluster, fence.Lease}].until = 0
		l.note(LeaseReleased{Fence: fence})
	}
	return nil
}

func (l *Ledger) holds(fence model.Fence) bool {
	held := l.leases[[2]string{fence.Cluster, fence.Lease}]
	return held != nil && held.owner == fence.Owner && held.token == fence.Token
}

func lostLease(fence model.Fence) error {
	return fault.New(fault.Conflict, "FenceLost", "the %s lease of cluster %s has passed to another since token %d", fence.Lease, fence.Cluster, fence.Token)
}

func markText(m model.UnavailableOffering) string {
	return m.SubnetID + "/" + m.CapacityType + "/" + m.Group + "/" + m.InstanceType + "/" + m.Zone
}

func scope(reg model.Registration) string { return reg.Account + "/" + reg.Region }

// Record writes an intent with its claims and what they hold.
func (l *Ledger) Record(_ context.Context, fence model.Fence, intent model.Intent, claims []model.Claim, limits model.Resources) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.commit(fence.Cluster, "record", &fence)
	if len(claims) == 0 || len(claims) > 25 {
		return fault.New(fault.Invalid, "", "intent %s has %d claims; 1 to 25 are allowed", intent.ID, len(claims))
	}
	if !l.holds(fence) {
		return lostLease(fence)
	}
	b := l.items(fence.Cluster)
	if before, ok := b.intents[intent.ID]; ok {
		if reflect.DeepEqual(before, intent) {
			return nil
		}
		return fault.New(fault.Conflict, "IntentExists", "intent %s is recorded already, and differs", intent.ID)
	}
	for _, claim := range claims {
		before, ok := b.claims[claim.Name]
		if ok && (claim.Version <= 1 || before.State != model.Gone || before.Version != claim.Version-1) {
			return fault.New(fault.Conflict, "ClaimExists", "claim %s is recorded already", claim.Name)
		}
	}
	if err := b.countable(intent.Pool); err != nil {
		return err
	}
	delta := model.Resources{}
	for _, claim := range claims {
		for name, amount := range claim.Reserved {
			delta[name] += amount
		}
	}
	for name, amount := range delta {
		if limit, limited := limits[name]; limited && amount > 0 && b.usage[intent.Pool].Reserved[name]+amount > limit {
			return fault.New(fault.Exhausted, "LimitReached", "nodepool %s has no room for %s", intent.Pool, name)
		}
	}
	b.use(intent.Pool, delta)
	b.setIntent(intent)
	for _, claim := range claims {
		b.setClaim(claim)
	}
	return nil
}

// use changes a pool's usage by delta.
func (b *clusterItems) use(pool string, delta model.Resources) {
	usage := b.usage[pool]
	held := model.Resources{}
	for name, amount := range usage.Reserved {
		held[name] = amount
	}
	for name, amount := range delta {
		held[name] += amount
	}
	b.undo.usage = remember(b.undo.usage, b.usage, pool)
	b.usage[pool] = model.Usage{Pool: pool, Reserved: held, Version: usage.Version + 1}
	b.written.Usage = append(b.written.Usage, b.usage[pool])
}

// Calling notes another attempt of an open intent.
func (l *Ledger) Calling(_ context.Context, fence model.Fence, intent model.Intent) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.commit(fence.Cluster, "calling", &fence)
	if !l.holds(fence) {
		return lostLease(fence)
	}
	b := l.items(fence.Cluster)
	if before, ok := b.intents[intent.ID]; !ok || before.State == model.IntentDone {
		return fault.New(fault.Conflict, "IntentClosed", "intent %s is not open", intent.ID)
	}
	intent.State = model.IntentCalling
	b.setIntent(intent)
	return nil
}

// Settle writes an outcome; an intent that is done stays as it is.
func (l *Ledger) Settle(_ context.Context, fence model.Fence, outcome model.Settlement) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.commit(fence.Cluster, "settle", &fence)
	if !l.holds(fence) {
		return lostLease(fence)
	}
	b := l.items(fence.Cluster)
	before, ok := b.intents[outcome.Intent.ID]
	switch {
	case !ok:
		return fault.New(fault.Conflict, "NoIntent", "intent %s was never recorded", outcome.Intent.ID)
	case before.State == model.IntentDone:
		return nil
	}
	for _, claim := range append(append([]model.Claim{}, outcome.Launched...), outcome.Failed...) {
		if stored, ok := b.claims[claim.Name]; !ok || stored.Version != claim.Version {
			return fault.New(fault.Conflict, "ClaimChanged", "claim %s is not at version %d", claim.Name, claim.Version)
		}
	}
	if err := b.countable(outcome.Intent.Pool); err != nil {
		return err
	}
	delta := model.Resources{}
	for _, claim := range outcome.Launched {
		took := claim.Consumed()
		for name, amount := range claim.Reserved {
			delta[name] += took[name] - amount
		}
		claim.Reserved = took
		b.put(claim)
	}
	for _, claim := range outcome.Failed {
		for name, amount := range claim.Reserved {
			delta[name] -= amount
		}
		claim.Reserved = nil
		b.put(claim)
	}
	b.use(outcome.Intent.Pool, delta)
	intent := outcome.Intent
	intent.State = model.IntentDone
	b.setIntent(intent)
	return nil
}

// put stores a claim under its next version.
func (b *clusterItems) put(claim model.Claim) model.Claim {
	claim.Version++
	b.setClaim(claim)
	return claim
}

// Advance writes a live claim on condition of its version.
func (l *Ledger) Advance(_ context.Context, cluster string, claim model.Claim) (model.Claim, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.commit(cluster, "advance", nil)
	b := l.items(cluster)
	return b.advance(claim)
}

// advance stores a claim under its next version where the stored one is live and at the claim's.
func (b *clusterItems) advance(claim model.Claim) (model.Claim, error) {
	stored, ok := b.claims[claim.Name]
	if !ok || stored.Version != claim.Version || !stored.Live() {
		return claim, fault.New(fault.Conflict, "ClaimChanged", "claim %s is not live at version %d", claim.Name, claim.Version)
	}
	return b.put(claim), nil
}

// Held returns what a pool holds, and what its live claims say they hold: the two must be the same.
func (l *Ledger) Held(pool string) (counted, claimed model.Resources) {
	l.mu.Lock()
	defer l.mu.Unlock()
	counted, claimed = model.Resources{}, model.Resources{}
	for name, amount := range l.items(Name).usage[pool].Reserved {
		if amount != 0 {
			counted[name] = amount
		}
	}
	for _, claim := range l.items(Name).claims {
		for name, amount := range claim.Reserved {
			if claim.Pool == pool && amount != 0 {
				claimed[name] += amount
			}
		}
	}
	return counted, claimed
}
