package pack

import (
	"cmp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/model"
)

// site is capacity that exists or is on its way: a node, or a claim whose node is not in the snapshot yet.
type site struct {
	name        string
	initialized bool
	labels      map[string]string // normalised keys
	taints      []model.Taint
	free        vector
	promised    map[string]bool // UIDs of pods that were planned onto it

	// A claim that has not launched may still become any of several machines: market and mask are set, and a pod fits
	// only where it fits all of them.
	market *market
	mask   bitset
	// blind is set where nothing is known of what the claim will hold: it takes the pods it was planned for, and no other.
	blind bool

	signature string
	pods      []int // placed by this plan
}

// sitesOf returns what exists or is on its way and may take pods, initialised nodes first, then by name. Nodes that are
// being deleted or drained, or whose instance is gone, take none.
func sitesOf(in *Input, dims dimensions, markets map[string]*market, daemons []daemon, moving map[int]bool) []*site {
	b := siteBuilder{in: in, dims: dims, markets: markets, daemons: daemons}
	b.indexClaims()
	b.countPods(moving)
	var sites []*site
	for i := range in.Snapshot.Nodes {
		node := &in.Snapshot.Nodes[i]
		claim := b.claimOf[node.Name]
		if node.DeletedUnix == 0 && !draining(node) && (claim == nil || claim.Live()) {
			sites = append(sites, b.fromNode(node))
		}
	}
	for i := range in.Claims {
		if claim := &in.Claims[i]; claim.Live() && !b.joined[claim.Name] {
			sites = append(sites, b.fromClaim(claim))
		}
	}
	slices.SortStableFunc(sites, func(a, b *site) int {
		if a.initialized != b.initialized {
			if a.initialized {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.name, b.name)
	})
	return sites
}

type siteBuilder struct {
	in      *Input
	dims    dimensions
	markets map[string]*market
	daemons []daemon

	claimOf map[string]*model.Claim // by node name: the live claim the node belongs to
	joined  map[string]bool         // by claim name: its node is in the snapshot
	used    map[string]vector       // by node name: requests of the pods there
	running map[string]bool         // node, namespace and DaemonSet of each daemon pod there
}

// indexClaims joins claims and nodes, by provider ID or by name.
func (b *siteBuilder) indexClaims() {
	byProvider, byNode := make(map[string]*model.Claim), make(map[string]*model.Claim)
	for i := range b.in.Claims {
		claim := &b.in.Claims[i]
		if claim.ProviderID != "" {
			byProvider[claim.ProviderID] = claim
		}
		if claim.NodeName != "" {
			byNode[claim.NodeName] = claim
		}
	}
	b.claimOf, b.joined = make(map[string]*model.Claim), make(map[string]bool)
	for i := range b.in.Snapshot.Nodes {
		node := &b.in.Snapshot.Nodes[i]
		claim := byProvider[node.ProviderID]
		if node.ProviderID == "" || claim == nil {
			claim = byNode[node.Name]
		}
		if claim != nil {
			b.claimOf[node.Name] = claim
			b.joined[claim.Name] = true
		}
	}
}

// countPods sums up what runs on each node. Pods that are being planned take nothing of the node they are on.
func (b *siteBuilder) countPods(moving map[int]bool) {
	snapshot := b.in.Snapshot
	b.used, b.running = make(map[string]vector, len(snapshot.Nodes)), make(map[string]bool)
	requests := make([]vector, len(snapshot.Shapes))
	for i := range snapshot.Pods {
		pod := &snapshot.Pods[i]
		if pod.NodeName == "" || pod.Terminal() || moving[i] || pod.Shape < 0 || pod.Shape >= len(snapshot.Shapes) {
			continue
		}
		shape := &snapshot.Shapes[pod.Shape]
		if requests[pod.Shape] == nil {
			requests[pod.Shape] = b.dims.requests(shape.Requests)
		}
		if b.used[pod.NodeName] == nil {
			b.used[pod.NodeName] = make(vector, len(b.dims))
		}
		b.used[pod.NodeName].addSaturating(requests[pod.Shape])
		if shape.OwnerKind == "DaemonSet" {
			b.running[daemonKey(pod.NodeName, pod.Namespace, shape.OwnerName)] = true
		}
	}
}

func daemonKey(node, namespace, name string) string { return node + "\x00" + namespace + "\x00" + name }

// fromNode describes a node. Until it is initialised, what its claim says fills in what the node does not say yet, and
// taints that go away by themselves do not count.
func (b *siteBuilder) fromNode(node *model.Node) *site {
	claim := b.claimOf[node.Name]
	pool := b.poolOf(node.Pool())
	s := &site{name: node.Name, labels: normalized(node.Labels), taints: node.Taints, promised: promises(claim)}
	s.initialized = node.Initialized() || claim == nil && node.Pool() == ""
	amounts := node.Allocatable
	if !s.initialized {
		amounts = b.expected(node, claim)
		s.taints = b.expectedTaints(node, claim, pool)
		if claim != nil {
			s.labels = merged(b.claimLabels(claim), s.labels, node.Registered())
		}
	}
	if _, known := s.labels[model.LabelHostname]; !known {
		s.labels = merged(s.labels, map[string]string{model.LabelHostname: node.Name}, true)
	}
	s.free = b.dims.vector(amounts)
	if used := b.used[node.Name]; used != nil {
		s.free = s.free.minus(used)
	}
	b.reserveDaemons(s)
	return s
}

// reserveDaemons keeps room for the daemons that fit the site and are not there yet.
func (b *siteBuilder) reserveDaemons(s *site) {
	for _, d := range b.daemons {
		if b.running[daemonKey(s.name, d.namespace, d.name)] {
			continue
		}
		hard, _ := untolerated(d.tolerations, s.taints)
		fits := slices.ContainsFunc(d.terms, func(term requirement.Requirements) bool { return term.Matches(s.labels) })
		if hard == nil && fits {
			s.free = s.free.minus(d.request)
		}
	}
}

// meets reports whether a node of the site is sure to meet any one of the class's terms.
func (s *site) meets(c *class) bool {
	return slices.ContainsFunc(c.terms, func(term requirement.Requirements) bool {
		if s.market == nil {
			return term.Matches(s.labels)
		}
		return customPart(term).Matches(s.labels) && s.mask.within(s.market.columnsMeeting(term))
	})
}

// expected returns what an uninitialised node will have: what it says, and what its claim says where it says nothing.
func (b *siteBuilder) expected(node *model.Node, claim *model.Claim) model.Resources {
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
func (b *siteBuilder) expectedTaints(node *model.Node, claim *model.Claim, pool *model.Pool) []model.Taint {
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

func (b *siteBuilder) poolOf(name string) *model.Pool {
	for i := range b.in.Snapshot.Pools {
		if name != "" && b.in.Snapshot.Pools[i].Name == name {
			return &b.in.Snapshot.Pools[i]
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

// sign notes what of the site the classes can see, so that like sites are judged once.
func (s *site) sign(keys []string) {
	const end = "\x00" // in no label and no taint, but those of new nodes' names
	var b strings.Builder
	for _, key := range keys {
		if value, has := s.labels[key]; has {
			b.WriteString(key + "=" + value)
		}
		b.WriteString(end)
	}
	for _, t := range s.taints {
		b.WriteString(end + t.Key + end + t.Value + end + t.Effect)
	}
	if s.market != nil {
		b.WriteString(end + "claim" + end + s.name)
	}
	s.signature = b.String()
}
