package metrics

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/flow/publish"
	"github.com/joiner-sh/joiner/shared/model"
)

// notOurs is the NodePool of nodes that have none, as dashboards leave them out.
const notOurs = "N/A"

// states is what is reported of the cluster as it is.
type states struct {
	page   *page
	rows   publish.Rows
	shown  map[string]model.ClaimShown // by NodeClaim
	now    int64
	detail bool // of each node and pod

	ofPools, ofClasses map[string][]model.ConditionShown // by name

	labels map[string][]byte // of nodes, by name
	names  []string          // of resources, of one node after the other
	byName map[string]*model.Node
	pods   map[string]load // by node
}

// load is what pods ask of a node.
type load struct {
	pods, daemons model.Resources
	weight        int // pods that make a node worth keeping
}

func (s *states) write() {
	s.index()
	if s.detail {
		s.nodes()
		s.podStates()
	}
	s.pools()
	s.budgets()
	s.utilization()
	s.candidates()
	s.conditions()
	s.page.family(&nodeCount)
	s.page.sample(&nodeCount, nil, float64(len(s.rows.Nodes)))
}

func (s *states) index() {
	s.labels, s.byName, s.pods = map[string][]byte{}, map[string]*model.Node{}, map[string]load{}
	for i := range s.rows.Nodes {
		node := &s.rows.Nodes[i]
		s.byName[node.Name] = node
		if s.detail {
			s.labels[node.Name] = nodeLabels(node)
		}
	}
	for i := range s.rows.Pods {
		pod := &s.rows.Pods[i]
		if pod.NodeName == "" || pod.Terminal() {
			continue
		}
		shape, l := &s.rows.Shapes[pod.Shape], s.pods[pod.NodeName]
		if shape.OwnerKind == "DaemonSet" {
			l.daemons = added(l.daemons, shape.Requests)
		} else if l.pods = added(l.pods, shape.Requests); shape.OwnerKind != "Node" {
			l.weight++
		}
		s.pods[pod.NodeName] = l
	}
}

func added(to, more model.Resources) model.Resources {
	if to == nil {
		to = model.Resources{}
	}
	for name, amount := range more {
		to[name] += amount
	}
	return to
}

// ofInstance are the labels of nodes that tell what instance one is.
const ofInstance = "karpenter.k8s.aws/instance-"

// nodeLabels are those of ofNodes.
func nodeLabels(node *model.Node) []byte {
	out := make([]byte, 0, 512)
	for _, label := range ofNodes {
		value := ""
		switch label {
		case "arch":
			value = node.Labels[model.LabelArch]
		case "capacity_type":
			value = node.Labels[model.LabelCapacityType]
		case "instance_type":
			value = node.Labels[model.LabelInstanceType]
		case "managed":
			value = strconv.FormatBool(node.Pool() != "")
		case "node_name":
			value = node.Name
		case "nodepool":
			value = poolOf(node)
		case "os":
			value = node.Labels[model.LabelOS]
		case "region":
			value = node.Labels[model.LabelRegion]
		case "zone":
			value = node.Labels[model.LabelZone]
		default:
			value = node.Labels[ofInstance+strings.TrimPrefix(label, "instance_")]
		}
		out = labeled(out, label, value)
	}
	return out
}

func poolOf(node *model.Node) string {
	if pool := node.Pool(); pool != "" {
		return pool
	}
	return notOurs
}

// amount is one of a resource in the unit people read it in: cores, dollars, else as it is.
func amount(resource string, n int64) float64 {
	switch resource {
	case model.CPU:
		return float64(n) / 1000
	case model.Dollars:
		return model.MicroUSD(n).USD()
	}
	return float64(n)
}

// shownName is a resource as metrics name it.
func shownName(resource string) string { return separators.Replace(resource) }

var separators = strings.NewReplacer("-", "_", ".", "_", "/", "_")

func (s *states) nodes() {
	for _, each := range []struct {
		family *Family
		of     func(node *model.Node, resource string) int64
	}{
		{&nodesAllocatable, func(node *model.Node, resource string) int64 { return node.Allocatable[resource] }},
		{&nodesPodRequests, func(node *model.Node, resource string) int64 { return s.pods[node.Name].pods[resource] }},
		{&nodesDaemonRequests,
			func(node *model.Node, resource string) int64 { return s.pods[node.Name].daemons[resource] }},
		{&nodesOverhead, func(node *model.Node, resource string) int64 {
			return node.Capacity[resource] - node.Allocatable[resource]
		}},
	} {
		s.page.family(each.family)
		for i := range s.rows.Nodes {
			node := &s.rows.Nodes[i]
			s.names = s.names[:0]
			for name := range node.Capacity {
				s.names = append(s.names, name)
			}
			slices.Sort(s.names)
			for _, name := range s.names { // 0 included: dashboards divide by what a node offers
				s.page.more(each.family, amount(name, each.of(node, name)), s.labels[node.Name], "resource_type",
					shownName(name))
			}
		}
	}
	s.page.family(&nodesLifetime)
	for i := range s.rows.Nodes {
		node := &s.rows.Nodes[i]
		s.page.sample(&nodesLifetime, s.labels[node.Name], float64(max(0, s.now-node.CreatedUnix)))
	}
}

var phases = map[model.Phase]string{model.Pending: "Pending", model.Running: "Running", model.Succeeded: "Succeeded",
	model.Failed: "Failed"}

func (s *states) podStates() {
	s.page.family(&podsState)
	for i := range s.rows.Pods {
		pod := &s.rows.Pods[i]
		if pod.Terminal() {
			continue
		}
		shape, owner := &s.rows.Shapes[pod.Shape], ""
		if shape.OwnerKind != "" {
			owner = shape.OwnerKind + "/" + shape.OwnerName
		}
		node, pool, labels := s.byName[pod.NodeName], notOurs, map[string]string(nil)
		if node != nil {
			pool, labels = poolOf(node), node.Labels
		}
		s.page.writeValue(&podsState, 1, pod.Name, pod.Namespace, owner, pod.NodeName,
			strconv.FormatBool(pod.NodeName != ""), pool,
			labels[model.LabelZone], labels[model.LabelArch], labels[model.LabelCapacityType],
			labels[model.LabelInstanceType],
			phases[pod.Phase], strconv.FormatBool(pod.Ready), strconv.FormatBool(pool != notOurs))
	}
	for family, is := range map[*Family]func(pod *model.Pod) bool{
		&podsUnbound:   func(pod *model.Pod) bool { return pod.NodeName == "" },
		&podsUnstarted: func(pod *model.Pod) bool { return pod.Phase == model.Pending },
	} {
		s.page.family(family)
		for i := range s.rows.Pods {
			if pod := &s.rows.Pods[i]; !pod.Terminal() && is(pod) {
				s.page.writeValue(family, float64(max(0, s.now-pod.CreatedUnix)), pod.Name, pod.Namespace)
			}
		}
	}
}

func (s *states) pools() {
	used := map[string]model.Resources{}
	for i := range s.rows.Nodes {
		if node := &s.rows.Nodes[i]; node.Pool() != "" {
			used[node.Pool()] = added(added(used[node.Pool()], node.Capacity), model.Resources{model.Nodes: 1})
		}
	}
	limits := map[string]model.Resources{}
	for i := range s.rows.Pools {
		pool := &s.rows.Pools[i]
		limits[pool.Name] = pool.Limits
		if used[pool.Name] == nil {
			used[pool.Name] = model.Resources{}
		}
		for name := range pool.Limits { // so that a share of it is known while there is no node
			if name != model.Dollars {
				used[pool.Name][name] += 0
			}
		}
	}
	for _, each := range []struct {
		family *Family
		of     map[string]model.Resources
	}{{&poolsUsage, used}, {&poolsLimit, limits}, {&poolsUsageOld, used}, {&poolsLimitOld, limits}} {
		s.page.family(each.family)
		for _, pool := range slices.Sorted(maps.Keys(each.of)) {
			for _, name := range slices.Sorted(maps.Keys(each.of[pool])) {
				s.page.writeValue(each.family, amount(name, each.of[pool][name]), pool, shownName(name))
			}
		}
	}
}

func (s *states) budgets() {
	all := allowances(s.rows.Pools, s.rows.Nodes, s.now)
	s.page.family(&poolsAllowed)
	for _, a := range all {
		s.page.writeValue(&poolsAllowed, float64(a.allowed), a.pool, a.reason)
	}
	s.page.family(&poolsConsuming)
	for _, a := range all {
		s.page.writeValue(&poolsConsuming, float64(a.consuming), a.pool, a.reason)
	}
}

func (s *states) utilization() {
	offered, asked := model.Resources{}, model.Resources{}
	for i := range s.rows.Nodes {
		node := &s.rows.Nodes[i]
		if node.Pool() == "" {
			continue
		}
		offered = added(offered, node.Allocatable)
		asked = added(added(asked, s.pods[node.Name].pods), s.pods[node.Name].daemons)
	}
	s.page.family(&clusterUtilization)
	for _, name := range slices.Sorted(maps.Keys(offered)) {
		if offered[name] > 0 {
			s.page.writeValue(&clusterUtilization, 100*float64(asked[name])/float64(offered[name]), shownName(name))
		}
	}
}

// candidates counts nodes that may be disrupted, by reason: the claim has drifted, or the pool wants it back and
// nothing has come to it or gone from it for as long as the pool says.
func (s *states) candidates() {
	pools := map[string]*model.Pool{}
	for i := range s.rows.Pools {
		pools[s.rows.Pools[i].Name] = &s.rows.Pools[i]
	}
	counts := map[string]float64{"drifted": 0, "empty": 0, "underutilized": 0}
	for _, shown := range s.shown {
		if shown.Drifted && shown.DisruptionReason == "" {
			counts["drifted"]++
		}
	}
	for i := range s.rows.Nodes {
		node := &s.rows.Nodes[i]
		pool := pools[node.Pool()]
		if pool == nil || !node.Initialized() || node.DeletedUnix != 0 || pool.Replicas != nil ||
			pool.Disruption.ConsolidateAfterSeconds == nil {
			continue
		}
		quiet := s.now - max(node.PodEventUnix, node.ReadyUnix, node.CreatedUnix)
		switch {
		case quiet < *pool.Disruption.ConsolidateAfterSeconds:
		case s.pods[node.Name].weight == 0:
			counts["empty"]++
		case pool.Disruption.Policy != "WhenEmpty":
			counts["underutilized"]++
		}
	}
	s.page.family(&eligible)
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		s.page.writeValue(&eligible, counts[reason], reason)
	}
}

// conditions counts NodeClaims by conditions that people wait for the end of.
func (s *states) conditions() {
	counts := map[[2]string]float64{}
	for _, shown := range s.shown {
		if shown.Drifted {
			counts[[2]string{"Drifted", ""}]++
		}
		if shown.Drained {
			counts[[2]string{"Drained", ""}]++
		}
		if shown.DisruptionReason != "" {
			counts[[2]string{"DisruptionReason", shown.DisruptionReason}]++
		}
	}
	s.page.family(&claimsCount)
	for of, n := range counts {
		s.page.writeValue(&claimsCount, n, of[0], "True", of[1])
	}
	s.objects(&poolsCondition, &poolsStatus, s.ofPools)
	s.objects(&classesCondition, &classesStatus, s.ofClasses)
}

// objects writes the conditions of objects of a kind, and for how long each has had its status.
func (s *states) objects(count, age *Family, shown map[string][]model.ConditionShown) {
	names := slices.Sorted(maps.Keys(shown))
	s.page.family(count)
	for _, name := range names {
		for _, c := range shown[name] {
			s.page.writeValue(count, 1, c.Type, c.Status, c.Reason, "", name)
		}
	}
	s.page.family(age)
	for _, name := range names {
		for _, c := range shown[name] {
			if c.SinceUnix != 0 {
				s.page.writeValue(age, float64(max(0, s.now-c.SinceUnix)), c.Type, c.Status, c.Reason, "", name)
			}
		}
	}
}
