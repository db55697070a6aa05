package oracle

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/testenv/bench/oracle/problem"
)

// Campaign is many problems.
type Campaign struct {
	Problems int    // to plan and judge
	Pairs    int    // of pod and node, at least
	First    uint64 // seed; the others follow
	Workers  int    // at once, at least 1
	Depth    Depth
}

// Report is what came of a campaign.
type Report struct {
	Verdict                // sums
	Problems, Existing int // Existing: the scheduler needed no new node
	Features           map[problem.Feature]int
	Blamed             map[problem.Feature]int // problems with findings, by the features they use
	Fit                FitVerdict
	Errors             []error
	Took               time.Duration
}

// large is how often a problem is large.
const large = 25

// SizeOf returns the size of the problem of a seed in a campaign.
func SizeOf(seed uint64) problem.Size {
	if seed%large == large-1 {
		return problem.Large
	}
	return problem.Small
}

// Run evaluates all problems and pairs. The report is the same for any number of workers, but for the time it took.
func (c Campaign) Run() *Report {
	start := time.Now()
	r := &Report{Features: make(map[problem.Feature]int), Blamed: make(map[problem.Feature]int), Fit: FitVerdict{TopologyGroups: make([]TopologyGroup, len(Groups)), Listed: make(map[string]int)}}
	var mutex sync.Mutex
	c.each(func(seed uint64) bool {
		p := problem.New(seed, SizeOf(seed))
		v, err := Evaluate(p, c.Depth)
		mutex.Lock()
		defer mutex.Unlock()
		r.add(p, &v, err)
		return true
	}, c.Problems)
	c.each(func(seed uint64) bool {
		v, err := EvaluateFit(problem.New(seed, problem.Crowded))
		mutex.Lock()
		defer mutex.Unlock()
		r.addFit(&v, err)
		return r.Fit.Pairs < c.Pairs
	}, c.Pairs)
	slices.SortFunc(r.Findings, byPlace)
	slices.SortFunc(r.Fit.Findings, byPlace)
	r.Took = time.Since(start)
	return r
}

func byPlace(a, b Finding) int {
	return cmp.Or(cmp.Compare(a.Check, b.Check), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Seed, b.Seed), cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.Node, b.Node))
}

// each calls do with one seed after the other, in batches, until a batch says that it is enough.
func (c Campaign) each(do func(seed uint64) bool, most int) {
	const batch = 64
	for first := 0; first < most; first += batch {
		var workers sync.WaitGroup
		seeds := make(chan uint64)
		enough := false
		var mutex sync.Mutex
		for range max(1, c.Workers) {
			workers.Go(func() {
				for seed := range seeds {
					more := do(seed)
					mutex.Lock()
					enough = enough || !more
					mutex.Unlock()
				}
			})
		}
		for i := first; i < min(first+batch, most); i++ {
			seeds <- c.First + uint64(i)
		}
		close(seeds)
		workers.Wait()
		if enough {
			return
		}
	}
}

func (r *Report) add(p *problem.Problem, v *Verdict, err error) {
	r.Problems++
	if err != nil {
		r.Errors = append(r.Errors, err)
	}
	if v.ByItself {
		r.Existing++
	}
	for _, f := range p.Features {
		r.Features[f]++
		if len(v.Findings) > 0 {
			r.Blamed[f]++
		}
	}
	r.Pods, r.Planned, r.Claims = r.Pods+v.Pods, r.Planned+v.Planned, r.Claims+v.Claims
	r.Nominated, r.Unschedulable, r.Free = r.Nominated+v.Nominated, r.Unschedulable+v.Unschedulable, r.Free+v.Free
	r.Findings = append(r.Findings, v.Findings...)
}

func (r *Report) addFit(v *FitVerdict, err error) {
	if err != nil {
		r.Errors = append(r.Errors, err)
	}
	r.Fit.Pairs += v.Pairs
	r.Fit.Hopeless += v.Hopeless
	for g, t := range v.TopologyGroups {
		sum := &r.Fit.TopologyGroups[g]
		sum.Accept, sum.Refuse = sum.Accept+t.Accept, sum.Refuse+t.Refuse
		sum.OnlyWe, sum.OnlyThey, sum.Listed = sum.OnlyWe+t.OnlyWe, sum.OnlyThey+t.OnlyThey, sum.Listed+t.Listed
	}
	for id, n := range v.Listed {
		r.Fit.Listed[id] += n
	}
	r.Fit.Findings = append(r.Fit.Findings, v.Findings...)
}

// Failed reports whether anything was found.
func (r *Report) Failed() bool { return len(r.Findings)+len(r.Fit.Findings)+len(r.Errors) > 0 }

// Write prints the report, with up to so many findings of each kind.
func (r *Report) Write(out io.Writer, perKind int) {
	percent := func(n, of int) float64 { return 100 * float64(n) / float64(max(1, of)) }
	fmt.Fprintf(out, "%d problems in %s: %d waiting pods; %d on nodes that exist, %d on %d claims, %d nowhere\n", r.Problems, r.Took.Round(time.Second),
		r.Pods, r.Nominated, r.Planned-r.Nominated, r.Claims, r.Unschedulable)
	fmt.Fprintf(out, "%d of %d planned pods (%.2f%%) find a node when the scheduler chooses by its own scores\n", r.Free, r.Planned, percent(r.Free, r.Planned))
	fmt.Fprintf(out, "%d problems in which the scheduler needs no new node\n", r.Existing)
	fmt.Fprintf(out, "features, problems with findings of all that use it:")
	for _, f := range problem.Features {
		fmt.Fprintf(out, " %s %d/%d", f, r.Blamed[f], r.Features[f])
	}
	fmt.Fprintf(out, "\n%d pairs of pod and node, %d of them of pods that both refuse whatever the node\n", r.Fit.Pairs, r.Fit.Hopeless)
	for g, t := range r.Fit.TopologyGroups {
		if r.Fit.Pairs > 0 {
			fmt.Fprintf(out, "  %-14s both accept %8d, both refuse %8d, only we refuse %d, only they refuse %d, of these listed %d: %.5f%% agreement\n",
				Groups[g].Name, t.Accept, t.Refuse, t.OnlyWe, t.OnlyThey, t.Listed, percent(t.Accept+t.Refuse, t.Accept+t.Refuse+t.OnlyWe+t.OnlyThey))
		}
	}
	for _, d := range Differences {
		fmt.Fprintf(out, "  listed difference %s occurred %d times\n", d.ID, r.Fit.Listed[d.ID])
	}
	writeFindings(out, append(slices.Clone(r.Findings), r.Fit.Findings...), perKind)
	for _, err := range r.Errors {
		fmt.Fprintf(out, "error: %v\n", err)
	}
}

func writeFindings(out io.Writer, findings []Finding, perKind int) {
	count := make(map[string]int)
	for _, f := range findings {
		kind := string(f.Check) + ": " + f.Kind
		if count[kind]++; count[kind] <= perKind {
			fmt.Fprintln(out, f)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(count)) {
		fmt.Fprintf(out, "%6d findings of %s\n", count[kind], kind)
	}
}
