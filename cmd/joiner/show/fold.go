package show

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/model"
)

// span is the smallest and the largest of some numbers.
type span struct{ least, most int }

func (s *span) add(n int, first bool) {
	if first {
		*s = span{n, n}
	}
	s.least, s.most = min(s.least, n), max(s.most, n)
}

func (s span) String() string {
	if s.least == s.most {
		return fmt.Sprint(s.least)
	}
	return fmt.Sprintf("%d-%d", s.least, s.most)
}

// group is new nodes that are alike: of one pool, with the same cheapest offering and the same zones to be in.
type group struct {
	pool      string
	offering  model.OfferingKey
	price     model.MicroUSD // of one, per hour
	zones     string
	nodes     int
	types     span // acceptable instance types
	pods      span
	requested model.Resources // of all nodes, daemons included
	has       model.Resources // what all nodes of the cheapest type would have for them
}

// total returns what all nodes of the group cost per hour.
func (g *group) total() model.MicroUSD { return g.price * model.MicroUSD(g.nodes) }

// fold returns the new nodes by kind, the one that costs most in all first.
func fold(r *Result) []*group {
	type key struct {
		pool, zones string
		offering    model.OfferingKey
	}
	byKey := map[key]*group{}
	var groups []*group
	allocatable := allocatables(r)
	for i := range r.Plan.Claims {
		c := &r.Plan.Claims[i]
		k := key{c.Pool, zoneList(c.Zones), c.Offering}
		g := byKey[k]
		if g == nil {
			g = &group{pool: c.Pool, offering: c.Offering, price: c.Price, zones: k.zones}
			byKey[k] = g
			groups = append(groups, g)
		}
		g.types.add(len(c.InstanceTypes), g.nodes == 0)
		g.pods.add(len(c.Pods), g.nodes == 0)
		g.nodes++
		g.requested = resource.Add(g.requested, c.Requests)
		g.has = resource.Add(g.has, allocatable(c.Class, c.Offering.InstanceType))
	}
	slices.SortStableFunc(groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.total(), a.total()), strings.Compare(a.pool, b.pool), strings.Compare(a.offering.InstanceType, b.offering.InstanceType),
			strings.Compare(a.offering.Zone, b.offering.Zone), strings.Compare(a.zones, b.zones))
	})
	return groups
}

// allocatables returns a look-up of what a node of a class and type has for pods and daemons.
func allocatables(r *Result) func(class, instanceType string) model.Resources {
	known := map[[2]string]model.Resources{}
	return func(class, instanceType string) model.Resources {
		key := [2]string{class, instanceType}
		if has, ok := known[key]; ok {
			return has
		}
		types := r.Catalogs[class]
		at := slices.IndexFunc(types, func(t model.InstanceType) bool { return t.Name == instanceType })
		if at >= 0 {
			known[key] = types[at].Allocatable()
		}
		return known[key]
	}
}

// filled returns how much of a resource is asked for, in per cent.
func (g *group) filled(name string) string {
	if g.has[name] == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*float64(g.requested[name])/float64(g.has[name]))
}

// devices returns how much of every other resource is asked for: "gpu 100%".
func (g *group) devices() string {
	var out []string
	for _, name := range resource.Names(g.requested) {
		_, device, named := strings.Cut(name, "/")
		if named && g.requested[name] > 0 {
			out = append(out, device+" "+g.filled(name))
		}
	}
	return short(strings.Join(out, ", "), 24)
}

// zoneList writes zones shortly: us-west-2a,b,c where all begin alike.
func zoneList(zones []string) string {
	if len(zones) < 2 {
		return strings.Join(zones, ",")
	}
	stem := zones[0][:max(0, len(zones[0])-1)]
	var ends []string
	for _, zone := range zones[1:] {
		end, alike := strings.CutPrefix(zone, stem)
		if !alike || len(end) != 1 {
			return short(strings.Join(zones, ","), 24)
		}
		ends = append(ends, end)
	}
	return zones[0] + "," + strings.Join(ends, ",")
}
