package check

import (
	"fmt"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/bench/problem"
)

// Rules a Violation can be of.
const (
	Counting     = "counting"     // every waiting pod exactly once, and only those
	Capacity     = "capacity"     // requests and daemons within what the node has
	Selection    = "selection"    // node selector and required node affinity
	Taint        = "taint"        // untolerated
	Pool         = "pool"         // the claim's node is one its pool may make
	Buying       = "buying"       // the offering is sold, at that price, and no other the claim accepts is cheaper
	Flexibility  = "flexibility"  // a spot claim has the choice its pods allow
	AntiAffinity = "antiAffinity" // required, either way round
	Affinity     = "affinity"     // required
	Spread       = "spread"       // DoNotSchedule
	Pinned       = "pinned"       // a claim in any of several domains, with pods it matters to
	Reasons      = "reasons"      // a refused pod without one
)

// SpotChoice is how many instance types a spot claim must accept, where its pods fit so many.
const SpotChoice = 10

// Violation is one broken rule.
type Violation struct {
	Rule    string `json:"rule"`
	Message string `json:"message"`
}

// String returns rule and message.
func (v Violation) String() string { return v.Rule + ": " + v.Message }

// Report is what there is to say of an answer.
type Report struct {
	Violations []Violation
	Placed     int     // waiting pods on nodes
	Left       int     // waiting pods on none
	Claims     int     // new nodes
	Price      float64 // dollars per hour, of the offerings named
}

// Plan evaluates an answer.
func Plan(p *problem.Problem, a Answer) Report {
	c := newChecker(p)
	c.nominations(a.Nominations)
	for i := range a.Claims {
		c.claim(&a.Claims[i])
	}
	c.refused(a.Unschedulable)
	c.everyPodOnce()
	c.report.Left = len(p.Pods) - c.report.Placed
	for _, n := range c.nodes {
		c.capacity(n)
	}
	newTopology(c).evaluate()
	return c.report
}

// node is a node of the final state.
type node struct {
	name   string
	labels map[string]string
	taints []corev1.Taint
	free   model.Resources // allocatable; capacity() takes the pods off
	pods   []*corev1.Pod   // bound, placed and daemons'
	claim  *Claim          // nil for a node that exists
}

type checker struct {
	problem *problem.Problem
	report  Report
	types   map[string]*model.InstanceType
	waiting map[string]*corev1.Pod
	times   map[string]int // in the answer, by pod
	nodes   []*node
	byName  map[string]*node
	moulds  map[[4]string]*mould
	sizes   map[*corev1.Pod]model.Resources
}

func newChecker(p *problem.Problem) *checker {
	c := &checker{problem: p, types: map[string]*model.InstanceType{}, waiting: map[string]*corev1.Pod{}, times: map[string]int{}, byName: map[string]*node{},
		moulds: map[[4]string]*mould{}, sizes: map[*corev1.Pod]model.Resources{}}
	for i := range p.Types {
		c.types[p.Types[i].Name] = &p.Types[i]
	}
	for _, pod := range p.Pods {
		c.waiting[key(pod)] = pod
	}
	for _, n := range p.Nodes {
		made := &node{name: n.Name, labels: n.Labels, taints: n.Spec.Taints, free: resources(n.Status.Allocatable)}
		c.nodes = append(c.nodes, made)
		c.byName[n.Name] = made
	}
	for _, pod := range p.Bound {
		if n := c.byName[pod.Spec.NodeName]; n != nil {
			n.pods = append(n.pods, pod)
		}
	}
	return c
}

func key(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }

func (c *checker) bad(rule, format string, args ...any) {
	c.report.Violations = append(c.report.Violations, Violation{rule, fmt.Sprintf(format, args...)})
}

func (c *checker) nominations(list []Nomination) {
	for _, nomination := range list {
		n := c.byName[nomination.Node]
		if n == nil {
			c.bad(Counting, "there is no node %s to put %d pods on", nomination.Node, len(nomination.Pods))
			continue
		}
		c.place(n, nomination.Pods)
	}
}

// place puts pods on a node and evaluates each against it.
func (c *checker) place(n *node, pods []string) {
	for _, name := range pods {
		c.times[name]++
		pod := c.waiting[name]
		if pod == nil {
			continue // everyPodOnce tells
		}
		c.report.Placed++
		n.pods = append(n.pods, pod)
		if why := selects(pod, n.labels); why != "" {
			c.bad(Selection, "%s on %s: %s", name, n.name, why)
		}
		if t := untolerated(pod, n.taints); t != nil {
			c.bad(Taint, "%s on %s: %s=%s:%s", name, n.name, t.Key, t.Value, t.Effect)
		}
	}
}

// claim makes the node a claim leads to, and evaluates the claim's other choices.
func (c *checker) claim(claim *Claim) {
	t := c.types[claim.Offering.InstanceType]
	if t == nil {
		c.bad(Buying, "claim %s names instance type %q, which the catalogue has not", claim.Name, claim.Offering.InstanceType)
		return
	}
	n := c.made(claim, t, claim.Offering.Zone, claim.Offering.CapacityType)
	n.name = "claim " + claim.Name
	c.nodes = append(c.nodes, n)
	c.place(n, claim.Pods)
	c.report.Claims++
	c.report.Price += claim.Offering.PricePerHour
	c.pool(claim, n)
	c.buying(claim)
	c.otherTypes(claim)
	c.flexibility(claim)
}

// made returns the node a claim becomes, with its daemons, launched one way.
func (c *checker) made(claim *Claim, t *model.InstanceType, zone, capacityType string) *node {
	mould := c.mould(claim.NodePool, t, zone, capacityType)
	n := &node{labels: maps.Clone(mould.labels), taints: mould.taints, free: t.Allocatable(), pods: slices.Clone(mould.daemons), claim: claim}
	n.labels[model.LabelHostname] = "claim " + claim.Name
	return n
}

// mould is what every node of one pool, type, zone and capacity type is like.
type mould struct {
	labels  map[string]string
	taints  []corev1.Taint
	daemons []*corev1.Pod
	room    model.Resources // allocatable less daemons
	allowed bool            // the pool may make it
}

func (c *checker) mould(poolName string, t *model.InstanceType, zone, capacityType string) *mould {
	id := [4]string{poolName, t.Name, zone, capacityType}
	if known := c.moulds[id]; known != nil {
		return known
	}
	m := &mould{labels: map[string]string{}, room: t.Allocatable()}
	c.moulds[id] = m
	pool := c.poolNamed(poolName)
	if pool != nil {
		maps.Copy(m.labels, pool.Spec.Template.Metadata.Labels)
		m.taints = pool.Spec.Template.Spec.Taints
	}
	for k, values := range t.Labels {
		if len(values) == 1 {
			m.labels[k] = values[0]
		}
	}
	m.labels[model.LabelInstanceType], m.labels[model.LabelZone], m.labels[model.LabelCapacityType] = t.Name, zone, capacityType
	m.labels[model.LabelNodePool] = poolName
	m.allowed = pool != nil && unmet(pool, m.labels) == nil
	for _, set := range c.problem.DaemonSets {
		pod := &corev1.Pod{ObjectMeta: set.Spec.Template.ObjectMeta, Spec: set.Spec.Template.Spec}
		pod.Namespace = set.Namespace
		if selects(pod, m.labels) == "" && untolerated(pod, m.taints) == nil {
			m.daemons = append(m.daemons, pod)
			take(m.room, c.requests(pod))
		}
	}
	return m
}

// requests returns what a pod takes of a node.
func (c *checker) requests(pod *corev1.Pod) model.Resources {
	known, seen := c.sizes[pod]
	if !seen {
		known = Requests(pod)
		c.sizes[pod] = known
	}
	return known
}

// capacity takes everything on the node off what it has.
func (c *checker) capacity(n *node) {
	left := maps.Clone(n.free)
	for _, pod := range n.pods {
		take(left, c.requests(pod))
	}
	for _, name := range sortedKeys(left) {
		if left[name] < 0 {
			c.bad(Capacity, "%s lacks %d of %s for its %d pods", n.name, -left[name], name, len(n.pods))
		}
	}
}

func (c *checker) refused(list []Unscheduled) {
	for _, u := range list {
		c.times[u.Pod]++
		if len(u.Reasons) == 0 || slices.ContainsFunc(u.Reasons, func(r Reason) bool { return r.Message == "" }) {
			c.bad(Reasons, "%s is refused without saying why", u.Pod)
		}
	}
}

func (c *checker) everyPodOnce() {
	for _, pod := range c.problem.Pods {
		if times := c.times[key(pod)]; times != 1 {
			c.bad(Counting, "%s is in the answer %d times", key(pod), times)
		}
	}
	for _, name := range sortedKeys(c.times) {
		if c.waiting[name] == nil {
			c.bad(Counting, "%s does not wait for a node", name)
		}
	}
}

// samePrice compares dollars that went through different sums.
func samePrice(a, b float64) bool { return math.Abs(a-b) < 1e-6 }
