package conform

import (
	"fmt"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// ledgerOutcome settles claims: the first n launched on instances of 600 milli-CPU, the others failed.
func ledgerOutcome(intent model.Intent, claims []model.Claim, n int) model.Settlement {
	out := model.Settlement{Intent: intent, AtUnix: ledgerBegin}
	for i, claim := range claims {
		if i < n {
			claim.State, claim.InstanceID = model.Launched, fmt.Sprintf("i-%s-%d", intent.ID, i)
			claim.Capacity = model.Resources{model.CPU: 600}
			out.Launched = append(out.Launched, claim)
			continue
		}
		claim.State, claim.FailureCode = model.Gone, "InsufficientInstanceCapacity"
		out.Failed = append(out.Failed, claim)
	}
	return out
}

func settleRefundsOnce(t *testing.T, b book) {
	fence := b.acquire("a")
	intent, claims := ledgerLaunch("1", 3)
	b.must(b.Record(b.ctx(), fence, intent, claims, model.Resources{model.CPU: 3000}))
	for range 2 { // the second time nothing changes
		b.must(b.Settle(b.ctx(), fence, ledgerOutcome(intent, claims, 2)))
	}
	// Nor does another outcome of an intent that is done.
	b.must(b.Settle(b.ctx(), fence, ledgerOutcome(intent, claims, 0)))
	ledger := b.load()
	if len(ledger.Claims) != 2 || len(ledger.Intents) != 0 {
		t.Fatalf("%d live claims and %d open intents, want 2 and 0", len(ledger.Claims), len(ledger.Intents))
	}
	if b.held(model.CPU) != 1200 || b.held(model.Nodes) != 2 {
		t.Errorf("the pool holds %v, want cpu 1200 and 2 nodes", ledger.Usage)
	}
	if c := ledger.Claims[0]; c.Version != 2 || c.Reserved[model.CPU] != 600 || c.Reserved[model.Nodes] != 1 || c.InstanceID != "i-1-0" {
		t.Errorf("claim %+v", c)
	}
}

func settleFreesFailures(t *testing.T, b book) {
	fence := b.acquire("a")
	intent, claims := ledgerLaunch("1", 2)
	b.must(b.Record(b.ctx(), fence, intent, claims, nil))
	b.must(b.Settle(b.ctx(), fence, ledgerOutcome(intent, claims, 0)))
	if ledger := b.load(); len(ledger.Claims)+len(ledger.Intents) != 0 || b.held(model.CPU) != 0 || b.held(model.Nodes) != 0 {
		t.Errorf("%+v", ledger)
	}
}

func settleGivesRoom(_ *testing.T, b book) {
	fence := b.acquire("a")
	limits := model.Resources{model.CPU: 1600}
	first, claims := ledgerLaunch("1", 1)
	b.must(b.Record(b.ctx(), fence, first, claims, limits))
	second, more := ledgerLaunch("2", 1)
	b.want(fault.Exhausted, "while the first holds 1000", b.Record(b.ctx(), fence, second, more, limits))
	b.must(b.Settle(b.ctx(), fence, ledgerOutcome(first, claims, 1)))
	b.must(b.Record(b.ctx(), fence, second, more, limits))
}

func settleCountsDollars(t *testing.T, b book) {
	fence := b.acquire("a")
	intent, claims := ledgerLaunch("1", 3)
	for i := range claims {
		claims[i].Reserved[model.Dollars] = 100_000
	}
	b.must(b.Record(b.ctx(), fence, intent, claims, model.Resources{model.Dollars: 300_000}))
	outcome := ledgerOutcome(intent, claims, 3)
	for i, price := range []model.MicroUSD{40_000, 150_000, 0} { // cheaper, more expensive by now, not known
		outcome.Launched[i].Price = price
	}
	b.must(b.Settle(b.ctx(), fence, outcome))
	if b.held(model.Dollars) != 240_000 {
		t.Errorf("%d micro-USD held, want 240000", b.held(model.Dollars))
	}
}

func advanceNeedsVersion(t *testing.T, b book) {
	fence := b.acquire("a")
	intent, claims := ledgerLaunch("1", 2)
	b.must(b.Record(b.ctx(), fence, intent, claims, nil))
	_, err := b.Advance(b.ctx(), "web", model.Claim{Name: "never", Version: 1, State: model.Launched})
	b.want(fault.Conflict, "a claim never recorded", err)
	b.must(b.Settle(b.ctx(), fence, ledgerOutcome(intent, claims, 1)))
	claim := b.load().Claims[0]
	claim.State, claim.NodeName = model.Registered, "node-1"
	next, err := b.Advance(b.ctx(), "web", claim)
	if err != nil || next.Version != claim.Version+1 || next.NodeName != "node-1" {
		t.Fatalf("%+v %v", next, err)
	}
	again, err := b.Advance(b.ctx(), "web", claim)
	b.want(fault.Conflict, "an old version", err)
	if again.Version != claim.Version {
		t.Errorf("a claim that was not written comes back at version %d", again.Version)
	}
	if stored := b.load().Claims[0]; stored.State != model.Registered || stored.Version != next.Version {
		t.Errorf("stored %+v", stored)
	}
	gone := claims[1]
	gone.Version = 2
	_, err = b.Advance(b.ctx(), "web", gone)
	b.want(fault.Conflict, "a claim that is gone", err)

	// A claim of no pool stays in its place when it is gone, at the version a reader of it has.
	intent, claims = ledgerLaunch("2", 1)
	intent.Pool, intent.Claims = "", []string{"mine"}
	claims[0].Pool, claims[0].Name, claims[0].ObjectUID = "", "mine", "u-mine"
	b.must(b.Record(b.ctx(), fence, intent, claims, nil))
	claims[0].State, claims[0].GoneUnix, claims[0].FailureCode = model.Gone, ledgerBegin, "Unfulfilled"
	b.must(b.Settle(b.ctx(), fence, model.Settlement{Intent: intent, Failed: claims, AtUnix: b.load().NowUnix}))
	former := b.load().FormerClaims
	if len(former) != 1 || former[0].Name != "mine" || former[0].State != model.Gone {
		t.Fatalf("claims of no pool that are gone: %+v", former)
	}
	_, err = b.Advance(b.ctx(), "web", former[0])
	b.want(fault.Conflict, "a claim of no pool that is gone, as it is", err)
	former[0].State = model.Launched
	_, err = b.Advance(b.ctx(), "web", former[0])
	b.want(fault.Conflict, "a claim of no pool that is gone", err)
}
