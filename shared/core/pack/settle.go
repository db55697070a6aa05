package pack

import (
	"slices"
	"strconv"
)

// part is the offers of a pool whose nodes a tally cannot tell apart.
type part struct {
	value   string // the domain
	counts  bool   // whether such a node counts at all
	daemons string // which of the daemons it counts run there; empty = none
	mask    bitset
}

// kindOfNode names nodes of one pool and of the same custom labels, for a tally.
type kindOfNode struct {
	pool        *pool
	flag, tally int
}

// settle narrows a planned node to offers that are in the domain of its cheapest, wherever it matters: where its pods are
// counted by the label, where its daemons are, and where another domain would be one that nothing is in and that pods are
// spread over. A claim cannot be held to what it was not told.
func (o *outcome) settle(i int) {
	s := &o.spots[i]
	about := make(map[int]bool) // tallies that count its pods or that those go by
	for _, it := range s.node.items {
		c := s.run.lots[it.lot].class
		for _, a := range c.adds {
			about[a.tally] = about[a.tally] || a.weight > 0
		}
		for n := range c.uses {
			about[c.uses[n].tally] = true
		}
	}
	for t := range o.board.book.tallies {
		tally := &o.board.book.tallies[t]
		if !tally.wanted && !slices.ContainsFunc(o.daemons, func(c *class) bool { return weightIn(c.adds, t) > 0 }) {
			continue
		}
		parts := o.partsOf(kindOfNode{s.run.pool, s.node.flag, t})
		if len(parts) < 2 {
			continue
		}
		mine := slices.IndexFunc(parts, func(p part) bool { return p.mask.has(s.node.column) })
		if mine >= 0 && o.matters(i, t, parts, mine, about[t]) {
			s.node.area = s.run.pool.area(s.node.mask.and(parts[mine].mask))
			s.node.mask = s.node.area.mask
		}
	}
}

// matters reports whether it makes a difference to the tally in which of the parts the node comes up. counted says that it is about
// pods of the node.
func (o *outcome) matters(i, t int, parts []part, mine int, counted bool) bool {
	s, tally := &o.spots[i], &o.board.book.tallies[t]
	for n := range parts {
		other := &parts[n]
		if n == mine || !meet(s.node.mask, s.run.pool.open, other.mask) {
			continue
		}
		switch {
		case counted, (tally.wanted || !tally.host) && parts[mine].daemons+other.daemons != "":
			return true
		case !tally.wanted:
		case tally.host:
			o.vacant[t] = o.vacant[t] || other.counts
		case other.counts && o.nodes[t][other.value] == 0, parts[mine].counts && tally.domains > 1:
			return true
		}
	}
	return false
}

// partsOf divides the pool's offers by what the tally sees of a node of theirs.
func (o *outcome) partsOf(kind kindOfNode) []part {
	if known, seen := o.splits[kind]; seen {
		return known
	}
	tally := &o.board.book.tallies[kind.tally]
	keys := o.board.book.offerKeys(tally)
	var daemons []bitset
	for _, c := range o.daemons {
		if weightIn(c.adds, kind.tally) > 0 {
			daemons = append(daemons, o.runsOn(kind.pool, c))
		}
	}
	var out []part
	if len(keys)+len(daemons) > 0 {
		out = o.split(kind, keys, daemons)
	}
	o.splits[kind] = out
	return out
}

// split is partsOf by the labels given, which are all that offers decide, and by the offers on which daemons run.
func (o *outcome) split(kind kindOfNode, keys []string, daemons []bitset) []part {
	var out []part
	m := kind.pool.market
	known := make(map[string]int)
	var text []byte
	for c := kind.pool.allowed.next(0); c >= 0; c = kind.pool.allowed.next(c + 1) {
		text = text[:0]
		for _, key := range keys {
			text = append(append(text, m.label(c, key)...), 0)
		}
		there := ""
		for d, runs := range daemons {
			if runs.has(c) {
				there += strconv.Itoa(d) + " "
			}
		}
		text = append(text, there...)
		n, seen := known[string(text)]
		if !seen {
			probe := spot{node: &node{flag: kind.flag, column: c}, run: &run{pool: kind.pool}, taints: kind.pool.source.Template.Taints}
			value, counts := o.seenAs(kind.tally, &probe)
			if n = slices.IndexFunc(out, func(p part) bool { return p.counts == counts && p.value == value && p.daemons == there }); n < 0 {
				n = len(out)
				out = append(out, part{value: value, counts: counts, daemons: there, mask: newBitset(len(m.columns))})
			}
			known[string(text)] = n
		}
		out[n].mask.set(c)
	}
	return out
}

// seenAs returns the domain a new node is in, and whether it counts.
func (o *outcome) seenAs(t int, s *spot) (string, bool) {
	tally := &o.board.book.tallies[t]
	if tally.filter >= 0 && !o.board.book.filters[tally.filter].passes(o.labelsOf(s), s.taints) {
		return "", false
	}
	if tally.host {
		return newHostname, true
	}
	value := o.board.planner.labelOf(s.run.pool, s.node, tally.key)
	return value, value != ""
}

// offerKeys returns the labels decided by the offer that the tally looks at, sorted.
func (b *rulebook) offerKeys(t *tally) []string {
	var keys []string
	note := func(key string) {
		if decided(key) {
			keys = append(keys, key)
		}
	}
	note(t.key)
	if t.filter >= 0 {
		for _, key := range b.filters[t.filter].keys {
			note(key)
		}
		for _, term := range b.filters[t.filter].terms {
			for _, key := range term.Keys() {
				note(key)
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
