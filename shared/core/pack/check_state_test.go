package pack

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// finalNode is a node of the cluster as it is once a plan has been carried out. A claim may become one of several
// nodes: each is a variant, the labels it would have. A node that exists has one.
type finalNode struct {
	name     string
	claim    bool // of the plan, or on its way
	variants []map[string]string
	taints   []model.Taint
	pods     []finalPod
}

// finalPod is a pod of one.
type finalPod struct {
	key     string
	uid     string
	shape   *model.PodShape
	pod     *model.Pod
	planned bool
	leaving bool // being deleted
	unsure  bool // a daemon that not every instance the claim may become runs
}

// together evaluates the pods of the plan beside each other and those that run.
func (c *checker) together(plan model.Plan) {
	hosts := c.hosts(plan)
	for _, h := range hosts {
		for _, r := range h.pods {
			if r.planned {
				c.antiAffinity(hosts, h, r)
				c.spread(hosts, h, r)
			}
		}
		c.ports(h)
		c.volumes(h)
	}
	c.affinity(hosts)
	c.oncePod(hosts)
}

// hosts makes every node there will be: those of the snapshot, claims on their way, claims of the plan. What a
// claim may become is distinguished by the keys rules name and by more.
func (c *checker) hosts(plan model.Plan, more ...string) []*finalNode {
	var hosts []*finalNode
	byName := make(map[string]*finalNode)
	add := func(h *finalNode) {
		hosts = append(hosts, h)
		byName[h.name] = h
	}
	keys := append(c.seenKeys(), more...)
	for i := range c.in.Snapshot.Nodes {
		node := &c.in.Snapshot.Nodes[i]
		add(&finalNode{name: node.Name, variants: []map[string]string{node.Labels}, taints: node.Taints})
	}
	for i := range c.in.Claims {
		claim := &c.in.Claims[i]
		if !claim.Live() || c.joined(claim) {
			continue
		}
		add(&finalNode{name: claim.Name, claim: true, taints: claim.Taints,
			variants: c.variants(claim.Name, claim.Class, claim.Labels, claim.InstanceTypes, keys, func(t *model.InstanceType, o model.Offering) bool {
				return claim.InstanceType == "" || claim.InstanceType == t.Name && claim.Zone == o.Zone && claim.CapacityType == o.CapacityType
			}, claim.Requirements)})
	}
	for i := range plan.Claims {
		claim := &plan.Claims[i]
		add(&finalNode{name: claim.Name, claim: true, taints: claim.Taints,
			variants: c.variants(claim.Name, claim.Class, claim.Labels, claim.InstanceTypes, keys, func(_ *model.InstanceType, o model.Offering) bool {
				return slices.Contains(claim.Zones, o.Zone) && slices.Contains(claim.CapacityTypes, o.CapacityType)
			}, claim.Requirements)})
	}
	c.house(plan, byName)
	for _, h := range hosts {
		c.daemons(h)
	}
	return hosts
}

// daemons adds the daemons of a node to come: they are neighbors as any pod is. On nodes that exist only those count
// that run already.
func (c *checker) daemons(h *finalNode) {
	if !h.claim {
		return
	}
	for i := range c.in.Snapshot.DaemonSets {
		set := &c.in.Snapshot.DaemonSets[i]
		shape := &c.in.Snapshot.Shapes[set.Shape]
		runs := 0
		for _, v := range h.variants {
			if selects(shape, v) && toleratesAll(shape, h.taints) {
				runs++
			}
		}
		if runs > 0 {
			h.pods = append(h.pods, finalPod{key: "of daemon " + set.Name, uid: set.Name + " on " + h.name, shape: shape, unsure: runs < len(h.variants)})
		}
	}
}

// house puts the pods that stay and those of the plan where they will be.
func (c *checker) house(plan model.Plan, byName map[string]*finalNode) {
	podOf := make(map[string]*model.Pod)
	for i := range c.in.Snapshot.Pods {
		pod := &c.in.Snapshot.Pods[i]
		podOf[pod.UID] = pod
		if h := byName[pod.NodeName]; h != nil && !pod.Terminal() && !c.moving[i] {
			h.pods = append(h.pods, finalPod{pod.Key(), pod.UID, c.shapeOf[pod.UID], pod, false, pod.DeletedUnix != 0, false})
		}
	}
	arrive := func(node string, pods []model.PodRef) {
		for _, ref := range pods {
			byName[node].pods = append(byName[node].pods, finalPod{ref.Key(), ref.UID, c.shapeOf[ref.UID], podOf[ref.UID], true, false, false})
		}
	}
	for _, claim := range plan.Claims {
		arrive(claim.Name, claim.Pods)
	}
	for _, nomination := range plan.Nominations {
		if byName[nomination.Node] == nil {
			c.failf("pods are promised node %s, which is not there", nomination.Node)
			continue
		}
		arrive(nomination.Node, nomination.Pods)
	}
}

func (c *checker) joined(claim *model.Claim) bool {
	return slices.ContainsFunc(c.in.Snapshot.Nodes, func(n model.Node) bool {
		return n.ProviderID != "" && n.ProviderID == claim.ProviderID || n.Name == claim.NodeName
	})
}

// seenKeys returns the label keys by which pods tell nodes apart: variants that agree in them are one.
func (c *checker) seenKeys() []string {
	keys := map[string]bool{model.LabelHostname: true, model.LabelZone: true, model.LabelCapacityType: true, "topology.ebs.csi.aws.com/zone": true}
	requirements := func(list []model.Requirement) {
		for _, r := range list {
			keys[r.Key] = true
		}
	}
	for i := range c.in.Snapshot.Shapes {
		shape := &c.in.Snapshot.Shapes[i]
		for key := range shape.NodeSelector {
			keys[key] = true
		}
		for _, term := range shape.RequiredNodeAffinity {
			requirements(term.Requirements)
		}
		for _, term := range slices.Concat(shape.PodAffinity, shape.PodAntiAffinity) {
			keys[term.TopologyKey] = true
		}
		for _, s := range shape.Spread {
			keys[s.TopologyKey] = true
		}
	}
	for _, v := range c.in.Snapshot.Volumes {
		for _, term := range v.Affinity {
			requirements(term.Requirements)
		}
	}
	for _, class := range c.in.Snapshot.Storage {
		for _, term := range class.AllowedTopologies {
			requirements(term.Requirements)
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// variants returns the different nodes a claim may become, distinguished by keys.
func (c *checker) variants(name, class string, labels map[string]string, types, keys []string, may func(*model.InstanceType, model.Offering) bool, required []model.Requirement) []map[string]string {
	var out []map[string]string
	seen := make(map[string]bool)
	for _, typeName := range types {
		t := typeNamed(c.in.Catalogs[class], typeName)
		if t == nil {
			continue
		}
		for _, o := range t.Offerings {
			if !may(t, o) {
				continue
			}
			all := nodeLabels(name, labels, t, o)
			if !meetsAll(required, all, "") {
				continue
			}
			part, text := make(map[string]string), ""
			for _, key := range keys {
				if value, has := all[key]; has {
					part[key] = value
					text += fmt.Sprintf("%q=%q ", key, value)
				}
			}
			if !seen[text] {
				seen[text] = true
				out = append(out, part)
			}
		}
	}
	return out
}

// domains returns the different values of key over the host's variants; "" stands for the label not being there.
func (h *finalNode) domains(key string) []string {
	values := make(map[string]bool)
	for _, v := range h.variants {
		values[v[key]] = true
	}
	return slices.Sorted(maps.Keys(values))
}

// domain returns the one value of key all variants have; ok is false where they differ.
func (h *finalNode) domain(key string) (value string, ok bool) {
	values := h.domains(key)
	if len(values) != 1 {
		return strings.Join(values, "|"), false
	}
	return values[0], true
}

// selectorMatches is a label selector of the Kubernetes API. Operators it does not know match nothing.
func selectorMatches(s *model.Selector, labels map[string]string) bool {
	if s == nil {
		return false
	}
	for key, value := range s.MatchLabels {
		if got, has := labels[key]; !has || got != value {
			return false
		}
	}
	for _, r := range s.Expressions {
		value, has := labels[r.Key]
		switch r.Operator {
		case model.In, model.NotIn, model.Exists, model.DoesNotExist:
			if !meets(r, value, has) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// sameLabelKeys adds what matchLabelKeys and mismatchLabelKeys say: keys the owner does not have are left out.
func sameLabelKeys(owner *model.PodShape, other map[string]string, match, mismatch []string) bool {
	for _, key := range match {
		if value, has := owner.Labels[key]; has {
			if got, there := other[key]; !there || got != value {
				return false
			}
		}
	}
	for _, key := range mismatch {
		if value, has := owner.Labels[key]; has {
			if got, there := other[key]; there && got == value {
				return false
			}
		}
	}
	return true
}

// aims reports whether a term of owner is about a pod of the other shape.
func (c *checker) aims(term *model.PodTerm, owner, other *model.PodShape) bool {
	return c.inNamespaces(term, owner.Namespace, other.Namespace) && selectorMatches(term.Selector, other.Labels) &&
		sameLabelKeys(owner, other.Labels, term.MatchLabelKeys, term.MismatchLabelKeys)
}

func (c *checker) inNamespaces(term *model.PodTerm, own, other string) bool {
	if len(term.Namespaces) == 0 && term.NamespaceSelector == nil {
		return own == other
	}
	if slices.Contains(term.Namespaces, other) {
		return true
	}
	return slices.ContainsFunc(c.in.Snapshot.Namespaces, func(n model.Namespace) bool {
		return n.Name == other && selectorMatches(term.NamespaceSelector, n.Labels)
	})
}
