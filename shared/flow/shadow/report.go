package shadow

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Report says how the decisions of a span come out when another version makes them.
type Report struct {
	Cluster  string   `json:"cluster"`
	By       string   `json:"by"`               // that made them once more
	Builds   []string `json:"builds,omitempty"` // that decided and acted, sorted
	FromUnix int64    `json:"from"`
	ToUnix   int64    `json:"to"` // up to and without

	Compared   int                 `json:"compared"`
	Same       int                 `json:"same"`
	Different  int                 `json:"different"`
	Wording    int                 `json:"wording"`           // of Different: in reasons or order alone
	Unanswered map[string]int      `json:"unanswered"`        // decisions that could not be made once more, by why
	Provision  Total               `json:"provision"`         // of what is launched
	Disrupt    Total               `json:"disrupt"`           // of what the cluster costs on average once commands are carried out
	Decisions  []DifferentDecision `json:"decisions"`         // that come out otherwise, by time
	Missing    []string            `json:"missing,omitempty"` // ids of such whose findings are not there
}

// Total sums up the decisions of a kind that come out otherwise.
type Total struct {
	Different int            `json:"different"`
	Live      model.MicroUSD `json:"live"`   // per hour
	Shadow    model.MicroUSD `json:"shadow"` // per hour
}

// DifferentDecision is a decision that comes out otherwise.
type DifferentDecision struct {
	Decision string             `json:"decision"`
	Kind     string             `json:"kind"`
	AtUnix   int64              `json:"at"`
	Build    string             `json:"build,omitempty"`
	Live     model.MicroUSD     `json:"live"`   // per hour, of the first plan that differs: see model.Difference
	Shadow   model.MicroUSD     `json:"shadow"` // the same
	Wording  bool               `json:"wording,omitempty"`
	Panic    string             `json:"panic,omitempty"`
	Rounds   []model.Difference `json:"rounds,omitempty"`
}

// Report sums up what a version found for decisions taken from fromUnix up to and without toUnix. NotFound where it has found nothing.
func (f *Flow) Report(ctx context.Context, cluster string, fromUnix, toUnix int64) (*Report, error) {
	out := &Report{Cluster: cluster, By: f.By, FromUnix: fromUnix, ToUnix: toUnix, Unanswered: map[string]int{}, Decisions: []DifferentDecision{}}
	for _, day := range UTCDays(fromUnix, toUnix) {
		index, err := f.Findings.ShadowIndex(ctx, cluster, day, f.By)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the findings of %s: %w", day, err)
		}
		for i := range index.Entries {
			if e := &index.Entries[i]; fromUnix <= e.AtUnix && e.AtUnix < toUnix {
				if err := f.add(ctx, out, day, e); err != nil {
					return nil, err
				}
			}
		}
	}
	if out.Compared+len(out.Unanswered) == 0 {
		return nil, fault.New(fault.NotFound, "NothingCompared", "no decision of cluster %s in that time was replayed by build %s", cluster, f.By)
	}
	slices.SortStableFunc(out.Decisions, func(a, b DifferentDecision) int { return cmp.Compare(a.AtUnix, b.AtUnix) })
	slices.Sort(out.Builds)
	if n := model.MicroUSD(out.Disrupt.Different); n > 0 {
		out.Disrupt.Live, out.Disrupt.Shadow = out.Disrupt.Live/n, out.Disrupt.Shadow/n
	}
	return out, nil
}

// add counts one entry.
func (f *Flow) add(ctx context.Context, out *Report, day string, e *model.ShadowEntry) error {
	if e.Verdict == model.ShadowUnanswered {
		out.Unanswered[e.Why]++
		return nil
	}
	out.Compared++
	if e.Build != "" && !slices.Contains(out.Builds, e.Build) {
		out.Builds = append(out.Builds, e.Build)
	}
	if e.Verdict == model.ShadowSame {
		out.Same++
		return nil
	}
	out.Different++
	found, err := f.Findings.Shadow(ctx, out.Cluster, day, f.By, e.Decision)
	if fault.Is(err, fault.NotFound) {
		out.Missing = append(out.Missing, e.Decision)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the findings about decision %s: %w", e.Decision, err)
	}
	row := otherwise(&found)
	total := &out.Provision
	if row.Kind == model.KindDisrupt {
		total = &out.Disrupt
	}
	total.Different++
	total.Live, total.Shadow = total.Live+row.Live, total.Shadow+row.Shadow
	if row.Wording {
		out.Wording++
	}
	out.Decisions = append(out.Decisions, row)
	return nil
}

// otherwise tells a finding. Its prices are those of the first plan that differs: a plan after it is for what the one before did not get,
// and would count twice.
func otherwise(found *model.Shadowed) DifferentDecision {
	row := DifferentDecision{Decision: found.Decision, Kind: found.Kind, AtUnix: found.AtUnix, Build: found.Build, Panic: found.Panic, Wording: found.Panic == "", Rounds: found.Rounds}
	first := true
	for i := range found.Rounds {
		d := &found.Rounds[i]
		if d.Identical {
			continue
		}
		if first {
			row.Live, row.Shadow, first = d.PriceWas, d.PriceIs, false
		}
		row.Wording = row.Wording && !d.Shape()
	}
	return row
}

// UTCDays names the UTC days of a span, such as 2026-11-20.
func UTCDays(fromUnix, toUnix int64) []string {
	const daySeconds = 24 * 3600
	var out []string
	for day := fromUnix - fromUnix%daySeconds; day < toUnix; day += daySeconds {
		out = append(out, time.Unix(day, 0).UTC().Format(time.DateOnly))
	}
	return out
}
