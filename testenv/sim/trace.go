package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"reflect"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/disrupt"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// trace digests everything that happened in a run, in order, and keeps the last of it in words.
type trace struct {
	start   time.Time
	hash    hash.Hash // nil = none is made
	scratch []byte
	lines   []line // a ring, oldest at first
	first   int
	report  func(string) // every line as it comes; nil = nobody
}

// line is one step of a run, written out only when somebody wants to read it.
type line struct {
	at   time.Time
	text func() string
}

const keptLines = 20_000

// evaluated adds what a judge came to, which only says in words what else is in the trace.
func (t *trace) evaluated(at time.Time, process string, outcome disrupt.Outcome) {
	if outcome.Skipped != "" {
		return
	}
	t.keep(at, func() string {
		text, err := json.Marshal(outcome)
		return fmt.Sprintf("%s judged %s %v", process, text, err)
	})
}

func newTrace(start time.Time, report func(string), digest bool) *trace {
	t := &trace{start: start, report: report}
	if digest {
		t.hash = sha256.New()
	}
	return t
}

// operation adds one that was carried out.
func (t *trace) operation(at time.Time, process, op string, err error) {
	failed := ""
	if err != nil {
		failed = err.Error()
	}
	if t.hash != nil {
		b := binary.AppendVarint(t.scratch[:0], at.UnixNano())
		b = append(append(append(append(append(b, process...), 0), op...), 0), failed...)
		_, _ = t.hash.Write(b) // never fails
		t.scratch = b
	}
	t.keep(at, func() string {
		if failed != "" {
			return fmt.Sprintf("%s %s: %s", process, op, failed)
		}
		return process + " " + op
	})
}

// entry adds a fact.
func (t *trace) entry(e world.Entry) {
	if t.hash != nil {
		t.digest(e)
	}
	t.keep(e.At, func() string { return "    [" + e.Actor + "] " + describe(e) })
}

func (t *trace) digest(e world.Entry) {
	text, err := json.Marshal(e.Fact)
	if err != nil {
		panic(fmt.Sprintf("sim: encode %T: %v", e.Fact, err)) // plain data always can
	}
	b := binary.AppendVarint(t.scratch[:0], e.At.UnixNano())
	b = append(append(b, reflect.TypeOf(e.Fact).Name()...), 0)
	_, _ = t.hash.Write(b)
	_, _ = t.hash.Write(text)
	t.scratch = b
}

func (t *trace) keep(at time.Time, text func() string) {
	l := line{at, text}
	if t.report != nil {
		t.report(t.show(l))
	}
	if len(t.lines) < keptLines {
		t.lines = append(t.lines, l)
		return
	}
	t.lines[t.first] = l
	t.first = (t.first + 1) % keptLines
}

func (t *trace) show(l line) string { return fmt.Sprintf("%12s %s", l.at.Sub(t.start), l.text()) }

// tail returns the lines kept, oldest first, in which want is true.
func (t *trace) tail(n int, want func(string) bool) []string {
	var out []string
	for i := len(t.lines) - 1; i >= 0 && len(out) < n; i-- {
		if text := t.show(t.lines[(t.first+i)%len(t.lines)]); want(text) {
			out = append(out, text)
		}
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// sum returns the digest in hexadecimal; empty where none is made.
func (t *trace) sum() string {
	if t.hash == nil {
		return ""
	}
	return hex.EncodeToString(t.hash.Sum(nil))
}

// describe says a fact in a line.
func describe(e world.Entry) string {
	switch f := e.Fact.(type) {
	case world.FleetCalled:
		return fmt.Sprintf("fleet called: intent %s wants %d %s, gets %v, refused %q, repeat %v, %d errors", f.Intent, f.Wanted, f.CapacityType, f.Instances, f.Refused, f.Repeat, len(f.Errors))
	case world.InstanceStarted:
		return fmt.Sprintf("instance %s started: %s %s %s of intent %s", f.Instance.ID, f.Instance.Type, f.Instance.Zone, f.Instance.CapacityType, f.Instance.Tags["joiner.sh/intent"])
	case world.LedgerWritten:
		text := "ledger " + f.Op
		for _, intent := range f.Intents {
			text += fmt.Sprintf(" intent %s %s attempt %d", intent.ID, intent.State, intent.Attempt)
		}
		for _, change := range f.Claims {
			if change.After == nil {
				text += " claim " + change.Before.Name + " removed"
				continue
			}
			text += fmt.Sprintf(" claim %s %s %s v%d", change.After.Name, change.After.State, change.After.InstanceID, change.After.Version)
			if change.Before == nil {
				text += " for"
				for _, pod := range change.After.Pods {
					text += " " + pod.Name
				}
			}
		}
		for _, usage := range f.Usage {
			text += fmt.Sprintf(" pool %s holds %v", usage.Pool, usage.Reserved)
		}
		if len(f.Unavailable) > 0 {
			text += fmt.Sprintf(" %d marks", len(f.Unavailable))
		}
		return text
	case world.ObjectWritten:
		text := fmt.Sprintf("%s %s %s %s v%d", f.Kind, f.Name, f.UID, f.Verb, f.Version)
		if f.Pod != nil {
			text += fmt.Sprintf(" on %q", f.Pod.NodeName)
		}
		if f.Node != nil {
			text += fmt.Sprintf(" %s ready %v", f.Node.ProviderID, f.Node.Ready)
		}
		if f.Claim != nil {
			text += fmt.Sprintf(" %s %s", f.Claim.State, f.Claim.InstanceID)
		}
		return text
	}
	return fmt.Sprintf("%s %+v", reflect.TypeOf(e.Fact).Name(), e.Fact)
}
