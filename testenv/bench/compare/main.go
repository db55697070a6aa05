package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/testenv/bench/bound"
	"github.com/joiner-sh/joiner/testenv/bench/check"
	"github.com/joiner-sh/joiner/testenv/bench/converge"
	"github.com/joiner-sh/joiner/testenv/bench/measure"
	"github.com/joiner-sh/joiner/testenv/bench/problem"
)

// config is what the flags say.
type config struct {
	peer    string
	only    string
	pods    int
	seed    uint64
	runs    int
	large   bool
	timeout time.Duration

	consolidate bool
	nodes       string
	seeds       string
	peerNodes   int
	boundNodes  int
}

func main() {
	measure.Serve()
	converge.Serve()
	var c config
	flag.StringVar(&c.peer, "peer", "", "the peer's program; empty measures ours alone")
	flag.StringVar(&c.only, "only", "", "families, separated by commas; empty means all")
	flag.IntVar(&c.pods, "pods", 0, "pods of every problem, in place of each one's own number")
	flag.Uint64Var(&c.seed, "seed", 1, "of the random numbers")
	flag.IntVar(&c.runs, "runs", 3, "of which the median counts; one that takes 20 s is not repeated")
	flag.BoolVar(&c.large, "large", false, "10,000 and 20,000 pods too, which take the peer minutes each")
	flag.DurationVar(&c.timeout, "timeout", 6*time.Minute, "limit on one run of the peer")
	flag.BoolVar(&c.consolidate, "consolidate", false, "clusters of which nodes are given back, in place of pods that wait; --pods, --seed, --runs and --large say nothing then")
	flag.StringVar(&c.nodes, "nodes", "100,500", "with --consolidate: sizes of the clusters, separated by commas")
	flag.StringVar(&c.seeds, "seeds", "1", "with --consolidate: seeds of the clusters, separated by commas")
	flag.IntVar(&c.peerNodes, "peer-nodes", 1000, "with --consolidate: the largest cluster that the peer is given")
	flag.IntVar(&c.boundNodes, "bound-nodes", 2000, "with --consolidate: the largest cluster whose price is bounded")
	flag.Parse()
	do := run
	if c.consolidate {
		do = consolidations
	}
	ok, err := do(c)
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// specs lists the problems to compare on.
func specs(c config) []problem.Spec {
	list := []problem.Spec{
		{Family: "bench", Pods: 1000}, {Family: "bench", Pods: 5000}, {Family: "benchfake", Pods: 1000}, {Family: "diverse", Pods: 5000},
		{Family: "homogeneous", Pods: 5000}, {Family: "spread", Pods: 5000}, {Family: "gpu", Pods: 2000}, {Family: "prefs", Pods: 1000},
		{Family: "existing", Pods: 2000, Nodes: 1000}, {Family: "existingfull", Pods: 2000, Nodes: 1000}, {Family: "existingspread", Pods: 2000, Nodes: 1000},
		{Family: "existing", Pods: 10, Nodes: 5000},
	}
	if c.large {
		list = append(list, problem.Spec{Family: "bench", Pods: 10_000}, problem.Spec{Family: "bench", Pods: 20_000}, problem.Spec{Family: "diverse", Pods: 20_000},
			problem.Spec{Family: "homogeneous", Pods: 20_000}, problem.Spec{Family: "spread", Pods: 10_000}, problem.Spec{Family: "prefs", Pods: 4000})
	}
	var out []problem.Spec
	for _, s := range list {
		if c.only != "" && !slices.Contains(strings.Split(c.only, ","), s.Family) {
			continue
		}
		s.Seed = c.seed
		if c.pods > 0 {
			s.Pods, s.Nodes = c.pods, min(s.Nodes, c.pods/2)
		}
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func run(c config) (ok bool, err error) {
	folder, err := os.MkdirTemp("", "compare")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(folder)
	fmt.Println(heading)
	ok = true
	for _, spec := range specs(c) {
		r, err := compare(c, folder, spec)
		if err != nil {
			return false, fmt.Errorf("%s: %w", spec, err)
		}
		fmt.Print(r)
		ok = ok && r.fine()
	}
	return ok, nil
}

// compare gives one problem to both.
func compare(c config, folder string, spec problem.Spec) (*row, error) {
	p, err := problem.New(spec)
	if err != nil {
		return nil, err
	}
	r := &row{spec: spec, bound: bound.Price(p, bound.Options{EmptyHost: true, EveryZone: true, Branches: 2_000_000})}
	if r.ours, err = median(c.runs, func() (check.Answer, error) { return measure.Start(spec) }); err != nil {
		return nil, err
	}
	r.ourReport = check.Plan(p, r.ours)
	if c.peer == "" {
		return r, nil
	}
	cluster, catalog := filepath.Join(folder, "cluster.json"), filepath.Join(folder, "catalog.json")
	if err := write(cluster, p.WriteCluster); err != nil {
		return nil, err
	}
	if err := write(catalog, p.WriteCatalog); err != nil {
		return nil, err
	}
	theirs, err := median(c.runs, func() (check.Answer, error) {
		return measure.Output(exec.Command(c.peer, "-f", cluster, "-catalog", catalog, "-timeout", c.timeout.String()))
	})
	if err != nil {
		return nil, err
	}
	r.theirs, r.theirReport = &theirs, check.Plan(p, theirs)
	return r, nil
}

func write(path string, content func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := content(f); err != nil {
		return err
	}
	return f.Close()
}

// median asks for an answer several times and returns the one that took the median time.
func median(runs int, ask func() (check.Answer, error)) (check.Answer, error) {
	var answers []check.Answer
	for range max(1, runs) {
		a, err := ask()
		if err != nil {
			return check.Answer{}, err
		}
		answers = append(answers, a)
		if a.Stats.PlanSeconds > 20 {
			break
		}
	}
	slices.SortFunc(answers, func(a, b check.Answer) int { return cmp.Compare(a.Stats.PlanSeconds, b.Stats.PlanSeconds) })
	return answers[len(answers)/2], nil
}
