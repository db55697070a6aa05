// Command dashboard asks of some scrapes of the watcher what Karpenter's published dashboard of capacity asks, by Prometheus's own engine, and
// prints of each panel's queries how many series answered at the most, as JSON.
//
//	dashboard FOLDER   with files MILLISECONDS.txt, each an answer of /metrics at that time
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// Answer is what became of one query of a panel.
type Answer struct {
	Panel      string
	Expression string // as it was asked, with the dashboard's variables filled in
	Series     int    // at the most, over all times that were asked about
	Absent     string `json:",omitempty"` // why nothing answers
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: board FOLDER")
		os.Exit(2)
	}
	answers, err := run(os.Args[1])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(answers)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "board:", err)
		os.Exit(1)
	}
}

func run(folder string) ([]Answer, error) {
	s, err := load(folder)
	if err != nil {
		return nil, err
	}
	engine := promql.NewEngine(promql.EngineOpts{
		Logger: promslog.NewNopLogger(), MaxSamples: 50_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, Parser: parser.NewParser(parser.Options{}),
	})
	defer engine.Close()
	var answers []Answer
	for _, p := range panels() {
		for _, q := range p.Queries {
			for _, expression := range s.filled(q.Expression) {
				n, err := s.ask(engine, expression)
				if err != nil {
					return nil, fmt.Errorf("panel %s: %s: %w", p.Title, expression, err)
				}
				answers = append(answers, Answer{p.Title, expression, n, q.Absent})
			}
		}
	}
	return answers, nil
}

// load reads the scrapes of a folder.
func load(folder string) (*store, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return nil, err
	}
	var times []int64
	for _, file := range files {
		at, err := strconv.ParseInt(strings.TrimSuffix(filepath.Base(file), ".txt"), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("file %s is not named by its time in milliseconds", file)
		}
		times = append(times, at)
	}
	if len(times) == 0 {
		return nil, fmt.Errorf("folder %s has no scrapes", folder)
	}
	slices.Sort(times)
	s := &store{}
	for _, at := range times {
		file, err := os.Open(filepath.Join(folder, fmt.Sprintf("%d.txt", at)))
		if err != nil {
			return nil, err
		}
		err = s.scrape(at, file)
		file.Close()
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// filled is a query with the dashboard's variables filled in as Grafana does where all values are chosen, once for each choice of what
// pods are told apart by.
func (s *store) filled(expression string) []string {
	const everySeconds = 20 // what $__rate_interval is at the least: four times between two scrapes
	expression = strings.ReplaceAll(expression, "$__rate_interval", fmt.Sprintf("%ds", everySeconds))
	for _, name := range chosen {
		expression = strings.ReplaceAll(expression, "$"+name+`"`, "("+strings.Join(s.labelValues("karpenter_nodes_allocatable", name), "|")+`)"`)
	}
	if !strings.Contains(expression, "$distribution_filter") {
		return []string{expression}
	}
	var out []string
	for _, filter := range filters {
		out = append(out, strings.ReplaceAll(expression, "$distribution_filter", filter))
	}
	return out
}

// ask evaluates a query at the time of each scrape and returns how many series answered at the most.
func (s *store) ask(engine *promql.Engine, expression string) (int, error) {
	most := 0
	for _, at := range s.times {
		query, err := engine.NewInstantQuery(context.Background(), s, nil, expression, time.UnixMilli(at))
		if err != nil {
			return 0, err
		}
		result := query.Exec(context.Background())
		vector, err := result.Vector()
		most = max(most, len(vector))
		query.Close()
		if err != nil {
			return 0, err
		}
	}
	return most, nil
}
