package conform

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// LedgerUnread is the contract of a ledger some items of which cannot be read. start returns an empty one for each case, and what spoils an
// item of cluster web: a claim, intent, usage or command by its name, while all that stands beside what it says stays.
func LedgerUnread(t *testing.T, start func(t *testing.T) (LedgerDisruptPort, func(kind, name string))) {
	for name, rule := range map[string]func(*testing.T, bench, func(kind, name string)){
		"a claim that cannot be read is told and hides no other":  unreadClaim,
		"an intent that cannot be read keeps its id":              unreadIntent,
		"usage that cannot be read is no usage and takes no more": unreadUsage,
		"a command that cannot be read is told":                   unreadCommand,
	} {
		t.Run(name, func(t *testing.T) {
			ledger, spoil := start(t)
			rule(t, bench{cache{book{ledger, t}, ledger}, ledger}, spoil)
		})
	}
}

// unreadOne wants one unread item of the kind and the name, and returns it.
func unreadOne(t *testing.T, what string, items model.UnreadItems, kind, name string) model.Unread {
	t.Helper()
	if len(items) != 1 || !items.Has(kind, name) || items[0].Why == "" || items[0].Key == "" {
		t.Errorf("%s: unread %+v, want the one %s %s with key and cause", what, items, kind, name)
		return model.Unread{}
	}
	return items[0]
}

func unreadClaim(t *testing.T, b bench, spoil func(kind, name string)) {
	claims := b.running("default", "default", "default")
	ends := claims[1]
	ends.State = model.Draining
	_, err := b.Advance(b.ctx(), "web", ends)
	b.must(err)
	spoil(model.UnreadClaim, claims[1].Name)

	ledger := b.load()
	if unread := unreadOne(t, "load", ledger.Unread, model.UnreadClaim, claims[1].Name); unread.Gone {
		t.Error("a live claim is said to be Gone")
	}
	if len(ledger.Claims) != 2 || ledger.Claims[0].Name != claims[0].Name || ledger.Claims[1].Name != claims[2].Name {
		t.Errorf("claims %+v", ledger.Claims)
	}
	if held := b.held(model.Nodes); held != 3 {
		t.Errorf("%d nodes are held, want all 3: what a claim that cannot be read holds is counted already", held)
	}
	records := b.records()
	unreadOne(t, "survey", records.Unread, model.UnreadClaim, claims[1].Name)
	if len(records.Claims) != 2 {
		t.Errorf("surveyed %+v", records.Claims)
	}
	ending, err := b.collect.Ending(b.ctx(), ledgerWeb)
	b.must(err)
	unreadOne(t, "ending", ending.Unread, model.UnreadClaim, claims[1].Name)
	found, _, err := b.disrupt.(LedgerFindPort).ByInstance(b.ctx(), []string{claims[1].InstanceID})
	if err != nil || len(found) != 0 {
		t.Errorf("found by its instance: %+v, %v", found, err)
	}
	// Nobody takes its name.
	b.want(fault.Conflict, "adopt under its name", b.collect.Adopt(b.ctx(), b.hold("collector"), model.Claim{Name: claims[1].Name, Pool: "default", State: model.Launched, InstanceID: "i-other"}))

	b.must(b.collect.CloseClaim(b.ctx(), b.hold("collector"), claims[0], farUnix))
	if ledger := b.load(); len(ledger.Claims) != 1 || len(ledger.Unread) != 1 {
		t.Errorf("after another one was closed: %+v, unread %+v", ledger.Claims, ledger.Unread)
	}
}

func unreadIntent(t *testing.T, b bench, spoil func(kind, name string)) {
	fence := b.acquire("planner")
	intent, claims := ledgerLaunch("1", 2)
	b.must(b.Record(b.ctx(), fence, intent, claims, nil))
	other, others := ledgerLaunch("2", 1)
	b.must(b.Record(b.ctx(), fence, other, others, nil))
	spoil(model.UnreadIntent, "1")

	ledger := b.load()
	unreadOne(t, "load", ledger.Unread, model.UnreadIntent, "1")
	if len(ledger.Intents) != 1 || ledger.Intents[0].ID != "2" || len(ledger.Claims) != 3 {
		t.Errorf("intents %+v, claims %+v", ledger.Intents, ledger.Claims)
	}
	records := b.records()
	unreadOne(t, "survey", records.Unread, model.UnreadIntent, "1")

	again, more := ledgerLaunch("1", 1)
	more[0].Name, again.Claims = "default-9-00", []string{"default-9-00"}
	b.want(fault.Conflict, "another intent of its id", b.Record(b.ctx(), fence, again, more, nil))
	if n := len(b.load().Claims); n != 3 {
		t.Errorf("%d claims, want 3", n)
	}
	b.must(b.Settle(b.ctx(), fence, ledgerOutcome(other, others, 1)))
}

func unreadUsage(t *testing.T, b bench, spoil func(kind, name string)) {
	b.running("default", "other")
	spoil(model.UnreadUsage, "default")
	ledger := b.load()
	unreadOne(t, "load", ledger.Unread, model.UnreadUsage, "default")
	if len(ledger.Usage) != 1 || ledger.Usage[0].Pool != "other" || len(ledger.Claims) != 2 {
		t.Errorf("usage %+v, claims %+v", ledger.Usage, ledger.Claims)
	}
	intent, claims := ledgerLaunch("1", 1)
	if err := b.Record(b.ctx(), b.acquire("planner"), intent, claims, nil); err == nil {
		t.Error("a launch of a pool whose usage cannot be read was recorded")
	}
	if ledger := b.load(); len(ledger.Claims) != 2 || len(ledger.Intents) != 0 {
		t.Errorf("claims %+v, intents %+v", ledger.Claims, ledger.Intents)
	}
	if records := b.records(); len(records.Unread) != 0 {
		t.Errorf("who reads no usage misses some: %+v", records.Unread)
	}
}

func unreadCommand(t *testing.T, b bench, spoil func(kind, name string)) {
	claims := b.running("default", "default")
	fence := b.sit("judge")
	command := ledgerCommand("c1", claims[0])
	b.must(b.disrupt.Commit(b.ctx(), fence, command, claims[:1], b.turnsOf(claims[0])))
	spoil(model.UnreadCommand, "c1")
	ledger := b.load()
	unreadOne(t, "load", ledger.Unread, model.UnreadCommand, "c1")
	if len(ledger.Commands) != 0 || ledger.Claims[0].Command != "c1" || ledger.Claims[0].Free() {
		t.Errorf("commands %+v, claim %+v: its node is nobody else's", ledger.Commands, ledger.Claims[0])
	}
	records := b.records()
	unreadOne(t, "survey", records.Unread, model.UnreadCommand, "c1")
	ending, err := b.collect.Ending(b.ctx(), ledgerWeb)
	b.must(err)
	unreadOne(t, "ending", ending.Unread, model.UnreadCommand, "c1")
	// Others are committed and moved on.
	b.must(b.disrupt.Commit(b.ctx(), fence, ledgerCommand("c2", claims[1]), claims[1:], b.turnsOf(claims[1])))
}
