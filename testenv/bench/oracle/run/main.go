// Command run evaluates plans of random problems, and about giving nodes back of random clusters, by the real kube-scheduler and
// prints what it did and found; so it does of what Karpenter's unit specs ask for. With -seed or -spec it evaluates one problem again and
// writes it down as files.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/bench/oracle"
	"github.com/joiner-sh/joiner/testenv/bench/oracle/problem"
)

func main() {
	var c oracle.Campaign
	flag.IntVar(&c.Problems, "problems", 10_000, "problems to plan and judge")
	flag.IntVar(&c.Pairs, "pairs", 1_000_000, "pairs of pod and node to compare, at least")
	flag.Uint64Var(&c.First, "first", 0, "the first seed")
	flag.IntVar(&c.Workers, "workers", runtime.GOMAXPROCS(0), "problems at once")
	var d oracle.Disruptions
	flag.IntVar(&d.Clusters, "clusters", 2000, "clusters of which nodes are given back")
	var claims oracle.Devices
	flag.IntVar(&claims.Claims, "claims", 10_000, "claims for devices to compare, at least")
	alone := flag.Bool("devices", false, "compare claims for devices, and nothing else")
	spreads := flag.Int("spreads", 2000, "clusters whose pods are spread, of which nodes are given back")
	sizes := flag.String("nodes", "100,1000", "sizes of the benchmarks' clusters of which nodes are given back, with commas between them; empty = none")
	families := flag.String("families", "underused,guarded", "families of them")
	seeds := flag.Uint64("seeds", 3, "of each size and family of them")
	perKind := flag.Int("show", 5, "findings of each kind to print")
	seed := flag.Int64("seed", -1, "judge the problem of this seed only, and write it down")
	spec := flag.Int64("spec", -1, "judge the case of Karpenter's unit specs of this number only, and write it down; -shrink does what it says")
	crowded := flag.Bool("crowded", false, "with -seed: the problem as pairs are taken from it")
	only := flag.String("only", "", "checks to judge, with commas between them; empty = all")
	var like string
	flag.StringVar(&like, "shrink", "", "with -seed: leave out of the problem what a finding of this check does not need")
	settled := flag.Bool("settled", false, "with -seed: the cluster of which nodes are given back")
	spreadOut := flag.Bool("spread", false, "with -seed: the cluster whose pods are spread, of which nodes are given back; -shrink does what it says")
	folder := flag.String("out", ".", "with -seed: where to")
	flag.Parse()
	c.Depth = oracle.Default
	for name := range strings.SplitSeq(*only, ",") {
		if name != "" {
			c.Depth.Only = append(c.Depth.Only, oracle.Check(name))
		}
	}
	if *seed >= 0 && (*settled || *spreadOut) {
		cluster := oracle.Settled
		if *spreadOut {
			cluster = oracle.SpreadOut
		}
		if err := disrupt(cluster, uint64(*seed), like, *folder); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if *spec >= 0 {
		if err := recorded(uint64(*spec), c.Depth, like, *folder); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if *seed >= 0 {
		if err := one(uint64(*seed), *crowded, like, *folder); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	claims.First = c.First
	if *alone {
		os.Exit(compareDevices(claims, *perKind))
	}
	var nodes []int
	for size := range strings.SplitSeq(*sizes, ",") {
		if n, err := strconv.Atoi(size); err == nil && n > 0 {
			nodes = append(nodes, n)
		} else if *sizes != "" {
			fmt.Fprintf(os.Stderr, "-nodes: %q is not a number of nodes; write 100,1000 or the like\n", size)
			os.Exit(2)
		}
	}
	specs, err := oracle.Specs{Path: oracle.SpecCases, Every: 1, Workers: c.Workers, Depth: c.Depth}.Run()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	specs.Write(os.Stdout, *perKind)
	devices, err := claims.Run()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	devices.Write(os.Stdout, *perKind)
	report := c.Run()
	report.Write(os.Stdout, *perKind)
	d.First, d.Workers, d.Depth = c.First, c.Workers, c.Depth
	given := d.Run()
	given.Write(os.Stdout, *perKind)
	spread := oracle.Disruptions{Clusters: *spreads, Spread: true, First: c.First, Workers: c.Workers, Depth: c.Depth}.Run()
	spread.Write(os.Stdout, *perKind)
	fresh, gone := oracle.New(report.Findings, oracle.Known, c.First, c.First+uint64(c.Problems))
	for _, f := range gone {
		fmt.Println(f)
	}
	freshSpread, goneSpread := oracle.New(spread.Findings, oracle.KnownSpread, c.First, c.First+uint64(*spreads))
	for _, f := range goneSpread {
		fmt.Println(f)
	}
	fmt.Printf("of clusters whose pods are spread %d findings are known (OWED.md), %d are new, %d known ones are gone\n", len(spread.Findings)-len(freshSpread), len(freshSpread), len(goneSpread))
	fmt.Printf("%d findings are known (OWED.md), %d are new, %d known ones are gone\n", len(report.Findings)-len(fresh), len(fresh), len(gone))
	fresh = append(fresh, gone...)
	sound := oracle.Convergences(os.Stdout, strings.Split(*families, ","), nodes, *seeds, oracle.Depth{Orders: 1})
	if len(fresh)+len(report.Fit.Findings)+len(report.Errors) > 0 || len(freshSpread)+len(goneSpread)+len(spread.Errors) > 0 || given.Failed() || specs.Failed() || devices.Failed() ||
		!sound {
		os.Exit(1)
	}
}

// recorded evaluates the problem of a case of Karpenter's specs.
func recorded(number uint64, depth oracle.Depth, like, folder string) error {
	p, asks, err := oracle.SpecProblem(oracle.SpecCases, number)
	if err != nil {
		return err
	}
	fmt.Println(asks)
	if !p.Asked.Disrupt {
		return again(p, evaluatePlan, true, like, folder)
	}
	if err := write(p, folder); err != nil {
		return err
	}
	report, err := oracle.Specs{Path: oracle.SpecCases, First: int(number), Every: 1 << 30, Depth: depth}.Run()
	if err != nil {
		return err
	}
	report.Write(os.Stdout, 100)
	return nil
}

// one evaluates the problem of a seed.
func one(seed uint64, crowded bool, like, folder string) error {
	size, evaluate := oracle.SizeOf(seed), evaluatePlan
	if crowded {
		size, evaluate = problem.Crowded, evaluateFit
	}
	p := problem.New(seed, size)
	return again(p, evaluate, !crowded, like, folder)
}

// again evaluates a problem, writes it down, and prints the plan, where it is about one, and findings.
func again(p *problem.Problem, evaluate func(*problem.Problem) ([]oracle.Finding, error), plans bool, like, folder string) error {
	findings, err := evaluate(p)
	if err != nil {
		return err
	}
	if at := slices.IndexFunc(findings, func(f oracle.Finding) bool { return string(f.Check) == like }); at >= 0 {
		p = oracle.Shrink(p, oracle.Like(findings[at], oracle.Default))
		if findings, err = evaluate(p); err != nil {
			return err
		}
	}
	if err := write(p, folder); err != nil {
		return err
	}
	if plans {
		show(pack.Plan(p.Input()))
	}
	for _, f := range findings {
		fmt.Println(f)
	}
	fmt.Printf("%d findings\n", len(findings))
	return nil
}

// disrupt evaluates what is disrupted of a single cluster, writes that down, and prints commands and findings.
func disrupt(cluster func(uint64) (*problem.Problem, error), seed uint64, like, folder string) error {
	p, err := cluster(seed)
	if err != nil {
		return err
	}
	if like != "" {
		p = oracle.ShrinkDisrupt(p, oracle.Check(like), oracle.Default)
	}
	if err := write(p, folder); err != nil {
		return err
	}
	plan := disruption.Plan(p.Running())
	for i, c := range plan.Commands {
		fmt.Printf("command %d: %s: %v, saves $%v/h\n", i, c.Reason, c.Nodes, c.Savings.USD())
		show(model.Plan{Nominations: c.Moves, Claims: c.Replacements})
	}
	for _, k := range plan.Kept {
		fmt.Printf("node %s stays: %s: %s\n", k.Node, k.Reasons[0].Code, k.Reasons[0].Message)
	}
	v, err := oracle.EvaluateDisruptPlan(p, &plan, oracle.Default)
	if err != nil {
		return err
	}
	for _, f := range v.Findings {
		fmt.Println(f)
	}
	fmt.Printf("%d findings\n", len(v.Findings))
	return nil
}

func evaluatePlan(p *problem.Problem) ([]oracle.Finding, error) {
	v, err := oracle.Evaluate(p, oracle.Default)
	return v.Findings, err
}

func evaluateFit(p *problem.Problem) ([]oracle.Finding, error) {
	v, err := oracle.EvaluateFit(p)
	return v.Findings, err
}

// show prints where a plan has each pod.
func show(plan model.Plan) {
	for _, n := range plan.Nominations {
		for _, pod := range n.Pods {
			fmt.Printf("pod %s on node %s\n", pod.Key(), n.Node)
		}
	}
	for _, c := range plan.Claims {
		fmt.Printf("claim %s of %s: cheapest %v, %d types, %v, %v, labels %v\n", c.Name, c.Pool, c.Offering, len(c.InstanceTypes), c.Zones, c.CapacityTypes, c.Labels)
		for _, pod := range c.Pods {
			fmt.Printf("pod %s on claim %s\n", pod.Key(), c.Name)
		}
	}
	for _, u := range plan.Unschedulable {
		for _, r := range u.Reasons {
			fmt.Printf("pod %s nowhere: %s: %s: %s\n", u.Pod.Key(), r.Pool, r.Code, r.Message)
		}
	}
}

// write puts the problem into files that the command line reads.
func write(p *problem.Problem, folder string) error {
	text, err := p.YAML()
	if err != nil {
		return err
	}
	catalog, err := p.CatalogJSON()
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{fmt.Sprintf("problem-%d.yaml", p.Seed): text, fmt.Sprintf("catalog-%d.json", p.Seed): catalog} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
			return err
		}
	}
	fmt.Printf("joiner plan provision -f problem-%d.yaml --catalog catalog-%d.json\n", p.Seed, p.Seed)
	return nil
}

// compareDevices compares claims for devices and returns the status to exit with.
func compareDevices(claims oracle.Devices, show int) int {
	report, err := claims.Run()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	report.Write(os.Stdout, show)
	if report.Failed() {
		return 1
	}
	return 0
}
