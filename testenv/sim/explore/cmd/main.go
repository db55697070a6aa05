// Command cmd looks through everything a tiny world can do within bounds, and exits with 1 where a rule is broken.
//
//	go run ./testenv/sim/explore/cmd -pods 3 -runs 2 -faults 2 -pauses 2
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/testenv/sim/explore"
)

func main() {
	var b explore.Bounds
	flag.IntVar(&b.Pods, "pods", 3, "pods that wait, one to a machine")
	flag.IntVar(&b.Limit, "limit", 3, "nodes the pool may have; 0 = any number")
	flag.IntVar(&b.Stock, "stock", 0, "machines the cheapest offer of each zone has; 0 = plenty")
	flag.IntVar(&b.Runs, "runs", 2, "runs of the planner")
	flag.IntVar(&b.Together, "together", 2, "of them at most at once")
	flag.IntVar(&b.Faults, "faults", 2, "operations that fail, lose their answer, or kill their planner")
	flag.IntVar(&b.Pauses, "pauses", 2, "times that time passes")
	flag.IntVar(&b.States, "states", 0, "states after which to stop; 0 = look at all")
	flag.IntVar(&b.Workers, "workers", runtime.NumCPU(), "executions at once")
	flag.Parse()
	began := time.Now()
	report := explore.Explore(b)
	fmt.Printf("%s in %s\n", report, time.Since(began).Round(time.Second))
	for _, f := range report.Violations {
		fmt.Printf("\n%s\n  %s\n", f.Violation, strings.Join(f.Trace, "\n  "))
	}
	if len(report.Violations) > 0 {
		os.Exit(1)
	}
}
