package show

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/explain"
)

// Indented writes any answer for programs. Times are Unix seconds, prices micro-dollars per hour.
func Indented(out io.Writer, answer any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(answer)
}

// WhyPod writes for people why a pod waits: the answer in one line, however long, then what each NodePool says and what was decided.
func WhyPod(out io.Writer, a *explain.PodAnswer) error {
	t := &table{}
	t.line("%s", a.Line())
	if len(a.Pools) > 0 {
		t.line("")
		t.line("NODEPOOLS, the nearest first")
		for i := range a.Pools {
			t.poolWhy(&a.Pools[i])
		}
	}
	t.events(a.Events)
	_, err := io.WriteString(out, t.text.String())
	return err
}

// poolWhy writes what keeps a pod off some NodePools.
func (t *table) poolWhy(why *explain.PoolWhy) {
	for i, obstacle := range why.Obstacles {
		r := reason{Reason: obstacle}
		if i == 0 {
			r.pools = why.Pools
			t.reason(r)
			continue
		}
		t.wrapped("    ", "      ", fmt.Sprintf("and %s: %s", r.Code, r.Message))
		if r.Remedy != "" {
			t.wrapped("      ", "        ", "Remedy: "+r.Remedy)
		}
	}
	if why.Then != nil && !slices.ContainsFunc(why.Obstacles, explain.NeedsElse) && (why.Then.Node != "" || slices.Contains(why.Pools, why.Then.Pool)) {
		t.wrapped("    ", "      ", "Without that "+why.Then.String()+".")
	}
}

// events writes what was decided or happened, with the decision to look into.
func (t *table) events(events []explain.HistoryEvent) {
	if len(events) == 0 {
		return
	}
	t.line("")
	t.line("LATELY")
	for _, e := range events {
		text := clock(e.AtUnix) + "  " + e.Text
		if e.Decision != "" {
			text += " Decision " + e.Decision + "."
		}
		t.wrapped("  ", "    ", text)
	}
}
