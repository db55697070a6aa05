package oracle

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"
)

// Disruptions is many clusters of which nodes are given back.
type Disruptions struct {
	Clusters int
	Spread   bool   // clusters whose pods are spread
	First    uint64 // seed; the others follow
	Workers  int    // at once, at least 1
	Depth    Depth
}

// DisruptReport is what came of them.
type DisruptReport struct {
	DisruptVerdict // sums
	Clusters       int
	Idle           int // clusters of which nothing is given back
	Errors         []error
	Took           time.Duration
}

// Run evaluates all clusters. The report is the same for any number of workers, but for the time it took.
func (d Disruptions) Run() *DisruptReport {
	start := time.Now()
	r := &DisruptReport{DisruptVerdict: DisruptVerdict{Reasons: map[string]int{}}}
	var mutex sync.Mutex
	Campaign{First: d.First, Workers: d.Workers}.each(func(seed uint64) bool {
		evaluate := EvaluateDisrupt
		if d.Spread {
			evaluate = EvaluateSpread
		}
		v, err := evaluate(seed, d.Depth)
		mutex.Lock()
		defer mutex.Unlock()
		r.add(&v, err)
		return true
	}, d.Clusters)
	slices.SortFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Check, b.Check), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Seed, b.Seed), cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Message, b.Message))
	})
	slices.SortFunc(r.Errors, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	r.Took = time.Since(start)
	return r
}

func (r *DisruptReport) add(v *DisruptVerdict, err error) {
	r.Clusters++
	if err != nil {
		r.Errors = append(r.Errors, err)
	} else if v.Commands == 0 {
		r.Idle++
	}
	r.Doubted += v.Doubted
	r.Nodes, r.Commands, r.Removed, r.Added, r.Moved = r.Nodes+v.Nodes, r.Commands+v.Commands, r.Removed+v.Removed, r.Added+v.Added, r.Moved+v.Moved
	for reason, n := range v.Reasons {
		r.Reasons[reason] += n
	}
	r.Findings = append(r.Findings, v.Findings...)
}

// Failed reports whether anything was found.
func (r *DisruptReport) Failed() bool { return len(r.Findings)+len(r.Errors) > 0 }

// Write prints the report, with up to so many findings of each kind.
func (r *DisruptReport) Write(out io.Writer, perKind int) {
	fmt.Fprintf(out, "%d clusters in %s, %d of them left as they are: %d commands give back %d of %d nodes for %d new ones and move %d pods\n",
		r.Clusters, r.Took.Round(time.Second), r.Idle, r.Commands, r.Removed, r.Nodes, r.Added, r.Moved)
	fmt.Fprintf(out, "%d of the commands hold only once others of their plan are carried out\n", r.Doubted)
	for _, reason := range slices.Sorted(maps.Keys(r.Reasons)) {
		fmt.Fprintf(out, "  %s: %d commands\n", reason, r.Reasons[reason])
	}
	writeFindings(out, r.Findings, perKind)
	for _, err := range r.Errors {
		fmt.Fprintf(out, "error: %v\n", err)
	}
}
