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

// Seen is what a probe saw, by the name of the fact. Facts are short words, such as "ok", "403 AccessDenied" or "2".
type Seen map[string]string

// Reading is one way to read AWS's documentation.
type Reading struct {
	Name string // one word, e.g. "merge"
	Says string // a sentence
	// Want has the facts the reading expects. A value may list several, divided by " | ". What Want does not name is seen
	// for information.
	Want Seen
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
