package boot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// emf is a document of the embedded metric format. Source: "Specification: Embedded metric format" in the user guide of CloudWatch.
type emf struct {
	Timestamp         int64
	CloudWatchMetrics []struct {
		Namespace  string
		Dimensions [][]string
		Metrics    []struct{ Name, Unit string }
	}
}

// units are those CloudWatch knows of which we use some.
var units = []string{"Seconds", "Milliseconds", "Count", "None"}

// conform says what of a line is not as the format's specification has it, and returns the document.
func conform(line []byte) (problems []string, document emf, root map[string]any) {
	problem := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(line, &raw); err != nil {
		return []string{err.Error()}, document, nil
	}
	strict := json.NewDecoder(bytes.NewReader(raw["_aws"]))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&document); err != nil {
		return []string{err.Error()}, document, nil
	}
	_ = json.Unmarshal(line, &root)
	problem(document.Timestamp < 1e12, "the timestamp %d is not in milliseconds", document.Timestamp)
	problem(len(document.CloudWatchMetrics) == 0, "there is no directive")
	for _, d := range document.CloudWatchMetrics {
		problem(len(d.Namespace) < 1 || len(d.Namespace) > 255, "namespace %q", d.Namespace)
		problem(len(d.Metrics) > 100, "%d metrics", len(d.Metrics))
		problem(len(d.Dimensions) == 0, "there is no set of dimensions")
		for _, set := range d.Dimensions {
			problem(len(set) > 30, "%d dimensions", len(set))
			for _, name := range set {
				value, text := root[name].(string)
				problem(!text || strings.TrimSpace(value) == "" || len(value) > 1024 || !regexp.MustCompile(`^[ -~]+$`).MatchString(value), "dimension %s is %q", name, value)
			}
		}
		for _, m := range d.Metrics {
			problem(!slices.Contains(units, m.Unit), "unit %q of %s", m.Unit, m.Name)
			switch value := root[m.Name].(type) {
			case float64:
			case []any:
				problem(len(value) < 1 || len(value) > 100, "%d values of %s", len(value), m.Name)
			default:
				problem(true, "the value of %s is %v", m.Name, value)
			}
		}
	}
	return problems, document, root
}

func sent(t *testing.T, setting MetricsSetting, samples ...Sample) []string {
	t.Helper()
	var out bytes.Buffer
	MetricsTo(&out, func() time.Time { return time.UnixMilli(1772366400123) }, setting).Send(samples)
	var lines []string
	for line := range strings.Lines(out.String()) {
		if problems, _, _ := conform([]byte(line)); len(problems) > 0 {
			t.Errorf("%s: %v", line, problems)
		}
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	return lines
}

func TestSamplesOfOneClusterAreOneDocument(t *testing.T) {
	lines := sent(t, MetricsOn,
		SchedulerQueueDepth.Of(12, "prod"), NodesCreated.Of(2, "prod", "general"), SchedulerUnschedulablePods.Of(0, "prod"),
		NodesTerminationDuration.Of(4, "prod"), NodesTerminationDuration.Of(9, "prod"), SilentWatchers.Of(1))
	want := []string{
		`{"SilentWatchers":1,"_aws":{"CloudWatchMetrics":[{"Namespace":"Joiner","Dimensions":[[]],"Metrics":[{"Name":"SilentWatchers","Unit":"Count"}]}],"Timestamp":1772366400123}}`,
		`{"Cluster":"prod","NodesTerminationDuration":[4,9],"SchedulerQueueDepth":12,"_aws":{"CloudWatchMetrics":[{"Namespace":"Joiner","Dimensions":[["Cluster"]],` +
			`"Metrics":[{"Name":"NodesTerminationDuration","Unit":"Seconds"},{"Name":"SchedulerQueueDepth","Unit":"Count"}]}],"Timestamp":1772366400123}}`,
		`{"Cluster":"prod","NodePool":"general","NodesCreated":2,"_aws":{"CloudWatchMetrics":[{"Namespace":"Joiner","Dimensions":[["Cluster","NodePool"]],` +
			`"Metrics":[{"Name":"NodesCreated","Unit":"Count"}]}],"Timestamp":1772366400123}}`,
	}
	if !slices.Equal(lines, want) {
		t.Errorf("wrote\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

// Limits of the format: what is too much for one document goes into another, and no value of a dimension is refused.
func TestDocumentsKeepToTheFormatsLimits(t *testing.T) {
	var many []Sample
	for i := range 250 {
		many = append(many, NodesTerminationDuration.Of(float64(i+1), "prod"))
	}
	lines := sent(t, MetricsOn, many...)
	if len(lines) != 3 {
		t.Errorf("250 values are in %d documents", len(lines))
	}
	n := 0
	for _, line := range lines {
		_, _, root := conform([]byte(line))
		n += len(root["NodesTerminationDuration"].([]any))
	}
	if n != 250 {
		t.Errorf("%d of 250 values were written", n)
	}
	for _, value := range []string{"", "  ", "\x00\n", "größer", strings.Repeat("x", 5000)} {
		if lines := sent(t, MetricsOn, NodesCreated.Of(1, "prod", value)); len(lines) != 1 {
			t.Errorf("of the value %.20q there are %d documents", value, len(lines))
		}
	}
}

// An idle installation pays for no metric: nothing is sent of what is 0, and without the setting only what alarms go by.
func TestWithoutTheSettingOnlyWhatAlarmsGoByIsSent(t *testing.T) {
	if lines := sent(t, MetricsOn, SchedulerQueueDepth.Of(0, "prod"), SilentWatchers.Of(0)); len(lines) != 0 {
		t.Errorf("wrote %v", lines)
	}
	for _, s := range AllSeries() {
		lines := sent(t, MetricsOff, s.Of(1, make([]string, len(s.Dimensions))...))
		if (len(lines) == 1) != s.Always {
			t.Errorf("of %s %d lines were written", s.Name, len(lines))
		}
		if s.Always && len(s.Dimensions) > 0 {
			t.Errorf("%s is always sent and has dimensions: each costs as much as three alarms", s.Name)
		}
	}
	var none *Metrics
	none.Send([]Sample{SilentWatchers.Of(1)})
}

func TestEverySeriesIsNamedAndMeansSomething(t *testing.T) {
	seen := map[string]bool{}
	allowed := []string{"Cluster", "NodePool", "CapacityType", "Reason", "Decision", "MessageType", "Blocker",
		"ConsolidationPolicy", "TerminationMode"}
	for _, s := range AllSeries() {
		if !regexp.MustCompile(`^[A-Z][A-Za-z0-9]+$`).MatchString(s.Name) || seen[s.Name] || s.Means == "" || s.Program == "" || !slices.Contains(units, s.Unit) {
			t.Errorf("%+v", s)
		}
		for _, d := range s.Dimensions {
			if !slices.Contains(allowed, d) {
				t.Errorf("%s has the dimension %s, which is not one of few values", s.Name, d)
			}
		}
		seen[s.Name] = true
	}
}

func TestSampleWithTheWrongDimensionsIsAMistake(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("nothing was said")
		}
	}()
	NodesCreated.Of(1, "prod")
}
