package world

import (
	"maps"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

// Scheduler is kube-scheduler for what this world knows: readiness, taints, node selector, required node affinity,
// resources, required affinity and anti-affinity between pods, and hard topology spread. It binds what fits, in order of
// priority, creation and name, to the first such node by name, and says of the rest that it is unschedulable. A pod that is nominated to
// a node is tried there first, and others of no higher priority find its room taken. It shares no code with what it is to evaluate.
// Preemption is not modeled.
type Scheduler struct {
	cluster *Cluster
	delay   time.Duration // from a change to the look that sees it
	at      int64         // version of the cluster at the last look
}

// NewScheduler returns a scheduler that looks delay after a change.
func NewScheduler(cluster *Cluster, delay time.Duration) *Scheduler {
	return &Scheduler{cluster: cluster, delay: delay}
}

// Next returns when it looks next; false where nothing has changed.
func (s *Scheduler) Next() (time.Time, bool) {
	c := s.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := c.after(s.at); i < len(c.history) {
		return c.history[i].at.Add(s.delay), true
	}
	return time.Time{}, false
}

// Run looks, where it is time.
func (s *Scheduler) Run(now time.Time) {
	if at, due := s.Next(); due && !at.After(now) {
		s.Schedule()
	}
}

// Schedule tries every pod that waits.
func (s *Scheduler) Schedule() {
	c := s.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.relevant(s.at) {
		for c.schedule() { // a pod that is bound may be what others wait for
		}
	}
	s.at = c.version
}

// relevant reports whether something happened after a version that kube-scheduler cares about.
func (c *Cluster) relevant(version int64) bool {
	for _, step := range c.history[c.after(version):] {
		switch step.kind {
		case KindPod, KindNode, KindNamespace, KindResourceClaim, KindResourceSlice:
			return true
		}
	}
	return version < c.trimmed
}

// schedule tries every pod that waits; the caller holds mu. It reports whether it bound one, and another waits that has to be near pods.
func (c *Cluster) schedule() (again bool) {
	bound, near := false, false
	check := &schedulingPass{cluster: c, used: map[string]model.Resources{}, nominated: map[string][]*model.Pod{}}
	var waiting []*model.Pod
	for _, key := range c.pods.keys {
		pod := c.pods.get(key)
		switch {
		case pod.Terminal():
		case pod.NodeName != "":
			check.bound(pod)
		case pod.DeletedUnix == 0 && !c.shapes[pod.Shape].Gated && c.shapes[pod.Shape].OwnerKind != KindDaemons &&
			claimed(c, pod):
			waiting = append(waiting, pod)
			if pod.NominatedNode != "" {
				check.nominated[pod.NominatedNode] = append(check.nominated[pod.NominatedNode], pod)
			}
		}
	}
	sort.SliceStable(waiting, func(i, j int) bool {
		a, b := waiting[i], waiting[j]
		if p, q := c.shapes[a.Shape].Priority, c.shapes[b.Shape].Priority; p != q {
			return p > q
		}
		return a.CreatedUnix < b.CreatedUnix
	})
	hopeless := map[int]bool{} // shapes that fit nowhere; a pod bound later can only help one with an affinity
	for _, before := range waiting {
		shape := &c.shapes[before.Shape]
		name, ok := "", false
		if !hopeless[before.Shape] || before.NominatedNode != "" {
			name, ok = check.place(before, shape)
		}
		switch {
		case ok:
			pod := *before
			pod.NodeName, pod.NominatedNode, pod.Phase, pod.Unschedulable, pod.Ready, pod.StartedUnix = name, "", model.Running, false, true, c.now().Unix()
			check.settled(before)
			allocate(c, before, name)
			c.putPod("bind", pod)
			check.bound(&pod)
			bound = true
			if len(shape.PodAffinity) > 0 || len(shape.Spread) > 0 || len(shape.Labels) > 0 {
				clear(hopeless)
			}
		default:
			near = near || len(shape.PodAffinity) > 0
			hopeless[before.Shape] = hopeless[before.Shape] || before.NominatedNode == ""
			if !before.Unschedulable {
				pod := *before
				pod.Unschedulable = true
				c.putPod("status", pod)
			}
		}
	}
	return bound && near
}

// schedulingPass is one pass of the scheduler over the cluster.
type schedulingPass struct {
	cluster *Cluster
	used    map[string]model.Resources // by node
	pods    []*model.Pod               // bound, those bound in this pass included

	nominated map[string][]*model.Pod // to a node, and not bound yet
}

// settled notes that a pod is nominated no more.
func (l *schedulingPass) settled(pod *model.Pod) {
	l.nominated[pod.NominatedNode] = slices.DeleteFunc(l.nominated[pod.NominatedNode], func(p *model.Pod) bool { return p.UID == pod.UID })
}

func (l *schedulingPass) bound(pod *model.Pod) {
	l.pods = append(l.pods, pod)
	if l.used[pod.NodeName] == nil {
		l.used[pod.NodeName] = model.Resources{}
	}
	for name, amount := range l.cluster.shapes[pod.Shape].Requests {
		l.used[pod.NodeName][name] += amount
	}
}

// place returns the node a pod is nominated to, or else the first one by name, on which it may run.
func (l *schedulingPass) place(pod *model.Pod, shape *model.PodShape) (string, bool) {
	if node := l.cluster.nodes.get(pod.NominatedNode); pod.NominatedNode != "" && node != nil && l.takes(node, pod, shape) {
		return node.Name, true
	}
	for _, name := range l.cluster.nodes.keys {
		if l.takes(l.cluster.nodes.get(name), pod, shape) {
			return name, true
		}
	}
	return "", false
}

// takes reports whether a pod may run on the node, beside what is there and what is nominated to it with no lower a priority.
func (l *schedulingPass) takes(node *model.Node, pod *model.Pod, shape *model.PodShape) bool {
	used := l.used[node.Name]
	if kept := l.nominated[node.Name]; len(kept) > 0 {
		used = model.Resources{}
		maps.Copy(used, l.used[node.Name])
		for _, other := range kept {
			if there := &l.cluster.shapes[other.Shape]; other.UID != pod.UID && there.Priority >= shape.Priority {
				for name, amount := range there.Requests {
					used[name] += amount
				}
			}
		}
	}
	if !admits(node, shape) || !holds(node.Allocatable, used, withoutGPUs(l.cluster, shape.Requests)) ||
		!l.free(node, shape) || !l.affine(node, shape) || !l.spread(node, shape) {
		return false
	}
	_, suffice := allot(l.cluster, node, NeedsOf(shape))
	return suffice
}

// free reports whether the node ports a pod of the shape takes are taken by none of the node's pods.
func (l *schedulingPass) free(node *model.Node, shape *model.PodShape) bool {
	if len(shape.HostPorts) == 0 {
		return true
	}
	return !slices.ContainsFunc(l.pods, func(pod *model.Pod) bool {
		return pod.NodeName == node.Name && slices.ContainsFunc(l.cluster.shapes[pod.Shape].HostPorts, func(taken model.HostPort) bool {
			return slices.ContainsFunc(shape.HostPorts, func(p model.HostPort) bool {
				every := func(ip string) bool { return ip == "" || ip == "0.0.0.0" || ip == "::" }
				return p.Port == taken.Port && p.Protocol == taken.Protocol && (p.IP == taken.IP || every(p.IP) || every(taken.IP))
			})
		})
	})
}

func holds(allocatable, used, requests model.Resources) bool {
	for name, amount := range requests {
		if amount > 0 && used[name]+amount > allocatable[name] {
			return false
		}
	}
	return true
}

// admits reports whether a pod of the shape may run on the node, room and other pods aside.
func admits(node *model.Node, shape *model.PodShape) bool {
	return node.Ready && node.DeletedUnix == 0 && toleratesAll(node.Taints, shape) && chooses(node, shape)
}

// toleratesAll reports whether the shape tolerates every taint that keeps pods off.
func toleratesAll(taints []model.Taint, shape *model.PodShape) bool {
	for _, taint := range taints {
		if taint.Effect != model.PreferNoSchedule && !slices.ContainsFunc(shape.Tolerations, func(t model.Toleration) bool { return tolerates(t, taint) }) {
			return false
		}
	}
	return true
}

// chooses reports whether node selector and required node affinity let the node be used.
func chooses(node *model.Node, shape *model.PodShape) bool {
	for key, value := range shape.NodeSelector {
		if node.Labels[key] != value {
			return false
		}
	}
	terms := shape.RequiredNodeAffinity
	return len(terms) == 0 || slices.ContainsFunc(terms, func(term model.NodeTerm) bool {
		return len(term.Requirements) > 0 && !slices.ContainsFunc(term.Requirements, func(r model.Requirement) bool { return !meets(node.Labels, r) })
	})
}

// affine reports whether required affinity and anti-affinity, in both directions, allow a pod of the shape on the node.
func (l *schedulingPass) affine(node *model.Node, shape *model.PodShape) bool {
	for i := range shape.PodAntiAffinity {
		if n, _ := l.count(node, &shape.PodAntiAffinity[i], shape.Namespace); n > 0 {
			return false
		}
	}
	for _, pod := range l.pods {
		other := &l.cluster.shapes[pod.Shape]
		for i := range other.PodAntiAffinity {
			term := &other.PodAntiAffinity[i]
			there := l.cluster.nodes.get(pod.NodeName)
			if there != nil && matches(term.Selector, shape.Labels) && speaksOf(term, other.Namespace, shape.Namespace) && sameDomain(there, node, term.TopologyKey) {
				return false
			}
		}
	}
	for i := range shape.PodAffinity {
		term := &shape.PodAffinity[i]
		here, anywhere := l.count(node, term, shape.Namespace)
		first := anywhere == 0 && matches(term.Selector, shape.Labels) && speaksOf(term, shape.Namespace, shape.Namespace)
		if _, labeled := node.Labels[term.TopologyKey]; !labeled || here == 0 && !first {
			return false
		}
	}
	return true
}

// count returns how many bound pods a term names, in the node's domain and anywhere.
func (l *schedulingPass) count(node *model.Node, term *model.PodTerm, namespace string) (here, anywhere int) {
	for _, pod := range l.pods {
		other := &l.cluster.shapes[pod.Shape]
		if !matches(term.Selector, other.Labels) || !speaksOf(term, namespace, other.Namespace) {
			continue
		}
		anywhere++
		if there := l.cluster.nodes.get(pod.NodeName); there != nil && sameDomain(there, node, term.TopologyKey) {
			here++
		}
	}
	return here, anywhere
}

func sameDomain(a, b *model.Node, key string) bool {
	x, known := a.Labels[key]
	y, also := b.Labels[key]
	return known && also && x == y
}

// speaksOf reports whether a term of a pod in one namespace names pods in another. Namespace selectors are those that
// select everything or nothing here.
func speaksOf(term *model.PodTerm, from, of string) bool {
	if len(term.Namespaces) == 0 && term.NamespaceSelector == nil {
		return from == of
	}
	return slices.Contains(term.Namespaces, of) || term.NamespaceSelector != nil && len(term.NamespaceSelector.MatchLabels)+len(term.NamespaceSelector.Expressions) == 0
}

// spread reports whether hard spread constraints allow a pod of the shape on the node.
func (l *schedulingPass) spread(node *model.Node, shape *model.PodShape) bool {
	for i := range shape.Spread {
		s := &shape.Spread[i]
		if s.Anyway {
			continue
		}
		at, labeled := node.Labels[s.TopologyKey]
		if !labeled {
			return false
		}
		counts := map[string]int32{}
		for _, name := range l.cluster.nodes.keys {
			if n := l.cluster.nodes.get(name); s.IgnoreNodeAffinity || chooses(n, shape) {
				if domain, ok := n.Labels[s.TopologyKey]; ok {
					counts[domain] += 0
				}
			}
		}
		for _, pod := range l.pods {
			other := &l.cluster.shapes[pod.Shape]
			n := l.cluster.nodes.get(pod.NodeName)
			if n == nil || pod.DeletedUnix != 0 || other.Namespace != shape.Namespace || !matches(s.Selector, other.Labels) {
				continue // kube-scheduler leaves out pods that are being deleted, here and not where affinities count
			}
			if domain, ok := n.Labels[s.TopologyKey]; ok {
				if _, eligible := counts[domain]; eligible {
					counts[domain]++
				}
			}
		}
		least := int32(1 << 30)
		for _, n := range counts {
			least = min(least, n)
		}
		if s.MinDomains > 0 && int32(len(counts)) < s.MinDomains {
			least = 0
		}
		own := int32(0)
		if matches(s.Selector, shape.Labels) {
			own = 1
		}
		if counts[at]+own-least > s.MaxSkew {
			return false
		}
	}
	return true
}

// matches reports whether a label selector matches; nil matches nothing.
func matches(selector *model.Selector, labels map[string]string) bool {
	if selector == nil {
		return false
	}
	for key, value := range selector.MatchLabels {
		if have, ok := labels[key]; !ok || have != value {
			return false
		}
	}
	return !slices.ContainsFunc(selector.Expressions, func(r model.Requirement) bool { return !meets(labels, r) })
}

func tolerates(t model.Toleration, taint model.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
		return false
	}
	return t.Operator == "Exists" || t.Key != "" && t.Value == taint.Value
}

func meets(labels map[string]string, r model.Requirement) bool {
	value, has := labels[r.Key]
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
	bound, boundErr := strconv.ParseInt(slices.Concat(r.Values, []string{""})[0], 10, 64)
	if !has || err != nil || boundErr != nil {
		return false
	}
	return r.Operator == model.Gt && n > bound || r.Operator == model.Lt && n < bound
}
