package proof

import (
	"maps"
	"slices"
	"strings"
)

// Verdict is what became of a probe.
type Verdict string

// Verdicts. Fail is the one that nobody has foreseen.
const (
	Pass    Verdict = "pass"    // as the first reading, the model's
	Differs Verdict = "differs" // as another reading
	Fail    Verdict = "fail"    // as no reading
	Unknown Verdict = "unknown" // the calls did not get as far as an answer
	Skipped Verdict = "skipped" // not tried
)

// Match compares what was seen with the readings of a probe and returns the name of the one that fits, the first of several;
// "" where none does.
func Match(p Probe, seen Seen) (v Verdict, reading string) {
	for i, r := range p.Readings {
		if len(Mismatches(r, seen)) > 0 {
			continue
		}
		if i == 0 {
			return Pass, r.Name
		}
		return Differs, r.Name
	}
	return Fail, ""
}

// Mismatches returns the facts of a reading that were not seen as it expects, sorted.
func Mismatches(r Reading, seen Seen) []string {
	var out []string
	for _, fact := range slices.Sorted(maps.Keys(r.Want)) {
		if !slices.Contains(strings.Split(r.Want[fact], " | "), seen[fact]) {
			out = append(out, fact)
		}
	}
	return out
}

// Expected is one reading as a result shows it.
type Expected struct {
	Reading string `json:"reading"`
	Says    string `json:"says"`
	Want    Seen   `json:"want"`
}

// Result is what became of one probe.
type Result struct {
	ID         string     `json:"id"`
	Service    string     `json:"service"`
	Assumption string     `json:"assumption"`
	Verdict    Verdict    `json:"verdict"`
	Reading    string     `json:"reading,omitempty"` // the one that was seen
	Expected   []Expected `json:"expected"`          // the first is the model's
	Seen       Seen       `json:"seen,omitempty"`
	Why        string     `json:"why,omitempty"` // of a probe that was not evaluated
}
