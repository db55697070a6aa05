package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/audit"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// keptBatches is how many of the batches a function was given are handed to it once more at the end.
const keptBatches = 10

// keptBatch is a batch that a function was given, and when.
type keptBatch struct {
	messages []world.Message
	at       time.Time
}

// keep remembers some of the batches a function was given: the first ones, and of the later ones every so often one.
func (f *function) keep(messages []world.Message) {
	batch := keptBatch{messages, f.now()}
	f.batches++
	if len(f.kept) < keptBatches {
		f.kept = append(f.kept, batch)
	} else if f.batches%17 == 0 {
		f.kept[f.batches%keptBatches] = batch
	}
}

// evaluated is by when the disrupt function has evaluated a cluster again, whatever has become possible without a change that it sees at once.
const evaluated = 6 * time.Minute

// again is C5: where the world is at rest, handing every function batches it was given before changes nothing that anybody
// could see: no instance is asked for or ended, and no claim or launch is written, until something else changes. Where items of the ledger
// could not be read that may be otherwise: what was said of an instance whose claim was one of them is heard now.
func (e *engine) again() {
	if e.config.Scenario.Choices {
		e.until(e.now().Add(evaluated))
	}
	if !e.resting() || e.stats.Faults[KindUnread] > 0 {
		return
	}
	e.stats.Again++
	seen := e.seen
	given := map[string]time.Time{}
	for _, f := range e.functions {
		for i, batch := range f.kept {
			f.invoke(fmt.Sprintf("again %d", i), func(ctx context.Context, p *process) error {
				given[p.name] = batch.at
				return f.onBatch(ctx, p, batch.messages)
			}, nil, func() {})
		}
	}
	e.until(e.now().Add(20 * time.Second))
	if v := changedAgain(e.world.Log.Since(0), seen, given); v != nil {
		e.found = append(e.found, *v)
	}
}

// changedAgain returns the first thing in the entries from seen on that batches handed to functions once more have changed; nil where
// there is none. Given says of these functions' processes when the batch of each was first handed out. The instance of
// a claim that was adopted after that, or whose launch was settled, was not in the ledger then, so what the batch says
// of it is heard now, as it should be.
func changedAgain(entries []world.Entry, seen int64, given map[string]time.Time) *audit.Violation {
	adopted := map[string]time.Time{}
	for _, entry := range entries {
		fact, ok := entry.Fact.(world.LedgerWritten)
		if !ok {
			continue
		}
		for _, claim := range fact.Claims {
			before, after := claim.Before, claim.After
			settled := before != nil && before.InstanceID == "" && after != nil && after.InstanceID != ""
			if fact.Op == "adopt" || settled {
				adopted[after.Name] = entry.At
			}
		}
	}
	for _, entry := range entries[seen:] {
		text := ""
		switch fact := entry.Fact.(type) {
		case world.ObjectWritten:
			if entry.Actor == "" {
				return nil // the world is not at rest any more: what comes now may be for what people or kubelets did
			}
		case world.FleetCalled:
			text = fmt.Sprintf("EC2 was asked for %d machines of launch %s", fact.Wanted, fact.Intent)
		case world.TerminateCalled:
			text = fmt.Sprintf("machines %v were told to end", fact.IDs)
		case world.LedgerWritten:
			if at, again := given[entry.Actor]; again && len(fact.Claims) > 0 && len(fact.Intents) == 0 && !slices.ContainsFunc(fact.Claims,
				func(c world.ClaimChange) bool { return c.Before == nil || !adopted[c.Before.Name].After(at) }) {
				return nil // nor is it now
			}
			if len(fact.Claims)+len(fact.Intents) > 0 {
				text = fmt.Sprintf("%s wrote %d claims and %d launches", fact.Op, len(fact.Claims), len(fact.Intents))
			}
		}
		if text != "" {
			return &audit.Violation{Rule: "C5", Seq: entry.Seq, At: entry.At, Object: entry.Actor, Text: "a message handled before was handled again, and " + text}
		}
	}
	return nil
}

// resting reports whether nothing is under way: every pod has its node, every claim is initialized, has its instance tagged
// and is not about to expire, no launch is open, and nothing will happen by itself in a while.
func (e *engine) resting() bool {
	if len(e.world.Cluster.Waiting()) > 0 || !untouched(e.world.Log.Since(0), e.now()) {
		return false
	}
	ledger, err := e.world.Ledger.Load(context.Background(), world.Registration())
	if err != nil || len(ledger.Intents) > 0 {
		return false
	}
	now := e.now()
	if e.config.Scenario.Choices && !settled(&ledger, now.Unix()) {
		return false
	}
	for _, claim := range ledger.Claims {
		expires := claim.ExpireSeconds != nil && claim.CreatedUnix+*claim.ExpireSeconds < now.Unix()+90
		if claim.State != model.Initialized || expires || claim.Annotations[model.AnnotationTagged] != "true" {
			return false
		}
	}
	for _, node := range e.world.Cluster.Nodes() {
		if !node.Ready || !node.Initialized() {
			return false
		}
	}
	return true
}

// settled reports whether the disruption function has seen the cluster as it is, and found nothing to do now or soon.
func settled(ledger *model.Ledger, now int64) bool {
	for i := range ledger.Commands {
		if ledger.Commands[i].State.Open() {
			return false
		}
	}
	seen := ledger.Manifest != nil && ledger.Disrupt.Epoch == ledger.Manifest.Epoch && ledger.Disrupt.Seq == ledger.Manifest.HeadSeq
	return seen && ledger.Disrupt.Ledger != "" && !ledger.Disrupt.Constrained && ledger.Disrupt.DueUnix > now+90
}

// untouched reports whether people and kubelets have left the cluster alone for long enough that watchers have published all of it.
func untouched(entries []world.Entry, now time.Time) bool {
	for _, entry := range slices.Backward(entries) {
		if now.Sub(entry.At) > 30*time.Second {
			return true
		}
		if _, ok := entry.Fact.(world.ObjectWritten); ok && entry.Actor == "" {
			return false
		}
	}
	return true
}
