package pack

import (
	"cmp"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/terms"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/core/volume"
	"github.com/joiner-sh/joiner/shared/model"
)

// existingNode is capacity that exists or is on its way: a node, or a claim whose node is not in the snapshot yet.
type existingNode struct {
	name        string
	closed      bool // takes no pods: it is being deleted or drained, or its instance is gone. What runs there still counts.
	initialized bool
	churning    bool              // takes no settled pods
	labels      map[string]string // as written: label reads them by today's names
	host        string            // its host name where no label says it; empty = it has none then
	taints      []model.Taint
	free        vector.Vector
	promised    []model.PodRef // pods that were planned onto it
	homed       []int          // of a claim's: pods that are bound to it
	number      int            // of its node in the order of the snapshot; −1 for a claim on its way
	cache       int32          // the existing node of the cache it was copied from; −1 = none
	unread      bool           // what runs on its node is not taken off free, ports and volumes yet

	// A claim that has not launched may still become any of several instances: market and mask are set, and a pod fits
	// only where it fits all of them.
	market *offerings.Market
	mask   vector.Bitset
	open   map[string][]string // by label: what it may be
	// blind is set where nothing is known of what the claim will hold: it takes the pods it was planned for, and no other.
	blind bool

	coming   []int                      // DaemonSets whose pods are not there yet; noted where any pod group minds
	ports    []model.HostPort           // taken
	attached map[string]map[string]bool // by driver: volumes there
	attach   map[string]int64           // by driver: the most it can attach

	noted     []byte  // its labels any pod group or rule asks about
	signature int     // equal for existing nodes no pod group can tell apart by labels and taints
	slot      int     // among the open existing nodes of its signature
	shape     float64 // CPU free per byte of memory, to begin with; 0 where existing nodes are few
	pods      []int   // placed by this plan
}

// nodeMaker describes nodes and claims as existing nodes.
type nodeMaker struct {
	in         *input.Input
	dims       vector.Dimensions
	markets    *offerings.Markets
	daemons    []offerings.Daemon
	sets       map[daemonName]int // into daemons
	classifier *group.Classifier
	asIs       bool // nodes as they are now, with no room kept for daemons to come

	needPorts     bool
	needConflicts bool
	needDisks     bool

	daemonTerms map[*offerings.Market][]*offerings.Reading // of daemons; filled when asked for
	requests    []knownRequest                             // by shape, as far as looked up
	drafts      map[draftKey]*existingNode                 // of claims on their way, by what they depend on; nil where each is made once
}

// existingNodes is everything there is to put pods on, and what is counted of it.
type existingNodes struct {
	nodeMaker
	rules *group.PodRules
	few   bool // so few pods wait that existing nodes are read when they are looked at, and not lined up

	moving map[int]bool // pods that hold nothing of the node they are on
	nodeOf []int32      // by pod: the number of the node it holds something of; −1 = none
	on     podsOn       // the same by node; only where few

	memory *nodeMemory  // of plans before; nil = there is none
	cache  *nodeCache   // nil = none
	cached []int32      // by node: its existing node in the cache
	known  *cachedSigns // of the existing nodes in the cache
	byText [][2]int     // by text of known: its signature, and that of churning existing nodes; −1 = not looked up

	lazily bool            // not all existing nodes are made yet: more makes the next ones
	next   int             // of the nodes: the first without an existing node
	late   []*existingNode // of nodes before it that are not initialized

	keys    []string                     // of labels any pod group or rule asks about
	noted   []byte                       // of all existing nodes
	total   int                          // existing nodes there are, made or not
	nodes   []*existingNode              // initialized first, then by name
	signs   map[string]int               // signatures
	bySign  [][]int                      // open existing nodes by signature, ascending
	finders []vector.Finder              // by signature
	addsOf  map[int][]group.Contribution // by shape

	claims *claimIndex
}

// newExistingNodes describes what exists or is on its way, initialized nodes first, then by name. With a memory the plan must have begun there.
func newExistingNodes(in *input.Input, dims vector.Dimensions, markets *offerings.Markets, daemons []offerings.Daemon, asIs bool, memory *nodeMemory) *existingNodes {
	p := &existingNodes{nodeMaker: nodeMaker{in: in, dims: dims, markets: markets, daemons: daemons, asIs: asIs, sets: make(map[daemonName]int, len(daemons))}, memory: memory}
	for i := range daemons {
		p.sets[daemonName{daemons[i].Namespace, daemons[i].Name}] = i
	}
	if memory != nil {
		p.requests, p.drafts, p.claims = memory.requests, memory.drafts, memory.claims
	} else {
		p.requests, p.claims = make([]knownRequest, len(in.Snapshot.Shapes)), new(claimIndex)
		p.claims.fill(in)
	}
	return p
}

// claimIndex joins claims and nodes, by provider ID or by name. All solvers of one plan share it.
type claimIndex struct {
	byProvider, byNode map[string]int32 // claims
	at                 []int32          // by node: its claim, −1 = none
	joined             []bool           // by claim: its node is in the snapshot
}

// fill joins the claims and nodes of the input, in the memory of what was joined before.
func (c *claimIndex) fill(in *input.Input) {
	if c.byProvider == nil {
		c.byProvider, c.byNode = make(map[string]int32, len(in.Claims)), make(map[string]int32, len(in.Claims))
	}
	clear(c.byProvider)
	clear(c.byNode)
	for i := range in.Claims {
		claim := &in.Claims[i]
		if claim.ProviderID != "" {
			c.byProvider[claim.ProviderID] = int32(i)
		}
		if claim.NodeName != "" {
			c.byNode[claim.NodeName] = int32(i)
		}
	}
	c.joined = slices.Grow(c.joined[:0], len(in.Claims))[:len(in.Claims)]
	clear(c.joined)
	c.at = slices.Grow(c.at[:0], len(in.Snapshot.Nodes))[:len(in.Snapshot.Nodes)]
	for i := range in.Snapshot.Nodes {
		c.at[i] = c.of(&in.Snapshot.Nodes[i])
		if n := c.at[i]; n >= 0 {
			c.joined[n] = true
		}
	}
}

// of returns the node's claim, −1 where it has none.
func (c *claimIndex) of(node *model.Node) int32 {
	if node.ProviderID != "" {
		if n, known := c.byProvider[node.ProviderID]; known {
			return n
		}
	}
	if n, known := c.byNode[node.Name]; known {
		return n
	}
	return -1
}

// claimAt returns the claim of a node of the snapshot, nil where it has none.
func (p *existingNodes) claimAt(number int) *model.Claim {
	if n := p.claims.at[number]; n >= 0 {
		return &p.in.Claims[n]
	}
	return nil
}

// podsOn lists pods by the number of their node, in the order of the snapshot.
type podsOn struct {
	first []int32 // by node: where its pods begin in pods; one more than there are nodes
	pods  []int32
}

func podsByNode(nodeOf []int32, nodes int) podsOn {
	on := podsOn{first: make([]int32, nodes+1)}
	for _, n := range nodeOf {
		if n >= 0 {
			on.first[n+1]++
		}
	}
	for n := range nodes {
		on.first[n+1] += on.first[n]
	}
	on.pods = make([]int32, on.first[nodes])
	next := slices.Clone(on.first)
	for i, n := range nodeOf {
		if n >= 0 {
			on.pods[next[n]] = int32(i)
			next[n]++
		}
	}
	return on
}

// of returns the pods of a node.
func (on *podsOn) of(number int) []int32 { return on.pods[on.first[number]:on.first[number+1]] }

// readAll reads every existing node.
func (p *existingNodes) readAll() {
	running := make([]bool, len(p.nodes)*len(p.daemons))
	daemonsOf := func(number int) []bool { return running[number*len(p.daemons) : (number+1)*len(p.daemons)] }
	for i, n := range p.nodeOf {
		if n >= 0 {
			p.occupy(p.nodes[n], i, daemonsOf(int(n)))
		}
	}
	for _, s := range p.nodes {
		p.reserveDaemons(s, daemonsOf(s.number))
		s.unread = false
	}
}

// node returns existing node n with what runs there, and what will, taken off its room.
func (p *existingNodes) node(n int) *existingNode {
	s := p.nodes[n]
	if s.unread {
		s.unread = false
		running := make([]bool, len(p.daemons))
		for _, i := range p.podsOf(s.number) {
			p.occupy(s, int(i), running)
		}
		p.reserveDaemons(s, running)
		if !s.closed {
			p.finders[s.signature].Update(s.slot, s.free)
		}
	}
	return s
}

// firstWith returns the first slot at or after from of the signature's existing nodes that has room for the request, −1 where there
// is none.
func (p *existingNodes) firstWith(sign int, request vector.Vector, from int) int {
	for {
		slot := p.finders[sign].First(request, from)
		if slot < 0 || !p.nodes[p.bySign[sign][slot]].unread {
			return slot
		}
		p.node(p.bySign[sign][slot]) // it may have less room than it seemed to have
	}
}

type daemonName struct{ namespace, name string }

// occupy takes what pod i holds of its node off the existing node's room, and notes which daemon it is, if any.
func (p *nodeMaker) occupy(s *existingNode, i int, running []bool) {
	pod := &p.in.Snapshot.Pods[i]
	asks := &p.requests[pod.Shape]
	if asks.amounts == nil {
		shape := &p.in.Snapshot.Shapes[pod.Shape]
		*asks = knownRequest{p.dims.Requests(shape.Requests), shape.OwnerKind == "DaemonSet"}
	}
	for d, amount := range asks.amounts {
		s.free[d] = vector.SaturatingSub(s.free[d], amount)
	}
	if asks.daemon {
		if d, known := p.sets[daemonName{pod.Namespace, p.in.Snapshot.Shapes[pod.Shape].OwnerName}]; known {
			running[d] = true
		}
	}
	if !p.needPorts && !p.needDisks {
		return
	}
	shape := &p.in.Snapshot.Shapes[pod.Shape]
	if p.needPorts {
		s.ports = append(s.ports, shape.HostPorts...)
	}
	if p.needDisks && len(pod.Claims)+len(shape.Ephemeral) > 0 {
		s.attachAll(p.classifier.Volumes.Attachments(pod, shape))
	}
}

// knownRequest is what pods of a shape ask of a node they are on.
type knownRequest struct {
	amounts vector.Vector // each ≥ 0; nil = not looked up yet
	daemon  bool          // they are of a DaemonSet
}

// fromNode describes a node. Until it is initialized, what its claim says fills in what the node does not say yet, and
// taints that go away by themselves do not count.
func (p *nodeMaker) fromNode(s *existingNode, node *model.Node, claim *model.Claim) {
	s.name, s.labels, s.taints = node.Name, node.Labels, node.Taints
	s.initialized = node.Initialized() || claim == nil && node.Pool() == ""
	amounts := node.Allocatable
	if !s.initialized && !p.asIs {
		amounts = p.expected(node, claim)
		s.taints = p.expectedTaints(node, claim, p.poolOf(node.Pool()))
		if claim != nil {
			s.labels = merged(p.claimLabels(claim), normalized(node.Labels), node.Registered())
		}
	}
	if claim != nil && !p.asIs {
		s.promised = claim.Pods
	}
	if !p.asIs {
		s.host = node.Name
	}
	if p.classifier.Names[node.Name] {
		s.labels = merged(s.labels, map[string]string{terms.NodeName: node.Name}, true)
	}
	if s.free == nil {
		s.free = make(vector.Vector, len(p.dims))
	}
	for d, name := range p.dims {
		s.free[d] = amounts[name]
	}
	if p.needDisks {
		s.attach = p.classifier.Volumes.Limits(node.Name)
	}
}

// reserveDaemons keeps room for the daemons that fit the existing node and are not running there.
func (p *nodeMaker) reserveDaemons(s *existingNode, running []bool) {
	if p.asIs {
		return
	}
	for i := range p.daemons {
		d := &p.daemons[i]
		if running != nil && running[i] {
			continue
		}
		hard, _ := terms.Untolerated(d.Tolerations, s.taints)
		if hard == nil && slices.ContainsFunc(d.Terms, func(term requirement.Requirements) bool { return term.MatchesBy(s.label) }) {
			for i, amount := range d.Request {
				s.free[i] = vector.SaturatingSub(s.free[i], amount)
			}
			if p.needConflicts {
				s.coming = append(s.coming, d.Set)
			}
			if p.needPorts {
				s.ports = append(s.ports, d.Ports...)
			}
		}
	}
}

// meets reports whether a node of the existing node is sure to meet any one of the pod group's terms.
func (s *existingNode) meets(c *group.PodGroup) bool {
	if s.market == nil {
		return meetsAny(c.There, s)
	}
	return sure(c.Readings.Of(c.There, s.market), s)
}

// columnsOf returns those that meet what is left to offerings of each term that the existing node meets in all else.
func columnsOf(r *offerings.Reading, s *existingNode, space []vector.Bitset) []vector.Bitset {
	for i, custom := range r.Custom {
		if custom.MatchesBy(s.label) {
			space = append(space, r.Met[i])
		}
	}
	return space
}

// sure reports whether a node of the existing node is sure to meet any one of the terms.
func sure(r *offerings.Reading, s *existingNode) bool {
	var space [8]vector.Bitset
	met := columnsOf(r, s, space[:0])
	for w, open := range s.mask {
		for _, mask := range met {
			open &^= mask[w]
		}
		if open != 0 {
			return false
		}
	}
	return true
}

// meetsAny reports whether a node of the existing node is sure to meet any one of the terms.
func meetsAny(terms []requirement.Requirements, s *existingNode) bool {
	if s.market == nil {
		return slices.ContainsFunc(terms, func(term requirement.Requirements) bool { return term.MatchesBy(s.label) })
	}
	open := slices.Clone(s.mask)
	for _, term := range terms {
		if offerings.CustomPart(term).MatchesBy(s.label) {
			met := s.market.ColumnsMeeting(term)
			for w := range open {
				open[w] &^= met[w]
			}
		}
	}
	return open.Empty()
}

// expected returns what an uninitialised node will have: what it says, and what its claim says where it says nothing.
func (p *nodeMaker) expected(node *model.Node, claim *model.Claim) model.Resources {
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
func (p *nodeMaker) expectedTaints(node *model.Node, claim *model.Claim, pool *model.Pool) []model.Taint {
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

func (p *nodeMaker) poolOf(name string) *model.Pool {
	for i := range p.in.Snapshot.Pools {
		if name != "" && p.in.Snapshot.Pools[i].Name == name {
			return &p.in.Snapshot.Pools[i]
		}
	}
	return nil
}

// normalized returns labels under today's names; the present name counts where both are there.
func normalized(labels map[string]string) map[string]string {
	out := make(map[string]string, len(labels)+1)
	for key := range labels { // each on its own: the order does not matter
		current := requirement.Normalize(key)
		out[current], _ = requirement.Label(labels, current)
	}
	return out
}

// label returns a label of the existing node by its name of today, and whether it has it.
func (s *existingNode) label(key string) (string, bool) {
	value, has := requirement.Label(s.labels, key)
	if !has && s.host != "" && key == model.LabelHostname {
		return s.host, true
	}
	return value, has
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

// end ends a text; it is in no label and no taint, but those of new nodes' names.
const end = "\x00"

// note writes down the existing node's labels of the keys.
func (p *existingNodes) note(s *existingNode, keys []string) {
	from := len(p.noted)
	for _, key := range keys {
		if value, has := s.label(key); has {
			p.noted = append(append(p.noted, '='), value...)
		}
		p.noted = append(p.noted, end...)
	}
	s.noted = p.noted[from:]
}

// fewNodes is how many like existing nodes are not worth lining up.
const fewNodes = 64

// lineUp orders like existing nodes so that neighbors are free in like proportions: then the most that is free of each resource
// in a part of the list is often free on one existing node, and the finder need not look far.
func (p *existingNodes) lineUp(list []int) {
	if len(list) <= fewNodes {
		return
	}
	cpu, memory := slices.Index(p.dims, model.CPU), slices.Index(p.dims, model.Memory)
	for _, n := range list {
		p.nodes[n].shape = float64(p.nodes[n].free[cpu]) / float64(max(1, p.nodes[n].free[memory]))
	}
	slices.SortFunc(list, func(a, b int) int {
		x, y := p.nodes[a], p.nodes[b]
		if x.initialized != y.initialized {
			return vector.CompareBools(y.initialized, x.initialized)
		}
		return cmp.Or(cmp.Compare(x.shape, y.shape), cmp.Compare(a, b))
	})
	for slot, n := range list {
		p.nodes[n].slot = slot
	}
}

// like returns the first slot of the signature's existing nodes that is free in the proportion of the request, or leans more to CPU.
func (p *existingNodes) like(sign int, request vector.Vector) int {
	list := p.bySign[sign]
	if len(list) <= fewNodes || p.few {
		return 0
	}
	cpu, memory := slices.Index(p.dims, model.CPU), slices.Index(p.dims, model.Memory)
	shape := float64(request[cpu]) / float64(max(1, request[memory]))
	low, high := 0, len(list)
	for low < high {
		middle := (low + high) / 2
		if s := p.nodes[list[middle]]; s.initialized && s.shape < shape {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low < len(list) && !p.nodes[list[low]].initialized {
		return 0
	}
	return low
}

// possible returns the values a label may take on a claim on its way that does not have it yet; none where it is known,
// or will not be there.
func (s *existingNode) possible(key string) []string {
	if s.market == nil || s.blind || !offerings.Decided(key) {
		return nil
	}
	if value, _ := s.label(key); value != "" {
		return nil
	}
	known, asked := s.open[key]
	if !asked {
		if s.open == nil {
			s.open = make(map[string][]string)
		}
		known = s.market.ValuesIn(s.mask, key)
		s.open[key] = known
	}
	return known
}

// attachAll notes volumes that are attached.
func (s *existingNode) attachAll(list []volume.Attachment) {
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
