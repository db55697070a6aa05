package pack

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/core/volume"
	"github.com/joiner-sh/joiner/shared/model"
)

// site is capacity that exists or is on its way: a node, or a claim whose node is not in the snapshot yet.
type site struct {
	name        string
	closed      bool // takes no pods: it is being deleted or drained, or its instance is gone. What runs there still counts.
	initialized bool
	labels      map[string]string // normalised keys
	taints      []model.Taint
	free        vector
	promised    map[string]bool // UIDs of pods that were planned onto it

	// A claim that has not launched may still become any of several machines: market and mask are set, and a pod fits
	// only where it fits all of them.
	market *market
	mask   bitset
	open   map[string][]string // by label: what it may be
	// blind is set where nothing is known of what the claim will hold: it takes the pods it was planned for, and no other.
	blind bool

	coming   []int                      // DaemonSets whose pods are not there yet; noted where any class minds
	ports    []model.HostPort           // taken
	attached map[string]map[string]bool // by driver: volumes there
	attach   map[string]int64           // by driver: the most it can attach

	signature int     // equal for sites no class can tell apart by labels and taints
	slot      int     // among the open sites of its signature
	shape     float64 // CPU free per byte of memory, to begin with; 0 where sites are few
	pods      []int   // placed by this plan
}

// places is everything there is to put pods on, and what is counted of it.
type places struct {
	in      *Input
	dims    dimensions
	markets map[string]*market
	daemons []daemon
	book    *rulebook
	census  *census
	asIs    bool // nodes as they are now, with no room kept for daemons to come

	sites     []*site        // initialised first, then by name
	signs     map[string]int // signatures
	bySign    [][]int        // open sites by signature, ascending
	finders   []finder       // by signature
	addsOf    map[int][]add  // by shape
	needPorts bool
	needFoes  bool
	needDisks bool

	claimOf map[string]*model.Claim // by node name: the live claim the node belongs to
	joined  map[string]bool         // by claim name: its node is in the snapshot
}

// newPlaces describes what exists or is on its way, initialised nodes first, then by name. moving pods take nothing of
// the node they are on.
func newPlaces(in *Input, dims dimensions, markets map[string]*market, daemons []daemon, asIs bool) *places {
	p := &places{in: in, dims: dims, markets: markets, daemons: daemons, asIs: asIs}
	p.indexClaims()
	return p
}

// build makes the sites and counts the pods on them.
func (p *places) build(moving map[int]bool, keys []string) {
	snapshot := p.in.Snapshot
	numbers := make(map[string]int, len(snapshot.Nodes))
	p.sites = make([]*site, 0, len(snapshot.Nodes))
	backing, room := make([]site, len(snapshot.Nodes)), make(vector, len(snapshot.Nodes)*len(p.dims))
	for i := range snapshot.Nodes {
		node := &snapshot.Nodes[i]
		if _, twice := numbers[node.Name]; twice {
			continue
		}
		numbers[node.Name] = len(p.sites)
		claim := p.claimOf[node.Name]
		s := &backing[i]
		s.free = room[i*len(p.dims) : (i+1)*len(p.dims) : (i+1)*len(p.dims)]
		p.fromNode(s, node)
		s.closed = !p.asIs && (node.DeletedUnix != 0 || draining(node) || claim != nil && !claim.Live())
		p.sites = append(p.sites, s)
	}
	running := p.countPods(numbers, moving)
	for i, s := range p.sites {
		p.reserveDaemons(s, running[i])
	}
	for i := range p.in.Claims {
		if claim := &p.in.Claims[i]; claim.Live() && !p.joined[claim.Name] && !p.asIs {
			p.sites = append(p.sites, p.fromClaim(claim))
		}
	}
	before := func(a, b *site) int {
		if a.initialized != b.initialized {
			if a.initialized {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.name, b.name)
	}
	if !slices.IsSortedFunc(p.sites, before) {
		slices.SortStableFunc(p.sites, before)
	}
	p.sign(keys)
	p.tallyUp(moving)
}

// indexClaims joins claims and nodes, by provider ID or by name.
func (p *places) indexClaims() {
	p.claimOf, p.joined = make(map[string]*model.Claim), make(map[string]bool)
	if len(p.in.Claims) == 0 {
		return
	}
	byProvider, byNode := make(map[string]*model.Claim), make(map[string]*model.Claim)
	for i := range p.in.Claims {
		claim := &p.in.Claims[i]
		if claim.ProviderID != "" {
			byProvider[claim.ProviderID] = claim
		}
		if claim.NodeName != "" {
			byNode[claim.NodeName] = claim
		}
	}
	for i := range p.in.Snapshot.Nodes {
		node := &p.in.Snapshot.Nodes[i]
		claim := byProvider[node.ProviderID]
		if node.ProviderID == "" || claim == nil {
			claim = byNode[node.Name]
		}
		if claim != nil {
			p.claimOf[node.Name] = claim
			p.joined[claim.Name] = true
		}
	}
}

// onNode reports whether pod i holds something of the node it is on.
func onNode(snapshot *model.Snapshot, i int, moving map[int]bool) bool {
	pod := &snapshot.Pods[i]
	return pod.NodeName != "" && !pod.Terminal() && pod.Shape >= 0 && pod.Shape < len(snapshot.Shapes) && (len(moving) == 0 || !moving[i])
}

// countPods takes what runs on each node off its free room, and returns which daemons run there, by site and daemon.
func (p *places) countPods(numbers map[string]int, moving map[int]bool) [][]bool {
	snapshot := p.in.Snapshot
	type name struct{ namespace, name string }
	daemons := make(map[name]int, len(p.daemons))
	for i := range p.daemons {
		daemons[name{p.daemons[i].namespace, p.daemons[i].name}] = i
	}
	running := make([][]bool, len(p.sites))
	flat := make([]bool, len(p.sites)*len(p.daemons))
	for i := range running {
		running[i] = flat[i*len(p.daemons) : (i+1)*len(p.daemons)]
	}
	for i := range snapshot.Pods {
		if !onNode(snapshot, i, moving) {
			continue
		}
		pod := &snapshot.Pods[i]
		n, known := numbers[pod.NodeName]
		if !known {
			continue
		}
		s, shape := p.sites[n], &snapshot.Shapes[pod.Shape]
		for d, name := range p.dims {
			if amount := shape.Requests[name]; amount > 0 {
				s.free[d] = saturatingSub(s.free[d], amount)
			}
		}
		if shape.OwnerKind == "DaemonSet" {
			if d, known := daemons[name{pod.Namespace, shape.OwnerName}]; known {
				running[n][d] = true
			}
		}
		if p.needPorts {
			s.ports = append(s.ports, shape.HostPorts...)
		}
		if p.needDisks && len(pod.Claims)+len(shape.Ephemeral) > 0 {
			s.attachAll(p.census.volumes.Attachments(pod, shape))
		}
	}
	return running
}

// fromNode describes a node. Until it is initialised, what its claim says fills in what the node does not say yet, and
// taints that go away by themselves do not count.
func (p *places) fromNode(s *site, node *model.Node) {
	claim := p.claimOf[node.Name]
	s.name, s.labels, s.taints = node.Name, normalized(node.Labels), node.Taints
	s.initialized = node.Initialized() || claim == nil && node.Pool() == ""
	amounts := node.Allocatable
	if !s.initialized && !p.asIs {
		s.promised = promises(claim)
		amounts = p.expected(node, claim)
		s.taints = p.expectedTaints(node, claim, p.poolOf(node.Pool()))
		if claim != nil {
			s.labels = merged(p.claimLabels(claim), s.labels, node.Registered())
		}
	}
	if claim != nil && !p.asIs {
		s.promised = promises(claim)
	}
	if _, known := s.labels[model.LabelHostname]; !known && !p.asIs {
		s.labels = merged(s.labels, map[string]string{model.LabelHostname: node.Name}, true)
	}
	if p.census.names[node.Name] {
		s.labels = merged(s.labels, map[string]string{nodeName: node.Name}, true)
	}
	if s.free == nil {
		s.free = make(vector, len(p.dims))
	}
	for d, name := range p.dims {
		s.free[d] = amounts[name]
	}
	if p.needDisks {
		s.attach = p.census.volumes.Limits(node.Name)
	}
}

// reserveDaemons keeps room for the daemons that fit the site and are not running there.
func (p *places) reserveDaemons(s *site, running []bool) {
	if p.asIs {
		return
	}
	for i := range p.daemons {
		d := &p.daemons[i]
		if running != nil && running[i] {
			continue
		}
		hard, _ := untolerated(d.tolerations, s.taints)
		if hard == nil && slices.ContainsFunc(d.terms, func(term requirement.Requirements) bool { return term.Matches(s.labels) }) {
			for i, amount := range d.request {
				s.free[i] = saturatingSub(s.free[i], amount)
			}
			if p.needFoes {
				s.coming = append(s.coming, d.set)
			}
			if p.needPorts {
				s.ports = append(s.ports, d.ports...)
			}
		}
	}
}

// meets reports whether a node of the site is sure to meet any one of the class's terms.
func (s *site) meets(c *class) bool { return meetsAny(c.there, s) }

// meetsAny reports whether a node of the site is sure to meet any one of the terms.
func meetsAny(terms []requirement.Requirements, s *site) bool {
	if s.market == nil {
		return slices.ContainsFunc(terms, func(term requirement.Requirements) bool { return term.Matches(s.labels) })
	}
	open := slices.Clone(s.mask)
	for _, term := range terms {
		if customPart(term).Matches(s.labels) {
			met := s.market.columnsMeeting(term)
			for w := range open {
				open[w] &^= met[w]
			}
		}
	}
	return open.empty()
}

// expected returns what an uninitialised node will have: what it says, and what its claim says where it says nothing.
func (p *places) expected(node *model.Node, claim *model.Claim) model.Resources {
	if claim == nil {
		return node.Allocatable
	}
	out := resource.Add(node.Allocatable, nil)
	for _, name := range resource.Names(claim.Allocatable) {
		if out[name] == 0 {
			out[name] = claim.Allocatable[name]
		}
	}
	return out
}

// expectedTaints returns the taints an uninitialised node will keep.
func (p *places) expectedTaints(node *model.Node, claim *model.Claim, pool *model.Pool) []model.Taint {
	var startup []model.Taint
	switch {
	case claim != nil && !node.Registered():
		return claim.Taints
	case claim != nil:
		startup = claim.StartupTaints
	case pool != nil:
		startup = pool.Template.StartupTaints
	}
	var kept []model.Taint
	for _, taint := range node.Taints {
		passing := slices.ContainsFunc(startup, func(s model.Taint) bool { return s.Key == taint.Key && s.Effect == taint.Effect })
		if !passing && !model.EphemeralTaint(taint.Key, taint.Effect) {
			kept = append(kept, taint)
		}
	}
	return kept
}

func (p *places) poolOf(name string) *model.Pool {
	for i := range p.in.Snapshot.Pools {
		if name != "" && p.in.Snapshot.Pools[i].Name == name {
			return &p.in.Snapshot.Pools[i]
		}
	}
	return nil
}

func draining(node *model.Node) bool {
	return slices.ContainsFunc(node.Taints, func(t model.Taint) bool { return t.Key == model.TaintDisrupted })
}

// normalized returns labels under today's names; the present name counts where both are there. Where there is nothing to
// rename it returns what it was given.
func normalized(labels map[string]string) map[string]string {
	renamed := false
	for key := range labels { // whether any is old does not depend on the order
		renamed = renamed || requirement.Normalize(key) != key
	}
	if !renamed {
		return labels
	}
	out := make(map[string]string, len(labels)+1)
	for key, value := range labels { // which of two wins does not depend on the order
		current := requirement.Normalize(key)
		if _, both := labels[current]; current == key || !both {
			out[current] = value
		}
	}
	return out
}

// merged returns both; where they differ, the node's word counts once it is registered, the claim's before.
func merged(claim, node map[string]string, registered bool) map[string]string {
	first, second := node, claim
	if registered {
		first, second = claim, node
	}
	out := make(map[string]string, len(first)+len(second))
	for key, value := range first {
		out[key] = value
	}
	for key, value := range second {
		out[key] = value
	}
	return out
}

// sign numbers what of each site the classes can see, so that like sites are judged once.
func (p *places) sign(keys []string) {
	const end = "\x00" // in no label and no taint, but those of new nodes' names
	p.signs = make(map[string]int)
	b := make([]byte, 0, 256)
	for i, s := range p.sites {
		b = b[:0]
		for _, key := range keys {
			if value, has := s.labels[key]; has {
				b = append(append(b, '='), value...)
			}
			b = append(b, end...)
		}
		for _, t := range s.taints {
			b = append(append(append(append(append(append(b, end...), t.Key...), end...), t.Value...), end...), t.Effect...)
		}
		for _, set := range s.coming {
			b = strconv.AppendInt(append(append(b, end...), "daemon"+end...), int64(set), 10)
		}
		if s.market != nil {
			b = append(append(append(b, end...), "claim"+end...), s.name...)
		}
		n, known := p.signs[string(b)]
		if !known {
			n = len(p.signs)
			p.signs[string(b)] = n
			p.bySign = append(p.bySign, nil)
		}
		s.signature = n
		if !s.closed && !s.blind {
			s.slot = len(p.bySign[n])
			p.bySign[n] = append(p.bySign[n], i)
		}
	}
	p.finders = make([]finder, len(p.bySign))
	for n := range p.bySign {
		p.lineUp(p.bySign[n])
		p.finders[n] = newFinder(len(p.dims), p.bySign[n], p.sites)
	}
}

// fewSites is how many like sites are not worth lining up.
const fewSites = 64

// lineUp orders like sites so that neighbours are free in like proportions: then the most that is free of each resource
// in a part of the list is often free on one site, and the finder need not look far.
func (p *places) lineUp(list []int) {
	if len(list) <= fewSites {
		return
	}
	cpu, memory := slices.Index(p.dims, model.CPU), slices.Index(p.dims, model.Memory)
	shape := make(map[int]float64, len(list))
	for _, n := range list {
		shape[n] = float64(p.sites[n].free[cpu]) / float64(max(1, p.sites[n].free[memory]))
	}
	slices.SortFunc(list, func(a, b int) int {
		if x, y := p.sites[a].initialized, p.sites[b].initialized; x != y {
			return compareBools(y, x)
		}
		return cmp.Or(cmp.Compare(shape[a], shape[b]), cmp.Compare(a, b))
	})
	for slot, n := range list {
		p.sites[n].slot = slot
		p.sites[n].shape = shape[n]
	}
}

// like returns the first slot of the signature's sites that is free in the proportion of the request, or leans more to CPU.
func (p *places) like(sign int, request vector) int {
	list := p.bySign[sign]
	if len(list) <= fewSites {
		return 0
	}
	cpu, memory := slices.Index(p.dims, model.CPU), slices.Index(p.dims, model.Memory)
	shape := float64(request[cpu]) / float64(max(1, request[memory]))
	low, high := 0, len(list)
	for low < high {
		middle := (low + high) / 2
		if s := p.sites[list[middle]]; s.initialized && s.shape < shape {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low < len(list) && !p.sites[list[low]].initialized {
		return 0
	}
	return low
}

// tallyUp counts the pods there are in every tally.
func (p *places) tallyUp(moving map[int]bool) {
	book := p.book
	if book.empty() {
		return
	}
	numbers := make(map[string]int, len(p.sites))
	for i, s := range p.sites {
		numbers[s.name] = i
	}
	for t := range book.tallies {
		tally := &book.tallies[t]
		if tally.filter < 0 {
			continue
		}
		for i, s := range p.sites {
			if value, counts := p.domain(tally, s); counts && !s.blind {
				if tally.host {
					tally.eligible = append(tally.eligible, i)
					tally.having = []int32{int32(len(tally.eligible))}
				} else {
					tally.nodes[value]++
				}
			} else if !tally.host {
				for _, possible := range s.possible(tally.key) {
					tally.nodes[possible]++
				}
			}
		}
	}
	snapshot := p.in.Snapshot
	p.addsOf = make(map[int][]add)
	for i := range snapshot.Pods {
		if !onNode(snapshot, i, moving) {
			continue
		}
		pod := &snapshot.Pods[i]
		n, known := numbers[pod.NodeName]
		if !known {
			continue
		}
		adds, read := p.addsOf[pod.Shape]
		if !read {
			shape := &snapshot.Shapes[pod.Shape]
			adds = book.memberships(shape, book.readGuards(shape))
			p.addsOf[pod.Shape] = adds
		}
		for _, a := range adds {
			if !book.sets[book.tallies[a.tally].set].living || pod.DeletedUnix == 0 {
				p.count(a.tally, n, a.weight)
			}
		}
	}
}

// domain returns the value of the tally's label on the site, and whether the site counts at all.
func (p *places) domain(t *tally, s *site) (string, bool) {
	value, has := s.labels[t.key]
	if t.host && !p.asIs {
		value, has = s.name, true
	}
	if !has || value == "" && !p.asIs {
		return "", false
	}
	if t.filter < 0 {
		return value, true
	}
	f := &p.book.filters[t.filter]
	passed, known := f.passed[s.signature]
	if !known {
		passed = f.passesSite(s)
		f.passed[s.signature] = passed
	}
	return value, passed
}

// count adds to the tally what is on site n.
func (p *places) count(t, n int, weight int32) {
	tally := &p.book.tallies[t]
	value, counts := p.domain(tally, p.sites[n])
	if !counts {
		if possible := p.sites[n].possible(tally.key); len(possible) > 0 && !tally.host {
			for _, value := range possible {
				tally.maybe[value] += weight
			}
			tally.total += weight
		}
		return
	}
	if tally.host {
		tally.sites[n] += weight
		tally.move(tally.sites[n]-weight, tally.sites[n])
	} else {
		tally.count[value] += weight
	}
	tally.total += weight
}

// move notes that a site with so many pods has another number of them now.
func (t *tally) move(from, to int32) {
	if t.filter < 0 {
		return
	}
	for int(to) >= len(t.having) {
		t.having = append(t.having, 0)
	}
	t.having[from]--
	t.having[to]++
	t.least = min(t.least, to)
	for t.having[t.least] == 0 {
		t.least++
	}
}

// possible returns the values a label may take on a claim on its way that does not have it yet; none where it is known,
// or will not be there.
func (s *site) possible(key string) []string {
	if s.market == nil || s.blind || s.labels[key] != "" || !decided(key) {
		return nil
	}
	known, asked := s.open[key]
	if !asked {
		if s.open == nil {
			s.open = make(map[string][]string)
		}
		known = s.market.valuesIn(s.mask, key)
		s.open[key] = known
	}
	return known
}

// attachAll notes volumes that are attached.
func (s *site) attachAll(list []volume.Attachment) {
	for _, a := range list {
		if s.attached == nil {
			s.attached = make(map[string]map[string]bool)
		}
		if s.attached[a.Driver] == nil {
			s.attached[a.Driver] = make(map[string]bool)
		}
		s.attached[a.Driver][a.Handle] = true
	}
}
