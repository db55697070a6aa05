package shadow

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Records are of decisions. A day is as a model.Recorded names it.
type Records interface {
	// Recorded lists the decisions recorded under the days of a span, day by day in the order of their ids.
	Recorded(ctx context.Context, cluster string, fromUnix, toUnix int64) ([]model.Recorded, error)
	Decision(ctx context.Context, cluster, day, id string) (model.Decision, error)
	Disruption(ctx context.Context, cluster, day, id string) (model.Disrupted, error)
}

// Findings are kept by cluster, day and the version that made decisions once more. What is not there is NotFound; what is put again is
// replaced.
type Findings interface {
	PutShadow(ctx context.Context, day string, shadowed model.Shadowed) error
	Shadow(ctx context.Context, cluster, day, by, decision string) (model.Shadowed, error)
	PutShadowIndex(ctx context.Context, index model.ShadowIndex) error
	ShadowIndex(ctx context.Context, cluster, day, by string) (model.ShadowIndex, error)
}

// Flow makes decisions once more.
type Flow struct {
	Records  Records
	Findings Findings
	Catalogs replay.Sources // where what decisions went by lies
	By       string         // the build at hand
}

// Pass is what one pass over the records came to.
type Pass struct {
	Same       int      `json:"same"`
	Different  []string `json:"different,omitempty"`  // ids
	Unanswered []string `json:"unanswered,omitempty"` // ids, of decisions that could not be made once more
	Problems   []string `json:"problems,omitempty"`   // why not, each once
}

// Compared counts the decisions that were made once more.
func (p *Pass) Compared() int { return p.Same + len(p.Different) }

// Seen are the decisions that earlier passes have dealt with, by kind and id.
type Seen map[string]bool

// Run makes once more the decisions taken from fromUnix up to and without toUnix, and keeps what it finds. Where seen is not nil those in
// it are passed over, those that are on record as made once more by this version are added to it, and so are those of this pass. An error
// means that records cannot be read or findings not be kept; the pass says how far it came.
func (f *Flow) Run(ctx context.Context, cluster string, fromUnix, toUnix int64, seen Seen) (Pass, error) {
	pass := Pass{}
	recorded, err := f.Records.Recorded(ctx, cluster, fromUnix, toUnix)
	if err != nil {
		return pass, fmt.Errorf("list the decisions of cluster %s: %w", cluster, err)
	}
	for len(recorded) > 0 {
		day := recorded[0].Day
		n := slices.IndexFunc(recorded, func(r model.Recorded) bool { return r.Day != day })
		if n < 0 {
			n = len(recorded)
		}
		if err := f.day(ctx, cluster, recorded[:n], fromUnix, toUnix, seen, &pass); err != nil {
			return pass, err
		}
		recorded = recorded[n:]
	}
	return pass, nil
}

// indexEvery is after how many decisions a day's index is written: what a run that dies has found by then is not lost.
const indexEvery = 100

// day is Run for the decisions recorded under one day.
func (f *Flow) day(ctx context.Context, cluster string, recorded []model.Recorded, fromUnix, toUnix int64, seen Seen, pass *Pass) error {
	recorded = slices.DeleteFunc(slices.Clone(recorded), func(r model.Recorded) bool { return seen[r.Kind+r.ID] })
	if len(recorded) == 0 {
		return nil
	}
	index, err := f.Findings.ShadowIndex(ctx, cluster, recorded[0].Day, f.By)
	if fault.Is(err, fault.NotFound) {
		index, err = model.ShadowIndex{Cluster: cluster, Day: recorded[0].Day, By: f.By}, nil
	}
	if err != nil {
		return fmt.Errorf("read what was found before: %w", err)
	}
	if seen != nil {
		for _, e := range index.Entries {
			seen[e.Kind+e.Decision] = true
		}
	}
	unwritten := 0
	for _, r := range recorded {
		if seen[r.Kind+r.ID] {
			continue
		}
		entry, found, err := f.decide(ctx, cluster, r, fromUnix, toUnix)
		if err != nil {
			return err
		}
		if seen != nil {
			seen[r.Kind+r.ID] = true
		}
		if entry == nil {
			continue
		}
		if found != nil {
			if err := f.Findings.PutShadow(ctx, r.Day, *found); err != nil {
				return fmt.Errorf("store what was found: %w", err)
			}
		}
		pass.count(entry)
		index.Entries = withEntry(index.Entries, *entry)
		if unwritten++; unwritten == indexEvery {
			unwritten = 0
			if err := f.Findings.PutShadowIndex(ctx, index); err != nil {
				return fmt.Errorf("store what was found: %w", err)
			}
		}
	}
	if unwritten == 0 {
		return nil
	}
	if err := f.Findings.PutShadowIndex(ctx, index); err != nil {
		return fmt.Errorf("store what was found: %w", err)
	}
	return nil
}

func (p *Pass) count(e *model.ShadowEntry) {
	switch e.Verdict {
	case model.ShadowSame:
		p.Same++
	case model.ShadowDiffers:
		p.Different = append(p.Different, e.Decision)
	default:
		p.Unanswered = append(p.Unanswered, e.Decision)
		if !slices.Contains(p.Problems, e.Why) {
			p.Problems = append(p.Problems, e.Why)
		}
	}
}

// withEntry returns the entries with one put in its place, by decision.
func withEntry(entries []model.ShadowEntry, entry model.ShadowEntry) []model.ShadowEntry {
	at, there := slices.BinarySearchFunc(entries, entry, func(a, b model.ShadowEntry) int { return strings.Compare(a.Decision+a.Kind, b.Decision+b.Kind) })
	if there {
		entries[at] = entry
		return entries
	}
	return slices.Insert(entries, at, entry)
}

// decide makes one decision once more. The entry is nil where it is not of the span or not there any more; found is nil where nothing
// differs. An error means that nothing more can be read.
func (f *Flow) decide(ctx context.Context, cluster string, r model.Recorded, fromUnix, toUnix int64) (entry *model.ShadowEntry, found *model.Shadowed, err error) {
	asked, err := f.read(ctx, cluster, r)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil, nil, nil
	case fault.Is(err, fault.Invalid): // not a record this version can read
		return &model.ShadowEntry{Decision: r.ID, Kind: r.Kind, AtUnix: max(fromUnix, dayUnix(r.Day)), Verdict: model.ShadowUnanswered, Why: err.Error()}, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("read decision %s: %w", r.ID, err)
	}
	out := asked.is
	if out.AtUnix < fromUnix || out.AtUnix >= toUnix {
		return nil, nil, nil
	}
	out.Cluster, out.Kind, out.By = cluster, r.Kind, f.By
	entry = &model.ShadowEntry{Decision: r.ID, Kind: r.Kind, AtUnix: out.AtUnix, Build: out.Build, Verdict: model.ShadowSame}
	facts, err := f.Catalogs.Facts(asked.input, asked.catalog)
	switch {
	case fault.Is(err, fault.NotFound) || fault.Is(err, fault.Invalid):
		entry.Verdict, entry.Why = model.ShadowUnanswered, err.Error()
		return entry, nil, nil
	case err != nil: // it may be read later
		return nil, nil, fmt.Errorf("read the input of decision %s: %w", r.ID, err)
	}
	out.Panic = try(func() { asked.answer(facts, &out) })
	if out.Panic == "" && !slices.ContainsFunc(out.Rounds, func(d model.Difference) bool { return !d.Identical }) {
		return entry, nil, nil
	}
	entry.Verdict = model.ShadowDiffers
	return entry, &out, nil
}

// dayUnix is when a day begins; 0 where it is none.
func dayUnix(day string) int64 {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return 0
	}
	return at.Unix()
}

// recordedInput is what a record says, whatever its kind.
type recordedInput struct {
	is      model.Shadowed // its id, time and build
	input   *model.DecisionInput
	catalog model.CatalogUse
	answer  func(facts replay.Facts, out *model.Shadowed)
}

func (f *Flow) read(ctx context.Context, cluster string, r model.Recorded) (recordedInput, error) {
	if r.Kind == model.KindDisrupt {
		d, err := f.Records.Disruption(ctx, cluster, r.Day, r.ID)
		return recordedInput{model.Shadowed{Decision: r.ID, AtUnix: d.AtUnix, Build: d.Build}, d.Recorded, d.Catalog, func(facts replay.Facts, out *model.Shadowed) {
			plan := replay.ReplayDisruption(&d, facts)
			out.Planned, out.Rounds = &plan, []model.Difference{replay.CompareDisruption(&d.Plan, &plan)}
		}}, err
	}
	d, err := f.Records.Decision(ctx, cluster, r.Day, r.ID)
	return recordedInput{model.Shadowed{Decision: r.ID, AtUnix: d.AtUnix, Build: d.Build}, d.Input, d.Catalog, func(facts replay.Facts, out *model.Shadowed) {
		out.Plans, out.Rounds = replay.ReplayAndCompare(&d, facts)
	}}, err
}

// try calls f and returns what it panicked with, "" where it did not.
func try(f func()) (panicked string) {
	defer func() {
		if thrown := recover(); thrown != nil {
			panicked = fmt.Sprint(thrown)
		}
	}()
	f()
	return ""
}
