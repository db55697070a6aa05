package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
)

// widget is a picture of a dashboard: of metrics, of every series of some metrics of ours, or of a query of logs.
type widget struct {
	Title   string
	Metrics []metric
	Series  []series
	Stat    string
	Log     string // function's name
	Query   string // of Logs Insights
}

// series is a metric of ours, whatever the values of its dimensions.
type series struct {
	Name       string
	Dimensions []string
}

// capacity is what there is and what becomes of it. Without metrics it is read from what functions log of each run, which costs
// something while somebody looks at it and nothing else.
func capacity(o Options) []widget {
	if o.Metrics {
		return capacityMetrics()
	}
	return capacityLogs()
}

func ofLog(title, function, query string) widget {
	return widget{Title: title, Log: function, Query: query}
}

func problems() widget {
	return ofLog("Problems, newest first", "joiner-provision", `filter ispresent(outcome.problems.0) | fields @timestamp, outcome.cluster, outcome.problems.0 | sort @timestamp desc | limit 20`)
}

func capacityLogs() []widget {
	return []widget{
		ofLog("Instances launched", "joiner-provision", `filter msg = "provision" and outcome.claims > 0 | stats sum(outcome.claims) by bin(5m), outcome.cluster`),
		ofLog("Launches that failed", "joiner-provision", `filter msg = "provision" and outcome.failed > 0 | stats sum(outcome.failed) by bin(5m), outcome.cluster`),
		ofLog("Nodes initialized", "joiner-provision", `filter msg = "provision" and outcome.initialized > 0 | stats sum(outcome.initialized) by bin(5m), outcome.cluster`),
		ofLog("Pending pods, and unschedulable ones", "joiner-provision", `filter msg = "provision" | stats max(outcome.pending), max(outcome.unschedulable) by bin(5m)`),
		ofLog("Nodes", "joiner-interruption", `filter msg = "interruption" | stats max(outcome.nodes) by bin(5m), outcome.cluster`),
		ofLog("Instances terminated", "joiner-interruption", `filter msg in ["interruption", "drain"] and outcome.closed > 0 | stats sum(outcome.closed) by bin(5m), outcome.cluster`),
		ofLog("Spot instances interrupted", "joiner-interruption", `filter msg = "interruption" and outcome.interrupted > 0 | stats sum(outcome.interrupted) by bin(5m), outcome.cluster`),
		ofLog("Price of nodes, USD per hour", "joiner-disrupt", `filter msg = "disrupt" and outcome.priceBefore > 0 | stats max(outcome.priceBefore) by bin(5m), outcome.cluster`),
		ofLog("Saved by consolidation, USD per hour", "joiner-disrupt", `filter msg = "disrupt" and outcome.savings > 0 | stats sum(outcome.savings) by bin(1h), outcome.cluster`),
		ofLog("Disruption commands: new, done, undone", "joiner-disrupt", `filter msg = "disrupt" | stats sum(outcome.planned), sum(outcome.done), sum(outcome.undone) by bin(5m)`),
		ofLog("EC2NodeClasses that are not ready", "joiner-catalog", `filter msg = "catalog" and ispresent(outcome.notReady.0) | stats latest(outcome.notReady.0) by outcome.cluster`),
		problems(),
	}
}

func capacityMetrics() []widget {
	return []widget{
		{Title: "Instances launched", Series: []series{{"NodeClaimsCreated", []string{"Cluster", "NodePool", "CapacityType"}}}, Stat: "Sum"},
		{Title: "NodeClaims without an instance, by EC2's error code", Series: []series{{"CloudProviderErrors", []string{"Cluster", "Reason"}}}, Stat: "Sum"},
		{Title: "Nodes registered", Series: []series{{"NodesCreated", []string{"Cluster", "NodePool"}}}, Stat: "Sum"},
		{Title: "Pending pods, and unschedulable ones", Series: []series{{"SchedulerQueueDepth", []string{"Cluster"}}, {"SchedulerUnschedulablePods", []string{"Cluster"}}}, Stat: "Maximum"},
		{Title: "Nodes", Series: []series{{"ClusterStateNodeCount", []string{"Cluster"}}}, Stat: "Maximum"},
		{Title: "Instances terminated", Series: []series{{"NodeClaimsTerminated", []string{"Cluster", "NodePool", "CapacityType"}}}, Stat: "Sum"},
		{Title: "Instances terminated, by reason", Series: []series{{"NodeClaimsDisrupted", []string{"Cluster", "Reason"}}}, Stat: "Sum"},
		{Title: "AWS events about instances", Series: []series{{"InterruptionReceivedMessages", []string{"MessageType"}}}, Stat: "Sum"},
		{Title: "Price of nodes, USD per hour", Series: []series{{"PricePerHour", []string{"Cluster"}}}, Stat: "Maximum"},
		{Title: "Saved by consolidation, USD per hour", Series: []series{{"SavingsPerHour", []string{"Cluster"}}}, Stat: "Sum"},
		{Title: "Not saved while something waits, USD per hour",
			Series: []series{{"SavingsDelayedPerHour", []string{"Cluster"}}}, Stat: "Maximum"},
		{Title: "Nodes that wait for disruption, by reason and blocker",
			Series: []series{{"NodesWaiting", []string{"Cluster", "Reason", "Blocker"}}}, Stat: "Maximum"},
		{Title: "Pods that disruption commands move", Stat: "Sum", Series: []series{{"PodsDisruptionInitiated",
			[]string{"Cluster", "Reason", "ConsolidationPolicy", "TerminationMode"}}}},
		{Title: "Disruption commands, and those undone", Series: []series{{"VoluntaryDisruptionDecisions", []string{"Cluster", "Reason", "Decision"}}, {"VoluntaryDisruptionQueueFailures", []string{"Cluster"}}}, Stat: "Sum"},
		{Title: "NodeClaims that have drifted, and EC2NodeClasses that are not ready", Series: []series{{"NodeClaimsDrifted", []string{"Cluster", "Reason"}}, {"NodeClassesNotReady", []string{"Cluster"}}}, Stat: "Maximum"},
		problems(),
	}
}

// healthMetrics are those of health that functions send where they are set to.
func healthMetrics() []widget {
	return []widget{
		{Title: "From a pending pod to its instance, p99, ms", Series: []series{{"PodsSchedulingDecisionDuration", []string{"Cluster"}}}, Stat: "p99"},
		{Title: "Planning, p99, ms", Series: []series{{"SchedulingDuration", []string{"Cluster"}}}, Stat: "p99"},
		{Title: "From the decision to terminate a node to its termination, p99, s", Series: []series{{"NodesTerminationDuration", []string{"Cluster"}}}, Stat: "p99"},
		{Title: "Pods evicted, and evictions refused", Series: []series{{"PodsDrained", []string{"Cluster"}}, {"PodsEvictionsRefused", []string{"Cluster"}}}, Stat: "Sum"},
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
		if suffix != "" { // the plan queues themselves are clusters' own, each with an alarm
			out = append(out, metric{"AWS/SQS", name, "QueueName", planQueue.fullName(suffix)})
		}
		return out
	}
	out := []widget{
		{Title: "From hint to instances, p50 of runs, ms", Metrics: []metric{{ours, "MillisToLaunch", "", ""}}, Stat: "p50"},
		{Title: "From hint to instances, p99 of runs, ms", Metrics: []metric{{ours, "MillisToLaunch", "", ""}}, Stat: "p99"},
		{Title: "Oldest hint, s", Metrics: queues("ApproximateAgeOfOldestMessage", ""), Stat: "Maximum"},
		{Title: "Hints that could not be processed", Metrics: queues("ApproximateNumberOfMessagesVisible", "-dead"), Stat: "Maximum"},
		{Title: "Invocations", Metrics: each("Invocations"), Stat: "Sum"},
		{Title: "Errors", Metrics: each("Errors"), Stat: "Sum"},
		{Title: "Throttles", Metrics: each("Throttles"), Stat: "Sum"},
		{Title: "Duration, p99, ms", Metrics: each("Duration"), Stat: "p99"},
		{Title: "Clusters whose watcher's heartbeat is overdue", Metrics: []metric{{ours, "SilentWatchers", "", ""}}, Stat: "Sum"},
		{Title: "Removals postponed by the removal limit", Metrics: []metric{{ours, "RemovalsPutOff", "", ""}}, Stat: "Sum"},
		{Title: "Messages dropped: of a kind that their queue may not carry", Metrics: []metric{{ours, "MessagesRefused", "", ""}, {ours, "HintsRefused", "", ""}}, Stat: "Sum"},
		{Title: "Units of the table", Metrics: []metric{{"AWS/DynamoDB", "ConsumedReadCapacityUnits", "TableName", "joiner"}, {"AWS/DynamoDB", "ConsumedWriteCapacityUnits", "TableName", "joiner"}}, Stat: "Sum"},
		{Title: "Runs that failed, newest first", Log: "joiner-provision", Query: `filter ispresent(error) and error != "" | fields @timestamp, msg, outcome.cluster, error | sort @timestamp desc | limit 20`},
	}
	if o.Metrics {
		out = append(out, healthMetrics()...)
	}
	return out
}

func (r *region) makeDashboards() {
	for _, d := range []struct {
		ID      string
		Widgets []widget
	}{{"Capacity", capacity(r.o)}, {"Health", health(r.o)}} {
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
			for i, each := range w.Series {
				lines = append(lines, []any{map[string]any{"id": fmt.Sprintf("s%d", i), "expression": each.search(w.Stat)}})
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

// search is the expression that finds every series of a metric. Source: "Use search expressions in graphs" in the user guide of
// CloudWatch.
func (s series) search(statistic string) string {
	return fmt.Sprintf(`SEARCH('{%s,%s} MetricName="%s"', '%s', 60)`, ours, strings.Join(s.Dimensions, ","), s.Name, statistic)
}
