package audit

import (
	"bytes"
	"fmt"
	"sort"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/world"
)

// launches holds A1, A2 and A6.
type launches struct {
	found   []Violation
	intents map[string]model.Intent
	claims  map[string]model.Claim
	owner   map[string]string          // claim by instance id
	running map[string]string          // intent by id of a machine that has not ended
	count   map[string]int             // of those, by intent
	surplus map[string]int             // machines EC2 gave unasked, by intent
	held    map[string]model.Resources // by pool, summed over its claims
	limits  map[string]model.Resources // by pool
}

func newLaunches() *launches {
	return &launches{
		intents: map[string]model.Intent{}, claims: map[string]model.Claim{}, owner: map[string]string{}, running: map[string]string{},
		count: map[string]int{}, surplus: map[string]int{}, held: map[string]model.Resources{}, limits: map[string]model.Resources{},
	}
}

func (l *launches) broken(e world.Entry, rule, object, format string, args ...any) {
	l.found = append(l.found, Violation{Rule: rule, Seq: e.Seq, At: e.At, Object: object, Text: fmt.Sprintf(format, args...)})
}

// Check holds the rules at every fact.
func (l *launches) Check(entries []world.Entry) []Violation {
	l.found = nil
	touched := map[string]world.Entry{} // by intent
	for _, e := range entries {
		switch fact := e.Fact.(type) {
		case world.LedgerWritten:
			l.written(e, fact)
		case world.FleetCalled:
			l.called(e, fact)
		case world.InstanceStarted:
			intent := fact.Instance.Tags["joiner.sh/intent"]
			l.running[fact.Instance.ID] = intent
			l.count[intent]++
			touched[intent] = e
		case world.InstanceEnded:
			if intent, ok := l.running[fact.ID]; ok {
				l.count[intent]--
				delete(l.running, fact.ID)
			}
		case world.ObjectWritten:
			switch {
			case fact.Pool == nil:
			case fact.Verb == "gone":
				delete(l.limits, fact.Name)
			default:
				l.limits[fact.Name] = fact.Pool.Limits
			}
		}
	}
	for _, intent := range sorted(touched) { // only now is it known how many EC2 was asked for
		l.one(touched[intent], intent)
	}
	return l.found
}

// Quiet holds nothing of these rules: they hold at every instant.
func (l *launches) Quiet(time.Time) []Violation { return nil }

// one is A1: a launch runs at most as many machines as it has claims. What EC2 gave beyond what it was asked for is not
// the launch's doing.
func (l *launches) one(e world.Entry, intent string) {
	if recorded, ok := l.intents[intent]; ok && l.count[intent] > len(recorded.Claims)+l.surplus[intent] {
		l.broken(e, "A1", intent, "%d machines run for %d claims", l.count[intent], len(recorded.Claims))
	}
}

// called is A2: before EC2 is asked, the ledger has the very bytes.
func (l *launches) called(e world.Entry, fact world.FleetCalled) {
	if !fact.Repeat && fact.Refused == "" {
		l.surplus[fact.Intent] += max(0, len(fact.Instances)-fact.Wanted)
	}
	recorded, ok := l.intents[fact.Intent]
	switch {
	case !ok:
		l.broken(e, "A2", fact.Intent, "EC2 was asked for %d machines and no record says so", fact.Wanted)
	case !bytes.Equal(recorded.Request, fact.Request):
		l.broken(e, "A2", fact.Intent, "EC2 was asked with other bytes than were recorded")
	case recorded.Token != fact.Token:
		l.broken(e, "A2", fact.Intent, "EC2 was asked with the token %q, recorded is %q", fact.Token, recorded.Token)
	}
}

func (l *launches) written(e world.Entry, fact world.LedgerWritten) {
	for _, intent := range fact.Intents {
		if before, ok := l.intents[intent.ID]; ok && !bytes.Equal(before.Request, intent.Request) {
			l.broken(e, "A2", intent.ID, "the recorded bytes of a launch were changed")
		}
		l.intents[intent.ID] = intent
	}
	grown := map[string]bool{}
	for _, change := range fact.Claims {
		if change.Before != nil {
			l.hold(*change.Before, -1)
			delete(l.claims, change.Before.Name)
		}
		if change.After != nil {
			after := *change.After
			l.hold(after, 1)
			l.claims[after.Name] = after
			l.owned(e, change.Before, after)
			grown[after.Pool] = change.Before == nil || grown[after.Pool]
		}
	}
	for _, pool := range sorted(grown) {
		if grown[pool] {
			l.within(e, pool)
		}
	}
}

// hold counts what a claim holds of its pool's limits.
func (l *launches) hold(claim model.Claim, sign int64) {
	if l.held[claim.Pool] == nil {
		l.held[claim.Pool] = model.Resources{}
	}
	for name, amount := range claim.Held {
		l.held[claim.Pool][name] += sign * amount
	}
}

// owned is A1 from the ledger's side: a claim has one machine for life, and a machine one claim.
func (l *launches) owned(e world.Entry, before *model.Claim, after model.Claim) {
	if before != nil && before.InstanceID != "" && before.InstanceID != after.InstanceID {
		l.broken(e, "A1", after.Name, "the claim's machine was %s and is %s", before.InstanceID, after.InstanceID)
	}
	if after.InstanceID == "" {
		return
	}
	if other, taken := l.owner[after.InstanceID]; taken && other != after.Name {
		l.broken(e, "A1", after.Name, "machine %s is claim %s's", after.InstanceID, other)
	}
	l.owner[after.InstanceID] = after.Name
}

// within is A6: whatever is written anew fits the pool's limits together with everything else the pool's claims hold.
func (l *launches) within(e world.Entry, pool string) {
	for _, name := range sorted(l.limits[pool]) {
		if limit := l.limits[pool][name]; l.held[pool][name] > limit {
			l.broken(e, "A6", pool, "its claims hold %d of %s, the limit is %d", l.held[pool][name], name, limit)
		}
	}
}

func sorted[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
