package lambdaruntime_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
)

func TestLogHasTheLinesOfTheServiceAroundTheFunctions(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{})
	deploy(t, runner)
	result := invoke(t, runner, `{"do":"log","text":"hello"}`)
	want := []struct {
		inInvocation bool
		pattern      string
	}{
		{false, `^INIT_START `},
		{false, `^init$`},
		{true, `^START RequestId: ` + result.RequestID + ` Version: \$LATEST$`},
		{true, `^hello$`},
		{true, `^no line end$`},
		{true, `^END RequestId: ` + result.RequestID + `$`},
		{true, `^REPORT RequestId: ` + result.RequestID + `\tDuration: [0-9.]+ ms\tBilled Duration: [0-9]+ ms\tMemory Size: 128 MB\t` +
			`Max Memory Used: [0-9]+ MB\tInit Duration: [0-9.]+ ms$`},
	}
	lines := runner.Logs("fixture")
	if len(lines) != len(want) {
		t.Fatalf("got %d lines, want %d: %+v", len(lines), len(want), lines)
	}
	for i, line := range lines {
		if !regexp.MustCompile(want[i].pattern).MatchString(line.Text) || (line.RequestID == result.RequestID) != want[i].inInvocation {
			t.Errorf("line %d: got %q of request %q, want %s", i, line.Text, line.RequestID, want[i].pattern)
		}
	}
}

func TestLinesReachTheSinkBeforeInvokeReturns(t *testing.T) {
	var mu sync.Mutex
	var texts []string
	runner := newRunner(t, lambdaruntime.Config{OnLog: func(line lambdaruntime.LogLine) {
		mu.Lock()
		defer mu.Unlock()
		texts = append(texts, line.Text)
	}})
	deploy(t, runner)
	for i := range 20 {
		text := fmt.Sprintf("line %d", i)
		invoke(t, runner, fmt.Sprintf(`{"do":"log","text":%q}`, text))
		mu.Lock()
		got := strings.Join(texts, "\n")
		mu.Unlock()
		if !strings.Contains(got, text+"\n") || !strings.Contains(texts[len(texts)-1], "REPORT") {
			t.Fatalf("after invocation %d the sink has not all of its lines:\n%s", i, got)
		}
	}
}

func TestEmbeddedMetricsAreRead(t *testing.T) {
	const directive = `{"_aws":{"Timestamp":1700000000000,"CloudWatchMetrics":[{"Namespace":"Joiner","Dimensions":[["Cluster"],[]],` +
		`"Metrics":[{"Name":"Pods","Unit":"Count"},{"Name":"PlanMillis"},{"Name":"Absent"}]}]},"Cluster":"web","Pods":3,"PlanMillis":[1.5,2]}`
	var seen []lambdaruntime.Metric
	runner := newRunner(t, lambdaruntime.Config{OnMetric: func(m lambdaruntime.Metric) { seen = append(seen, m) }})
	deploy(t, runner)
	event, err := json.Marshal(map[string]string{"do": "log", "text": directive})
	if err != nil {
		t.Fatal(err)
	}
	result := invoke(t, runner, string(event))
	var got []string
	for _, m := range runner.Metrics("fixture") {
		if m.RequestID != result.RequestID || m.Time.UnixMilli() != 1700000000000 {
			t.Errorf("metric %+v: wrong request or time", m)
		}
		got = append(got, fmt.Sprint(m.Namespace, " ", m.Name, " ", m.Unit, " ", m.Dimensions, " ", m.Values))
	}
	want := []string{
		"Joiner Pods Count map[Cluster:web] [3]", "Joiner PlanMillis None map[Cluster:web] [1.5 2]",
		"Joiner Pods Count map[] [3]", "Joiner PlanMillis None map[] [1.5 2]",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || len(seen) != len(want) {
		t.Errorf("got %d in the hook and\n%s\nwant\n%s", len(seen), strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestLinesThatAreNoMetricsAreNotRead(t *testing.T) {
	cases := map[string]string{
		"text":              `hello "_aws"`,
		"other JSON":        `{"level":"info","_aws":7}`,
		"no namespace":      `{"_aws":{"CloudWatchMetrics":[{"Metrics":[{"Name":"A"}]}]},"A":1}`,
		"absent dimension":  `{"_aws":{"CloudWatchMetrics":[{"Namespace":"N","Dimensions":[["D"]],"Metrics":[{"Name":"A"}]}]},"A":1}`,
		"value not numeric": `{"_aws":{"CloudWatchMetrics":[{"Namespace":"N","Metrics":[{"Name":"A"}]}]},"A":"1"}`,
		"value null":        `{"_aws":{"CloudWatchMetrics":[{"Namespace":"N","Metrics":[{"Name":"A"}]}]},"A":null}`,
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			runner := newRunner(t, lambdaruntime.Config{})
			deploy(t, runner)
			event, err := json.Marshal(map[string]string{"do": "log", "text": text})
			if err != nil {
				t.Fatal(err)
			}
			invoke(t, runner, string(event))
			if got := runner.Metrics("fixture"); len(got) != 0 {
				t.Errorf("got %+v, want none", got)
			}
		})
	}
}
