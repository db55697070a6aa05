package pack

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/terms"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/core/topology"
	"github.com/joiner-sh/joiner/shared/model"
)

// kind of a rule between pods.
type kind uint8

const (
	affinity     kind = iota // some pod of the set is in the domain: required pod affinity
	antiAffinity             // no pod of the set is in the domain: anti-affinity, own or another pod's
	spread                   // the domain has at most maxSkew more than the emptiest: topology spread
)

// constraint is a rule of one pod group: what the topology group must say of a domain for a pod of the pod group to go there.
type constraint struct {
	kind          kind
	topologyGroup int
	self          int32 // how much a pod of the pod group adds to the topology group
	maxSkew       int32
	minDomains    int32
	weight        int32 // of a preference; 0 = must hold
	foreign       bool  // the rule is another pod's
	claim         bool  // of affinity: the pods share a claim, and whichever of them is first decides
	byHost        bool  // the topology group is by host
	slot          int   // of the topology group among those by host
	field         string
	text          string // what it looks for, for people
}

// contribution is how much a pod of a pod group adds to a topology group when it is placed.
type contribution struct {
	topologyGroup int
	weight        int32
	byHost        bool // the topology group is by host
	slot          int  // of the topology group among those by host
}

// podSet is a set of pods that rules count: those every one of peers matches, or the owners of an anti-affinity term.
type podSet struct {
	peers          []topology.Peers // empty for owners
	living         bool             // pods being deleted do not count
	arrived        bool             // pods of Input.Expected count where they are before and after alone
	lingers        bool             // pods of Input.Expected count where they are before, too
	topologyGroups []int
}

// filter says which nodes a spread constraint looks at.
type filter struct {
	terms       []requirement.Requirements // nil = any node
	tolerations [][]model.Toleration
	taints      bool         // only nodes whose taints are tolerated
	keys        []string     // labels the node must have
	passed      map[int]bool // by existing node signature
	pools       map[*offerings.Pool]bool
}

// topologyGroup counts the pods of a set by the value of one node label, on the nodes that pass the filter.
type topologyGroup struct {
	set    int
	key    string
	host   bool // the label is the hostname: counted by existing node
	slot   int  // of those by host: its number
	filter int  // into podRules.filters, −1 = every node that has the label

	count map[string]int32 // by domain: pods of the set there
	nodes map[string]int32 // by domain: nodes that exist and pass the filter
	total int32

	maybe map[string]int32 // by domain: pods on claims on their way that may come up there or elsewhere; in total too

	byNode   map[int]int32 // of a host topology group: by existing node
	limit    map[int]int32 // of a host topology group: the most any planned pod of the existing node allows
	beyond   map[int]int32 // of a host topology group: the most any planned pod of the existing node allows beyond the emptiest existing node
	eligible []int         // of a host topology group with a filter: existing nodes that pass
	having   []int32       // of a host topology group with a filter: how many of those have 0, 1, … pods
	least    int32         // the first of having that is not 0
	wanted   bool          // a pending pod group spreads by it
	adapts   int8          // whether those may go wherever any of them may: 1 yes, −1 no, 0 not looked at
	followed bool          // a pending pod group waits for the pods it counts
	tightest int32         // the smallest skew any of those allows
	domains  int32         // the most domains any of those asks for

	before       map[string]int32 // count, maybe, existing nodes and total before anything was placed
	beforeMaybe  map[string]int32
	beforeByNode map[int]int32
	beforeTotal  int32
}

// topologyGroupName is what tells a topology group from every other.
type topologyGroupName struct {
	set    int
	key    string
	filter int
}

// podRules is every rule between pods that a plan has to keep, and the counts they look at.
type podRules struct {
	namespaces         topology.Namespaces
	ignoreSoft         bool // preferences are left to kube-scheduler
	hostPreferences    bool // preferences by host are kept like rules
	sets               []podSet
	setIndex           map[string]int
	topologyGroups     []topologyGroup
	topologyGroupIndex map[topologyGroupName]int
	filters            []filter
	filterOf           map[string]int
	guards             []guard
	guardIndex         map[string]int
	known              map[[4]string]topology.Peers // by what asks, namespace and label
	ofSets             labelIndex                   // of sets that peers tell, by the first of those
	ofGuards           labelIndex                   // of guards
	hosts              []int                        // topology groups by host
}

// guard is a required anti-affinity term of some pod: whom it keeps away from its owners, and where.
type guard struct {
	peers   topology.Peers
	key     string
	name    string
	owners  int // set
	lingers int // the same set, of which pods of Input.Expected count where they are before, too; 0 = nobody asked for it
}

// labelIndex finds, of many sets of pods, those that pods with some labels may be among without looking at each.
type labelIndex struct {
	having map[[2]string][]int // by a label, with its value, that all of the set have
	others []int               // that have none in common
}

// add notes set n.
func (x *labelIndex) add(n int, peers topology.Peers) {
	key, values, common := peers.RequiredLabel()
	if !common {
		x.others = append(x.others, n)
		return
	}
	if x.having == nil {
		x.having = make(map[[2]string][]int)
	}
	for _, value := range values {
		x.having[[2]string{key, value}] = append(x.having[[2]string{key, value}], n)
	}
}

// about returns the sets that pods with the labels may be among, each once, in ascending order.
func (x *labelIndex) about(labels map[string]string) []int {
	out := slices.Clone(x.others)
	if len(x.having) > 0 {
		for key, value := range labels { // sorted below
			out = append(out, x.having[[2]string{key, value}]...)
		}
		slices.Sort(out)
	}
	return out
}

func newPodRules(snapshot *model.Snapshot, preferences preferences) *podRules {
	return &podRules{
		ignoreSoft: preferences == noPreferences, hostPreferences: preferences == allPreferences,
		namespaces: topology.NamespacesOf(snapshot.Namespaces),
		setIndex:   make(map[string]int), topologyGroupIndex: make(map[topologyGroupName]int), filterOf: make(map[string]int), guardIndex: make(map[string]int), known: make(map[[4]string]topology.Peers),
	}
}

func (b *podRules) empty() bool { return len(b.topologyGroups) == 0 }

func (b *podRules) set(key string, of podSet) int {
	i, known := b.setIndex[key]
	if !known {
		i = len(b.sets)
		b.sets = append(b.sets, of)
		b.setIndex[key] = i
		if len(of.peers) > 0 {
			b.ofSets.add(i, of.peers[0])
		}
	}
	return i
}

// peersSet is the set of pods that all peers of it match.
func (b *podRules) peersSet(of podSet) int {
	keys := make([]string, len(of.peers))
	for i := range of.peers {
		keys[i] = of.peers[i].Key()
	}
	slices.Sort(keys)
	key := strings.Join(slices.Compact(keys), "\x00&")
	if of.living {
		key += "\x00living"
	}
	if of.arrived {
		key += "\x00arrived"
	}
	if of.lingers {
		key += "\x00lingers"
	}
	return b.set(key, of)
}

func (b *podRules) topologyGroup(set int, key string, filter int) int {
	key = requirement.Normalize(key)
	name := topologyGroupName{set, key, filter}
	i, known := b.topologyGroupIndex[name]
	if !known {
		i = len(b.topologyGroups)
		t := topologyGroup{set: set, key: key, host: key == model.LabelHostname, filter: filter, count: make(map[string]int32), nodes: make(map[string]int32), maybe: make(map[string]int32)}
		if t.host {
			t.byNode, t.limit, t.beyond = make(map[int]int32), make(map[int]int32), make(map[int]int32)
			t.slot = len(b.hosts)
			b.hosts = append(b.hosts, i)
		}
		b.topologyGroups = append(b.topologyGroups, t)
		b.topologyGroupIndex[name] = i
		b.sets[set].topologyGroups = append(b.sets[set].topologyGroups, i)
	}
	return i
}

// guardOf returns the number of the guard that keeps peers away from pods with the term.
func (b *podRules) guardOf(peers topology.Peers, key string) int {
	key = requirement.Normalize(key)
	name := peers.Key() + "\x00" + key
	i, known := b.guardIndex[name]
	if !known {
		i = len(b.guards)
		b.guards = append(b.guards, guard{peers: peers, key: key, name: name, owners: b.set("owners\x00"+name, podSet{})})
		b.guardIndex[name] = i
		b.ofGuards.add(i, peers)
	}
	return i
}

// ownersOf returns the set of a guard's owners, with lingers those that are yet to leave included where they are.
func (b *podRules) ownersOf(n int, lingers bool) int {
	g := &b.guards[n]
	if !lingers {
		return g.owners
	}
	if g.lingers == 0 { // the owners' set has been made before it, so that it is never the first
		g.lingers = b.set("owners\x00"+g.name+"\x00lingers", podSet{lingers: true})
	}
	return g.lingers
}

// readGuards notes the required anti-affinity terms of a shape and returns the guards they are. A term that cannot be
// read guards nothing.
func (b *podRules) readGuards(shape *model.PodShape) []int {
	var out []int
	for i := range shape.PodAntiAffinity {
		term := &shape.PodAntiAffinity[i]
		peers, err := b.ofTerm(term, shape)
		if err != nil || term.TopologyKey == "" {
			continue
		}
		g := b.guardOf(peers, term.TopologyKey)
		if !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	return out
}

// ofTerm returns the pods an affinity term names. Most terms are one label, and many pods have the same.
func (b *podRules) ofTerm(term *model.PodTerm, shape *model.PodShape) (topology.Peers, error) {
	if !oneLabel(term.Selector) || len(term.Namespaces)+len(term.MatchLabelKeys)+len(term.MismatchLabelKeys) > 0 || term.NamespaceSelector != nil {
		return topology.PeersOfTerm(term, shape, b.namespaces)
	}
	return b.remember("term", shape.Namespace, term.Selector, func() (topology.Peers, error) { return topology.PeersOfTerm(term, shape, b.namespaces) })
}

// ofSpread returns the pods a spread constraint counts.
func (b *podRules) ofSpread(s *model.Spread, shape *model.PodShape) (topology.Peers, error) {
	if !oneLabel(s.Selector) || len(s.MatchLabelKeys) > 0 {
		return topology.PeersOfSpread(s, shape)
	}
	return b.remember("spread", shape.Namespace, s.Selector, func() (topology.Peers, error) { return topology.PeersOfSpread(s, shape) })
}

func oneLabel(s *model.Selector) bool {
	return s != nil && len(s.MatchLabels) == 1 && len(s.Expressions) == 0
}

func (b *podRules) remember(what, namespace string, selector *model.Selector, read func() (topology.Peers, error)) (topology.Peers, error) {
	key := [4]string{what, namespace}
	for name, value := range selector.MatchLabels { // one
		key[2], key[3] = name, value
	}
	if known, ok := b.known[key]; ok {
		return known, nil
	}
	peers, err := read()
	if err == nil {
		b.known[key] = peers
	}
	return peers, err
}

// readUses returns the shape's own rules; an error names the field that cannot be read. With arrived those it has to be near must
// be there already, and those it has to be far from have left when they are gone and not when that is planned.
func (b *podRules) readUses(shape *model.PodShape, own []requirement.Requirements, arrived bool) (hard, soft []constraint, no *model.Reason) {
	if hard, no = b.readAffinity(shape, arrived); no != nil {
		return nil, nil, no
	}
	anti, no := b.readAnti(shape, arrived)
	if no != nil {
		return nil, nil, no
	}
	hard = append(hard, anti...)
	spreads, softSpreads, no := b.readSpreads(shape, own)
	if no != nil {
		return nil, nil, no
	}
	hard, soft = append(hard, spreads...), append(soft, softSpreads...)
	if b.ignoreSoft {
		return hard, nil, nil
	}
	return hard, append(soft, b.readPreferred(shape)...), nil
}

// readAffinity reads the required affinity terms. kube-scheduler counts a pod for any of them only where it matches all.
func (b *podRules) readAffinity(shape *model.PodShape, arrived bool) ([]constraint, *model.Reason) {
	if len(shape.PodAffinity) == 0 {
		return nil, nil
	}
	const field = "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution"
	var all []topology.Peers
	for i := range shape.PodAffinity {
		peers, err := b.ofTerm(&shape.PodAffinity[i], shape)
		switch {
		case err != nil:
			return nil, terms.Unreadable(indexed(field, i), err.Error(), "correct the term")
		case shape.PodAffinity[i].TopologyKey == "":
			return nil, terms.Unreadable(indexed(field, i)+".topologyKey", "it is empty", "name a node label, such as "+model.LabelZone)
		}
		all = append(all, peers)
	}
	set := b.peersSet(podSet{peers: all, arrived: arrived})
	var out []constraint
	for i := range shape.PodAffinity {
		u := constraint{kind: affinity, topologyGroup: b.topologyGroup(set, shape.PodAffinity[i].TopologyKey, -1), field: indexed(field, i),
			text: selectorText(shape.PodAffinity[i].Selector)}
		b.topologyGroups[u.topologyGroup].followed = true
		if !slices.ContainsFunc(out, func(v constraint) bool { return v.topologyGroup == u.topologyGroup }) {
			out = append(out, u)
		}
	}
	return out, nil
}

func (b *podRules) readAnti(shape *model.PodShape, lingers bool) ([]constraint, *model.Reason) {
	const field = "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"
	var out []constraint
	for i := range shape.PodAntiAffinity {
		peers, err := b.ofTerm(&shape.PodAntiAffinity[i], shape)
		switch {
		case err != nil:
			return nil, terms.Unreadable(indexed(field, i), err.Error(), "correct the term")
		case shape.PodAntiAffinity[i].TopologyKey == "":
			return nil, terms.Unreadable(indexed(field, i)+".topologyKey", "it is empty", "name a node label, such as "+model.LabelHostname)
		}
		set := b.peersSet(podSet{peers: []topology.Peers{peers}, lingers: lingers})
		out = append(out, constraint{kind: antiAffinity, topologyGroup: b.topologyGroup(set, shape.PodAntiAffinity[i].TopologyKey, -1), field: indexed(field, i),
			text: selectorText(shape.PodAntiAffinity[i].Selector)})
	}
	return out, nil
}

func (b *podRules) readSpreads(shape *model.PodShape, own []requirement.Requirements) (hard, soft []constraint, no *model.Reason) {
	var keys []string
	for i := range shape.Spread {
		if !shape.Spread[i].Anyway {
			keys = append(keys, requirement.Normalize(shape.Spread[i].TopologyKey))
		}
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	for i := range shape.Spread {
		s := &shape.Spread[i]
		if s.Anyway && b.ignoreSoft {
			continue
		}
		field := cmp.Or(s.Field, indexed("spec.topologySpreadConstraints", i))
		peers, err := b.ofSpread(s, shape)
		switch {
		case s.Anyway && (err != nil || s.TopologyKey == ""):
			continue
		case err != nil:
			return nil, nil, terms.Unreadable(field, err.Error(), "correct the constraint")
		case s.TopologyKey == "":
			return nil, nil, terms.Unreadable(field+".topologyKey", "it is empty", "name a node label, such as "+model.LabelZone)
		case s.MaxSkew < 1 && !s.Anyway:
			return nil, nil, terms.Unreadable(field+".maxSkew", fmt.Sprintf("%d is less than 1", s.MaxSkew), "give 1 or more")
		}
		u := constraint{kind: spread, maxSkew: max(1, s.MaxSkew), minDomains: s.MinDomains, field: field, text: selectorText(s.Selector)}
		u.topologyGroup = b.topologyGroup(b.peersSet(podSet{peers: []topology.Peers{peers}, living: true}), s.TopologyKey, b.filter(s, shape, own, keys))
		if s.Anyway {
			u.weight = 100
			soft = append(soft, u)
			continue
		}
		t := &b.topologyGroups[u.topologyGroup]
		if !t.wanted || u.maxSkew < t.tightest {
			t.wanted, t.tightest = true, u.maxSkew
		}
		t.domains = max(t.domains, u.minDomains)
		hard = append(hard, u)
	}
	return hard, soft, nil
}

// filter interns which nodes the constraint looks at.
func (b *podRules) filter(s *model.Spread, shape *model.PodShape, own []requirement.Requirements, keys []string) int {
	f := filter{taints: s.HonorNodeTaints, keys: keys, passed: make(map[int]bool), pools: make(map[*offerings.Pool]bool)}
	var name strings.Builder
	if !s.IgnoreNodeAffinity {
		f.terms = own
		for _, term := range own {
			name.WriteString(terms.KeyOf(term) + "|")
		}
	}
	if f.taints {
		f.tolerations = [][]model.Toleration{shape.Tolerations}
		name.WriteString("\x00" + terms.KeyOfTolerations(shape.Tolerations))
	}
	name.WriteString("\x00" + strconv.FormatBool(f.taints))
	for _, key := range keys {
		name.WriteString("\x00" + key)
	}
	key := name.String()
	i, known := b.filterOf[key]
	if !known {
		i = len(b.filters)
		b.filters = append(b.filters, f)
		b.filterOf[key] = i
	}
	return i
}

func (b *podRules) readPreferred(shape *model.PodShape) []constraint {
	var out []constraint
	read := func(terms []model.WeightedPodTerm, kind kind) {
		for i := range terms {
			peers, err := topology.PeersOfTerm(&terms[i].Term, shape, b.namespaces)
			if err != nil || terms[i].Term.TopologyKey == "" || terms[i].Weight <= 0 {
				continue
			}
			set := b.peersSet(podSet{peers: []topology.Peers{peers}})
			out = append(out, constraint{kind: kind, topologyGroup: b.topologyGroup(set, terms[i].Term.TopologyKey, -1), weight: min(100, terms[i].Weight)})
		}
	}
	read(shape.PreferredPodAffinity, affinity)
	read(shape.PreferredPodAntiAffinity, antiAffinity)
	return out
}

// passes reports whether a node with these labels and taints counts.
func (f *filter) passes(label func(key string) (value string, has bool), taints []model.Taint) bool {
	for _, key := range f.keys {
		if _, has := label(key); !has {
			return false
		}
	}
	if f.terms != nil && !slices.ContainsFunc(f.terms, func(term requirement.Requirements) bool { return term.MatchesBy(label) }) {
		return false
	}
	for _, tolerations := range f.tolerations {
		if hard, _ := terms.Untolerated(tolerations, taints); hard != nil {
			return false
		}
	}
	return true
}

// passesNode reports whether the existing node is sure to count, whatever it may become.
func (f *filter) passesNode(s *existingNode) bool {
	if s.market == nil {
		return f.passes(s.label, s.taints)
	}
	if slices.ContainsFunc(f.keys, func(key string) bool { value, _ := s.label(key); return value == "" && len(s.possible(key)) == 0 }) {
		return false
	}
	if f.terms != nil && !meetsAny(f.terms, s) {
		return false
	}
	return !slices.ContainsFunc(f.tolerations, func(list []model.Toleration) bool {
		hard, _ := terms.Untolerated(list, s.taints)
		return hard != nil
	})
}

// passesPool reports whether nodes of the pool may be such that count.
func (f *filter) passesPool(p *offerings.Pool) bool {
	passes, known := f.pools[p]
	if !known {
		passes = f.terms == nil || slices.ContainsFunc(f.terms, func(term requirement.Requirements) bool {
			return p.Custom.Compatible(offerings.CustomPart(term), nil) == nil && !p.Market.ColumnsMeeting(term).And(p.Allowed).Empty()
		})
		for _, tolerations := range f.tolerations {
			hard, _ := terms.Untolerated(tolerations, p.Source.Template.Taints)
			passes = passes && hard == nil
		}
		f.pools[p] = passes
	}
	return passes
}

// countsNew reports whether the topology group looks at the new nodes of a cell's stands, the first of which is asked first.
func (p *planner) countsNew(t *topologyGroup, pools []candidatePool) bool {
	return t.filter < 0 || len(pools) == 0 || p.rules.filters[t.filter].passesPool(p.pools()[pools[0].pool])
}

// memberships returns what a pod of the shape adds to each topology group, given the guards it owns.
func (b *podRules) memberships(shape *model.PodShape, guards []int) []contribution {
	var out []contribution
	may := b.ofSets.about(shape.Labels)
	for _, g := range guards {
		if may = append(may, b.guards[g].owners); b.guards[g].lingers > 0 {
			may = append(may, b.guards[g].lingers)
		}
	}
	slices.Sort(may)
	for _, i := range slices.Compact(may) {
		if len(b.sets[i].topologyGroups) > 0 && b.isMember(i, shape, guards) {
			for _, t := range b.sets[i].topologyGroups {
				out = append(out, contribution{topologyGroup: t, weight: 1, byHost: b.topologyGroups[t].host, slot: b.topologyGroups[t].slot})
			}
		}
	}
	return out
}

func (b *podRules) isMember(set int, shape *model.PodShape, guards []int) bool {
	s := &b.sets[set]
	if len(s.peers) == 0 {
		return slices.ContainsFunc(guards, func(g int) bool {
			return b.guards[g].owners == set || b.guards[g].lingers == set && s.lingers
		})
	}
	for i := range s.peers {
		if !s.peers[i].Match(shape.Namespace, shape.Labels) {
			return false
		}
	}
	return true
}

func weightIn(contributions []contribution, topologyGroup int) int32 {
	for _, a := range contributions {
		if a.topologyGroup == topologyGroup {
			return a.weight
		}
	}
	return 0
}

// indexed names an item of a list field.
func indexed(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

func selectorText(s *model.Selector) string {
	if s == nil {
		return "no pod"
	}
	var parts []string
	for key, value := range s.MatchLabels { // sorted below
		parts = append(parts, key+"="+value)
	}
	for _, e := range s.Expressions {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Key, e.Operator, strings.Join(e.Values, ","))))
	}
	slices.Sort(parts)
	if len(parts) == 0 {
		return "every pod"
	}
	return "pods with " + strings.Join(parts, ", ")
}
