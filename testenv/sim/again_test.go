package sim

import (
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// What people change is published seconds later: until then a function that is handed an old batch may find something to do.
func TestC5AClusterThatSomebodyJustChangedIsNotAtRest(t *testing.T) {
	at := func(ago time.Duration, actor string) world.Entry {
		return world.Entry{At: world.Start.Add(-ago), Actor: actor, Fact: world.ObjectWritten{Kind: world.KindNode, Name: "n", Verb: "update"}}
	}
	for _, c := range []struct {
		entries []world.Entry
		want    bool
	}{
		{nil, true},
		{[]world.Entry{at(time.Minute, "")}, true},
		{[]world.Entry{at(time.Second, ""), at(0, "disrupt-1")}, false},
		{[]world.Entry{at(time.Second, "disrupt-1")}, true},
	} {
		if got := untouched(c.entries, world.Start); got != c.want {
			t.Errorf("%+v: %t, want %t", c.entries, got, c.want)
		}
	}
}

// A notice that came while its instance's claim was not in the ledger is heard when it comes again after the claim was adopted.
func TestC5ANoticeIsHeardOnceItsClaimIsAdopted(t *testing.T) {
	write := func(at time.Duration, actor, op string) world.Entry {
		claim := model.Claim{Name: "a", InstanceID: "i-1"}
		before, after := claim, claim
		change := world.ClaimChange{Before: &before, After: &after}
		if op == "settle" {
			change.Before.InstanceID = ""
		}
		return world.Entry{At: world.Start.Add(at), Actor: actor, Fact: world.LedgerWritten{Op: op, Claims: []world.ClaimChange{change}}}
	}
	given := map[string]time.Time{"notices-9": world.Start.Add(time.Minute)}
	for name, c := range map[string]struct {
		op     string
		at     time.Duration
		actor  string
		broken bool
	}{
		"adopted afterwards":                     {"adopt", 2 * time.Minute, "notices-9", false},
		"adopted before":                         {"adopt", 30 * time.Second, "notices-9", true},
		"adopted afterwards, written by another": {"adopt", 2 * time.Minute, "provision-9", true},
		"settled afterwards":                     {"settle", 2 * time.Minute, "notices-9", false},
		"settled before":                         {"settle", 30 * time.Second, "notices-9", true},
		"advanced afterwards":                    {"advance", 2 * time.Minute, "notices-9", true},
	} {
		entries := []world.Entry{write(c.at, "interruption-3", c.op), write(time.Hour, c.actor, "advance")}
		if got := changedAgain(entries, 1, given); (got != nil) != c.broken {
			t.Errorf("%s: %+v, want broken: %t", name, got, c.broken)
		}
	}
	if got := changedAgain([]world.Entry{write(time.Hour, "notices-9", "advance")}, 0, given); got == nil {
		t.Error("never adopted: nothing is broken")
	}
}
