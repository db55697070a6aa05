package metrics

//go:generate go run github.com/joiner-sh/joiner/testenv/repository/metricsdoc ../../../docs/reference/metrics.md

// Family is a metric with its labels: docs/reference/metrics.md is made from these.
type Family struct {
	Name   string
	Type   string // counter, gauge, summary or histogram
	Labels []string
	Means  string
}

// Types of families.
const (
	counter   = "counter"
	gauge     = "gauge"
	summary   = "summary"
	histogram = "histogram"
)

// ofNodes are the labels of states of nodes: those of Karpenter's that dashboards group by. Its other ones follow from
// the instance type.
var ofNodes = []string{
	"arch", "capacity_type", "instance_category", "instance_cpu", "instance_family", "instance_generation",
	"instance_memory", "instance_size",
	"instance_type", "managed", "node_name", "nodepool", "os", "region", "zone",
}

var ofResourcesOfNodes = append(append([]string{}, ofNodes...), "resource_type")

// Families of states, written from the watcher's rows.
var (
	nodesAllocatable = Family{"karpenter_nodes_allocatable", gauge, ofResourcesOfNodes,
		"allocatable resources of a node: cores, bytes, counts"}
	nodesPodRequests = Family{"karpenter_nodes_total_pod_requests", gauge, ofResourcesOfNodes,
		"requests of the pods of a node, without those of DaemonSets"}
	nodesDaemonRequests = Family{"karpenter_nodes_total_daemon_requests", gauge, ofResourcesOfNodes,
		"requests of the DaemonSet pods of a node"}
	nodesOverhead = Family{"karpenter_nodes_system_overhead", gauge, ofResourcesOfNodes,
		"capacity of a node that is not allocatable"}
	nodesLifetime      = Family{"karpenter_nodes_current_lifetime_seconds", gauge, ofNodes, "age of a node"}
	clusterUtilization = Family{"karpenter_cluster_utilization_percent", gauge, []string{"resource_type"},
		"requests of pods as a share of the allocatable resources of all nodes of NodePools"}

	poolsUsage = Family{"karpenter_nodepools_usage", gauge, []string{"nodepool", "resource_type"},
		"capacity of a NodePool's nodes, and how many there are"}
	poolsLimit = Family{"karpenter_nodepools_limit", gauge, []string{"nodepool", "resource_type"},
		"spec.limits of a NodePool"}
	poolsUsageOld = Family{"karpenter_nodepool_usage", gauge, []string{"nodepool", "resource_type"},
		"the same as karpenter_nodepools_usage, under the name in older dashboards"}
	poolsLimitOld = Family{"karpenter_nodepool_limit", gauge, []string{"nodepool", "resource_type"},
		"the same as karpenter_nodepools_limit, under the name in older dashboards"}

	poolsAllowed = Family{"karpenter_nodepools_allowed_disruptions", gauge, []string{"nodepool", "reason"},
		"nodes of a NodePool that its budgets let be disrupted for a reason now"}
	poolsConsuming = Family{"karpenter_nodepools_nodes_consuming_budgets", gauge, []string{"nodepool", "reason"},
		"nodes of a NodePool that count against its budgets: those that are disrupted, deleted or not ready"}

	podsState = Family{"karpenter_pods_state", gauge, []string{
		"name", "namespace", "owner", "node", "scheduled", "nodepool", "zone", "arch", "capacity_type", "instance_type",
		"phase", "ready", "managed",
	}, "1 for each pod that has not ended; owner is kind/name of its controller"}
	podsUnbound = Family{"karpenter_pods_unbound_time_seconds", gauge, []string{"name", "namespace"},
		"how long a pod has been pending without a node"}
	podsUnstarted = Family{"karpenter_pods_unstarted_time_seconds", gauge, []string{"name", "namespace"},
		"how long a pod has not been running"}

	nodeCount = Family{"karpenter_cluster_state_node_count", gauge, nil, "all nodes of the cluster"}
	synced    = Family{"karpenter_cluster_state_synced", gauge, nil,
		"1 once the watcher has listed the whole cluster"}
	unsynced = Family{"karpenter_cluster_state_unsynced_time_seconds", gauge, nil,
		"how long the watcher has not listed the whole cluster"}
	queueDepth = Family{"karpenter_scheduler_queue_depth", gauge, []string{"controller"},
		"pending pods that fit on no node; controller is provisioner"}
	eligible = Family{"karpenter_voluntary_disruption_eligible_nodes", gauge, []string{"reason"},
		"nodes eligible for disruption by reason, regardless of budgets and pods"}
	claimsCount = Family{"operator_nodeclaim_status_condition_count", gauge, []string{"type", "status", "reason"},
		"NodeClaims with the condition Drifted, Drained or DisruptionReason, status True"}
)

// Families of what has happened, kept by the client library.
var (
	claimsCreated = Family{"karpenter_nodeclaims_created_total", counter,
		[]string{"reason", "nodepool", "min_values_relaxed"},
		"NodeClaims created; reason is provisioned, also for replacements"}
	claimsTerminated = Family{"karpenter_nodeclaims_terminated_total", counter,
		[]string{"nodepool", "capacity_type", "zone"}, "NodeClaims terminated"}
	claimsDisrupted = Family{"karpenter_nodeclaims_disrupted_total", counter,
		[]string{"reason", "nodepool", "capacity_type", "consolidation_policy", "termination_mode"},
		"NodeClaims that got a disruption reason"}
	podsDisrupted = Family{"karpenter_pods_disruption_initiated_total", counter, claimsDisrupted.Labels,
		"pods on nodes whose NodeClaims got a disruption reason, without those of DaemonSets, static and system pods"}
	claimsUnhealthy = Family{"karpenter_nodeclaims_unhealthy_disrupted_total", counter,
		[]string{"condition", "nodepool", "capacity_type", "image_id"},
		"NodeClaims that ended because a condition of their node was bad for too long"}
	claimsTermination = Family{"karpenter_nodeclaims_termination_duration_seconds", histogram, []string{"nodepool"},
		"from the deletion of a NodeClaim until it is gone"}
	nodesCreated = Family{"karpenter_nodes_created_total", counter, []string{"nodepool", "zone"},
		"nodes registered"}
	nodesTerminated = Family{"karpenter_nodes_terminated_total", counter, []string{"nodepool", "zone"},
		"nodes terminated"}
	nodesDrained     = Family{"karpenter_nodes_drained_total", counter, []string{"nodepool"}, "nodes drained"}
	nodesTermination = Family{"karpenter_nodes_termination_duration_seconds", summary, []string{"nodepool"},
		"from the deletion of a node until it is gone"}
	nodesLived = Family{"karpenter_nodes_lifetime_duration_seconds", histogram, []string{"nodepool"},
		"age of nodes at their end"}
	podsBound = Family{"karpenter_pods_bound_duration_seconds", histogram, nil,
		"from the creation of a pod until it is bound"}
	podsStartup = Family{"karpenter_pods_startup_duration_seconds", summary, nil,
		"from the creation of a pod until it is ready"}
	decisions = Family{"karpenter_voluntary_disruption_decisions_total", counter,
		[]string{"decision", "reason", "consolidation_type"},
		"disruption commands; decision is delete or replace"}
	decisionsByPool = Family{"karpenter_voluntary_disruption_decisions_by_nodepool_total", counter,
		[]string{"nodepool", "decision", "reason", "consolidation_type"},
		"disruption commands that have a node of the NodePool"}
	buildInfo = Family{"karpenter_build_info", gauge, []string{"version", "goversion", "goarch", "commit"},
		"1, with the version of the watcher; every replica exports it"}
)

// Families of conditions of objects. Those of single objects are of the kinds there are few of.
var (
	poolsCondition   = countOfConditions("nodepool", "NodePools")
	poolsStatus      = ageOfConditions("nodepool", "NodePools")
	classesCondition = countOfConditions("ec2nodeclass", "EC2NodeClasses")
	classesStatus    = ageOfConditions("ec2nodeclass", "EC2NodeClasses")

	claimsChanges  = changesOfConditions("nodeclaim", "NodeClaims")
	claimsChanged  = spansOfConditions("nodeclaim", "NodeClaims")
	poolsChanges   = changesOfConditions("nodepool", "NodePools")
	poolsChanged   = spansOfConditions("nodepool", "NodePools")
	classesChanges = changesOfConditions("ec2nodeclass", "EC2NodeClasses")
	classesChanged = spansOfConditions("ec2nodeclass", "EC2NodeClasses")
)

var ofConditions = []string{"type", "status", "reason", "namespace", "name"}

func countOfConditions(kind, kinds string) Family {
	return Family{"operator_" + kind + "_status_condition_count", gauge, ofConditions,
		"1 for each condition of " + kinds}
}

func ageOfConditions(kind, kinds string) Family {
	return Family{"operator_" + kind + "_status_condition_current_status_seconds", gauge, ofConditions,
		"how long conditions of " + kinds + " have had their status"}
}

func changesOfConditions(kind, kinds string) Family {
	return Family{"operator_" + kind + "_status_condition_transitions_total", counter,
		[]string{"type", "status", "reason"}, "changes of the status of conditions of " + kinds}
}

func spansOfConditions(kind, kinds string) Family {
	return Family{"operator_" + kind + "_status_condition_transition_seconds", histogram, []string{"type", "status"},
		"how long conditions of " + kinds + " had a status when they changed; status is that one"}
}

// Families are all there are, in the order they are documented in. Beside them there are those of the Go runtime and of
// the process (go_…, process_…).
func Families() []Family {
	return []Family{
		nodesAllocatable, nodesPodRequests, nodesDaemonRequests, nodesOverhead, nodesLifetime, clusterUtilization,
		poolsUsage, poolsLimit, poolsUsageOld, poolsLimitOld, poolsAllowed, poolsConsuming,
		podsState, podsUnbound, podsUnstarted,
		nodeCount, synced, unsynced, queueDepth, eligible, claimsCount,
		poolsCondition, poolsStatus, classesCondition, classesStatus,
		claimsChanges, claimsChanged, poolsChanges, poolsChanged, classesChanges, classesChanged,
		claimsCreated, claimsTerminated, claimsDisrupted, claimsUnhealthy, claimsTermination, nodesCreated,
		nodesTerminated, nodesDrained, nodesTermination,
		nodesLived, podsBound, podsStartup, podsDisrupted, decisions, decisionsByPool, buildInfo,
	}
}
