package disruption

import (
	"cmp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/disruption/spread"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// cluster is the input of a plan with everything that deciding asks for looked up once.
type cluster struct {
	in          *Input
	set         Settings // with defaults
	now         int64
	pools       map[string]*model.Pool
	claims      map[string]*model.Claim   // live ones, by name
	commands    map[string]*model.Command // open ones, by the names of the claims they disrupt
	deleted     map[string]bool           // NodeClaims that are being deleted, by name
	podsOf      map[string][]int          // pods that have not ended, by node name, by key
	poolNodes   []*poolNode               // the nodes of pools, by name
	byName      map[string]*poolNode      // the same
	prices      prices
	revalidated revalidated
}

// newCluster looks everything up. A command that is revalidated holds nothing: its nodes are evaluated as if it were
// not there. Nor do those that come after it.
func newCluster(in *Input, evaluated *model.Command) *cluster {
	if in.Snapshot == nil {
		in.Snapshot = &model.Snapshot{}
	}
	if kept := spread.KeepTwoZones(in.Snapshot); kept != in.Snapshot {
		changed := *in
		changed.Snapshot = kept
		in = &changed
	}
	c := &cluster{
		in: in, set: withDefaults(in.Settings), now: in.NowUnix, podsOf: podsByNode(in.Snapshot),
		pools: make(map[string]*model.Pool), claims: make(map[string]*model.Claim, len(in.Claims)),
		deleted: make(map[string]bool), prices: prices{types: instanceTypes{catalogs: in.Catalogs}},
		revalidated: revalidated{evaluated},
	}
	for i := range in.Snapshot.Pools {
		c.pools[in.Snapshot.Pools[i].Name] = &in.Snapshot.Pools[i]
	}
	for i := range in.Claims {
		if claim := &in.Claims[i]; claim.Live() {
			c.claims[claim.Name] = claim
		}
	}
	for i := range in.Snapshot.Claims {
		if o := &in.Snapshot.Claims[i]; o.DeletedUnix != 0 {
			c.deleted[o.Name] = true
		}
	}
	c.commands = c.openCommands()
	c.indexNodes()
	return c
}

// openCommands returns the open commands by the names of the claims they disrupt.
func (c *cluster) openCommands() map[string]*model.Command {
	out := make(map[string]*model.Command)
	for i := range c.in.Commands {
		command := &c.in.Commands[i]
		if !command.State.Open() || c.revalidated.precedes(command) {
			continue
		}
		for _, target := range command.Targets {
			if claim := c.claims[target.Claim]; claim != nil && claim.Command == command.ID {
				out[target.Claim] = command
			}
		}
	}
	return out
}

// indexNodes joins the nodes of pools with claim, pool, pods and price.
func (c *cluster) indexNodes() {
	byProvider, byNode := make(map[string]*model.Claim, len(c.claims)), make(map[string]*model.Claim, len(c.claims))
	for i := range c.in.Claims {
		claim := &c.in.Claims[i]
		if !claim.Live() {
			continue
		}
		if claim.ProviderID != "" {
			byProvider[claim.ProviderID] = claim
		}
		if claim.NodeName != "" {
			byNode[claim.NodeName] = claim
		}
	}
	c.byName = make(map[string]*poolNode)
	nodes := c.in.Snapshot.Nodes
	backing := make([]poolNode, 0, len(nodes))
	for i := range nodes {
		node := &nodes[i]
		if node.Pool() == "" || c.byName[node.Name] != nil {
			continue
		}
		claim := byProvider[node.ProviderID]
		if claim == nil || node.ProviderID == "" {
			claim = byNode[node.Name]
		}
		backing = append(backing, poolNode{Node: node, Claim: claim, Pool: c.pools[node.Pool()]})
		m := &backing[len(backing)-1]
		c.byName[node.Name] = m
		c.poolNodes = append(c.poolNodes, m)
		for _, p := range c.podsOf[node.Name] {
			if pack.Displaced(c.in.Snapshot, p) {
				m.Pods = append(m.Pods, p)
			}
		}
		m.CostMilli, m.Empty = nodeCost(c.in.Snapshot, m.Pods)
		if claim != nil {
			m.Price, m.command = c.prices.of(claim), c.commands[claim.Name]
		}
	}
	slices.SortFunc(c.poolNodes, func(a, b *poolNode) int { return strings.Compare(a.name(), b.name()) })
}

// podsByNode lists the pods of each node, each list as long as it is to be from the start.
func podsByNode(snapshot *model.Snapshot) map[string][]int {
	number := make(map[string]int32, len(snapshot.Nodes))
	counts, at := make([]int, 0, len(snapshot.Nodes)), make([]int32, len(snapshot.Pods))
	total := 0
	for i := range snapshot.Pods {
		at[i] = -1
		pod := &snapshot.Pods[i]
		if pod.NodeName != "" && !pod.Terminal() && pod.Shape >= 0 && pod.Shape < len(snapshot.Shapes) {
			n, known := number[pod.NodeName]
			if !known {
				n = int32(len(counts))
				number[pod.NodeName], counts = n, append(counts, 0)
			}
			at[i] = n
			counts[n]++
			total++
		}
	}
	backing, lists := make([]int, total), make([][]int, len(counts))
	for n, count := range counts {
		lists[n], backing = backing[:0:count], backing[count:]
	}
	for i, n := range at {
		if n >= 0 {
			lists[n] = append(lists[n], i)
		}
	}
	out := make(map[string][]int, len(number))
	for name, n := range number { // each list on its own
		sortPods(snapshot, lists[n])
		out[name] = lists[n]
	}
	return out
}

// sortPods orders pods by key, then UID.
func sortPods(snapshot *model.Snapshot, pods []int) {
	compare := func(i, j int) int {
		a, b := &snapshot.Pods[i], &snapshot.Pods[j]
		return cmp.Or(
			strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), strings.Compare(a.UID, b.UID))
	}
	if !slices.IsSortedFunc(pods, compare) {
		slices.SortFunc(pods, compare)
	}
}

// churnUntil returns until when the pool's consolidateAfter keeps the node as it is for pods that came or went; 0 = it
// does not.
func (c *cluster) churnUntil(node *poolNode) int64 {
	if node.Pool == nil || node.Pool.Disruption.ConsolidateAfterSeconds == nil ||
		*node.Pool.Disruption.ConsolidateAfterSeconds <= 0 {
		return 0
	}
	return later(c.lastEvent(node), *node.Pool.Disruption.ConsolidateAfterSeconds)
}

// lastEvent returns when a pod that keeps nodes last came to the node or left it, or it was initialized.
func (c *cluster) lastEvent(node *poolNode) int64 {
	last := max(node.Node.PodEventUnix, node.initializedUnix())
	for _, i := range c.podsOf[node.name()] {
		pod := &c.in.Snapshot.Pods[i]
		if c.in.Snapshot.ShapeOf(pod).KeepsNode() {
			last = max(last, cmp.Or(pod.StartedUnix, pod.CreatedUnix))
		}
	}
	return min(last, c.now)
}

// shielded returns the pods of the node that must not be disturbed now, with until when; 0 = for good, or until it has
// started.
func (c *cluster) shielded(node *poolNode) (pods []*model.Pod, until []int64) {
	for _, i := range c.podsOf[node.name()] {
		pod := &c.in.Snapshot.Pods[i]
		if pod.DeletedUnix != 0 {
			continue
		}
		shield := model.ReadDoNotDisrupt(c.in.Snapshot.ShapeOf(pod).DoNotDisrupt, pod.StartedUnix)
		if shield.Active(c.now) {
			pods, until = append(pods, pod), append(until, shield.UntilUnix)
		}
	}
	return pods, until
}

// surplusOf returns how many nodes each static pool has beyond its size. Instances on their way count, and are no nodes
// yet: of those it has too many of, it loses them once they have joined.
func surplusOf(c *cluster) map[string]int {
	joined := make(map[string]int)
	for _, node := range c.poolNodes {
		if node.Pool != nil && node.Pool.Replicas != nil && node.Claim != nil && node.command == nil &&
			node.Claim.State == model.Initialized && node.Node.DeletedUnix == 0 && !c.deleted[node.Claim.Name] {
			joined[node.Pool.Name]++
		}
	}
	for pool, n := range joined { // each on its own: the order does not matter
		joined[pool] = max(0, n-int(max(0, *c.pools[pool].Replicas)))
	}
	return joined
}

// leastSaving returns what a command must save that disrupts nodes of a price, per hour: some percent of it at least.
func (c *cluster) leastSaving(price model.MicroUSD, percent int64) model.MicroUSD {
	return max(c.set.MinSaving, (price*model.MicroUSD(max(c.set.MinSavingPercent, percent))+99)/100)
}

// revalidated is the command that is revalidated; nil = none is.
type revalidated struct{ command *model.Command }

// is reports whether a command is the one that is revalidated.
func (r revalidated) is(c *model.Command) bool { return r.command != nil && r.command.ID == c.ID }

// precedes reports whether a command is the one that is revalidated, or comes after it: it was committed later, or has
// not been found to hold while that has. Of two that do not hold together the former does: it is evaluated as if the
// latter were not there, and the latter as if the former were carried out. So they were planned, too.
func (r revalidated) precedes(c *model.Command) bool {
	if r.command == nil || r.is(c) {
		return r.command != nil
	}
	if sure := r.command.State == model.CommandReplacing; sure != (c.State == model.CommandReplacing) {
		return sure
	}
	return cmp.Or(cmp.Compare(c.SinceUnix, r.command.SinceUnix), strings.Compare(c.ID, r.command.ID)) > 0
}

// disrupts reports whether the command that is revalidated disrupts the node.
func (r revalidated) disrupts(node *poolNode) bool {
	return r.command != nil && node.Claim != nil &&
		slices.ContainsFunc(r.command.Targets, func(t model.Target) bool { return t.Claim == node.Claim.Name })
}

// replaces reports whether a claim is a replacement of the command that is revalidated.
func (r revalidated) replaces(claim string) bool {
	return r.command != nil &&
		slices.ContainsFunc(r.command.Replacements, func(p model.PlannedClaim) bool { return p.Name == claim })
}
