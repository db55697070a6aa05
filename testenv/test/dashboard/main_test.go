package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folder writes scrapes five seconds apart into one.
func folder(t *testing.T, scrapes ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i, text := range scrapes {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.txt", 1_772_366_400_000+5_000*i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func asked(t *testing.T, title string, scrapes ...string) map[string]int {
	t.Helper()
	answers, err := run(folder(t, scrapes...))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, a := range answers {
		if a.Panel == title {
			out[a.Expression] = a.Series
		}
	}
	return out
}

const oneNode = `# TYPE karpenter_nodes_allocatable gauge
karpenter_nodes_allocatable{arch="arm64",capacity_type="spot",instance_type="m7g.large",node_name="a",nodepool="general",resource_type="cpu",zone="us-west-2a"} 2
karpenter_nodes_allocatable{arch="amd64",capacity_type="",instance_type="m5.large",node_name="b",nodepool="N/A",resource_type="cpu",zone="us-west-2a"} 2
`

func TestPanelsAreQueriedWithTheDashboardsVariables(t *testing.T) {
	got := asked(t, "Spot Node Percentage", oneNode)
	for expression, n := range got {
		if n != 1 || strings.Contains(expression, "$") || !strings.Contains(expression, `nodepool=~"(N/A|general)"`) || !strings.Contains(expression, `arch=~"(amd64|arm64)"`) {
			t.Errorf("%s: %d", expression, n)
		}
	}
	if len(got) != 1 {
		t.Errorf("asked %v", got)
	}
	if got := asked(t, "Pod Distribution", oneNode); len(got) != len(filters) {
		t.Errorf("asked %v", got)
	}
}

// A counter has a rate from its second scrape on; a metric nobody tells has no answer.
func TestRateTakesTwoScrapes(t *testing.T) {
	counter := "# TYPE karpenter_nodes_created_total counter\nkarpenter_nodes_created_total{nodepool=\"general\",zone=\"us-west-2a\"} 1\n"
	for scrapes, want := range map[int]int{1: 0, 2: 1} {
		var texts []string
		for range scrapes {
			texts = append(texts, oneNode+counter)
		}
		for expression, n := range asked(t, "Nodes Created by nodepool", texts...) {
			if strings.Contains(expression, "rate(") && n != want || !strings.Contains(expression, "rate(") && n != 1 {
				t.Errorf("after %d scrapes %s has %d answers", scrapes, expression, n)
			}
		}
	}
	for expression, n := range asked(t, "Pod Phase", oneNode) {
		if n != 0 {
			t.Errorf("%s has %d answers", expression, n)
		}
	}
}

// What is gone from a scrape is gone from the dashboard at once, and not after five minutes.
func TestSeriesEndsWithItsObject(t *testing.T) {
	pod := "# TYPE karpenter_pods_state gauge\nkarpenter_pods_state{phase=\"Pending\"} 1\n"
	s, err := load(folder(t, oneNode+pod, oneNode))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range s.series {
		if k.labels.Get("phase") == "Pending" && len(k.samples) != 2 {
			t.Errorf("it has %d samples, and no end", len(k.samples))
		}
	}
}

func TestWhatIsNoScrapeIsAnError(t *testing.T) {
	if _, err := run(t.TempDir()); err == nil || !strings.Contains(err.Error(), "has no scrapes") {
		t.Errorf("%v", err)
	}
	if _, err := run(folder(t, "no metric {")); err == nil || !strings.Contains(err.Error(), "read the scrape") {
		t.Errorf("%v", err)
	}
}
