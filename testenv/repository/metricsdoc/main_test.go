package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/boot"
)

func TestMetricsAreDocumented(t *testing.T) {
	var want bytes.Buffer
	if err := document(&want); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../docs/reference/metrics.md")
	if err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("docs/reference/metrics.md is not what the tables make (%v); run `make generated` and commit", err)
	}
}

// asked are the metrics of ours that a template's dashboards or alarms ask for, each with the dimensions it is asked by.
func asked(t *testing.T, file, kind string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../infra/cdk/templates", file))
	if err != nil {
		t.Fatal(err)
	}
	var template struct {
		Resources map[string]struct {
			Type       string
			Properties json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &template); err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, resource := range template.Resources {
		if resource.Type != kind {
			continue
		}
		var alarm struct{ Namespace, MetricName string }
		var dashboard struct {
			DashboardBody map[string]any
		}
		if kind == "AWS::CloudWatch::Alarm" {
			if err := json.Unmarshal(resource.Properties, &alarm); err == nil && alarm.Namespace == boot.Namespace {
				out[alarm.MetricName] = nil
			}
			continue
		}
		if err := json.Unmarshal(resource.Properties, &dashboard); err != nil {
			t.Fatal(err)
		}
		body, _ := dashboard.DashboardBody["Fn::Sub"].(string)
		for _, match := range regexp.MustCompile(`\["`+boot.Namespace+`","(\w+)"\]`).FindAllStringSubmatch(body, -1) {
			out[match[1]] = nil
		}
		for _, match := range regexp.MustCompile(`SEARCH\('\{`+boot.Namespace+`,([\w,]+)\} MetricName=\\"(\w+)\\"`).FindAllStringSubmatch(body, -1) {
			out[match[2]] = strings.Split(match[1], ",")
		}
	}
	return out
}

// Boards and alarms ask for nothing that is not sent: without the setting for no more than what is sent always, with it for all
// there is.
func TestDashboardsAndAlarmsQueryWhatIsSent(t *testing.T) {
	series := map[string]boot.Series{}
	for _, s := range boot.AllSeries() {
		series[s.Name] = s
	}
	for _, test := range []struct {
		file, kind string
		on         bool
		least      int
	}{
		{"region.json", "AWS::CloudWatch::Alarm", false, 3}, {"region-hardened.json", "AWS::CloudWatch::Alarm", false, 3},
		{"region.json", "AWS::CloudWatch::Dashboard", false, 3}, {"region-hardened.json", "AWS::CloudWatch::Dashboard", true, 20},
	} {
		found := asked(t, test.file, test.kind)
		if len(found) < test.least {
			t.Errorf("%s, %s: asked for %v", test.file, test.kind, found)
		}
		for name, dimensions := range found {
			s, known := series[name]
			if !known || !test.on && !s.Always || !slices.Equal(dimensions, s.Dimensions) {
				t.Errorf("%s, %s: %s by %v is asked for and never sent", test.file, test.kind, name, dimensions)
			}
		}
	}
	dashboards := asked(t, "region-hardened.json", "AWS::CloudWatch::Dashboard")
	for name := range series {
		if _, shown := dashboards[name]; !shown && name != "LaunchesFailed" { // CloudProviderErrors says the same with reasons
			t.Errorf("%s is sent and on no board", name)
		}
	}
}
