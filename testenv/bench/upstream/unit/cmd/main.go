// Command cmd runs Karpenter's unit specs against Joiner and compares what comes of each with DIFFERENCES.md, see package unit.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/joiner-sh/joiner/testenv/bench/upstream/unit"
)

func main() {
	suites := flag.String("suites", strings.Join(unit.Suites(), ","), "`FOLDERS` below Karpenter's pkg/controllers")
	focus := flag.String("focus", "", "run only specs whose text matches this `REGEXP`, and compare nothing")
	build := flag.Bool("build", false, "only compile them")
	quick := flag.Bool("quick", false, "keep objects in memory instead of in an API server: a look, not a result")
	write := flag.Bool("write", false, "write DIFFERENCES.md and the cases anew")
	last := flag.Bool("last", false, "run nothing: compare what the run before left")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	home, err := os.Getwd()
	if err == nil {
		err = run(ctx, unit.Options{
			Home: home, Cache: filepath.Join(home, "..", "..", "..", ".cache", "upstream"), Suites: strings.Split(*suites, ","), Focus: *focus, Build: *build, Quick: *quick, Out: os.Stderr,
		}, *write, *last)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o unit.Options, write, last bool) error {
	do := unit.Run
	if last {
		do = func(_ context.Context, o unit.Options) (*unit.Ran, error) { return unit.Last(o) }
	}
	ran, err := do(ctx, o)
	if err != nil || o.Build {
		return err
	}
	return unit.Check(o, ran, write)
}
