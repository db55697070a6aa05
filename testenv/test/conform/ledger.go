package conform

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/catalog"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
)

// LedgerPort is what a ledger is asked for: by the provisioning flow, by the watcher, and to attach clusters.
type LedgerPort interface {
	port.Registry
	provision.Leases
	provision.Claims
	port.ClaimStates
	provision.UnavailableOfferings
	port.Allowances
	provision.Memory
	catalog.Records
	catalog.Learnings
	provision.Memories
	Register(ctx context.Context, reg model.Registration) error
	NextEpoch(ctx context.Context, cluster, owner string) (int64, error)
	AdvanceManifest(ctx context.Context, manifest model.Manifest) (lost bool, err error)
	Manifest(ctx context.Context, cluster string) (*model.Manifest, error)
	Heartbeat(ctx context.Context, cluster string, epoch, unix int64) (lost bool, err error)
}

// Ledger is the contract of a ledger. start returns an empty one for each case.
func Ledger(t *testing.T, start func(t *testing.T) LedgerPort) {
	for name, rule := range map[string]func(*testing.T, book){
		"lease is held by one and its token only grows":                  leaseIsExclusive,
		"lease that ran out is taken by another":                         leaseRunsOut,
		"lease taken by a clock that is ahead is no lease":               leaseOfAFastClock,
		"F2, F8: a lease lasts as long as was said":                      leaseLastsAsLongAsWasSaid,
		"deposed planner writes nothing":                                 staleFenceWritesNothing,
		"record reaches a limit exactly and never passes it":             recordKeepsLimits,
		"record is whole or nothing":                                     recordIsAtomic,
		"record takes the name of a claim that is gone, once":            recordTakesNames,
		"record of the very same intent is no error":                     recordRepeats,
		"F9: record takes neither id nor name of what is over":           recordTakesNothingOver,
		"record takes 1 to 25 claims":                                    recordCountsClaims,
		"calling notes attempts of open intents only":                    callingNotesAttempts,
		"settle takes what was used and refunds the rest once":           settleRefundsOnce,
		"settle of nothing but failures frees the pool":                  settleFreesFailures,
		"settle gives room to the next":                                  settleGivesRoom,
		"settle counts dollars by price and never beyond the hold":       settleCountsDollars,
		"advance needs the stored version and a live claim":              advanceNeedsVersion,
		"mark keeps the longer time and is seen by the whole region":     markKeepsLonger,
		"learning keeps the least memory for sixty days":                 learnKeepsLeast,
		"mark of a subnet is one of its own":                             markOfSubnet,
		"marks of a reservation and of a placement group are kept apart": markOfReservationAndPlacementGroup,
		"mark of more failures stays until it is forgotten":              markCountsFailures,
		"probe of a mark is taken once":                                  probeIsTakenOnce,
		"clear removes a mark that is as it was seen":                    clearNeedsTheSameMark,
		"allowance is spent on condition of its version":                 allowanceNeedsVersion,
		"notes are the newest fence's":                                   notesNeedTheFence,
		"class record is written and dropped at its version":             classNeedsVersion,
		"load returns ended claims that had a machine apart":             endedAreApart,
		"pointer belongs to the newest epoch and only moves on":          manifestMovesOn,
		"heartbeat is the newest epoch's":                                heartbeatIsNewest,
		"registry knows who is attached":                                 registryKnows,
		"clusters share nothing but marks":                               clustersAreApart,
		"load is in order":                                               loadIsOrdered,
	} {
		t.Run(name, func(t *testing.T) { rule(t, book{start(t), t}) })
	}
}

// book is a ledger under test.
type book struct {
	LedgerPort
	t *testing.T
}

// ledgerWeb is the cluster of the contract, and what follows are its times.
var ledgerWeb = model.Registration{Cluster: "web", Account: "123456789012", Region: Region, CA: []byte("pem")}

const ledgerBegin, ledgerSoon = int64(1_900_000_000), int64(1_900_000_030)

func (b book) ctx() context.Context { return b.t.Context() }

func (b book) acquire(owner string) model.Fence {
	b.t.Helper()
	fence, err := b.Acquire(b.ctx(), "web", owner, ledgerBegin, ledgerSoon)
	if err != nil {
		b.t.Fatal(err)
	}
	return fence
}

func (b book) load() model.Ledger {
	b.t.Helper()
	ledger, err := b.Load(b.ctx(), ledgerWeb)
	if err != nil {
		b.t.Fatal(err)
	}
	return ledger
}

func (b book) want(kind fault.Kind, what string, err error) {
	b.t.Helper()
	if !fault.Is(err, kind) {
		b.t.Errorf("%s: %v, want %s", what, err, kind)
	}
}

func (b book) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// held returns what the pool counts of a resource.
func (b book) held(resource string) int64 {
	b.t.Helper()
	for _, usage := range b.load().Usage {
		if usage.Pool == "default" {
			return usage.Reserved[resource]
		}
	}
	return 0
}

// ledgerLaunch returns an intent of pool default with n claims that hold one node and 1000 milli-CPU each.
func ledgerLaunch(id string, n int) (model.Intent, []model.Claim) {
	intent := model.Intent{
		ID: id, Cluster: "web", Pool: "default", State: model.IntentCalling, Request: []byte("bytes of " + id), Token: "t-" + id, Attempt: 1,
		CreatedUnix: ledgerBegin, DueUnix: ledgerSoon,
	}
	var claims []model.Claim
	for i := range n {
		name := fmt.Sprintf("default-%s-%02d", id, i)
		intent.Claims = append(intent.Claims, name)
		claims = append(claims, model.Claim{
			Name: name, Pool: "default", State: model.Intended, Version: 1, Intent: id, Reserved: model.Resources{model.CPU: 1000, model.Nodes: 1},
		})
	}
	return intent, claims
}

func leaseIsExclusive(t *testing.T, b book) {
	first := b.acquire("a")
	_, err := b.Acquire(b.ctx(), "web", "b", ledgerBegin, ledgerSoon)
	b.want(fault.Conflict, "a second holder", err)
	if other, err := b.Acquire(b.ctx(), "shop", "b", ledgerBegin, ledgerSoon); err != nil || other.Token != 1 {
		t.Fatalf("another cluster's lease: %v %v", other, err)
	}
	again := b.acquire("a")
	if again.Token <= first.Token || again.Owner != "a" || again.UntilUnix != ledgerSoon {
		t.Errorf("renewed %+v after %+v", again, first)
	}
	b.must(b.Release(b.ctx(), first)) // not the newest: left alone
	_, err = b.Acquire(b.ctx(), "web", "b", ledgerBegin, ledgerSoon)
	b.want(fault.Conflict, "after an old fence was released", err)
	b.must(b.Release(b.ctx(), again))
	if next := b.acquire("b"); next.Token <= again.Token {
		t.Errorf("token %d is not above %d", next.Token, again.Token)
	}
}

func leaseRunsOut(t *testing.T, b book) {
	first := b.acquire("a")
	_, err := b.Acquire(b.ctx(), "web", "b", ledgerSoon, ledgerSoon+30)
	b.want(fault.Conflict, "in the last second", err)
	late, err := b.Acquire(b.ctx(), "web", "b", ledgerSoon+1, ledgerSoon+30)
	if err != nil || late.Token <= first.Token {
		t.Errorf("after it: %+v %v", late, err)
	}
}

// leaseOfAFastClock is C9: a holder whose clock is five minutes ahead, and who dies, blocks nobody for five minutes.
func leaseOfAFastClock(t *testing.T, b book) {
	const life, skew = 33, 300
	ahead, err := b.Acquire(b.ctx(), "web", "a", ledgerBegin+skew, ledgerBegin+skew+life)
	b.must(err)
	honest, err := b.Acquire(b.ctx(), "web", "b", ledgerBegin+5, ledgerBegin+5+life)
	if err != nil || honest.Token <= ahead.Token {
		t.Errorf("after a clock that is ahead: %+v %v", honest, err)
	}
	_, err = b.Acquire(b.ctx(), "web", "c", ledgerBegin, ledgerBegin+life)
	b.want(fault.Conflict, "a clock that is a little behind", err)
}

// leaseLastsAsLongAsWasSaid is F2 and F8: neither a shorter ask nor a late invocation takes a lease that lasts longer.
func leaseLastsAsLongAsWasSaid(_ *testing.T, b book) {
	for _, asked := range []struct{ held, short int64 }{{120, 33}, {60, 13}, {33, 13}} {
		_, err := b.Acquire(b.ctx(), "web", "long", ledgerBegin, ledgerBegin+asked.held)
		b.must(err)
		for _, after := range []int64{0, 1, 10, asked.held - 1, asked.held} {
			now := ledgerBegin + after
			_, err := b.Acquire(b.ctx(), "web", "short", now, now+asked.short)
			b.want(fault.Conflict, fmt.Sprintf("held for %d s, asked for %d s after %d s", asked.held, asked.short, after), err)
		}
	}
	_, err := b.Acquire(b.ctx(), "web", "short", ledgerBegin+61, ledgerBegin+74)
	b.must(err) // the last one has run out
}

func staleFenceWritesNothing(t *testing.T, b book) {
	old := b.acquire("a")
	intent, claims := ledgerLaunch("1", 2)
	b.must(b.Record(b.ctx(), old, intent, claims, nil))
	if _, err := b.Acquire(b.ctx(), "web", "b", ledgerSoon+1, ledgerSoon+60); err != nil {
		t.Fatal(err)
	}
	other, otherClaims := ledgerLaunch("2", 1)
	b.want(fault.Conflict, "record", b.Record(b.ctx(), old, other, otherClaims, nil))
	b.want(fault.Conflict, "calling", b.Calling(b.ctx(), old, intent))
	b.want(fault.Conflict, "settle", b.Settle(b.ctx(), old, model.Settlement{Intent: intent, Failed: claims, AtUnix: ledgerBegin}))
	if ledger := b.load(); len(ledger.Claims) != 2 || len(ledger.Intents) != 1 || b.held(model.Nodes) != 2 {
		t.Errorf("something was written: %+v", ledger)
	}
}

func recordKeepsLimits(t *testing.T, b book) {
	fence := b.acquire("a")
	limits := model.Resources{model.Nodes: 10, model.CPU: 1_000_000}
	var recorded atomic.Int64
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 4 {
				intent, claims := ledgerLaunch(fmt.Sprintf("%d-%d", worker, i), 1)
				err := b.Record(b.ctx(), fence, intent, claims, limits)
				switch {
				case err == nil:
					recorded.Add(1)
				case !fault.Is(err, fault.Exhausted):
					t.Errorf("worker %d: %v", worker, err)
				}
			}
		})
	}
	group.Wait()
	if n := len(b.load().Claims); recorded.Load() != 10 || n != 10 || b.held(model.Nodes) != 10 {
		t.Errorf("%d recorded, %d claims, %d nodes held; the limit is 10", recorded.Load(), n, b.held(model.Nodes))
	}
}

func recordIsAtomic(t *testing.T, b book) {
	fence := b.acquire("a")
	intent, claims := ledgerLaunch("1", 3)
	b.want(fault.Exhausted, "more than the limit", b.Record(b.ctx(), fence, intent, claims, model.Resources{model.CPU: 2999}))
	b.want(fault.Exhausted, "a limit of nothing", b.Record(b.ctx(), fence, intent, claims, model.Resources{model.Nodes: 0}))
	if ledger := b.load(); len(ledger.Claims)+len(ledger.Intents) != 0 || b.held(model.CPU) != 0 {
		t.Fatalf("something was written: %+v", ledger)
	}
	b.must(b.Record(b.ctx(), fence, intent, claims, model.Resources{model.CPU: 3000}))
	clash, clashing := ledgerLaunch("2", 1)
	clashing[0].Name = claims[0].Name
	err := b.Record(b.ctx(), fence, clash, clashing, nil)
	b.want(fault.Conflict, "a claim of the same name", err)
	if fault.CodeOf(err) != provision.ClaimExists {
		t.Errorf("a claim of the same name: code %q", fault.CodeOf(err))
	}
	if ledger := b.load(); len(ledger.Claims) != 3 || len(ledger.Intents) != 1 || b.held(model.CPU) != 3000 {
		t.Errorf("something was written: %+v", ledger)
	}
}

// recordTakesNames has the name of a claim of no pool, which people chose, asked for again after it gave no instance.
func recordTakesNames(t *testing.T, b book) {
	fence := b.acquire("a")
	intent, claims := ledgerLaunch("1", 1)
	alone := func(id string, version int64) (model.Intent, []model.Claim) {
		intent, claims := ledgerLaunch(id, 1)
		intent.Pool, intent.Claims = "", []string{"mine"}
		claims[0].Pool, claims[0].Name, claims[0].ObjectUID, claims[0].Version = "", "mine", "u-mine", version
		return intent, claims
	}
	b.must(b.Record(b.ctx(), fence, intent, claims, nil)) // of another name
	first, firstClaims := alone("2", 1)
	b.must(b.Record(b.ctx(), fence, first, firstClaims, nil))
	taken := func(what, id string, version int64) {
		t.Helper()
		other, otherClaims := alone(id, version)
		if err := b.Record(b.ctx(), fence, other, otherClaims, nil); fault.CodeOf(err) != provision.ClaimExists {
			t.Errorf("%s: %v", what, err)
		}
	}
	taken("a claim that lives", "3", 2)
	gone := firstClaims[0]
	gone.State, gone.GoneUnix, gone.FailureCode = model.Gone, ledgerBegin, "Unfulfilled"
	b.must(b.Settle(b.ctx(), fence, model.Settlement{Intent: first, Failed: []model.Claim{gone}, AtUnix: b.load().NowUnix}))
	former := b.load().FormerClaims
	if len(former) != 1 || former[0].Name != "mine" || former[0].Version != 2 || former[0].State != model.Gone {
		t.Fatalf("claims whose names may be asked for again: %+v", former)
	}
	taken("at version 1", "4", 1)
	taken("at the version it has", "5", 2)
	second, secondClaims := alone("6", 3)
	b.must(b.Record(b.ctx(), fence, second, secondClaims, nil))
	b.must(b.Record(b.ctx(), fence, second, secondClaims, nil))
	taken("once more", "7", 3)
	b.must(b.Settle(b.ctx(), fence, model.Settlement{Intent: first, Failed: []model.Claim{gone}, AtUnix: ledgerBegin})) // is done already
	ledger := b.load()
	if len(ledger.FormerClaims) != 0 || len(ledger.Claims) != 2 || ledger.Claims[1].Name != "mine" || ledger.Claims[1].State != model.Intended || ledger.Claims[1].Intent != "6" {
		t.Errorf("claims %+v, former %+v", ledger.Claims, ledger.FormerClaims)
	}
}

func recordRepeats(t *testing.T, b book) {
	fence := b.acquire("a")
	intent, claims := ledgerLaunch("1", 2)
	limits := model.Resources{model.Nodes: 2} // full with the first
	b.must(b.Record(b.ctx(), fence, intent, claims, limits))
	b.must(b.Record(b.ctx(), fence, intent, claims, limits))
	if b.held(model.Nodes) != 2 {
		t.Errorf("%d nodes held, want 2", b.held(model.Nodes))
	}
	changed := intent
	changed.Request = []byte("other bytes")
	b.want(fault.Conflict, "another intent of the same id", b.Record(b.ctx(), fence, changed, claims, nil))
	if stored := b.load().Intents[0]; string(stored.Request) != "bytes of 1" || stored.Token != "t-1" {
		t.Errorf("stored %+v", stored)
	}
	// F10: large intents are stored packed, and are told apart all the same.
	large, others := ledgerLaunch("large", 1)
	large.Request = bytes.Repeat([]byte("bytes of one "), 400)
	b.must(b.Record(b.ctx(), fence, large, others, nil))
	b.must(b.Record(b.ctx(), fence, large, others, nil))
	changed = large
	changed.Request = bytes.Repeat([]byte("bytes of two "), 400)
	b.want(fault.Conflict, "another large intent of the same id", b.Record(b.ctx(), fence, changed, others, nil))
}

// recordTakesNothingOver has an intent that is done and a claim of a pool that is gone keep id and name.
func recordTakesNothingOver(t *testing.T, b book) {
	fence := b.acquire("a")
	intent, claims := ledgerLaunch("1", 2)
	outcome := ledgerOutcome(intent, claims, 1)
	outcome.AtUnix = farUnix
	b.want(fault.Conflict, "settling what was never recorded", b.Settle(b.ctx(), fence, outcome))
	b.must(b.Record(b.ctx(), fence, intent, claims, nil))
	for range 2 {
		b.must(b.Settle(b.ctx(), fence, outcome))
	}
	again, others := ledgerLaunch("1", 1)
	others[0].Name, again.Claims = "default-other", []string{"default-other"}
	b.want(fault.Conflict, "the id of an intent that is done", b.Record(b.ctx(), fence, again, others, nil))
	other, others := ledgerLaunch("2", 1)
	others[0].Name, other.Claims = claims[1].Name, []string{claims[1].Name}
	if err := b.Record(b.ctx(), fence, other, others, nil); fault.CodeOf(err) != provision.ClaimExists {
		t.Errorf("the name of a claim that is gone: %v", err)
	}
	if ledger := b.load(); len(ledger.Claims) != 1 || len(ledger.Intents) != 0 || b.held(model.Nodes) != 1 {
		t.Errorf("claims %+v, intents %+v", ledger.Claims, ledger.Intents)
	}
}

func recordCountsClaims(_ *testing.T, b book) {
	fence := b.acquire("a")
	for n, fits := range map[int]bool{0: false, 1: true, 25: true, 26: false} {
		intent, claims := ledgerLaunch(fmt.Sprintf("of%d", n), n)
		err := b.Record(b.ctx(), fence, intent, claims, nil)
		if fits {
			b.must(err)
		} else {
			b.want(fault.Invalid, fmt.Sprintf("%d claims", n), err)
		}
	}
}

func callingNotesAttempts(t *testing.T, b book) {
	fence := b.acquire("a")
	intent, claims := ledgerLaunch("1", 1)
	b.want(fault.Conflict, "an intent never recorded", b.Calling(b.ctx(), fence, intent))
	b.must(b.Record(b.ctx(), fence, intent, claims, nil))
	intent.Attempt, intent.DueUnix = 2, ledgerSoon+60
	for range 2 {
		b.must(b.Calling(b.ctx(), fence, intent))
	}
	if stored := b.load().Intents[0]; stored.Attempt != 2 || stored.DueUnix != ledgerSoon+60 || stored.State != model.IntentCalling || string(stored.Request) != "bytes of 1" {
		t.Errorf("stored %+v", stored)
	}
	b.must(b.Settle(b.ctx(), fence, model.Settlement{Intent: intent, Failed: claims, AtUnix: ledgerBegin}))
	b.want(fault.Conflict, "an intent that is done", b.Calling(b.ctx(), fence, intent))
}

func clustersAreApart(t *testing.T, b book) {
	fence := b.acquire("a")
	shop, err := b.Acquire(b.ctx(), "shop", "a", ledgerBegin, ledgerSoon)
	b.must(err)
	intent, claims := ledgerLaunch("1", 1)
	b.must(b.Record(b.ctx(), fence, intent, claims, model.Resources{model.Nodes: 1}))
	intent.Cluster = "shop"
	b.must(b.Record(b.ctx(), shop, intent, claims, model.Resources{model.Nodes: 1}))
	b.must(b.Settle(b.ctx(), shop, ledgerOutcome(intent, claims, 0)))
	if ledger := b.load(); len(ledger.Claims) != 1 || len(ledger.Intents) != 1 || b.held(model.Nodes) != 1 {
		t.Errorf("%+v", ledger)
	}
}

func loadIsOrdered(t *testing.T, b book) {
	fence := b.acquire("a")
	for _, id := range []string{"c", "a", "b"} {
		intent, claims := ledgerLaunch(id, 12)
		b.must(b.Record(b.ctx(), fence, intent, claims, nil))
	}
	ledger := b.load()
	var names, ids []string
	for _, claim := range ledger.Claims {
		names = append(names, claim.Name)
	}
	for _, intent := range ledger.Intents {
		ids = append(ids, intent.ID)
	}
	if len(names) != 36 || !slices.IsSorted(names) || !slices.Equal(ids, []string{"a", "b", "c"}) {
		t.Errorf("claims %v, intents %v", names, ids)
	}
}
