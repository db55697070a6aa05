package performance

import (
	"strings"
	"testing"
)

func TestSectionHasMediansAndSaysWhatWasNotReached(t *testing.T) {
	phase := func(name string, seconds float64, disrupted int) Phase {
		return Phase{Name: name, Kind: "scale-out", Seconds: seconds, Suite: seconds + 1, Disrupted: disrupted, Nodes: 2, Price: 1.5, Memory: 100, Watcher: 60, CPU: 0.25}
	}
	runs := []Run{
		{Spec: "Performance Basic", Side: Karpenter, Pair: 1, Failure: "too slow", Load: 1, Phases: []Phase{phase("scale_out", 30, 4)}},
		{Spec: "Performance Basic", Side: Joiner, Pair: 1, Passed: true, Load: 2, Phases: []Phase{phase("scale_out", 10, 1), phase("consolidation", 0, 0)}},
		{Spec: "Performance Basic", Side: Joiner, Pair: 2, Passed: true, Load: 3, Phases: []Phase{phase("scale_out", 20, 3), phase("consolidation", 0, 0)}},
	}
	text := Section(runs)
	for _, want := range []string{
		"### Performance Basic\n\nKarpenter: 0 of 1 runs passed, with a load average of 1.0 before the run (too slow); Joiner: 2 of 2 runs passed, with a load average of 2.5 before the run.\n",
		"| scale_out (scale-out) | Karpenter | 30 s | 31 s | 4 | 0 / 0 / 0 | 2 | 1.50 | 100 (60) | 0.25 |\n| scale_out (scale-out) | Joiner | 15 s | 16 s | 2 |",
		"| consolidation | Karpenter | not reached |",
		"| consolidation (scale-out) | Joiner | none went | 1 s | 0 |",
		"Of 1 phases that both reached, Joiner finishes no later in 1, disrupts no more pods in 1, and costs no more at the end of 1.\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the section lacks %q:\n%s", want, text)
		}
	}
	if text := Section(runs[:1]); !strings.Contains(text, "Joiner: no run is kept.\n") || !strings.HasSuffix(text, "\nBoth reached no phase.\n") {
		t.Errorf("of one side: %s", text)
	}
	if text := Section(nil); !strings.Contains(text, "No run is kept.") {
		t.Errorf("without runs: %s", text)
	}
}

func TestNewRunsTakeThePlaceOfThoseOfTheSameSpecs(t *testing.T) {
	merged := Merge([]Run{{Spec: "a", Pair: 1}, {Spec: "b", Pair: 1}, {Spec: "a", Pair: 2}}, []Run{{Spec: "a", Pair: 7}})
	if len(merged) != 2 || merged[0].Spec != "b" || merged[1].Pair != 7 {
		t.Errorf("%+v", merged)
	}
}
