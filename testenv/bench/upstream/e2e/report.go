package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/onsi/ginkgo/v2/types"
)

// readReport takes from ginkgo's report what became of each spec. The suite's description stands before each text where ginkgo chooses specs.
func readReport(file, suite string) (description string, all []string, outcomes []Outcome, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", nil, nil, fmt.Errorf("suite %s has left no report: %w", suite, err)
	}
	var reports []types.Report
	if err := json.Unmarshal(data, &reports); err != nil {
		return "", nil, nil, fmt.Errorf("read the report of %s: %w", suite, err)
	}
	for _, report := range reports {
		description = report.SuiteDescription
		for _, s := range report.SpecReports {
			if s.LeafNodeType != types.NodeTypeIt {
				if s.State.Is(types.SpecStateFailureStates) {
					return "", nil, nil, fmt.Errorf("suite %s: %s: %s", suite, s.LeafNodeType, s.Failure.Message)
				}
				continue
			}
			text := strings.Join(append(append([]string{}, s.ContainerHierarchyTexts...), s.LeafNodeText), " ")
			all = append(all, text)
			if s.State.Is(types.SpecStateSkipped | types.SpecStatePending) {
				continue
			}
			o := Outcome{Suite: suite, Spec: text, Passed: s.State.Is(types.SpecStatePassed), Seconds: s.RunTime.Seconds()}
			if !o.Passed {
				at := s.Failure.Location
				o.Failure = fmt.Sprintf("%s (%s:%d, in %s)", strings.TrimSpace(firstLines(s.Failure.Message, 6)), path.Base(at.FileName), at.LineNumber, s.Failure.FailureNodeType)
			}
			outcomes = append(outcomes, o)
		}
	}
	return description, all, outcomes, nil
}

func firstLines(text string, n int) string {
	lines := strings.SplitN(text, "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], " / ")
}
