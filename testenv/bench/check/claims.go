package check

import (
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/bench/problem"
)

func (c *checker) poolNamed(name string) *apiv1.NodePool {
	for _, pool := range c.problem.Pools {
		if pool.Name == name {
			return pool
		}
	}
	return nil
}

// pool evaluates the node against what its pool may make.
func (c *checker) pool(claim *Claim, n *node) {
	pool := c.poolNamed(claim.NodePool)
	if pool == nil {
		c.bad(Pool, "claim %s is of pool %q, which there is not", claim.Name, claim.NodePool)
		return
	}
	if r := unmet(pool, n.labels); r != nil {
		c.bad(Pool, "claim %s: pool %s requires %s %s %v of its nodes", claim.Name, pool.Name, r.Key, r.Operator, r.Values)
	}
}

// unmet returns the first requirement of the pool that labels do not meet, nil where they meet all.
func unmet(pool *apiv1.NodePool, labels map[string]string) *apiv1.Requirement {
	for i := range pool.Spec.Template.Spec.Requirements {
		r := &pool.Spec.Template.Spec.Requirements[i]
		if !meets(labels, r.Key, string(r.Operator), r.Values) {
			return r
		}
	}
	return nil
}

// cheapest returns the lowest price at which the claim accepts the type, +Inf where it is not sold so.
func cheapest(claim *Claim, t *model.InstanceType) float64 {
	best := math.Inf(1)
	for _, o := range t.Offerings {
		if o.Available && slices.Contains(claim.Zones, o.Zone) && slices.Contains(claim.CapacityTypes, o.CapacityType) {
			best = min(best, o.Price.USD())
		}
	}
	return best
}

// buying evaluates the offering named and whether the claim accepts a cheaper one.
func (c *checker) buying(claim *Claim) {
	o := claim.Offering
	if !slices.Contains(claim.InstanceTypes, o.InstanceType) || !slices.Contains(claim.Zones, o.Zone) || !slices.Contains(claim.CapacityTypes, o.CapacityType) {
		c.bad(Buying, "claim %s names offer %s in %s as %s, which is not among those it accepts", claim.Name, o.InstanceType, o.Zone, o.CapacityType)
		return
	}
	sold := slices.ContainsFunc(c.types[o.InstanceType].Offerings, func(s model.Offering) bool {
		return s.Available && s.Zone == o.Zone && s.CapacityType == o.CapacityType && samePrice(s.Price.USD(), o.PricePerHour)
	})
	if !sold {
		c.bad(Buying, "claim %s: %s is not sold in %s as %s at %v", claim.Name, o.InstanceType, o.Zone, o.CapacityType, o.PricePerHour)
	}
	for _, name := range claim.InstanceTypes {
		if t := c.types[name]; t != nil && cheapest(claim, t) < o.PricePerHour-1e-6 {
			c.bad(Buying, "claim %s names an offer at %v and accepts %s at %v", claim.Name, o.PricePerHour, name, cheapest(claim, t))
			return
		}
	}
}

// otherTypes evaluates every type the claim lists as if it were the one that came.
func (c *checker) otherTypes(claim *Claim) {
	for _, name := range claim.InstanceTypes {
		t := c.types[name]
		if t == nil {
			c.bad(Buying, "claim %s lists instance type %q, which the catalogue has not", claim.Name, name)
			continue
		}
		if name == claim.Offering.InstanceType {
			continue // evaluated as the node itself
		}
		if why := c.unfit(claim, t); why != "" {
			c.bad(Capacity, "claim %s lists %s, which does not do: %s", claim.Name, name, why)
		}
	}
}

// unfit says why a type cannot hold the claim's pods and daemons in any zone and capacity type the claim accepts and the
// type is sold in; "" where every such way does.
func (c *checker) unfit(claim *Claim, t *model.InstanceType) string {
	sold := false
	for _, o := range t.Offerings {
		if !o.Available || !slices.Contains(claim.Zones, o.Zone) || !slices.Contains(claim.CapacityTypes, o.CapacityType) {
			continue
		}
		sold = true
		if why := c.unfitAs(claim, t, o); why != "" {
			return why
		}
	}
	if !sold {
		return "it is not sold as the claim accepts it"
	}
	return ""
}

func (c *checker) unfitAs(claim *Claim, t *model.InstanceType, o model.Offering) string {
	m := c.mould(claim.NodePool, t, o.Zone, o.CapacityType)
	if !m.allowed {
		return "its pool may not make it"
	}
	left := maps.Clone(m.room)
	for _, name := range claim.Pods {
		pod := c.waiting[name]
		if pod == nil {
			continue
		}
		take(left, c.requests(pod))
		if why := selects(pod, m.labels); why != "" {
			return name + ": " + why
		}
	}
	for _, name := range sortedKeys(left) {
		if left[name] < 0 {
			return "it lacks " + name
		}
	}
	return ""
}

// Way is one way of making a new node: a pool, an instance type and an offering of it.
type Way struct {
	Pool, Type, Zone, CapacityType string
	Price                          model.MicroUSD
	Room                           model.Resources // for pods, daemons taken off; below 0 where they do not fit
	mould                          *mould
}

// Admits reports whether selectors and taints let the pod onto such a node.
func (w *Way) Admits(pod *corev1.Pod) bool {
	return selects(pod, w.mould.labels) == "" && untolerated(pod, w.mould.taints) == nil
}

// Ways lists every way of making a new node for the problem.
func Ways(p *problem.Problem) []Way {
	c := newChecker(p)
	var out []Way
	for _, pool := range p.Pools {
		for i := range p.Types {
			t := &p.Types[i]
			for _, o := range t.Offerings {
				m := c.mould(pool.Name, t, o.Zone, o.CapacityType)
				if o.Available && m.allowed {
					out = append(out, Way{pool.Name, t.Name, o.Zone, o.CapacityType, o.Price, m.room, m})
				}
			}
		}
	}
	return out
}

// flexibility evaluates how many types a spot claim accepts: SpotChoice, or all that its pods fit in its zones.
func (c *checker) flexibility(claim *Claim) {
	if claim.Offering.CapacityType != model.Spot || len(claim.InstanceTypes) >= SpotChoice {
		return
	}
	spot := *claim
	spot.CapacityTypes = []string{model.Spot}
	possible := 0
	for i := range c.problem.Types {
		if c.unfit(&spot, &c.problem.Types[i]) == "" {
			possible++
		}
	}
	if len(claim.InstanceTypes) < min(possible, SpotChoice) {
		c.bad(Flexibility, "claim %s accepts %d instance types as spot, and %d would hold its %d pods", claim.Name, len(claim.InstanceTypes), possible, len(claim.Pods))
	}
}
