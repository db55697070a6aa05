package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/cmd/watcher/metrics"
)

const chartFolder = "../../../infra/chart"

// queries are expressions of PromQL with where each stands.
type queries map[string]string

// ofDashboard reads the expressions of the chart's dashboard, by panel.
func ofDashboard(t *testing.T) queries {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chartFolder, "files/dashboards/joiner.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Type    string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	out := queries{}
	for i, p := range dashboard.Panels {
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %s asks for nothing", p.Title)
		}
		for _, target := range p.Targets {
			out[target.Expr] = "panel " + p.Title
		}
		for _, q := range dashboard.Panels[:i] {
			a, b := p.GridPos, q.GridPos
			if a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("panels %s and %s lie over each other", p.Title, q.Title)
			}
		}
	}
	return out
}

// ofAlerts reads the expressions of the chart's alerts, by alert.
func ofAlerts(t *testing.T) queries {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chartFolder, "templates/metrics.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	out := queries{}
	alert := regexp.MustCompile(`- alert: (\w+)\n\s+expr: (.+)\n`)
	for _, found := range alert.FindAllStringSubmatch(string(text), -1) {
		out[found[2]] = "alert " + found[1]
	}
	return out
}

var (
	metricName = regexp.MustCompile(`\b(karpenter|operator)_[a-z0-9_]+`)
	grouped    = regexp.MustCompile(`\bby \(([^)]*)\)`)
	matched    = regexp.MustCompile(`([a-z_]+)(=~|!~|!=|=)"`)
	suffixes   = []string{"_bucket", "_sum", "_count"}
	ofClient   = []string{"le", "quantile"} // labels of histograms and summaries
)

// familyOf returns the family that a name of a query is of.
func familyOf(name string) (metrics.Family, bool) {
	for _, f := range metrics.Families() {
		several := f.Type == "histogram" || f.Type == "summary"
		part := several && slices.ContainsFunc(suffixes, func(s string) bool { return f.Name+s == name })
		if f.Name == name || part {
			return f, true
		}
	}
	return metrics.Family{}, false
}

// TestM43DashboardAndAlertsAskForSeriesThereAre: each series that a panel or an alert asks for is one that the watcher
// has, with the labels that it is asked by.
func TestM43DashboardAndAlertsAskForSeriesThereAre(t *testing.T) {
	dashboard, alerts := ofDashboard(t), ofAlerts(t)
	if len(dashboard) < 15 || len(alerts) < 7 {
		t.Fatalf("%d expressions of panels and %d of alerts were found", len(dashboard), len(alerts))
	}
	for _, all := range []queries{dashboard, alerts} {
		for expression, where := range all {
			for _, problem := range wrongWith(expression) {
				t.Errorf("%s: %s", where, problem)
			}
		}
	}
	for expression, says := range map[string]string{
		"max(karpenter_nodes_made_total)":                                     "no series karpenter_nodes_made_total",
		"sum by (team) (karpenter_nodes_created_total)":                       "no label team",
		`karpenter_nodes_created_total{colr="x"}`:                             "no label colr",
		"rate(karpenter_nodes_created_total_bucket[5m])":                      "no series karpenter_nodes_created",
		"sum(rate(karpenter_pods_bound_duration_seconds_bucket[5m])) by (le)": "",
	} {
		got := strings.Join(wrongWith(expression), "; ")
		if (got == "") != (says == "") || !strings.Contains(got, says) {
			t.Errorf("%s: %q, want %q", expression, got, says)
		}
	}
}

// wrongWith returns the series and labels of an expression that the watcher does not have.
func wrongWith(expression string) []string {
	var out, labels []string
	for _, name := range metricName.FindAllString(expression, -1) {
		family, has := familyOf(name)
		if !has {
			out = append(out, "no series "+name)
		}
		labels = append(labels, family.Labels...)
	}
	var asked []string
	for _, found := range grouped.FindAllStringSubmatch(expression, -1) {
		asked = append(asked, strings.Split(found[1], ", ")...)
	}
	for _, found := range matched.FindAllStringSubmatch(expression, -1) {
		asked = append(asked, found[1])
	}
	for _, label := range asked {
		if !slices.Contains(labels, label) && !slices.Contains(ofClient, label) {
			out = append(out, "no label "+label)
		}
	}
	return out
}
