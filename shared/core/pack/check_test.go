package pack

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/joiner-sh/joiner/shared/core/pack/newnodes"
	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/model"
)

// problems returns everything that is wrong with a plan, evaluated by making every node it may lead to and looking at
// it as kube-scheduler does. It shares no code with the planner but sums of resources.
func problems(in Input, plan model.Plan) []string {
	c := newChecker(in)
	c.everyPodOnce(plan)
	for i := range plan.Claims {
		c.claim(&plan.Claims[i])
	}
	c.names(plan)
	c.limits(plan)
	c.nominations(plan)
	c.together(plan)
	return c.found
}

func newChecker(in Input) *checker {
	c := &checker{in: in, shapeOf: make(map[string]*model.PodShape), moving: make(map[int]bool)}
	for i := range in.Snapshot.Pods {
		pod := &in.Snapshot.Pods[i]
		c.shapeOf[pod.UID] = in.Snapshot.ShapeOf(pod)
	}
	if in.Pending == nil {
		in.Pending = Pending(in.Snapshot)
	}
	for _, i := range in.Pending {
		c.moving[i] = true
	}
	return c
}

const reservationLabel = "karpenter.k8s.aws/capacity-reservation-id"

type checker struct {
	in      Input
	shapeOf map[string]*model.PodShape
	moving  map[int]bool // pods of Input.Pending: they leave the node they are bound to
	found   []string
}

func (c *checker) failf(format string, args ...any) {
	c.found = append(c.found, fmt.Sprintf(format, args...))
}

func (c *checker) everyPodOnce(plan model.Plan) {
	times := make(map[string]int)
	for _, claim := range plan.Claims {
		for _, pod := range claim.Pods {
			times[pod.UID]++
		}
	}
	for _, nomination := range plan.Nominations {
		for _, pod := range nomination.Pods {
			times[pod.UID]++
		}
	}
	for _, u := range plan.Unschedulable {
		times[u.Pod.UID]++
		if len(u.Reasons) == 0 {
			c.failf("pod %s is refused without a reason", u.Pod.Key())
		}
		for _, r := range u.Reasons {
			if r.Code == "" || r.Message == "" || r.Remedy == "" {
				c.failf("pod %s is refused with half a reason: %+v", u.Pod.Key(), r)
			}
		}
	}
	asked := make(map[int]bool)
	list := c.in.Pending
	if list == nil {
		list = Pending(c.in.Snapshot)
	}
	for _, i := range list {
		asked[i] = true
	}
	for i := range c.in.Snapshot.Pods {
		pod := &c.in.Snapshot.Pods[i]
		want := 0
		if asked[i] {
			want = 1
		}
		if times[pod.UID] != want {
			c.failf("pod %s is in the plan %d times, want %d", pod.Key(), times[pod.UID], want)
		}
	}
}

func (c *checker) names(plan model.Plan) {
	seen := make(map[string]bool)
	for _, claim := range plan.Claims {
		if seen[claim.Name] || claim.Name == "" || len(claim.Name) > 63 {
			c.failf("claim name %q is empty, too long or taken", claim.Name)
		}
		seen[claim.Name] = true
	}
}

func (c *checker) pool(name string) *model.Pool {
	i := slices.IndexFunc(c.in.Snapshot.Pools, func(p model.Pool) bool { return p.Name == name })
	return &c.in.Snapshot.Pools[i]
}

// claim makes every node the claim allows and checks each.
func (c *checker) claim(claim *model.PlannedClaim) {
	pool := c.pool(claim.Pool)
	if len(pool.Invalid) > 0 || pool.Replicas != nil || pool.DeletedUnix != 0 {
		c.failf("claim %s is of a pool that may not be used", claim.Name)
	}
	if len(claim.InstanceTypes) == 0 || len(claim.InstanceTypes) > newnodes.MaxInstanceTypes {
		c.failf("claim %s lists %d types", claim.Name, len(claim.InstanceTypes))
	}
	previous, cheapest := model.MicroUSD(-1), model.MicroUSD(-1)
	for _, name := range claim.InstanceTypes {
		t := typeNamed(c.in.Catalogs[claim.Class], name)
		best := model.MicroUSD(-1)
		for _, o := range t.Offerings {
			if !slices.Contains(claim.Zones, o.Zone) || !slices.Contains(claim.CapacityTypes, o.CapacityType) {
				continue
			}
			if o.CapacityType == model.Reserved && !meetsAll(claim.Requirements, map[string]string{reservationLabel: o.ReservationID}, reservationLabel) {
				continue
			}
			c.node(claim, pool, t, o)
			if o.Available && (best < 0 || o.Price < best) {
				best = o.Price
			}
		}
		if best < 0 {
			c.failf("claim %s lists %s, which cannot be bought in %v as %v", claim.Name, name, claim.Zones, claim.CapacityTypes)
		}
		if best < previous {
			c.failf("claim %s lists %s at %d after one at %d", claim.Name, name, best, previous)
		}
		if cheapest < 0 {
			cheapest = best
		}
		previous = best
	}
	if claim.Price != cheapest || claim.Offering.InstanceType != claim.InstanceTypes[0] {
		c.failf("claim %s costs %d by %v, but %s is %d", claim.Name, claim.Price, claim.Offering, claim.InstanceTypes[0], cheapest)
	}
	c.minValues(claim, pool)
}

// node checks one node the claim may become: its pods and daemons fit it, and pool and pods accept its labels.
func (c *checker) node(claim *model.PlannedClaim, pool *model.Pool, t *model.InstanceType, o model.Offering) {
	labels := nodeLabels(claim.Name, claim.Labels, t, o)
	where := fmt.Sprintf("claim %s as %s/%s/%s", claim.Name, t.Name, o.Zone, o.CapacityType)
	if !meetsAll(pool.Template.Requirements, labels, "") {
		c.failf("%s is not what the pool requires: %v with %v", where, pool.Template.Requirements, labels)
	}
	if !meetsAll(claim.Requirements, labels, "") {
		c.failf("%s is not what the claim requires: %v with %v", where, claim.Requirements, labels)
	}
	load := model.Resources{}
	for _, pod := range claim.Pods {
		shape := c.shapeOf[pod.UID]
		load = resource.Add(load, shape.Requests)
		if !selects(shape, labels) || !toleratesAll(shape, claim.Taints) {
			c.failf("%s does not suit pod %s: %v, %v", where, pod.Key(), labels, claim.Taints)
		}
	}
	for _, daemon := range c.in.Snapshot.DaemonSets {
		if shape := &c.in.Snapshot.Shapes[daemon.Shape]; selects(shape, labels) && toleratesAll(shape, claim.Taints) {
			load = resource.Add(load, shape.Requests)
		}
	}
	if short := resource.Short(load, t.Allocatable()); len(short) > 0 {
		c.failf("%s is too small in %v: %s of %s", where, short, resource.String(load), resource.String(t.Allocatable()))
	}
}

// nodeLabels returns the labels of the node a claim becomes when it is bought by the offering.
func nodeLabels(name string, claimLabels map[string]string, t *model.InstanceType, o model.Offering) map[string]string {
	labels := map[string]string{model.LabelHostname: name, model.LabelRegistered: "true", model.LabelInitialized: "true"}
	for key, values := range t.Labels {
		if len(values) == 1 {
			labels[key] = values[0]
		}
	}
	maps.Copy(labels, claimLabels)
	labels[model.LabelZone], labels[model.LabelCapacityType] = o.Zone, o.CapacityType
	labels["topology.ebs.csi.aws.com/zone"] = o.Zone
	if o.ZoneID != "" {
		labels[model.LabelZoneID] = o.ZoneID
	}
	if o.ReservationID != "" {
		labels[reservationLabel] = o.ReservationID
	}
	for old, current := range map[string]string{"beta.kubernetes.io/arch": model.LabelArch, "beta.kubernetes.io/os": model.LabelOS,
		"beta.kubernetes.io/instance-type": model.LabelInstanceType, "failure-domain.beta.kubernetes.io/zone": model.LabelZone,
		"failure-domain.beta.kubernetes.io/region": model.LabelRegion} {
		if value, has := labels[current]; has {
			labels[old] = value
		}
	}
	return labels
}

func (c *checker) minValues(claim *model.PlannedClaim, pool *model.Pool) {
	if c.in.BestEffortMinValues && claim.Annotations[model.AnnotationMinValuesRelaxed] == "true" {
		return
	}
	for _, r := range pool.Template.Requirements {
		values := make(map[string]bool)
		for _, name := range claim.InstanceTypes {
			for _, value := range typeNamed(c.in.Catalogs[claim.Class], name).Labels[r.Key] {
				if meets(r, value, true) {
					values[value] = true
				}
			}
		}
		if len(values) < r.MinValues {
			c.failf("claim %s has %d values of %s, want %d", claim.Name, len(values), r.Key, r.MinValues)
		}
	}
}

func (c *checker) limits(plan model.Plan) {
	for _, pool := range c.in.Snapshot.Pools {
		held := resource.Add(c.in.Usage[pool.Name], nil)
		claims := 0
		for i := range plan.Claims {
			claim := &plan.Claims[i]
			if claim.Pool != pool.Name {
				continue
			}
			claims++
			held = resource.Add(held, claim.Reserve)
			if most := claim.Reserve[model.Dollars]; model.MicroUSD(most) < claim.Price {
				c.failf("claim %s holds %d micro-USD and costs %d", claim.Name, most, claim.Price)
			}
			for _, name := range claim.InstanceTypes {
				capacity := resource.Add(typeNamed(c.in.Catalogs[claim.Class], name).Capacity, model.Resources{model.Nodes: 1})
				for limited := range pool.Limits {
					if capacity[limited] > claim.Reserve[limited] {
						c.failf("claim %s holds %d %s, and %s would take %d", claim.Name, claim.Reserve[limited], limited, name, capacity[limited])
					}
				}
			}
		}
		for name, limit := range pool.Limits {
			if claims > 0 && held[name] > limit {
				c.failf("pool %s holds %d %s of %d", pool.Name, held[name], name, limit)
			}
		}
	}
}

// nominations checks nodes of the snapshot; claims on their way are tested on their own.
func (c *checker) nominations(plan model.Plan) {
	for _, nomination := range plan.Nominations {
		i := slices.IndexFunc(c.in.Snapshot.Nodes, func(n model.Node) bool { return n.Name == nomination.Node })
		if i < 0 {
			continue
		}
		node := &c.in.Snapshot.Nodes[i]
		if node.DeletedUnix != 0 || slices.ContainsFunc(node.Taints, func(t model.Taint) bool { return t.Key == model.TaintDisrupted }) {
			c.failf("node %s is on its way out and gets pods", node.Name)
		}
		load := model.Resources{}
		for i := range c.in.Snapshot.Pods {
			if pod := &c.in.Snapshot.Pods[i]; pod.NodeName == node.Name && !pod.Terminal() && !c.moving[i] {
				load = resource.Add(load, c.in.Snapshot.ShapeOf(pod).Requests)
			}
		}
		added := model.Resources{}
		for _, pod := range nomination.Pods {
			shape := c.shapeOf[pod.UID]
			load, added = resource.Add(load, shape.Requests), resource.Add(added, shape.Requests)
			if !selects(shape, node.Labels) || !toleratesAll(shape, lastingTaints(node)) {
				c.failf("node %s does not suit pod %s", node.Name, pod.Key())
			}
		}
		for name, amount := range added { // what no pod of the plan asks for is not the plan's doing
			if amount > 0 && load[name] > node.Allocatable[name] {
				c.failf("node %s is over its capacity: %s of %s", node.Name, resource.String(load), resource.String(node.Allocatable))
			}
		}
	}
}

// selects is kube-scheduler's node affinity.
func selects(shape *model.PodShape, labels map[string]string) bool {
	for key, value := range shape.NodeSelector {
		if labels[key] != value {
			return false
		}
	}
	if len(shape.RequiredNodeAffinity) == 0 {
		return true
	}
	return slices.ContainsFunc(shape.RequiredNodeAffinity, func(term model.NodeTerm) bool {
		return len(term.Requirements) > 0 && meetsAll(term.Requirements, labels, "")
	})
}

// meetsAll reports whether labels meet every requirement, or every one on a single key.
func meetsAll(list []model.Requirement, labels map[string]string, only string) bool {
	for _, r := range list {
		value, has := labels[r.Key]
		if (only == "" || r.Key == only) && !meets(r, value, has) {
			return false
		}
	}
	return true
}

func meets(r model.Requirement, value string, has bool) bool {
	switch r.Operator {
	case model.In:
		return has && slices.Contains(r.Values, value)
	case model.NotIn:
		return !has || !slices.Contains(r.Values, value)
	case model.Exists:
		return has
	case model.DoesNotExist:
		return !has
	}
	n, err := strconv.ParseInt(value, 10, 64)
	bound, _ := strconv.ParseInt(r.Values[0], 10, 64)
	return has && err == nil && map[model.Operator]bool{model.Gt: n > bound, model.Gte: n >= bound, model.Lt: n < bound, model.Lte: n <= bound}[r.Operator]
}

// toleratesAll covers what the tests use of tolerations: keys that exist, or equal a value.
func toleratesAll(shape *model.PodShape, taints []model.Taint) bool {
	for _, taint := range taints {
		if taint.Effect != model.PreferNoSchedule && !slices.ContainsFunc(shape.Tolerations, func(t model.Toleration) bool {
			return (t.Key == "" || t.Key == taint.Key) && (t.Effect == "" || t.Effect == taint.Effect) && (t.Operator == "Exists" || t.Value == taint.Value)
		}) {
			return false
		}
	}
	return true
}

// lastingTaints returns the taints that do not go away by themselves while a node starts.
func lastingTaints(node *model.Node) []model.Taint {
	var out []model.Taint
	for _, t := range node.Taints {
		if node.Initialized() || !model.EphemeralTaint(t.Key, t.Effect) {
			out = append(out, t)
		}
	}
	return out
}
