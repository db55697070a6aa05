// Command metricsdoc writes METRICS.md from the tables that functions and watcher measure by; `make generated` fails where it is
// not up to date.
//
//	go run ./testenv/metricsdoc METRICS.md
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/cmd/watcher/metrics"
	"github.com/joiner-sh/joiner/shared/boot"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: metricsdoc FILE")
		os.Exit(2)
	}
	var text bytes.Buffer
	document(&text)
	if err := os.WriteFile(os.Args[1], text.Bytes(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "metricsdoc:", err)
		os.Exit(1)
	}
}

const about = `# Metrics

Made by ` + "`make generated`" + ` from ` + "`shared/boot/series.go`" + ` and ` + "`cmd/watcher/metrics/families.go`" + `.

There are two ways to see what Joiner does, and both may be used:

* **Prometheus** asks the watcher (port 8080, ` + "`/metrics`" + `; value ` + "`metrics`" + ` of the chart, on by default). Names and labels are those of
  Karpenter's metrics, so that boards and alerts made for these go on. It costs nothing but what Prometheus costs.
* **CloudWatch** takes what functions write into their logs in the embedded metric format. It costs $0.30 a month for each series, which
  is each combination of values of a metric's dimensions, in the hours in which it is sent: for a cluster with three NodePools that is never
  idle some 40 series, $12 a month. Therefore they are off (` + "`metrics=false`" + ` of the region's stack, ` + "`JOINER_METRICS=off`" + `) but for the four that
  alarms and the board of the installation's health go by; the board of capacity is then drawn from the logs. With ` + "`metrics=true`" + ` all are sent,
  and both boards are drawn from them. Nothing is sent of what is 0, so that an empty cluster has no series.

No dimension is an instance, a node or a pod.

`

const prometheusAbout = `
## Prometheus

The replica of the watcher that leads tells of the cluster; the others tell of themselves alone. Nodes without a NodePool have the
nodepool ` + "`N/A`" + `. States vanish with their objects, and a NodePool's counters with the NodePool; counters begin at 0 with the watcher.
` + "`metrics.clusterState: false`" + ` of the chart leaves out the series of each node and pod. Beside these there are those of the Go runtime and of the
process (` + "`go_…`, `process_…`" + `).

| metric | type | labels | means |
|---|---|---|---|
`

// untold are metrics of Karpenter's that the watcher has not, with why. Source of the names: Karpenter 1.15.
var untold = [][2]string{
	{"karpenter_cloudprovider_duration_seconds, karpenter_cloudprovider_errors_total, karpenter_interruption_…", "functions call EC2 and hear from AWS: CloudWatch has `CloudProviderErrors` and `InterruptionReceivedMessages`"},
	{"karpenter_scheduler_scheduling_duration_seconds, karpenter_pods_scheduling_decision_duration_seconds", "functions plan: CloudWatch has `SchedulingDuration` and `PodsSchedulingDecisionDuration`"},
	{"karpenter_scheduler_unschedulable_pods_count, karpenter_scheduler_ignored_pods_count, karpenter_scheduler_pending_pods_by_effective_zone_count, karpenter_pods_provisioning_…", "the planner knows, and says it in events, in decision records and, the first, in CloudWatch as `SchedulerUnschedulablePods`"},
	{"karpenter_nodes_total_pod_limits, karpenter_nodes_total_daemon_limits", "limits of pods play no part in what is published of them"},
	{"karpenter_nodepools_allowed_disruptions, karpenter_nodepools_nodes_consuming_budgets", "the judge knows; what budgets keep back is said in events and decision records"},
	{"karpenter_nodepools_cost_total", "the watcher knows no prices: CloudWatch has `PricePerHour`"},
	{"karpenter_voluntary_disruption_decision_evaluation_duration_seconds, …_consolidation_timeouts_total, …_failed_validations_total, …_queue_failures_total, karpenter_consolidation_…", "the judge is a function: its log lines say how long it took and what came of it; CloudWatch has `VoluntaryDisruptionQueueFailures`"},
	{"karpenter_pods_eviction_requests_total, karpenter_pods_drained_total, karpenter_nodeclaims_instance_termination_duration_seconds", "functions empty nodes: CloudWatch has `PodsDrained` and `PodsEvictionsRefused`"},
	{"operator_…_status_condition_… but the count of NodeClaims", "kube-state-metrics tells conditions of custom resources"},
	{"controller_runtime_…, workqueue_…, client_go_…, leader_election_…", "there is no controller"},
}

// document writes METRICS.md.
func document(out io.Writer) {
	fmt.Fprint(out, about, "## CloudWatch\n\nNamespace `"+boot.Namespace+"`. What is marked ● is sent whatever the setting says.\n\n")
	fmt.Fprint(out, "| metric | unit | dimensions | kind | sent by | means | Karpenter's |\n|---|---|---|---|---|---|---|\n")
	for _, s := range boot.AllSeries() {
		name, kind, upstream := "`"+s.Name+"`", "adds up", "–"
		if s.Always {
			name += " ●"
		}
		switch {
		case s.Gauge:
			kind = "state"
		case s.Unit == boot.Seconds || s.Unit == boot.Milliseconds:
			kind = "duration"
		}
		if s.Upstream != "" {
			upstream = "`" + s.Upstream + "`"
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %s |\n", name, s.Unit, strings.Join(s.Dimensions, ", "), kind, s.Program, s.Means, upstream)
	}
	fmt.Fprint(out, prometheusAbout)
	families := metrics.Families()
	slices.SortFunc(families, func(a, b metrics.Family) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range families {
		fmt.Fprintf(out, "| `%s` | %s | %s | %s |\n", f.Name, f.Type, strings.Join(f.Labels, ", "), f.Means)
	}
	fmt.Fprint(out, "\n### What Karpenter tells and the watcher does not\n\n| metric | why |\n|---|---|\n")
	for _, u := range untold {
		fmt.Fprintf(out, "| %s | %s |\n", u[0], u[1])
	}
}
