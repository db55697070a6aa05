package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/testenv/bench/bound"
	"github.com/joiner-sh/joiner/testenv/bench/converge"
	"github.com/joiner-sh/joiner/testenv/bench/problem"
)

// clusters lists the clusters to give nodes back of.
func clusters(c config) ([]problem.Spec, error) {
	var out []problem.Spec
	seeds, err := numbers("seeds", c.seeds)
	if err != nil {
		return nil, err
	}
	sizes, err := numbers("nodes", c.nodes)
	if err != nil {
		return nil, err
	}
	for _, family := range []string{"underused", "packed"} {
		for _, nodes := range sizes {
			for _, seed := range seeds {
				if c.only == "" || strings.Contains(","+c.only+",", ","+family+",") {
					out = append(out, problem.Spec{Family: family, Nodes: nodes, Seed: uint64(seed)})
				}
			}
		}
	}
	return out, nil
}

func numbers(flag, text string) ([]int, error) {
	var out []int
	for _, part := range strings.Split(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n <= 0 {
			return nil, fmt.Errorf("--%s %q: %q is no number above 0; numbers are separated by commas, as in 100,500", flag, text, part)
		}
		out = append(out, n)
	}
	return out, nil
}

const clusterHeading = "cluster                  whose  decisions  commands  nodes back/new   pods moved  fewest  median s     max s     all s max cpu s all cpu s  nothing s  allocated      peak       $/h before and after  of bound  broken"

// consolidations gives each cluster to both until nothing of it is left to be given back.
func consolidations(c config) (ok bool, err error) {
	specs, err := clusters(c)
	if err != nil {
		return false, err
	}
	folder, err := os.MkdirTemp("", "compare")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(folder)
	fmt.Println(clusterHeading)
	ok = true
	for _, spec := range specs {
		fine, err := consolidation(c, folder, spec)
		if err != nil {
			return false, fmt.Errorf("%s: %w", spec, err)
		}
		ok = ok && fine
	}
	return ok, nil
}

// consolidation prints what becomes of one cluster. It is fine where ours breaks no rule, ends, and costs no more than the
// peer's.
func consolidation(c config, folder string, spec problem.Spec) (fine bool, err error) {
	p, err := problem.New(spec)
	if err != nil {
		return false, err
	}
	least, fewest := 0.0, 0
	if spec.Nodes <= c.boundNodes {
		least = bound.Price(p.FromNothing(), bound.Options{EmptyHost: true, EveryZone: true, Branches: 2_000_000}).PerHour
		fewest = bound.Moves(bound.NodesOf(p), least*mostOfBound)
	}
	ours, err := converge.Start(spec, converge.Options{})
	if err != nil {
		return false, err
	}
	name := fmt.Sprintf("%s-n%d-s%d", spec.Family, spec.Nodes, spec.Seed)
	clusterLine(name, "ours", ours, least, fewest)
	for i, v := range ours.Violations {
		if i == 3 {
			fmt.Printf("  … and %d more\n", len(ours.Violations)-i)
			break
		}
		fmt.Printf("  ours breaks %s\n", v)
	}
	fine = ours.Finished && len(ours.Violations) == 0
	if c.peer == "" || spec.Nodes > c.peerNodes {
		return fine, nil
	}
	cluster, catalog := filepath.Join(folder, "cluster.json"), filepath.Join(folder, "catalog.json")
	if err := write(cluster, p.WriteCluster); err != nil {
		return false, err
	}
	if err := write(catalog, p.WriteCatalog); err != nil {
		return false, err
	}
	theirs, err := converge.Output(exec.Command(c.peer, "-consolidate", "-f", cluster, "-catalog", catalog, "-timeout", c.timeout.String()))
	if err != nil {
		return false, err
	}
	clusterLine(name, "peer", theirs, least, fewest)
	fmt.Printf("%-24s %-5s %10s %9s %15s %12s %7s %9s %9s %9s %9s %9s %10s %10s %9s %26s\n", "", "ratio", count(theirs.Decisions, ours.Decisions), count(theirs.Commands, ours.Commands), "",
		count(theirs.PodsMoved, ours.PodsMoved), "", over(theirs.MedianSeconds, ours.MedianSeconds), over(theirs.MaxSeconds, ours.MaxSeconds), over(theirs.TotalSeconds, ours.TotalSeconds), over(theirs.CPUSeconds, ours.CPUSeconds), over(theirs.TotalCPUSeconds, ours.TotalCPUSeconds), over(theirs.LastSeconds, ours.LastSeconds),
		over(float64(theirs.AllocBytes), float64(ours.AllocBytes)), over(float64(theirs.PeakBytes), float64(ours.PeakBytes)), over(theirs.PriceLast, ours.PriceLast))
	return fine && (!theirs.Finished || ours.PriceLast <= theirs.PriceLast*(1+1e-9)), nil
}

func count(a, b int) string { return over(float64(a), float64(b)) }

// mostOfBound is the share of the bound that the fewest moves are told for.
const mostOfBound = 1.15

func clusterLine(name, whose string, r converge.Result, least float64, fewest int) {
	ofBound, moves := "–", "–"
	if least > 0 {
		ofBound, moves = fmt.Sprintf("%.3f", r.PriceLast/least), strconv.Itoa(fewest)
	}
	nothing := fmt.Sprintf("%.3f", r.LastSeconds)
	if !r.Finished {
		nothing = "cut short"
	}
	fmt.Printf("%-24s %-5s %10d %9d %15s %12d %7s %9.3f %9.3f %9.3f %9.3f %9.3f %10s %7.0f MB %6.0f MB %12.3f → %11.3f %9s %7d\n", name, whose, r.Decisions, r.Commands,
		fmt.Sprintf("%d/%d", r.Removed, r.Added), r.PodsMoved, moves, r.MedianSeconds, r.MaxSeconds, r.TotalSeconds, r.CPUSeconds, r.TotalCPUSeconds, nothing, float64(r.AllocBytes)/1e6, float64(r.PeakBytes)/1e6,
		r.PriceFirst, r.PriceLast, ofBound, len(r.Violations))
}
