package main

// panel is one of Karpenter's published dashboard of capacity ("Karpenter Capacity v1"), by its title, with what it asks Prometheus for.
// Source: karpenter-capacity-dashboard.json in the getting-started guide of Karpenter's AWS provider, v1.0.
type panel struct {
	Title   string
	Queries []query
}

// query is one expression of a panel. Absent says why it has no answer from the watcher; "" = it must have one.
type query struct {
	Expression string
	Absent     string
}

const (
	ofPool      = `nodepool=~"$nodepool"`
	ofInstances = `arch=~"$arch",capacity_type=~"$capacity_type",instance_type=~"$instance_type",nodepool=~"$nodepool",zone=~"$zone"`
)

// share is how much of a resource of its nodes pods of DaemonSets and others ask for.
func share(resource string) string {
	of := `{resource_type="` + resource + `",` + ofInstances + `}`
	return `((karpenter_nodes_total_daemon_requests` + of + ` or karpenter_nodes_allocatable*0) + ` +
		`(karpenter_nodes_total_pod_requests` + of + ` or karpenter_nodes_allocatable*0)) / karpenter_nodes_allocatable` + of
}

// utilisation is how much of its limit a pool uses, by both names these metrics have had.
func utilisation(resource string) []query {
	var out []query
	for _, name := range []string{"karpenter_nodepool", "karpenter_nodepools"} {
		out = append(out, query{Expression: name + `_usage{resource_type="` + resource + `"} / ` + name + `_limit{resource_type="` + resource + `"}`})
	}
	return out
}

// panels are those of the dashboard.
func panels() []panel {
	one := func(expression string) []query { return []query{{Expression: expression}} }
	both := func(metric, matchers, by string) []query {
		return []query{
			{Expression: `sum(rate(` + metric + matchers + `[$__rate_interval])) by(` + by + `)`}, {Expression: `sum by(` + by + `) (` + metric + matchers + `)`},
		}
	}
	return []panel{
		{"Nodes Created by nodepool", both("karpenter_nodes_created_total", "{"+ofPool+"}", "cluster,nodepool")},
		{"Nodes Terminated by nodepool", both("karpenter_nodes_terminated_total", "{"+ofPool+"}", "cluster,nodepool")},
		{"Nodes Eligible for Disruptions by reason", one(`sum by(reason)(karpenter_voluntary_disruption_eligible_nodes)`)},
		{"Node Disruptions", both("karpenter_nodeclaims_disrupted_total", "{"+ofPool+"}", "cluster,nodepool")},
		{"Disruption Actions performed by type and decision", both("karpenter_voluntary_disruption_decisions_total", "", "cluster,nodepool,consolidation_type,decision")},
		{"Pod Distribution", one(`sum by ($distribution_filter)(karpenter_pods_state{arch=~"$arch", capacity_type=~"$capacity_type", instance_type=~"$instance_type", nodepool=~"$nodepool"})`)},
		{"Pod Phase", one(`sum by(phase)(karpenter_pods_state)`)},
		{"Nodepool Summary", append(append(utilisation("cpu"), utilisation("memory")...),
			query{Expression: `count by (nodepool)(karpenter_nodes_allocatable{nodepool!="N/A",resource_type="cpu"})`},
			query{Expression: `sum by (nodepool)(karpenter_nodes_allocatable{nodepool!="N/A",resource_type="cpu"})`},
			query{Expression: `sum by (nodepool)(karpenter_nodes_allocatable{nodepool!="N/A",resource_type="memory"})`})},
		{"Spot Node Percentage", one(`(count(karpenter_nodes_allocatable{arch=~"$arch",capacity_type="spot",instance_type=~"$instance_type",nodepool=~"$nodepool",zone=~"$zone"}) or vector(0)) / ` +
			`count(karpenter_nodes_allocatable{arch=~"$arch",instance_type=~"$instance_type",nodepool=~"$nodepool",zone=~"$zone"})`)},
		{"Node Summary", []query{
			{Expression: share("cpu")}, {Expression: share("memory")},
			{Expression: `karpenter_nodes_total_daemon_requests{resource_type="pods",` + ofInstances + `} + karpenter_nodes_total_pod_requests{resource_type="pods",` + ofInstances + `}`},
			{
				Expression: `label_replace(sum by (node)(node_time_seconds) - sum by (node)(node_boot_time_seconds), "node_name", "$1", "node", "(.+)")`,
				Absent:     "metrics of Prometheus's node exporter, which Karpenter does not tell either",
			},
		}},
	}
}

// filters are the values of the dashboard's choice of what pods are told apart by.
var filters = []string{"arch", "capacity_type", "instance_type", "namespace", "node", "nodepool", "zone"}

// chosen are the dashboard's variables that take every value a label of karpenter_nodes_allocatable has.
var chosen = []string{"nodepool", "zone", "arch", "capacity_type", "instance_type"}
