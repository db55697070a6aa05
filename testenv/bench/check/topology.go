package check

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/joiner-sh/joiner/shared/model"
)

// group is a set of pods some rule names, counted over the domains of one topology key.
type group struct {
	name      string // of the selector and namespace
	key       string // topology key
	selector  labels.Selector
	namespace string
	matched   map[string]bool // by labels, written out
	count     map[string]int  // matching pods by domain
	carriers  []carrier       // pods with a rule about the group, in the order they were found
}

// carrier is a pod with a rule about a group.
type carrier struct {
	pod    *corev1.Pod
	node   *node
	rule   string                           // AntiAffinity, Affinity, Spread
	spread *corev1.TopologySpreadConstraint // of Spread
}

// topology evaluates rules between pods on the final state.
type topology struct {
	*checker
	groups      []*group
	byKey       map[string]*group
	domainCache map[string][]string
}

func newTopology(c *checker) *topology {
	t := &topology{checker: c, byKey: map[string]*group{}, domainCache: map[string][]string{}}
	for _, n := range c.nodes {
		for _, pod := range n.pods {
			t.rules(n, pod)
		}
	}
	for _, n := range c.nodes {
		for _, pod := range n.pods {
			for _, g := range t.groups {
				if domain, has := n.labels[g.key]; has && g.matches(pod) {
					g.count[domain]++
					t.pinned(n, pod, g)
				}
			}
		}
	}
	return t
}

// rules enters a pod's hard rules about other pods.
func (t *topology) rules(n *node, pod *corev1.Pod) {
	for i := range pod.Spec.TopologySpreadConstraints {
		s := &pod.Spec.TopologySpreadConstraints[i]
		if s.WhenUnsatisfiable == corev1.DoNotSchedule {
			t.enter(s.TopologyKey, s.LabelSelector, carrier{pod, n, Spread, s})
		}
	}
	if pod.Spec.Affinity == nil {
		return
	}
	if a := pod.Spec.Affinity.PodAffinity; a != nil {
		for i := range a.RequiredDuringSchedulingIgnoredDuringExecution {
			term := &a.RequiredDuringSchedulingIgnoredDuringExecution[i]
			t.enter(term.TopologyKey, term.LabelSelector, carrier{pod, n, Affinity, nil})
		}
	}
	if a := pod.Spec.Affinity.PodAntiAffinity; a != nil {
		for i := range a.RequiredDuringSchedulingIgnoredDuringExecution {
			term := &a.RequiredDuringSchedulingIgnoredDuringExecution[i]
			t.enter(term.TopologyKey, term.LabelSelector, carrier{pod, n, AntiAffinity, nil})
		}
	}
}

func (t *topology) enter(topologyKey string, selector *metav1.LabelSelector, c carrier) {
	name := c.pod.Namespace + "|" + metav1.FormatLabelSelector(selector)
	g := t.byKey[name+"|"+topologyKey]
	if g == nil {
		parsed, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil {
			t.bad(c.rule, "%s: %v", key(c.pod), err)
			return
		}
		g = &group{name: name, key: topologyKey, selector: parsed, namespace: c.pod.Namespace, matched: map[string]bool{}, count: map[string]int{}}
		t.byKey[name+"|"+topologyKey] = g
		t.groups = append(t.groups, g)
	}
	g.carriers = append(g.carriers, c)
}

func (g *group) matches(pod *corev1.Pod) bool {
	if pod.Namespace != g.namespace {
		return false
	}
	written := labels.Set(pod.Labels).String()
	known, seen := g.matched[written]
	if !seen {
		known = g.selector.Matches(labels.Set(pod.Labels))
		g.matched[written] = known
	}
	return known
}

// pinned evaluates a claim that may still be launched in several domains although one of its pods counts in one.
func (t *topology) pinned(n *node, pod *corev1.Pod, g *group) {
	if n.claim == nil {
		return
	}
	open := 0
	switch g.key {
	case model.LabelZone:
		open = len(n.claim.Zones)
	case model.LabelCapacityType:
		open = len(n.claim.CapacityTypes)
	}
	if open > 1 {
		t.bad(Pinned, "%s may yet be in any of %d domains of %s, where %s counts to %s", n.name, open, g.key, key(pod), g.name)
	}
}

func (t *topology) evaluate() {
	for _, g := range t.groups {
		for _, c := range g.carriers {
			domain, has := c.node.labels[g.key]
			switch c.rule {
			case AntiAffinity:
				t.antiAffinity(g, c, domain, has)
			case Spread:
				t.spread(g, c, domain, has)
			}
		}
	}
	t.affinity()
}

// antiAffinity wants no other pod of the group in the carrier's domain. Every carrier is asked, so that the rule holds
// for the other pod as well.
func (t *topology) antiAffinity(g *group, c carrier, domain string, has bool) {
	others := g.count[domain]
	if g.matches(c.pod) {
		others--
	}
	if has && others > 0 {
		t.bad(AntiAffinity, "%s on %s shares %s=%s with %d pods of %s", key(c.pod), c.node.name, g.key, domain, others, g.name)
	}
}

// spread wants the carrier's domain to be no more than maxSkew above the emptiest.
func (t *topology) spread(g *group, c carrier, domain string, has bool) {
	if !has {
		t.bad(Spread, "%s on %s, which has no %s", key(c.pod), c.node.name, g.key)
		return
	}
	domains := t.domains(g, c)
	least := math.MaxInt
	for _, d := range domains {
		least = min(least, g.count[d])
	}
	if c.spread.MinDomains != nil && len(domains) < int(*c.spread.MinDomains) {
		least = 0
	}
	if skew := g.count[domain] - least; skew > int(c.spread.MaxSkew) {
		t.bad(Spread, "%s on %s: %d pods of %s in %s=%s and %d in the emptiest, maxSkew %d", key(c.pod), c.node.name, g.count[domain], g.name, g.key, domain, least, c.spread.MaxSkew)
	}
}

// domains returns where the carrier's pods are counted: the domains of nodes the carrier may be on and, of zones, those
// where it could be bought one.
func (t *topology) domains(g *group, c carrier) []string {
	cacheKey := fmt.Sprint(g.key, "|", c.pod.Spec.NodeSelector, "|", c.pod.Spec.Affinity != nil && c.pod.Spec.Affinity.NodeAffinity != nil)
	if c.pod.Spec.Affinity != nil && c.pod.Spec.Affinity.NodeAffinity != nil {
		cacheKey += c.pod.Spec.Affinity.NodeAffinity.String()
	}
	if known, seen := t.domainCache[cacheKey]; seen {
		return known
	}
	set := map[string]bool{}
	for _, n := range t.nodes {
		if domain, has := n.labels[g.key]; has && selects(c.pod, n.labels) == "" {
			set[domain] = true
		}
	}
	if g.key == model.LabelZone {
		t.buyableZones(c.pod, set)
	}
	t.domainCache[cacheKey] = slices.Sorted(maps.Keys(set))
	return t.domainCache[cacheKey]
}

// buyableZones adds the zones in which some pool could buy a node the pod selects and fits.
func (t *topology) buyableZones(pod *corev1.Pod, set map[string]bool) {
	for _, pool := range t.problem.Pools {
		claim := &Claim{NodePool: pool.Name, Pods: []string{key(pod)}, CapacityTypes: []string{model.Reserved, model.Spot, model.OnDemand}}
		for i := range t.problem.Types {
			for _, o := range t.problem.Types[i].Offerings {
				if o.Available && !set[o.Zone] && t.unfitAs(claim, &t.problem.Types[i], o) == "" {
					set[o.Zone] = true
				}
			}
		}
	}
}

// affinity binds pods with required affinity one after another, as often as anything moves: a pod may go where one of
// the group is, and the first of a group that selects itself anywhere. What is left over could never have been bound.
func (t *topology) affinity() {
	bound := map[*group]map[string]int{} // pods of each group bound so far, by domain
	waitingFor := map[*corev1.Pod][]*group{}
	where := map[*corev1.Pod]*node{}
	var queue []*corev1.Pod
	for _, g := range t.groups {
		for _, c := range g.carriers {
			if c.rule != Affinity {
				continue
			}
			if bound[g] == nil {
				bound[g] = maps.Clone(g.count)
			}
			if waitingFor[c.pod] == nil && c.pod.Spec.NodeName == "" {
				queue = append(queue, c.pod)
			}
			waitingFor[c.pod] = append(waitingFor[c.pod], g)
			where[c.pod] = c.node
		}
	}
	add := func(pod *corev1.Pod, by int) {
		for g := range bound {
			if domain, has := where[pod].labels[g.key]; has && g.matches(pod) {
				bound[g][domain] += by
			}
		}
	}
	for _, pod := range queue {
		add(pod, -1)
	}
	for moved := true; moved; {
		moved = false
		queue = slices.DeleteFunc(queue, func(pod *corev1.Pod) bool {
			ok := !slices.ContainsFunc(waitingFor[pod], func(g *group) bool { return !near(g, bound[g], pod, where[pod]) })
			if ok {
				add(pod, 1)
				moved = true
			}
			return ok
		})
	}
	for _, pod := range queue {
		var groups []string
		for _, g := range waitingFor[pod] {
			groups = append(groups, g.name+" by "+g.key)
		}
		t.bad(Affinity, "%s on %s is near no pod of %s", key(pod), where[pod].name, strings.Join(groups, ", "))
	}
}

// near reports whether a pod's affinity to the group lets it onto its node now.
func near(g *group, bound map[string]int, pod *corev1.Pod, n *node) bool {
	domain, has := n.labels[g.key]
	if !has {
		return false
	}
	if bound[domain] > 0 {
		return true
	}
	for _, count := range bound {
		if count > 0 {
			return false
		}
	}
	return g.matches(pod)
}
