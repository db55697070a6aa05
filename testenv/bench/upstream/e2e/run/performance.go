package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/joiner-sh/joiner/testenv/bench/upstream/e2e"
	"github.com/joiner-sh/joiner/testenv/bench/upstream/e2e/performance"
)

// Where the page and the runs it reports are kept, from the module's folder.
var (
	pagePath    = filepath.Join("..", "..", "..", "..", "docs", "upstream.md")
	resultsPath = filepath.Join("performance", "results.json")
)

// compare runs the suite of performance on both sides, prints what each took, and keeps it.
func compare(ctx context.Context, o options, focus *regexp.Regexp, rows []e2e.Row) error {
	began := time.Now()
	w, err := e2e.Build(ctx, o.dir, performance.Suite)
	if err != nil {
		return err
	}
	r, err := performance.Build(ctx, w)
	if err != nil {
		return err
	}
	var specs []string
	for _, spec := range w.Listed[performance.Suite] {
		if focus.MatchString(spec) {
			specs = append(specs, spec)
		}
	}
	if len(specs) == 0 {
		return errors.New("no spec is to run; look at -focus")
	}
	fmt.Printf("built after %s\n", time.Since(began).Round(time.Second))
	r.Each = o.each
	r.Report = func(run performance.Run) { fmt.Print(performance.Line(run)) }
	runs, failed := r.Pairs(ctx, specs, o.performance)
	if len(runs) == 0 {
		return failed
	}
	fmt.Print(performance.Section(runs))
	if err := keep(rows, runs); err != nil {
		return errors.Join(failed, err)
	}
	fmt.Printf("after %s; logs and reports are in %s\n", time.Since(began).Round(time.Second), w.Dir)
	return failed
}

// keep writes runs to results.json, in the place of those of the same specs, and the page.
func keep(rows []e2e.Row, runs []performance.Run) error {
	text, err := os.ReadFile(resultsPath)
	if err != nil {
		return err
	}
	var old []performance.Run
	if err := json.Unmarshal(text, &old); err != nil {
		return fmt.Errorf("read %s: %w", resultsPath, err)
	}
	all := performance.Merge(old, runs)
	if text, err = json.MarshalIndent(all, "", " "); err != nil {
		return err
	}
	if err := os.WriteFile(resultsPath, append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.WriteFile(pagePath, []byte(page(rows, all)), 0o644)
}

func writePage(rows []e2e.Row) error {
	runs, err := performance.Kept()
	if err != nil {
		return err
	}
	return os.WriteFile(pagePath, []byte(page(rows, runs)), 0o644)
}

// page is docs/upstream.md.
func page(rows []e2e.Row, runs []performance.Run) string {
	return e2e.Page(rows) + "\n" + performance.Section(runs)
}
