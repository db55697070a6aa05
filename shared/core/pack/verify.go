package pack

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// outcome is the cluster as the plan leaves it: every tally counted anew, from what was there and what is placed.
type outcome struct {
	board   *board
	classOf []*class           // by pod
	count   []map[string]int32 // by tally and domain
	hosts   []map[int]int32    // by host tally and place: sites, then nodes
	free    []map[string]int32 // by tally and domain (hosts by number): pods that are there whatever the others do
	nodes   []map[string]int32 // by tally: domains that count
	total   []int32
	spots   []spot
	memo    map[seen]verdict
}

// spot is where some pods were placed.
type spot struct {
	site   *site
	node   *node
	run    *run
	labels map[string]string
	taints []model.Taint
}

// seen names the nodes of a kind for a filter.
type seen struct {
	pool         *pool
	column, flag int
	filter       int
}

// baseline remembers the tallies as they were before anything was placed.
func (b *rulebook) baseline() {
	for i := range b.tallies {
		t := &b.tallies[i]
		t.before, t.beforeSites, t.beforeTotal = maps.Clone(t.count), maps.Clone(t.sites), t.total
	}
}

// verify looks at the plan as kube-scheduler will, once every planned node is there, and reports whether some pod's rules
// between pods do not hold. With mend it takes such pods off their nodes: a rule that cannot be kept is never broken.
func (b *board) verify(mend bool) bool {
	if b.book.empty() {
		return false
	}
	o := b.outcome()
	broken := false
	for again := true; again; {
		again = false
		for i := range o.spots {
			if o.mendSpot(i, mend) {
				broken, again = true, mend
			}
		}
	}
	return broken
}

func (b *board) outcome() *outcome {
	o := &outcome{board: b, classOf: b.classOf, memo: make(map[seen]verdict)}
	for i := range b.book.tallies {
		t := &b.book.tallies[i]
		o.count, o.hosts = append(o.count, maps.Clone(t.before)), append(o.hosts, maps.Clone(t.beforeSites))
		free := maps.Clone(t.before)
		for n, count := range t.beforeSites { // each site on its own: the order does not matter
			free[strconv.Itoa(n)] = count
		}
		o.free = append(o.free, free)
		o.nodes, o.total = append(o.nodes, maps.Clone(t.nodes)), append(o.total, t.beforeTotal)
	}
	for _, s := range b.places.sites {
		o.spots = append(o.spots, spot{site: s, labels: s.labels, taints: s.taints})
	}
	for _, r := range b.planner.runs {
		for i := range r.nodes {
			o.spots = append(o.spots, spot{node: &r.nodes[i], run: r, taints: r.pool.source.Template.Taints})
		}
	}
	for i := range o.spots {
		if o.spots[i].node != nil {
			o.announce(i)
		}
	}
	for i := range o.spots {
		if o.spots[i].node != nil {
			o.settle(i)
		}
		for _, pod := range o.pods(i) {
			o.note(i, pod, 1)
		}
	}
	return o
}

func (o *outcome) pods(i int) []int {
	if s := o.spots[i].site; s != nil {
		return s.pods
	}
	return o.spots[i].node.pods
}

// announce makes a planned node's domains count.
func (o *outcome) announce(i int) {
	for t := range o.board.book.tallies {
		if tally := &o.board.book.tallies[t]; tally.filter >= 0 {
			if value, counts := o.domain(t, i); counts {
				o.nodes[t][value]++
			}
		}
	}
}

// settle narrows a planned node to the domain of its cheapest offer, where another might be one that nothing is in and
// that pods are spread over.
func (o *outcome) settle(i int) {
	s := &o.spots[i]
	for t := range o.board.book.tallies {
		tally := &o.board.book.tallies[t]
		if !tally.wanted || tally.host || !decided(tally.key) {
			continue
		}
		value, counts := o.domain(t, i)
		if !counts {
			continue
		}
		for _, other := range s.run.pool.openValues(s.run.pool.area(s.node.mask), tally.key) {
			if other != value && o.nodes[t][other] == 0 {
				pinned := s.run.pool.pin([]ground{{s.node.flag, s.run.pool.area(s.node.mask)}}, requirement.Requirements{tally.key: requirement.Values(value)})
				if len(pinned) > 0 {
					s.node.area = pinned[0].area
					s.node.mask = s.node.area.mask
				}
				break
			}
		}
	}
}

// domain returns the value of the tally's label at the spot, and whether the spot counts.
func (o *outcome) domain(t, i int) (string, bool) {
	tally, s := &o.board.book.tallies[t], &o.spots[i]
	if s.site != nil {
		return o.board.places.domain(tally, s.site)
	}
	if tally.filter >= 0 {
		key := seen{s.run.pool, s.node.column, s.node.flag, tally.filter}
		if o.memo[key] == 0 {
			o.memo[key] = refused
			if o.board.book.filters[tally.filter].passes(o.labels(i), s.taints) {
				o.memo[key] = welcome
			}
		}
		if o.memo[key] == refused {
			return "", false
		}
	}
	if tally.host {
		return newHostname, true
	}
	value := o.board.planner.labelOf(s.run.pool, s.node, tally.key)
	return value, value != ""
}

// labels returns the labels of a planned node any rule asks about, should it be bought as its cheapest offer.
func (o *outcome) labels(i int) map[string]string {
	s := &o.spots[i]
	if s.labels == nil {
		s.labels = map[string]string{model.LabelHostname: newHostname}
		for _, key := range o.board.keys {
			if value := o.board.planner.labelOf(s.run.pool, s.node, key); value != "" && key != model.LabelHostname {
				s.labels[key] = value
			}
		}
	}
	return s.labels
}

// labelOf returns a label of the node, should it be bought as its cheapest offer; empty where it has none or several.
func (p *planner) labelOf(pool *pool, n *node, key string) string {
	if !decided(key) {
		set := pool.flags.sets[n.flag].Get(key)
		if !pool.flags.sets[n.flag].Has(key) || set.AllowsAbsent() {
			return ""
		}
		value, _ := set.Pick()
		return value
	}
	column := newBitset(len(pool.market.columns))
	column.set(n.column)
	if values := pool.market.valuesIn(column, key); len(values) == 1 {
		return values[0]
	}
	return ""
}

// note counts a pod at a spot; times is −1 to take it off.
func (o *outcome) note(i, pod int, times int32) {
	c := o.classOf[pod]
	for _, a := range c.adds {
		value, counts := o.domain(a.tally, i)
		if !counts {
			continue
		}
		if !c.follows(a.tally) {
			o.free[a.tally][placeName(value, a.byHost, i)] += times * a.weight
		}
		o.total[a.tally] += times * a.weight
		if a.byHost {
			o.hosts[a.tally][i] += times * a.weight
		} else {
			o.count[a.tally][value] += times * a.weight
		}
	}
}

// follows reports whether pods of the class wait for those the tally counts.
func (c *class) follows(tally int) bool {
	return slices.ContainsFunc(c.uses, func(u use) bool { return u.kind == near && u.tally == tally })
}

func placeName(value string, byHost bool, spot int) string {
	if byHost {
		return strconv.Itoa(spot)
	}
	return value
}

// mendSpot reports whether a pod of the spot breaks a rule, and with mend takes such pods off.
func (o *outcome) mendSpot(i int, mend bool) bool {
	broken := false
	pods := o.pods(i)
	kept := pods[:0:0]
	for n, pod := range pods {
		u := o.brokenBy(i, pod)
		if u == nil {
			if broken {
				kept = append(kept, pod)
			}
			continue
		}
		if !mend {
			return true
		}
		if !broken {
			broken = true
			kept = append(kept, pods[:n]...)
		}
		o.note(i, pod, -1)
		c := o.classOf[pod]
		c.pods = append(c.pods, pod)
		c.blocked = o.board.book.reason(u, nil, nil)
		if s := &o.spots[i]; s.node != nil {
			s.node.load = s.node.load.minus(c.request)
		}
	}
	if broken {
		if s := &o.spots[i]; s.site != nil {
			s.site.pods = kept
		} else {
			s.node.pods = kept
			s.run.cheapen(s.node)
		}
	}
	return broken
}

// cheapen buys the node by the cheapest offer of its zone and capacity type that still holds it, once pods were taken off.
func (r *run) cheapen(n *node) {
	if n.reservation != "" || len(n.pods) == 0 {
		return
	}
	was := &r.pool.market.columns[n.column]
	usable := n.mask.and(r.open)
	for c := usable.next(0); c >= 0; c = usable.next(c + 1) {
		col := &r.pool.market.columns[c]
		if col.offer.Zone == was.offer.Zone && col.offer.CapacityType == was.offer.CapacityType && n.load.fits(r.pool.room[col.instance]) &&
			!slices.ContainsFunc(exceed(r.pool.taken[col.instance], n.hold), func(more int64) bool { return more > 0 }) {
			n.column, n.price = c, col.price
			return
		}
	}
}

// brokenBy returns the rule that does not hold for the pod where it is; nil where all do.
func (o *outcome) brokenBy(i, pod int) *use {
	c := o.classOf[pod]
	for n := range c.uses {
		u := &c.uses[n]
		value, counts := o.domain(u.tally, i)
		count := int32(0)
		if counts {
			count = o.count[u.tally][value]
			if u.byHost {
				count = o.hosts[u.tally][i]
			}
		}
		switch u.kind {
		case near:
			// Where only pods with the same rule are, one of them has to start, which it may only while there is no other.
			if !counts || o.free[u.tally][placeName(value, u.byHost, i)] <= 0 && (u.self == 0 || o.total[u.tally] > count) {
				return u
			}
		case far:
			if count-u.self > 0 {
				return u
			}
		case spread:
			if !counts || count-o.lowest(u) > u.maxSkew {
				return u
			}
		}
	}
	return nil
}

// lowest returns the count of the emptiest domain the spread counts.
func (o *outcome) lowest(u *use) int32 {
	if u.byHost || len(o.nodes[u.tally]) < int(u.minDomains) || len(o.nodes[u.tally]) == 0 {
		return 0
	}
	low := int32(math.MaxInt32)
	for value := range o.nodes[u.tally] { // a minimum does not depend on the order
		low = min(low, o.count[u.tally][value])
	}
	return low
}
