package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
)

// widget is a picture of a dashboard: of metrics, or of a query of logs.
type widget struct {
	Title   string
	Metrics []metric
	Stat    string
	Log     string // function's name
	Query   string // of Logs Insights
}

// capacity is what there is and what becomes of it, read from what functions log of each run.
func capacity() []widget {
	of := func(title, function, query string) widget { return widget{Title: title, Log: function, Query: query} }
	return []widget{
		of("Machines launched", "joiner-provision", `filter msg = "provision" and outcome.claims > 0 | stats sum(outcome.claims) by bin(5m), outcome.cluster`),
		of("Launches that failed", "joiner-provision", `filter msg = "provision" and outcome.failed > 0 | stats sum(outcome.failed) by bin(5m), outcome.cluster`),
		of("Nodes that came into use", "joiner-provision", `filter msg = "provision" and outcome.initialized > 0 | stats sum(outcome.initialized) by bin(5m), outcome.cluster`),
		of("Pods that wait, and those nothing fits", "joiner-provision", `filter msg = "provision" | stats max(outcome.pending), max(outcome.unschedulable) by bin(5m)`),
		of("Nodes", "joiner-interruption", `filter msg = "interruption" | stats max(outcome.nodes) by bin(5m), outcome.cluster`),
		of("Machines that ended", "joiner-interruption", `filter msg = "interruption" and outcome.closed > 0 | stats sum(outcome.closed) by bin(5m), outcome.cluster`),
		of("Spot machines taken back", "joiner-interruption", `filter msg = "interruption" and outcome.interrupted > 0 | stats sum(outcome.interrupted) by bin(5m), outcome.cluster`),
		of("Price of nodes, USD an hour", "joiner-disrupt", `filter msg = "disrupt" and outcome.priceBefore > 0 | stats max(outcome.priceBefore) by bin(5m), outcome.cluster`),
		of("Saved by giving back, USD an hour", "joiner-disrupt", `filter msg = "disrupt" and outcome.savings > 0 | stats sum(outcome.savings) by bin(1h), outcome.cluster`),
		of("Commands to give nodes back: new, done, undone", "joiner-disrupt", `filter msg = "disrupt" | stats sum(outcome.planned), sum(outcome.done), sum(outcome.undone) by bin(5m)`),
		of("Node classes that are not ready", "joiner-catalog", `filter msg = "catalog" and ispresent(outcome.notReady.0) | stats latest(outcome.notReady.0) by outcome.cluster`),
		of("Problems, newest first", "joiner-provision", `filter ispresent(outcome.problems.0) | fields @timestamp, outcome.cluster, outcome.problems.0 | sort @timestamp desc | limit 20`),
	}
}

// health is how the installation itself fares.
func health(o Options) []widget {
	each := func(name string) []metric {
		var out []metric
		for _, f := range functions(o) {
			out = append(out, metric{"AWS/Lambda", name, "FunctionName", f.Name})
		}
		return out
	}
	queues := func(name, suffix string) []metric {
		var out []metric
		for _, q := range queuesOf {
			out = append(out, metric{"AWS/SQS", name, "QueueName", q.fullName(suffix)})
		}
		return out
	}
	return []widget{
		{Title: "From hint to machines, p50 of runs, ms", Metrics: []metric{{"Joiner", "MillisToLaunch", "", ""}}, Stat: "p50"},
		{Title: "From hint to machines, p99 of runs, ms", Metrics: []metric{{"Joiner", "MillisToLaunch", "", ""}}, Stat: "p99"},
		{Title: "Oldest hint, s", Metrics: queues("ApproximateAgeOfOldestMessage", ""), Stat: "Maximum"},
		{Title: "Hints nobody could handle", Metrics: queues("ApproximateNumberOfMessagesVisible", "-dead"), Stat: "Maximum"},
		{Title: "Invocations", Metrics: each("Invocations"), Stat: "Sum"},
		{Title: "Errors", Metrics: each("Errors"), Stat: "Sum"},
		{Title: "Throttles", Metrics: each("Throttles"), Stat: "Sum"},
		{Title: "Duration, p99, ms", Metrics: each("Duration"), Stat: "p99"},
		{Title: "Clusters whose watcher is silent", Metrics: []metric{{"Joiner", "SilentWatchers", "", ""}}, Stat: "Sum"},
		{Title: "Removals put off by the brake", Metrics: []metric{{"Joiner", "RemovalsPutOff", "", ""}}, Stat: "Sum"},
		{Title: "Units of the table", Metrics: []metric{{"AWS/DynamoDB", "ConsumedReadCapacityUnits", "TableName", "joiner"}, {"AWS/DynamoDB", "ConsumedWriteCapacityUnits", "TableName", "joiner"}}, Stat: "Sum"},
		{Title: "Runs that failed, newest first", Log: "joiner-provision", Query: `filter ispresent(error) and error != "" | fields @timestamp, msg, outcome.cluster, error | sort @timestamp desc | limit 20`},
	}
}

func (r *region) makeDashboards() {
	for _, d := range []struct {
		ID      string
		Widgets []widget
	}{{"Capacity", capacity()}, {"Health", health(r.o)}} {
		awscloudwatch.NewCfnDashboard(r.stack, s(d.ID+"Dashboard"), &awscloudwatch.CfnDashboardProps{
			DashboardName: sub("Joiner-%s-${AWS::Region}", d.ID), DashboardBody: awscdk.Fn_Sub(s(dashboard(d.Widgets)), nil),
		})
	}
}

// dashboard is the body of one, three widgets in a row.
func dashboard(widgets []widget) string {
	const width, height, inRow = 8, 6, 3
	var out []map[string]any
	for i, w := range widgets {
		kind, properties := "metric", map[string]any{"title": w.Title, "region": "${AWS::Region}"}
		if w.Log != "" {
			kind, properties["query"] = "log", fmt.Sprintf("SOURCE '/aws/lambda/%s' | %s", w.Log, w.Query)
			properties["view"] = map[bool]string{true: "timeSeries", false: "table"}[strings.Contains(w.Query, "bin(")]
		} else {
			var lines [][]any
			for _, m := range w.Metrics {
				line := []any{m.Namespace, m.Name}
				if m.Dimension != "" {
					line = append(line, m.Dimension, m.Of)
				}
				lines = append(lines, line)
			}
			properties["metrics"], properties["stat"], properties["period"], properties["view"] = lines, w.Stat, 60, "timeSeries"
		}
		out = append(out, map[string]any{
			"type": kind, "x": i % inRow * width, "y": i / inRow * height, "width": width, "height": height, "properties": properties,
		})
	}
	text, err := json.Marshal(map[string]any{"widgets": out})
	if err != nil {
		panic(err) // maps of text and numbers
	}
	return string(text)
}
