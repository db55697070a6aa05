package boot

import (
	"fmt"
	"strings"
)

// Namespace is the one that functions' metrics are in.
const Namespace = "Joiner"

// Units of CloudWatch.
const (
	Count        = "Count"
	Seconds      = "Seconds"
	Milliseconds = "Milliseconds"
	NoUnit       = "None"
)

// Series is a metric of the functions: docs/reference/metrics.md is made from these. Each combination of values of its dimensions costs $0.30 a
// month while it is sent, so that no dimension is an instance, a node or a pod.
type Series struct {
	Name       string
	Unit       string
	Dimensions []string // in the order of the values given to Of; none = one series for the installation
	Program    string   // which function sends it
	Gauge      bool     // a state, of which the newest or the greatest value counts; else values add up, or are durations
	// Always says that it is sent whatever the setting says: alarms and the dashboard of the installation's health go by it, and it is
	// sent only in the minutes in which something happens.
	Always   bool
	Means    string
	Upstream string // Karpenter's metric of the same meaning; "" = it has none
}

// Dimensions of series.
const (
	ofCluster      = "Cluster"
	ofPool         = "NodePool"
	ofCapacityType = "CapacityType"
	ofReason       = "Reason"
)

var cluster = []string{ofCluster}

// The series of provision.
var (
	NodeClaimsCreated = Series{
		Name: "NodeClaimsCreated", Unit: Count, Dimensions: []string{ofCluster, ofPool, ofCapacityType}, Program: "provision",
		Means: "instances launched", Upstream: "karpenter_nodeclaims_created_total",
	}
	NodesCreated = Series{
		Name: "NodesCreated", Unit: Count, Dimensions: []string{ofCluster, ofPool}, Program: "provision",
		Means: "nodes registered", Upstream: "karpenter_nodes_created_total",
	}
	CloudProviderErrors = Series{
		Name: "CloudProviderErrors", Unit: Count, Dimensions: []string{ofCluster, ofReason}, Program: "provision",
		Means: "claims without an instance, by EC2's error code", Upstream: "karpenter_cloudprovider_errors_total",
	}
	SchedulerQueueDepth = Series{
		Name: "SchedulerQueueDepth", Unit: Count, Dimensions: cluster, Program: "provision", Gauge: true,
		Means: "pending pods at the start of a run", Upstream: "karpenter_scheduler_queue_depth",
	}
	SchedulerUnschedulablePods = Series{
		Name: "SchedulerUnschedulablePods", Unit: Count, Dimensions: cluster, Program: "provision", Gauge: true,
		Means: "pods for which no NodePool can launch a node", Upstream: "karpenter_scheduler_unschedulable_pods_count",
	}
	SchedulingDuration = Series{
		Name: "SchedulingDuration", Unit: Milliseconds, Dimensions: cluster, Program: "provision",
		Means: "duration of the first plan of a run", Upstream: "karpenter_scheduler_scheduling_duration_seconds",
	}
	PodsSchedulingDecisionDuration = Series{
		Name: "PodsSchedulingDecisionDuration", Unit: Milliseconds, Dimensions: cluster, Program: "provision",
		Means:    "from the first time the watcher saw a pending pod of the batch to EC2's answer for its instance",
		Upstream: "karpenter_pods_scheduling_decision_duration_seconds",
	}
	MillisToLaunch = Series{
		Name: "MillisToLaunch", Unit: Milliseconds, Program: "provision", Always: true,
		Means: "from the start of a run to EC2's answer for its last instance",
	}
	LaunchesFailed = Series{
		Name: "LaunchesFailed", Unit: Count, Program: "provision", Always: true,
		Means: "claims without an instance, of all clusters", Upstream: "karpenter_cloudprovider_errors_total",
	}
	HintsRefused = Series{
		Name: "HintsRefused", Unit: Count, Program: "provision", Always: true,
		Means: "messages dropped: of another cluster than that of their queue, in a wrong message group, or unreadable",
	}
	SilentWatchers = Series{
		Name: "SilentWatchers", Unit: Count, Program: "provision", Always: true,
		Means: "runs in which provision listed the cluster itself because the watcher's heartbeat was overdue",
	}
)

// The series of interruption.
var (
	ClusterStateNodeCount = Series{
		Name: "ClusterStateNodeCount", Unit: Count, Dimensions: cluster, Program: "interruption", Gauge: true,
		Means: "nodes of the cluster, by its live claims", Upstream: "karpenter_cluster_state_node_count",
	}
	NodeClaimsTerminated = Series{
		Name: "NodeClaimsTerminated", Unit: Count, Dimensions: []string{ofCluster, ofPool, ofCapacityType}, Program: "interruption",
		Means: "instances terminated", Upstream: "karpenter_nodeclaims_terminated_total",
	}
	NodeClaimsDisrupted = Series{
		Name: "NodeClaimsDisrupted", Unit: Count, Dimensions: []string{ofCluster, ofReason}, Program: "interruption",
		Means: "instances terminated, by reason", Upstream: "karpenter_nodeclaims_disrupted_total",
	}
	NodesTerminationDuration = Series{
		Name: "NodesTerminationDuration", Unit: Seconds, Dimensions: cluster, Program: "interruption",
		Means: "from the decision to terminate a node to the end of its instance", Upstream: "karpenter_nodes_termination_duration_seconds",
	}
	PodsDrained = Series{
		Name: "PodsDrained", Unit: Count, Dimensions: cluster, Program: "interruption",
		Means: "pods evicted, or deleted at the deadline of their node", Upstream: "karpenter_pods_drained_total",
	}
	PodsEvictionsRefused = Series{
		Name: "PodsEvictionsRefused", Unit: Count, Dimensions: cluster, Program: "interruption",
		Means: "evictions that a PodDisruptionBudget did not allow, or that failed", Upstream: "karpenter_pods_eviction_requests_total",
	}
	InterruptionReceivedMessages = Series{
		Name: "InterruptionReceivedMessages", Unit: Count, Dimensions: []string{"MessageType"}, Program: "interruption",
		Means: "AWS events about instances, of all clusters", Upstream: "karpenter_interruption_received_messages_total",
	}
	MessagesRefused = Series{
		Name: "MessagesRefused", Unit: Count, Program: "interruption", Always: true,
		Means: "messages dropped unread: of a kind that their queue may not carry, or invalid",
	}
	RemovalsPutOff = Series{
		Name: "RemovalsPutOff", Unit: Count, Program: "interruption", Always: true,
		Means: "removals of nodes postponed by the rate limit",
	}
)

// The series of disrupt and catalog.
var (
	VoluntaryDisruptionDecisions = Series{
		Name: "VoluntaryDisruptionDecisions", Unit: Count, Dimensions: []string{ofCluster, ofReason, "Decision"}, Program: "disrupt",
		Means: "disruption commands; Decision is delete or replace", Upstream: "karpenter_voluntary_disruption_decisions_total",
	}
	VoluntaryDisruptionQueueFailures = Series{
		Name: "VoluntaryDisruptionQueueFailures", Unit: Count, Dimensions: cluster, Program: "disrupt",
		Means: "disruption commands undone", Upstream: "karpenter_voluntary_disruption_queue_failures_total",
	}
	SavingsPerHour = Series{
		Name: "SavingsPerHour", Unit: NoUnit, Dimensions: cluster, Program: "disrupt",
		Means: "USD per hour that the disruption commands of a run save",
	}
	PodsDisruptionInitiated = Series{
		Name: "PodsDisruptionInitiated", Unit: Count, Program: "disrupt",
		Dimensions: []string{ofCluster, ofReason, "ConsolidationPolicy", "TerminationMode"},
		Means:      "pods that disruption commands move; TerminationMode is graceful, eventual or forceful",
		Upstream:   "karpenter_pods_disruption_initiated_total",
	}
	NodesWaiting = Series{
		Name: "NodesWaiting", Unit: Count, Program: "disrupt", Gauge: true,
		Dimensions: []string{ofCluster, ofReason, "Blocker"},
		Means: "nodes that are empty, drifted, too old or too many and stay, at the last disruption run; Blocker is " +
			"Budget, Capacity, Pods, Quiet, Stopped, Turn or Other",
	}
	SavingsDelayedPerHour = Series{
		Name: "SavingsDelayedPerHour", Unit: NoUnit, Dimensions: cluster, Program: "disrupt", Gauge: true,
		Means: "USD per hour of empty nodes that stay, and of consolidation that was found and has to wait",
	}
	PricePerHour = Series{
		Name: "PricePerHour", Unit: NoUnit, Dimensions: cluster, Program: "disrupt", Gauge: true,
		Means: "USD per hour of all nodes of NodePools, at the last disruption run", Upstream: "karpenter_nodepools_cost_total",
	}
	NodeClassesNotReady = Series{
		Name: "NodeClassesNotReady", Unit: Count, Dimensions: cluster, Program: "catalog", Gauge: true,
		Means: "EC2NodeClasses that are not ready", Upstream: "operator_status_condition_count",
	}
	NodeClaimsDrifted = Series{
		Name: "NodeClaimsDrifted", Unit: Count, Dimensions: []string{ofCluster, ofReason}, Program: "catalog", Gauge: true,
		Means: "NodeClaims that have drifted", Upstream: "operator_nodeclaim_status_condition_count",
	}
)

// AllSeries are all there are, in the order they are documented in.
func AllSeries() []Series {
	return []Series{
		NodeClaimsCreated, NodesCreated, CloudProviderErrors, SchedulerQueueDepth, SchedulerUnschedulablePods, SchedulingDuration,
		PodsSchedulingDecisionDuration, MillisToLaunch, LaunchesFailed, SilentWatchers, HintsRefused,
		ClusterStateNodeCount, NodeClaimsTerminated, NodeClaimsDisrupted, NodesTerminationDuration, PodsDrained, PodsEvictionsRefused,
		InterruptionReceivedMessages, MessagesRefused, RemovalsPutOff,
		VoluntaryDisruptionDecisions, VoluntaryDisruptionQueueFailures, SavingsPerHour,
		PodsDisruptionInitiated, NodesWaiting, SavingsDelayedPerHour, PricePerHour,
		NodeClassesNotReady, NodeClaimsDrifted,
	}
}

// Sample is one value of a series.
type Sample struct {
	Series *Series
	Values []string // of its dimensions
	Value  float64
}

// Of returns a sample, with the values of the dimensions in their order. It panics where there are more or fewer of them than
// dimensions.
func (s *Series) Of(value float64, values ...string) Sample {
	if len(values) != len(s.Dimensions) {
		panic(fmt.Sprintf("metric %s has the dimensions %s, not %d of them", s.Name, strings.Join(s.Dimensions, ", "), len(values)))
	}
	return Sample{Series: s, Values: values, Value: value}
}
