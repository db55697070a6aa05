package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/cmd/joiner/catalogfile"
	"github.com/joiner-sh/joiner/cmd/joiner/read"
	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/bench/oracle/problem"
	"github.com/joiner-sh/joiner/testenv/bench/speccases"
)

// SpecCases is where the questions of Karpenter's unit specs are, from this module's folder.
var SpecCases = filepath.Join("..", "upstream", "unit", "testdata", "cases.json.gz")

// Specs are problems that Karpenter's unit specs pose. The seed of each is its place among all cases.
type Specs struct {
	Path    string // of the cases
	First   int    // the first that is evaluated
	Every   int    // 1 = judge all from then on, 2 = every other one, …
	Workers int    // at once, at least 1
	Depth   Depth
}

// SpecsReport is what came of them.
type SpecsReport struct {
	Verdict          // sums
	Cases, Evaluated int
	Gives            int            // of those that are evaluated, that ask what to disrupt
	Commands         int            // of theirs
	Removed          int            // nodes of theirs
	Moved            int            // pods of theirs
	Beyond           map[string]int // cases that are not evaluated, by why
	Otherwise        []string       // specs that accepted another plan than the one evaluated here
	Errors           []error
	Took             time.Duration
}

// Run evaluates them. It fails where the cases cannot be read.
func (s Specs) Run() (*SpecsReport, error) {
	start := time.Now()
	all, err := readSpecs(s.Path)
	if err != nil {
		return nil, err
	}
	r := &SpecsReport{Beyond: map[string]int{}}
	var mutex sync.Mutex
	var workers sync.WaitGroup
	next := make(chan int)
	for range max(1, s.Workers) {
		workers.Go(func() {
			for i := range next {
				evaluated, err := all.evaluate(i, s.Depth)
				mutex.Lock()
				r.add(evaluated, err)
				mutex.Unlock()
			}
		})
	}
	for i := s.First; i < len(all.cases.Cases); i += max(1, s.Every) {
		next <- i
	}
	close(next)
	workers.Wait()
	slices.SortFunc(r.Findings, byPlace)
	slices.Sort(r.Otherwise)
	slices.SortFunc(r.Errors, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	r.Took = time.Since(start)
	return r, nil
}

// evaluatedSpec is what came of one case.
type evaluatedSpec struct {
	verdict   Verdict
	gives     bool // it is about what to give back
	given     DisruptVerdict
	beyond    string // why it is not evaluated
	otherwise string // the spec, where it accepted another plan
}

func (r *SpecsReport) add(of evaluatedSpec, err error) {
	r.Cases++
	if err != nil {
		r.Errors = append(r.Errors, err)
	}
	if of.beyond != "" {
		r.Beyond[of.beyond]++
		return
	}
	if of.otherwise != "" {
		r.Otherwise = append(r.Otherwise, of.otherwise)
	}
	v := &of.verdict
	r.Evaluated++
	if of.gives {
		r.Gives++
		r.Commands, r.Removed, r.Moved = r.Commands+of.given.Commands, r.Removed+of.given.Removed, r.Moved+of.given.Moved
	}
	r.Pods, r.Planned, r.Claims = r.Pods+v.Pods, r.Planned+v.Planned, r.Claims+v.Claims
	r.Nominated, r.Unschedulable, r.Free = r.Nominated+v.Nominated, r.Unschedulable+v.Unschedulable, r.Free+v.Free
	r.Findings = append(r.Findings, v.Findings...)
}

// New returns the findings that KnownSpecs does not have, and what it has that was not found.
func (r *SpecsReport) New() (fresh []Finding, gone []string) {
	met := map[string]bool{}
	for _, f := range r.Findings {
		if KnownSpecs[f.Spec] != f.Check {
			fresh = append(fresh, f)
		}
		met[f.Spec] = true
	}
	for _, spec := range slices.Sorted(maps.Keys(KnownSpecs)) {
		if !met[spec] {
			gone = append(gone, fmt.Sprintf("%s: %q: it is found no more: take it off KnownSpecs and OWED.md", KnownSpecs[spec], spec))
		}
	}
	return fresh, gone
}

// Failed reports whether anything was found that is not known, or is not found any more.
func (r *SpecsReport) Failed() bool {
	fresh, gone := r.New()
	return len(fresh)+len(gone)+len(r.Errors)+len(r.Otherwise) > 0
}

// Write prints the report, with up to so many findings of each kind.
func (r *SpecsReport) Write(out io.Writer, perKind int) {
	fmt.Fprintf(out, "%d cases of Karpenter's unit specs in %s, %d of them judged: %d waiting pods; %d on nodes that exist, %d on %d claims, %d nowhere\n", r.Cases,
		r.Took.Round(time.Second), r.Evaluated, r.Pods, r.Nominated, r.Planned-r.Nominated, r.Claims, r.Unschedulable)
	fmt.Fprintf(out, "%d of them ask what to give back: %d commands for %d nodes, from which %d pods move\n", r.Gives, r.Commands, r.Removed, r.Moved)
	for _, why := range slices.Sorted(maps.Keys(r.Beyond)) {
		fmt.Fprintf(out, "%6d not judged: %s\n", r.Beyond[why], why)
	}
	fresh, gone := r.New()
	writeFindings(out, fresh, perKind)
	fmt.Fprintf(out, "%d findings are known (OWED.md), %d are new\n", len(r.Findings)-len(fresh), len(fresh))
	for _, spec := range gone {
		fmt.Fprintln(out, spec)
	}
	for _, spec := range r.Otherwise {
		fmt.Fprintf(out, "planned otherwise than the spec accepted: %s\n", spec)
	}
	for _, err := range r.Errors {
		fmt.Fprintf(out, "error: %v\n", err)
	}
}

// specs are cases with their catalogs read.
type specs struct {
	cases    *speccases.Cases
	catalogs map[string][]model.InstanceType
}

func readSpecs(path string) (*specs, error) {
	cases, err := speccases.Read(path)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "catalogs")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	all := &specs{cases, map[string][]model.InstanceType{}}
	for digest, text := range cases.Catalogs { // into a map
		file := filepath.Join(folder, digest+".json")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return nil, err
		}
		if all.catalogs[digest], err = catalogfile.Read(file); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// SpecProblem returns the problem of one case, and which spec poses it.
func SpecProblem(path string, seed uint64) (*problem.Problem, string, error) {
	all, err := readSpecs(path)
	if err != nil {
		return nil, "", err
	}
	if seed >= uint64(len(all.cases.Cases)) {
		return nil, "", fmt.Errorf("there is no case %d, only 0 to %d", seed, len(all.cases.Cases)-1)
	}
	c := &all.cases.Cases[seed]
	p, err := all.pose(int(seed))
	return p, fmt.Sprintf("%s: %s (call %d)", c.Suite, c.Spec, c.Call), err
}

func (s *specs) pose(i int) (*problem.Problem, error) {
	c := &s.cases.Cases[i]
	now, err := time.Parse(time.RFC3339, c.Option("--now"))
	if err != nil {
		return nil, fmt.Errorf("case %d: --now: %w", i, err)
	}
	p, err := problem.Recorded(uint64(i), c.Objects, s.catalogs[c.Catalog], problem.Asked{
		NowUnix: now.Unix(), Disrupt: !c.Provision(), IgnorePreferences: c.Option("--preference-policy") == "Ignore", BestEffortMinValues: c.Option("--min-values-policy") == "BestEffort",
	})
	if err != nil {
		return nil, fmt.Errorf("case %d: %w", i, err)
	}
	return p, nil
}

func (s *specs) evaluate(i int, depth Depth) (evaluatedSpec, error) {
	c := &s.cases.Cases[i]
	p, err := s.pose(i)
	if err != nil {
		return evaluatedSpec{}, err
	}
	if why := p.Beyond(); why != "" {
		return evaluatedSpec{beyond: why}, nil
	}
	var out evaluatedSpec
	var got []string
	if c.Provision() {
		plan := pack.Plan(p.Input())
		got = groups(&plan)
		out.verdict, err = EvaluatePlan(p, &plan, depth)
	} else {
		var plan model.DisruptPlan
		if plan, err = s.disrupt(c, p); err == nil {
			got = commands(&plan)
			out.given, err = EvaluateDisruptPlan(p, &plan, depth)
		}
		out.verdict.Findings, out.gives = out.given.Findings, true
	}
	if err != nil {
		err = fmt.Errorf("%s: %s: %w", c.Suite, c.Spec, err)
	}
	for f := range out.verdict.Findings {
		out.verdict.Findings[f].Spec = c.Spec
	}
	want, wanted := groupsOf(c.Want, !c.Provision())
	if wanted != nil {
		return out, fmt.Errorf("case %d: what the spec accepted: %w", i, wanted)
	}
	if !slices.Equal(got, want) {
		out.otherwise = fmt.Sprintf("case %d: %s: %s (call %d): %q, and accepted was %q", i, c.Suite, c.Spec, c.Call, got, want)
	}
	return out, err
}

// disrupt plans what to disrupt, as `joiner plan disrupt` does.
func (s *specs) disrupt(c *speccases.Case, p *problem.Problem) (model.DisruptPlan, error) {
	text, err := c.List()
	if err != nil {
		return model.DisruptPlan{}, err
	}
	in := p.Input()
	cluster, err := read.Files([]string{read.Stdin}, read.Options{Stdin: bytes.NewReader(text), NowUnix: in.NowUnix})
	if err != nil {
		return model.DisruptPlan{}, err
	}
	claims, _ := cluster.LedgerClaims()
	return disruption.Plan(disruption.Input{
		Snapshot: cluster.Snapshot, Catalogs: in.Catalogs, Claims: claims, Usage: in.Usage, NowUnix: in.NowUnix, Salt: "plan",
		Settings: disruption.Settings{SpotToSpot: slices.Contains(c.Args, "--spot-to-spot"), IgnorePreferences: in.IgnorePreferences, BestEffortMinValues: in.BestEffortMinValues},
	}), nil
}

// commands says which nodes are given back together, why, and how many come in their place. Sorted.
func commands(plan *model.DisruptPlan) []string {
	var out []string
	for i := range plan.Commands {
		c := &plan.Commands[i]
		out = append(out, group(fmt.Sprintf("%s, %d new", c.Reason, len(c.Replacements)), slices.Clone(c.Nodes)))
	}
	slices.Sort(out)
	return out
}

// groups says which pods are together where: on a node, a claim of a pool, or nowhere. Sorted.
func groups(plan *model.Plan) []string {
	var out []string
	add := func(where string, refs []model.PodRef) {
		var pods []string
		for _, ref := range refs {
			pods = append(pods, ref.Key())
		}
		out = append(out, group(where, pods))
	}
	for _, n := range plan.Nominations {
		add("node "+n.Node, n.Pods)
	}
	for i := range plan.Claims {
		add("claim of "+plan.Claims[i].Pool, plan.Claims[i].Pods)
	}
	for _, u := range plan.Unschedulable {
		add("nowhere", []model.PodRef{u.Pod})
	}
	slices.Sort(out)
	return out
}

// groupsOf is groups of what a spec accepted.
func groupsOf(want json.RawMessage, givesBack bool) ([]string, error) {
	var plan struct {
		Claims []struct {
			NodePool string
			Pods     []string
		}
		Nominations []struct {
			Node string
			Pods []string
		}
		Unschedulable []struct{ Pod string }
		Commands      []struct {
			Reason       string
			Nodes        []string
			Replacements []json.RawMessage
		}
	}
	if err := json.Unmarshal(want, &plan); err != nil {
		return nil, err
	}
	var out []string
	for _, c := range plan.Commands {
		out = append(out, group(fmt.Sprintf("%s, %d new", c.Reason, len(c.Replacements)), c.Nodes))
	}
	if givesBack { // the rest is of pods that wait beside it
		slices.Sort(out)
		return out, nil
	}
	for _, c := range plan.Claims {
		out = append(out, group("claim of "+c.NodePool, c.Pods))
	}
	for _, n := range plan.Nominations {
		out = append(out, group("node "+n.Node, n.Pods))
	}
	for _, u := range plan.Unschedulable {
		out = append(out, group("nowhere", []string{u.Pod}))
	}
	slices.Sort(out)
	return out, nil
}

func group(where string, pods []string) string {
	slices.Sort(pods)
	return where + ": " + strings.Join(pods, " ")
}
