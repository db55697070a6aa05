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

// Series is a metric of the functions: METRICS.md is made from these. Each combination of values of its dimensions costs $0.30 a
// month while it is sent, so that no dimension is an instance, a node or a pod.
type Series struct {
	Name       string
	Unit       string
	Dimensions []string // in the order of the values given to Of; none = one series for the installation
	Program    string   // which function sends it
	Gauge      bool     // a state, of which the newest or the greatest value counts; else values add up, or are durations
	// Always says that it is sent whatever the setting says: alarms and the board of the installation's health go by it, and it is
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
		Means: "machines that were launched", Upstream: "karpenter_nodeclaims_created_total",
	}
	NodesCreated = Series{
		Name: "NodesCreated", Unit: Count, Dimensions: []string{ofCluster, ofPool}, Program: "provision",
		Means: "nodes that were registered", Upstream: "karpenter_nodes_created_total",
	}
	CloudProviderErrors = Series{
		Name: "CloudProviderErrors", Unit: Count, Dimensions: []string{ofCluster, ofReason}, Program: "provision",
		Means: "claims that got no machine, by what EC2 said", Upstream: "karpenter_cloudprovider_errors_total",
	}
	SchedulerQueueDepth = Series{
		Name: "SchedulerQueueDepth", Unit: Count, Dimensions: cluster, Program: "provision", Gauge: true,
		Means: "pods that waited for a node when a run began", Upstream: "karpenter_scheduler_queue_depth",
	}
	SchedulerUnschedulablePods = Series{
		Name: "SchedulerUnschedulablePods", Unit: Count, Dimensions: cluster, Program: "provision", Gauge: true,
		Means: "pods that no NodePool can make a node for", Upstream: "karpenter_scheduler_unschedulable_pods_count",
	}
	SchedulingDuration = Series{
		Name: "SchedulingDuration", Unit: Milliseconds, Dimensions: cluster, Program: "provision",
		Means: "how long a run's first plan took", Upstream: "karpenter_scheduler_scheduling_duration_seconds",
	}
	PodsSchedulingDecisionDuration = Series{
		Name: "PodsSchedulingDecisionDuration", Unit: Milliseconds, Dimensions: cluster, Program: "provision",
		Means:    "from the moment the watcher first saw a pod of the batch wait until EC2 had answered for its machine",
		Upstream: "karpenter_pods_scheduling_decision_duration_seconds",
	}
	MillisToLaunch = Series{
		Name: "MillisToLaunch", Unit: Milliseconds, Program: "provision", Always: true,
		Means: "from the start of a run until EC2 had answered for its last machine",
	}
	LaunchesFailed = Series{
		Name: "LaunchesFailed", Unit: Count, Program: "provision", Always: true,
		Means: "claims that got no machine, of all clusters", Upstream: "karpenter_cloudprovider_errors_total",
	}
	HintsRefused = Series{
		Name: "HintsRefused", Unit: Count, Program: "provision", Always: true,
		Means: "hints that were dropped: of another cluster than their queue's, in a group that is none of it, or unreadable",
	}
	SilentWatchers = Series{
		Name: "SilentWatchers", Unit: Count, Program: "provision", Always: true,
		Means: "runs that had to list a cluster themselves, since its watcher has said nothing for a while",
	}
)

// The series of interruption.
var (
	ClusterStateNodeCount = Series{
		Name: "ClusterStateNodeCount", Unit: Count, Dimensions: cluster, Program: "interruption", Gauge: true,
		Means: "nodes of the cluster's live claims", Upstream: "karpenter_cluster_state_node_count",
	}
	NodeClaimsTerminated = Series{
		Name: "NodeClaimsTerminated", Unit: Count, Dimensions: []string{ofCluster, ofPool, ofCapacityType}, Program: "interruption",
		Means: "machines that have ended", Upstream: "karpenter_nodeclaims_terminated_total",
	}
	NodeClaimsDisrupted = Series{
		Name: "NodeClaimsDisrupted", Unit: Count, Dimensions: []string{ofCluster, ofReason}, Program: "interruption",
		Means: "the same by why they ended, counted at their end", Upstream: "karpenter_nodeclaims_disrupted_total",
	}
	NodesTerminationDuration = Series{
		Name: "NodesTerminationDuration", Unit: Seconds, Dimensions: cluster, Program: "interruption",
		Means: "from the decision that a node ends until its machine had ended", Upstream: "karpenter_nodes_termination_duration_seconds",
	}
	PodsDrained = Series{
		Name: "PodsDrained", Unit: Count, Dimensions: cluster, Program: "interruption",
		Means: "pods that were evicted, or deleted for their node's deadline", Upstream: "karpenter_pods_drained_total",
	}
	PodsEvictionsRefused = Series{
		Name: "PodsEvictionsRefused", Unit: Count, Dimensions: cluster, Program: "interruption",
		Means: "evictions that a PodDisruptionBudget did not allow, or that failed", Upstream: "karpenter_pods_eviction_requests_total",
	}
	InterruptionReceivedMessages = Series{
		Name: "InterruptionReceivedMessages", Unit: Count, Dimensions: []string{"MessageType"}, Program: "interruption",
		Means: "messages of AWS about machines, of all clusters", Upstream: "karpenter_interruption_received_messages_total",
	}
	MessagesRefused = Series{
		Name: "MessagesRefused", Unit: Count, Program: "interruption", Always: true,
		Means: "messages that were dropped unread: from a queue that may not say such a thing, or no hint",
	}
	RemovalsPutOff = Series{
		Name: "RemovalsPutOff", Unit: Count, Program: "interruption", Always: true,
		Means: "nodes that were to end and were left, since so many ended lately",
	}
)

// The series of disrupt and catalog.
var (
	VoluntaryDisruptionDecisions = Series{
		Name: "VoluntaryDisruptionDecisions", Unit: Count, Dimensions: []string{ofCluster, ofReason, "Decision"}, Program: "disrupt",
		Means: "commands to give nodes back; Decision is delete or replace", Upstream: "karpenter_voluntary_disruption_decisions_total",
	}
	VoluntaryDisruptionQueueFailures = Series{
		Name: "VoluntaryDisruptionQueueFailures", Unit: Count, Dimensions: cluster, Program: "disrupt",
		Means: "commands that were undone", Upstream: "karpenter_voluntary_disruption_queue_failures_total",
	}
	SavingsPerHour = Series{
		Name: "SavingsPerHour", Unit: NoUnit, Dimensions: cluster, Program: "disrupt",
		Means: "USD an hour that the commands of a run save",
	}
	PricePerHour = Series{
		Name: "PricePerHour", Unit: NoUnit, Dimensions: cluster, Program: "disrupt", Gauge: true,
		Means: "USD an hour that all nodes of NodePools cost, when they were last judged", Upstream: "karpenter_nodepools_cost_total",
	}
	NodeClassesNotReady = Series{
		Name: "NodeClassesNotReady", Unit: Count, Dimensions: cluster, Program: "catalog", Gauge: true,
		Means: "EC2NodeClasses that nothing can be launched from", Upstream: "operator_status_condition_count",
	}
	NodeClaimsDrifted = Series{
		Name: "NodeClaimsDrifted", Unit: Count, Dimensions: []string{ofCluster, ofReason}, Program: "catalog", Gauge: true,
		Means: "claims that a machine launched now would differ from", Upstream: "operator_nodeclaim_status_condition_count",
	}
)

// AllSeries are all there are, in the order they are documented in.
func AllSeries() []Series {
	return []Series{
		NodeClaimsCreated, NodesCreated, CloudProviderErrors, SchedulerQueueDepth, SchedulerUnschedulablePods, SchedulingDuration,
		PodsSchedulingDecisionDuration, MillisToLaunch, LaunchesFailed, SilentWatchers, HintsRefused,
		ClusterStateNodeCount, NodeClaimsTerminated, NodeClaimsDisrupted, NodesTerminationDuration, PodsDrained, PodsEvictionsRefused,
		InterruptionReceivedMessages, MessagesRefused, RemovalsPutOff,
		VoluntaryDisruptionDecisions, VoluntaryDisruptionQueueFailures, SavingsPerHour, PricePerHour,
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
