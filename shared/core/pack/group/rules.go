package group

import (
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/terms"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/core/topology"
	"github.com/joiner-sh/joiner/shared/model"
)

// Preferences says which preferences between pods are kept.
type Preferences uint8

const (
	NoPreferences     Preferences = iota
	DomainPreferences             // those about zones and the like
	AllPreferences                // those about hosts too
)

// kind of a rule between pods.
type kind uint8

const (
	Affinity     kind = iota // some pod of the set is in the domain: required pod affinity
	AntiAffinity             // no pod of the set is in the domain: anti-affinity, own or another pod's
	Spread                   // the domain has at most maxSkew more than the emptiest: topology spread
)

// Constraint is a rule of one pod group: what the topology group must say of a domain for a pod of the pod group to go
// there.
type Constraint struct {
	Kind          kind
	TopologyGroup int
	Self          int32 // how much a pod of the pod group adds to the topology group
	MaxSkew       int32
	MinDomains    int32
	Weight        int32 // of a preference; 0 = must hold
	foreign       bool  // the rule is another pod's
	Claim         bool  // of affinity: the pods share a claim, and whichever of them is first decides
	ByHost        bool  // the topology group is by host
	Slot          int   // of the topology group among those by host
	field         string
	text          string // what it looks for, for people
}

// Contribution is how much a pod of a pod group adds to a topology group when it is placed.
type Contribution struct {
	TopologyGroup int
	Weight        int32
	ByHost        bool // the topology group is by host
	Slot          int  // of the topology group among those by host
}

// PodSet is a set of pods that rules count: those every one of peers matches, or the owners of an anti-affinity term.
type PodSet struct {
	peers          []topology.Peers // empty for owners
	Living         bool             // pods being deleted do not count
	Arrived        bool             // pods of Input.Expected count where they are before and after alone
	Lingers        bool             // pods of Input.Expected count where they are before, too
	topologyGroups []int
}

// Filter says which nodes a spread constraint looks at.
type Filter struct {
	Terms       []requirement.Requirements // nil = any node
	Tolerations [][]model.Toleration
	taints      bool         // only nodes whose taints are tolerated
	Keys        []string     // labels the node must have
	Passed      map[int]bool // by existing node signature
	pools       map[*offerings.Pool]bool
}

// topologyGroupName is what tells a topology group from every other.
type topologyGroupName struct {
	set    int
	key    string
	filter int
}

// PodRules is every rule between pods that a plan has to keep, and the counts they look at.
type PodRules struct {
	namespaces         topology.Namespaces
	ignoreSoft         bool // preferences are left to kube-scheduler
	hostPreferences    bool // preferences by host are kept like rules
	Sets               []PodSet
	setIndex           map[string]int
	TopologyGroups     []TopologyGroup
	topologyGroupIndex map[topologyGroupName]int
	Filters            []Filter
	filterOf           map[string]int
	guards             []guard
	guardIndex         map[string]int
	known              map[[4]string]topology.Peers // by what asks, namespace and label
	ofSets             labelIndex                   // of sets that peers tell, by the first of those
	ofGuards           labelIndex                   // of guards
	Hosts              []int                        // topology groups by host
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

// NewPodRules returns the rules of a snapshot, none of them read yet.
func NewPodRules(snapshot *model.Snapshot, preferences Preferences) *PodRules {
	return &PodRules{
		ignoreSoft: preferences == NoPreferences, hostPreferences: preferences == AllPreferences,
		namespaces: topology.NamespacesOf(snapshot.Namespaces),
		setIndex:   make(map[string]int), topologyGroupIndex: make(map[topologyGroupName]int), filterOf: make(map[string]int), guardIndex: make(map[string]int), known: make(map[[4]string]topology.Peers),
	}
}

// Empty reports whether no rule counts any pods.
func (b *PodRules) Empty() bool { return len(b.TopologyGroups) == 0 }

func (b *PodRules) set(key string, of PodSet) int {
	i, known := b.setIndex[key]
	if !known {
		i = len(b.Sets)
		b.Sets = append(b.Sets, of)
		b.setIndex[key] = i
		if len(of.peers) > 0 {
			b.ofSets.add(i, of.peers[0])
		}
	}
	return i
}

// peersSet is the set of pods that all peers of it match.
func (b *PodRules) peersSet(of PodSet) int {
	keys := make([]string, len(of.peers))
	for i := range of.peers {
		keys[i] = of.peers[i].Key()
	}
	slices.Sort(keys)
	key := strings.Join(slices.Compact(keys), "\x00&")
	if of.Living {
		key += "\x00living"
	}
	if of.Arrived {
		key += "\x00arrived"
	}
	if of.Lingers {
		key += "\x00lingers"
	}
	return b.set(key, of)
}

func (b *PodRules) topologyGroup(set int, key string, filter int) int {
	key = requirement.Normalize(key)
	name := topologyGroupName{set, key, filter}
	i, known := b.topologyGroupIndex[name]
	if !known {
		i = len(b.TopologyGroups)
		t := TopologyGroup{Set: set, Key: key, Host: key == model.LabelHostname, Filter: filter, Count: make(map[string]int32), Nodes: make(map[string]int32), Maybe: make(map[string]int32)}
		if t.Host {
			t.ByNode, t.Limit, t.Beyond = make(map[int]int32), make(map[int]int32), make(map[int]int32)
			t.slot = len(b.Hosts)
			b.Hosts = append(b.Hosts, i)
		}
		b.TopologyGroups = append(b.TopologyGroups, t)
		b.topologyGroupIndex[name] = i
		b.Sets[set].topologyGroups = append(b.Sets[set].topologyGroups, i)
	}
	return i
}

// guardOf returns the number of the guard that keeps peers away from pods with the term.
func (b *PodRules) guardOf(peers topology.Peers, key string) int {
	key = requirement.Normalize(key)
	name := peers.Key() + "\x00" + key
	i, known := b.guardIndex[name]
	if !known {
		i = len(b.guards)
		b.guards = append(b.guards, guard{peers: peers, key: key, name: name, owners: b.set("owners\x00"+name, PodSet{})})
		b.guardIndex[name] = i
		b.ofGuards.add(i, peers)
	}
	return i
}

// ownersOf returns the set of a guard's owners, with lingers those that are yet to leave included where they are.
func (b *PodRules) ownersOf(n int, lingers bool) int {
	g := &b.guards[n]
	if !lingers {
		return g.owners
	}
	if g.lingers == 0 { // the owners' set has been made before it, so that it is never the first
		g.lingers = b.set("owners\x00"+g.name+"\x00lingers", PodSet{Lingers: true})
	}
	return g.lingers
}

// Passes reports whether a node with these labels and taints counts.
func (f *Filter) Passes(label func(key string) (value string, has bool), taints []model.Taint) bool {
	for _, key := range f.Keys {
		if _, has := label(key); !has {
			return false
		}
	}
	if f.Terms != nil && !slices.ContainsFunc(f.Terms, func(term requirement.Requirements) bool { return term.MatchesBy(label) }) {
		return false
	}
	for _, tolerations := range f.Tolerations {
		if hard, _ := terms.Untolerated(tolerations, taints); hard != nil {
			return false
		}
	}
	return true
}

// PassesPool reports whether nodes of the pool may be such that count.
func (f *Filter) PassesPool(p *offerings.Pool) bool {
	passes, known := f.pools[p]
	if !known {
		passes = f.Terms == nil || slices.ContainsFunc(f.Terms, func(term requirement.Requirements) bool {
			return p.Custom.Compatible(offerings.CustomPart(term), nil) == nil && !p.Market.ColumnsMeeting(term).And(p.Allowed).Empty()
		})
		for _, tolerations := range f.Tolerations {
			hard, _ := terms.Untolerated(tolerations, p.Source.Template.Taints)
			passes = passes && hard == nil
		}
		f.pools[p] = passes
	}
	return passes
}

// Memberships returns what a pod of the shape adds to each topology group, given the guards it owns.
func (b *PodRules) Memberships(shape *model.PodShape, guards []int) []Contribution {
	var out []Contribution
	may := b.ofSets.about(shape.Labels)
	for _, g := range guards {
		if may = append(may, b.guards[g].owners); b.guards[g].lingers > 0 {
			may = append(may, b.guards[g].lingers)
		}
	}
	slices.Sort(may)
	for _, i := range slices.Compact(may) {
		if len(b.Sets[i].topologyGroups) > 0 && b.IsMember(i, shape, guards) {
			for _, t := range b.Sets[i].topologyGroups {
				out = append(out, Contribution{TopologyGroup: t, Weight: 1, ByHost: b.TopologyGroups[t].Host, Slot: b.TopologyGroups[t].slot})
			}
		}
	}
	return out
}

// IsMember reports whether a pod of the shape, which owns the guards, is in the set.
func (b *PodRules) IsMember(set int, shape *model.PodShape, guards []int) bool {
	s := &b.Sets[set]
	if len(s.peers) == 0 {
		return slices.ContainsFunc(guards, func(g int) bool {
			return b.guards[g].owners == set || b.guards[g].lingers == set && s.Lingers
		})
	}
	for i := range s.peers {
		if !s.peers[i].Match(shape.Namespace, shape.Labels) {
			return false
		}
	}
	return true
}

// WeightIn returns what the contributions add to the topology group.
func WeightIn(contributions []Contribution, topologyGroup int) int32 {
	for _, a := range contributions {
		if a.TopologyGroup == topologyGroup {
			return a.Weight
		}
	}
	return 0
}
