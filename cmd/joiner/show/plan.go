package show

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/model"
)

// Table writes a plan for people.
func Table(out io.Writer, r *Result) error {
	t := &planTable{table: *newTable(out), r: r}
	t.summary()
	t.newNodes()
	t.existingNodes()
	t.unschedulable(r.Plan.Unschedulable)
	t.notPlanned()
	_, err := io.WriteString(out, t.text.String())
	return err
}

// planTable is a plan for people on its way.
type planTable struct {
	table
	r *Result
}

func (t *planTable) summary() {
	plan := &t.r.Plan
	pods := t.r.Pods()
	if pods == 0 {
		t.sentence("No pending pods: nothing to launch. %s", inputText(t.r.Snapshot))
		return
	}
	var onNew, onOld int
	for i := range plan.Claims {
		onNew += len(plan.Claims[i].Pods)
	}
	for i := range plan.Nominations {
		onOld += len(plan.Nominations[i].Pods)
	}
	who := explain.Many(pods-t.r.Headroom, "pending pod")
	if room := t.r.Headroom; room > 0 {
		who = strings.TrimPrefix(who+" and ", "0 pending pods and ") +
			explain.Many(room, "placeholder pod") + " of CapacityBuffers"
	}
	t.sentence("%s: %d on %s, %d on existing capacity, %d unschedulable.", who,
		onNew, explain.Many(len(plan.Claims), "new node"), onOld, len(plan.Unschedulable))
	if len(plan.Claims) > 0 {
		t.sentence("New nodes cost %s per hour, %s per month.", dollars(plan.Price.USD()), dollarsRound(plan.Price.USD()*hoursPerMonth))
	}
}

// inputText says what a plan was made of.
func inputText(s *model.Snapshot) string {
	if s == nil {
		return ""
	}
	pods := 0
	for i := range s.Pods {
		if s.Pods[i].Buffer == "" {
			pods++
		}
	}
	return fmt.Sprintf("The input has %s, %s and %s.", explain.Many(pods, "pod"), explain.Many(len(s.Nodes), "node"),
		explain.Many(len(s.Pools), "NodePool"))
}

// newNodes writes a line for each kind of new node, the one that costs most in all first.
func (t *planTable) newNodes() {
	groups := fold(t.r)
	if len(groups) == 0 {
		return
	}
	shown := groups[:min(len(groups), mostRows)]
	head, align := []string{"NODES", "POOL", "CHEAPEST OFFERING", "ZONE", "$/HOUR", "IN ALL", "TYPES", "MAY BE IN", "PODS", "CPU", "MEMORY"}, "r...rrr.rrr"
	devices := slices.ContainsFunc(shown, func(g *group) bool { return g.devices() != "" })
	if devices {
		head, align = append(head, "DEVICES"), align+"."
	}
	rows := [][]string{head}
	for _, g := range shown {
		row := []string{
			fmt.Sprint(g.nodes), short(g.pool, 20), short(g.offering.InstanceType+" "+g.offering.CapacityType, 28), g.offering.Zone, price(g.price), price(g.total()),
			g.types.String(), g.zones, g.pods.String(), g.filled(model.CPU), g.filled(model.Memory),
		}
		if devices {
			row = append(row, g.devices())
		}
		rows = append(rows, row)
	}
	t.line("")
	t.grid(rows, align)
	if more := groups[len(shown):]; len(more) > 0 {
		var nodes int
		var all model.MicroUSD
		for _, g := range more {
			nodes, all = nodes+g.nodes, all+g.total()
		}
		t.line("and %s of %s more, %s per hour", explain.Many(nodes, "node"),
			explain.Many(len(more), "kind"), dollars(all.USD()))
	}
}

func (t *planTable) existingNodes() {
	nominations := t.r.Plan.Nominations
	if len(nominations) == 0 {
		return
	}
	nominations = slices.Clone(nominations)
	slices.SortStableFunc(nominations, func(a, b model.Nomination) int { return cmp.Compare(len(b.Pods), len(a.Pods)) })
	rows := [][]string{{"PODS", "EXISTING NODE, OR IN-FLIGHT NODECLAIM"}}
	for i, n := range nominations {
		if i == mostNodes {
			break
		}
		rows = append(rows, []string{fmt.Sprint(len(n.Pods)), n.Node})
	}
	t.line("")
	t.grid(rows, "r.")
	if more := len(nominations) - mostNodes; more > 0 {
		var pods int
		for _, n := range nominations[mostNodes:] {
			pods += len(n.Pods)
		}
		t.line("and %s on %s more", explain.Many(pods, "pod"), explain.Many(more, "node"))
	}
}

func (t *planTable) notPlanned() {
	if len(t.r.NotPlanned) == 0 {
		return
	}
	t.line("")
	t.line("Not planned:")
	for _, why := range slices.Sorted(maps.Keys(t.r.NotPlanned)) {
		t.wrapped("  ", "    ", fmt.Sprintf("%s: %s", explain.Many(t.r.NotPlanned[why], "pod"), why))
	}
}

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
		g.has = resource.Add(g.has, allocatable(c.Class, c.Pool, c.Offering.InstanceType))
	}
	slices.SortStableFunc(groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.total(), a.total()), strings.Compare(a.pool, b.pool), strings.Compare(a.offering.InstanceType, b.offering.InstanceType),
			strings.Compare(a.offering.Zone, b.offering.Zone), strings.Compare(a.zones, b.zones))
	})
	return groups
}

// allocatables returns a look-up of what a node of a class, pool and type has for pods and daemons.
func allocatables(r *Result) func(class, pool, instanceType string) model.Resources {
	known := map[[3]string]model.Resources{}
	return func(class, pool, instanceType string) model.Resources {
		key := [3]string{class, pool, instanceType}
		if has, ok := known[key]; ok {
			return has
		}
		types := model.CatalogOf(r.Catalogs, class, pool)
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
