package pack

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/topology"
	"github.com/joiner-sh/joiner/shared/model"
)

// Fit judges single pods against single nodes that exist, by the rules Plan places pods by, as kube-scheduler would now:
// nothing is kept free for daemons to come, and no taint is taken for passing.
type Fit struct {
	board   *board
	numbers map[string]int // sites by name
	classOf map[int]*class // by pod
	ledgers map[*class]*ledger
}

// NewFit prepares the input's nodes. Pending pods take nothing of any node.
func NewFit(in Input) *Fit {
	if in.Snapshot == nil {
		in.Snapshot = &model.Snapshot{}
	}
	in.Claims = nil
	b := prepare(&in, noWishes, true)
	f := &Fit{board: b, numbers: make(map[string]int), classOf: make(map[int]*class), ledgers: make(map[*class]*ledger)}
	for n, s := range b.places.sites {
		f.numbers[s.name] = n
	}
	for _, c := range b.classes {
		for _, i := range c.pods {
			f.classOf[i] = c
		}
	}
	return f
}

// Refusal returns why the pod can be placed nowhere at all; nil where it can be.
func (f *Fit) Refusal(pod int) *model.Reason { return f.board.refused[pod] }

// Check returns the code of every rule that keeps pod i of the snapshot off the named node, sorted; empty where it fits.
func (f *Fit) Check(pod int, node string) []string {
	c := f.classOf[pod]
	n, known := f.numbers[node]
	switch {
	case c == nil && f.board.refused[pod] != nil:
		return []string{f.board.refused[pod].Code}
	case c == nil:
		return []string{Invalid}
	case !known:
		return []string{RequirementConflict}
	}
	l := f.ledgers[c]
	if l == nil {
		a := assigner{planner: f.board.planner, places: f.board.places, book: f.board.book}
		l = a.newLedger(c)
		f.ledgers[c] = l
	}
	return l.codes(pod, n)
}

// codes returns the code of every rule that keeps the pod of the class off site n, sorted.
func (l *ledger) codes(pod, n int) []string {
	s, c := l.places.sites[n], l.class
	var out []string
	if hard, _ := c.untolerated(s.taints); hard != nil {
		out = append(out, TaintNotTolerated)
	}
	if !meetsAny(c.ownThere, s) {
		out = append(out, RequirementConflict)
	}
	if c.volumeTerms != nil && !meetsAny(c.volumeTerms, s) {
		out = append(out, VolumeConflict)
	}
	if !c.request.fits(s.free) {
		out = append(out, ResourcesTooLarge)
	}
	if _, clash := topology.PortsClash(c.ports, s.ports); clash {
		out = append(out, HostPortTaken)
	}
	c.pods = []int{pod}
	if c.attaches && !l.places.attachable(s, c.pods) {
		out = append(out, VolumeLimit)
	}
	for i := range c.uses {
		if code := l.useRefuses(i, n); code != "" {
			out = append(out, code)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// useRefuses returns the code of the class's i-th rule where it keeps a pod off site n; empty where it does not.
func (l *ledger) useRefuses(i, n int) string {
	u, s := &l.class.uses[i], l.places.sites[n]
	t := &l.book.tallies[u.tally]
	value, there := s.label(t.key)
	count := t.count[value]
	if t.host {
		count = t.sites[n]
	}
	switch u.kind {
	case near:
		if u.claim { // there is no volume yet, and where it will be is not decided
			return ""
		}
		if !there || count == 0 && !l.bootstraps() {
			return PodAffinity
		}
	case far:
		if there && count > 0 {
			return PodAntiAffinity
		}
	case spread:
		low := int32(0)
		if t.host {
			low = l.hostLow(i, n)
		} else {
			low = l.lowest(t, l.universe[i], u.minDomains)
		}
		if !there || count+u.self-low > u.maxSkew {
			return TopologySpread
		}
	}
	return ""
}
