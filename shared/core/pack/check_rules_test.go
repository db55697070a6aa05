package pack

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// antiAffinity checks a planned pod's required terms, and those of every other pod about it, as kube-scheduler's
// InterPodAffinity does: a node without the label is in no domain. Where a domain is open every one it may be counts.
func (c *checker) antiAffinity(hosts []*finalNode, h *finalNode, r finalPod) {
	for _, other := range hosts {
		for _, q := range other.pods {
			if q.uid == r.uid {
				continue
			}
			for i := range r.shape.PodAntiAffinity {
				if term := &r.shape.PodAntiAffinity[i]; c.aims(term, r.shape, q.shape) && mayMeet(h, other, term.TopologyKey) {
					c.failf("pod %s on %s must not be with %s on %s in one %s", r.key, h.name, q.key, other.name, term.TopologyKey)
				}
			}
			for i := range q.shape.PodAntiAffinity {
				if term := &q.shape.PodAntiAffinity[i]; c.aims(term, q.shape, r.shape) && mayMeet(h, other, term.TopologyKey) {
					c.failf("pod %s on %s keeps %s on %s out of its %s", q.key, other.name, r.key, h.name, term.TopologyKey)
				}
			}
		}
	}
}

// mayMeet reports whether two hosts may be in one domain.
func mayMeet(a, b *finalNode, key string) bool {
	if a == b {
		return slices.ContainsFunc(a.variants, func(v map[string]string) bool { _, has := v[key]; return has })
	}
	others := b.domains(key)
	return slices.ContainsFunc(a.domains(key), func(value string) bool { return value != "" && slices.Contains(others, value) })
}

// affinity checks the required pod affinity of all planned pods, whatever the order they are bound in. A pod counts for
// another only where it matches all of that pod's terms. The first of its kind may go anywhere, so all that could be
// first must be in one domain.
func (c *checker) affinity(hosts []*finalNode) {
	type waiting struct {
		host *finalNode
		finalPod
	}
	var open []waiting
	there := make(map[string]bool) // by UID: sure to be bound whatever the order
	for _, h := range hosts {
		for _, r := range h.pods {
			if r.planned && len(r.shape.PodAffinity) > 0 {
				open = append(open, waiting{h, r})
				continue
			}
			there[r.uid] = !r.unsure
		}
	}
	settle := func() {
		for again := true; again; {
			again = false
			open = slices.DeleteFunc(open, func(w waiting) bool {
				ok := c.near(hosts, w.host, w.finalPod, func(q finalPod) bool { return there[q.uid] })
				there[w.uid] = there[w.uid] || ok
				again = again || ok
				return ok
			})
		}
	}
	settle()
	var first []waiting
	for _, w := range open {
		if c.mayStart(hosts, w.host, w.finalPod) {
			first = append(first, w)
		}
	}
	for _, w := range first {
		there[w.uid] = true
	}
	open = slices.DeleteFunc(open, func(w waiting) bool { return there[w.uid] })
	settle()
	for _, w := range open {
		c.failf("pod %s on %s is not sure to have the pods it must be near in its domain", w.key, w.host.name)
	}
}

// near reports whether each term of the pod has a counted pod in the pod's domain.
func (c *checker) near(hosts []*finalNode, h *finalNode, r finalPod, counts func(finalPod) bool) bool {
	for i := range r.shape.PodAffinity {
		key := r.shape.PodAffinity[i].TopologyKey
		own, ok := h.domain(key)
		if !ok || own == "" {
			return false
		}
		found := slices.ContainsFunc(hosts, func(other *finalNode) bool {
			value, sure := other.domain(key)
			return sure && value == own && slices.ContainsFunc(other.pods, func(q finalPod) bool {
				return q.uid != r.uid && counts(q) && c.aimsAll(r.shape, q.shape)
			})
		})
		if !found {
			return false
		}
	}
	return true
}

// mayStart reports whether the pod matches itself, and every pod it would have to be near is in its domain of every
// term or in no domain of any: kube-scheduler lets a pod be the first only where no term finds anybody anywhere.
func (c *checker) mayStart(hosts []*finalNode, h *finalNode, r finalPod) bool {
	if !c.aimsAll(r.shape, r.shape) {
		return false
	}
	for _, other := range hosts {
		if !slices.ContainsFunc(other.pods, func(q finalPod) bool { return c.aimsAll(r.shape, q.shape) }) {
			continue
		}
		inAll, inAny := true, false
		for i := range r.shape.PodAffinity {
			key := r.shape.PodAffinity[i].TopologyKey
			own, ok := h.domain(key)
			if !ok || own == "" {
				return false
			}
			value, sure := other.domain(key)
			inAll = inAll && sure && value == own
			inAny = inAny || !slices.Equal(other.domains(key), []string{""})
		}
		if inAny && !inAll {
			return false
		}
	}
	return true
}

func (c *checker) aimsAll(owner, other *model.PodShape) bool {
	for i := range owner.PodAffinity {
		if !c.aims(&owner.PodAffinity[i], owner, other) {
			return false
		}
	}
	return len(owner.PodAffinity) > 0
}

// spread checks every DoNotSchedule constraint of a planned pod as if it were the last to be bound. Where a claim's
// domain is open, the worst it may be counts.
func (c *checker) spread(hosts []*finalNode, h *finalNode, r finalPod) {
	var keys []string
	for _, s := range r.shape.Spread {
		if !s.Anyway {
			keys = append(keys, s.TopologyKey)
		}
	}
	for i := range r.shape.Spread {
		s := &r.shape.Spread[i]
		if s.Anyway {
			continue
		}
		own, ok := h.domain(s.TopologyKey)
		if !ok || own == "" {
			c.failf("pod %s is spread over %s and %s may be in %q", r.key, s.TopologyKey, h.name, own)
			continue
		}
		most, least := c.countDomains(hosts, r, s, keys)
		if _, isDomain := least[own]; isDomain {
			least[own] = most[own] // what may be here is, and so nowhere else
		}
		fewest := int32(0)
		if int32(len(least)) >= s.MinDomains {
			fewest = 1 << 30
			for _, n := range least {
				fewest = min(fewest, n)
			}
			if len(least) == 0 {
				fewest = 1 << 30 // no domain is counted, so that nothing is too much
			}
		}
		self := int32(0)
		if countsPod(s, r.shape, r.shape.Namespace, r.shape.Labels, true) {
			self = 1
		}
		if most[own]+self-fewest > s.MaxSkew {
			c.failf("pod %s on %s: %s %s has %d, %d more than the least of %v, maxSkew %d", r.key, h.name, s.TopologyKey, own,
				most[own]+self, most[own]+self-fewest, least, s.MaxSkew)
		}
	}
}

// countDomains returns, without the pod itself, the most and the least each domain may hold.
func (c *checker) countDomains(hosts []*finalNode, r finalPod, s *model.Spread, keys []string) (most, least map[string]int32) {
	most, least = make(map[string]int32), make(map[string]int32)
	for _, h := range hosts {
		pods, unsure := int32(0), int32(0)
		for _, q := range h.pods {
			if q.uid != r.uid && !q.leaving && q.shape.Namespace == r.shape.Namespace && countsPod(s, r.shape, q.shape.Namespace, q.shape.Labels, false) {
				pods++
				if q.unsure {
					unsure++
				}
			}
		}
		values := make(map[string]bool)
		left := false
		for _, v := range h.variants {
			if countsNode(h, v, r.shape, s, keys) {
				values[v[s.TopologyKey]] = true
			} else {
				left = true
			}
		}
		for value := range values { // each domain on its own: the order does not matter
			most[value] += pods
			least[value] += 0
			if len(values) == 1 && !left {
				least[value] += pods - unsure
			}
		}
	}
	return most, least
}

// countsNode reports whether a node is counted for the constraint.
func countsNode(h *finalNode, labels map[string]string, shape *model.PodShape, s *model.Spread, keys []string) bool {
	for _, key := range keys {
		if _, has := labels[key]; !has {
			return false
		}
	}
	if !s.IgnoreNodeAffinity && !selects(shape, labels) {
		return false
	}
	return !s.HonorNodeTaints || toleratesAll(shape, h.taints)
}

// countsPod reports whether a constraint of owner is about a pod. An empty selector counts no pod, and yet the pod
// itself.
func countsPod(s *model.Spread, owner *model.PodShape, namespace string, labels map[string]string, self bool) bool {
	if s.Selector == nil || namespace != owner.Namespace {
		return false
	}
	if !self && len(s.Selector.MatchLabels)+len(s.Selector.Expressions) == 0 && len(presentKeys(s.MatchLabelKeys, owner.Labels)) == 0 {
		return false
	}
	return selectorMatches(s.Selector, labels) && sameLabelKeys(owner, labels, s.MatchLabelKeys, nil)
}

func presentKeys(keys []string, labels map[string]string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { _, has := labels[key]; return !has })
}

// ports checks that no planned pod takes a port of its node that another pod, or a daemon of a new node, has.
func (c *checker) ports(h *finalNode) {
	for i, a := range h.pods {
		for _, b := range h.pods[i+1:] {
			if !a.planned && !b.planned {
				continue
			}
			for _, p := range a.shape.HostPorts {
				for _, q := range b.shape.HostPorts {
					if portsOverlap(p, q) {
						c.failf("%s and %s both take port %v of %s", a.key, b.key, p, h.name)
					}
				}
			}
		}
	}
}

// portsOverlap is kube-scheduler's NodePorts: no address, or 0.0.0.0, is every address; no protocol is TCP.
func portsOverlap(p, q model.HostPort) bool {
	protocol := func(x model.HostPort) string {
		if x.Protocol == "" {
			return "TCP"
		}
		return x.Protocol
	}
	every := func(x model.HostPort) bool { return x.IP == "" || x.IP == "0.0.0.0" }
	return p.Port > 0 && p.Port == q.Port && protocol(p) == protocol(q) && (every(p) || every(q) || p.IP == q.IP)
}
