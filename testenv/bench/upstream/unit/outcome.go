package unit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2/types"
)

// Status is what came of a spec.
type Status string

// What can come of a spec.
const (
	Passed      Status = "passed"
	Failed      Status = "failed"
	NotRunnable Status = "not runnable"
)

// Outcome is what came of one spec.
type Outcome struct {
	Suite  string
	Spec   string // its full text; the second of one text has " (2)" at the end
	Place  string // file of Karpenter's, below its folder
	Status Status
	Why    string // of a failure, its first lines; of what is not runnable, the reason
	Asked  int    // questions put to Joiner
	Took   float64

	text string // as the spec is called, without a number
}

const nobodyAsks = "no plan is asked for in it: it looks at what is beside Karpenter's planner, or calls a part of it directly"

// outcomes reads what a suite left, in the order of the report.
func outcomes(s *Suite) ([]Outcome, []input, error) {
	text, err := os.ReadFile(s.Report)
	if err != nil {
		return nil, nil, err
	}
	var reports []types.Report
	if err := json.Unmarshal(text, &reports); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", s.Report, err)
	}
	var asked []input
	for _, path := range s.Questions {
		questions, err := readQuestions(path)
		if err != nil {
			return nil, nil, err
		}
		asked = append(asked, questions...)
	}
	count := map[string]int{}
	for i := range asked {
		count[asked[i].Spec+"\n"+asked[i].Place]++
	}
	var out []Outcome
	seen := map[string]int{}
	for _, r := range reports {
		for i := range r.SpecReports {
			spec := &r.SpecReports[i]
			if spec.LeafNodeType != types.NodeTypeIt {
				if spec.Failed() {
					return nil, nil, fmt.Errorf("suite %s: %s failed: %s", s.Name, spec.LeafNodeType, spec.FailureMessage())
				}
				continue
			}
			o := Outcome{Suite: s.Name, Spec: spec.FullText(), Place: place(spec), Took: spec.RunTime.Seconds()}
			o.Asked = count[o.Spec+"\n"+o.Place]
			o.text = o.Spec
			if seen[o.Spec]++; seen[o.Spec] > 1 {
				o.Spec = fmt.Sprintf("%s (%d)", o.Spec, seen[o.Spec])
			}
			switch {
			case spec.State.Is(types.SpecStatePassed) && runs(&o):
				o.Status = Passed
			case spec.State.Is(types.SpecStatePassed):
				o.Status, o.Why = NotRunnable, nobodyAsks
			case spec.State.Is(types.SpecStateSkipped | types.SpecStatePending):
				o.Status, o.Why = NotRunnable, strings.TrimPrefix(spec.FailureMessage(), "not runnable: ")
				if o.Why == "" {
					continue // not in the focus, or pending with them
				}
			default:
				o.Status, o.Why = Failed, firstLines(spec.FailureMessage(), 3)
			}
			out = append(out, o)
		}
	}
	return out, asked, nil
}

// place is the file of a spec below Karpenter's folder, and the line.
func place(spec *types.SpecReport) string {
	at := spec.LeafNodeLocation
	name := at.FileName
	if _, below, ok := strings.Cut(name, "/pkg/"); ok {
		name = "pkg/" + below
	}
	return fmt.Sprintf("%s:%d", name, at.LineNumber)
}

func firstLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines[:min(n, len(lines))], " ")
}

// input is a line of what package seam writes, see there.
type input struct {
	Spec    string            `json:"spec"`
	Place   string            `json:"place"`
	Call    int               `json:"call"`
	Args    []string          `json:"args"`
	Objects []json.RawMessage `json:"objects"`
	Catalog json.RawMessage   `json:"catalog"`
	Answer  json.RawMessage   `json:"answer"`
	Status  int               `json:"status"`
}

func readQuestions(path string) ([]input, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var out []input
	reader := bufio.NewReader(file)
	for {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		var q input
		if err := json.Unmarshal(line, &q); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, q)
	}
}

// sorted orders outcomes by suite and text.
func sorted(all []Outcome) []Outcome {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Outcome) int { return strings.Compare(a.Suite+"\n"+a.Spec, b.Suite+"\n"+b.Spec) })
	return all
}
