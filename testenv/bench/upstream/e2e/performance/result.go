package performance

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
)

// Side is who runs the cluster.
type Side string

const (
	Joiner    Side = "Joiner"
	Karpenter Side = "Karpenter"
)

// Run is one run of a spec.
type Run struct {
	Spec    string  `json:"spec"`
	Side    Side    `json:"side"`
	Pair    int     `json:"pair"` // runs of both sides that followed each other have the same, from 1
	Passed  bool    `json:"passed"`
	Failure string  `json:"failure,omitempty"` // the first
	Seconds float64 `json:"seconds"`           // of the whole spec
	Load    float64 `json:"load"`              // of the computer in the minute before, in processes that run or wait to
	Phases  []Phase `json:"phases"`            // as the spec has them; those behind a failure are not there
}

// Phase is what a part of a spec took.
type Phase struct {
	Name  string  `json:"name"`  // of the suite's report, such as drift_execution
	Kind  string  `json:"kind"`  // scale-out, consolidation or drift
	Suite float64 `json:"suite"` // seconds, as the suite reports them: with the minutes in which nothing more may happen

	// Seconds is the time from the phase's begin until its work is done: of a scale-out until all its pods run; of a consolidation until the last
	// node is gone; of a drift until the last node is gone that was there at the begin. 0 where no node went.
	Seconds   float64 `json:"seconds"`
	Pods      int     `json:"pods"`      // that run at the end
	Disrupted int     `json:"disrupted"` // pods that were evicted or deleted for their node's sake, until the next phase
	Launched  int     `json:"launched"`  // nodes
	Ended     int     `json:"ended"`     // nodes
	Kept      int     `json:"kept"`      // nodes that were there at the begin and are at the end
	Nodes     int     `json:"nodes"`     // at the end
	Price     float64 `json:"price"`     // of those, in USD an hour
	Memory    float64 `json:"memory"`    // MiB, 95th percentile, of all that runs the cluster
	Watcher   float64 `json:"watcher"`   // MiB, the most, of what of that is in the cluster; of Karpenter all
	CPU       float64 `json:"cpu"`       // cores on average, of all that runs the cluster
}

//go:embed results.json
var kept []byte

// Kept returns the runs of results.json.
func Kept() ([]Run, error) {
	var runs []Run
	if err := json.Unmarshal(kept, &runs); err != nil {
		return nil, fmt.Errorf("read results.json: %w", err)
	}
	return runs, nil
}

// Merge returns old runs with new ones in the place of those of the same specs.
func Merge(old, fresh []Run) []Run {
	out := slices.DeleteFunc(slices.Clone(old), func(r Run) bool {
		return slices.ContainsFunc(fresh, func(f Run) bool { return f.Spec == r.Spec })
	})
	return append(out, fresh...)
}
