package disruption

import (
	"cmp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/core/topology"
	"github.com/joiner-sh/joiner/shared/model"
)

// planner is a cluster as one plan sees it: everything that deciding asks for, looked up once, and what the plan has decided so
// far: nodes it disrupts are gone, their pods are where they will be, and what replaces them is on its way.
type planner struct {
	in          *Input
	set         Settings // with defaults
	now         int64
	pools       map[string]*model.Pool
	claims      map[string]*model.Claim   // live ones, by name
	commands    map[string]*model.Command // open ones, by the names of the claims they disrupt
	poolNodes   []*poolNode               // the nodes of pools, by name
	byName      map[string]*poolNode      // the same
	busyUntil   map[string][]int64        // by pool, until when consolidateAfter keeps its nodes as they are, sorted; nil = not looked up
	podsOf      map[string][]int          // pods that have not ended, by node name, by key
	prices      map[priceKey]model.MicroUSD
	pdbs        []topology.Peers // by budget; whom it is about
	pdbsOf      map[int][]int    // budgets that are about a shape, as indexes
	stops       []model.Stop
	revalidated *model.Command        // nil = none
	unbound     map[model.PodRef]bool // pods that have no node yet; nil = not looked up
	deletes     map[string]bool       // NodeClaims that are being deleted, by name; nil = not looked up
	surplus     map[string]int        // by static pool; see excess
	budgets     *budgetsLeft
	totals      map[string]totals // by pool; see whole
	simulator   *pack.Simulator   // see plans
	left        remainder         // scratch: see input
	balance     *balance          // of the commands so far; nil = not asked for

	types     map[string]map[string]*model.InstanceType // by class and name, as far as asked for
	breaks    map[string]int64                          // by class; see broken
	undone    map[string][]*model.Command               // by the names of the claims they were to disrupt; nil = not looked up
	unchanged map[string]bool                           // by command: what it was decided by is as it was
	tried     tried

	catalogs map[string][]model.InstanceType // the input's

	fork // the cluster as it will be

	chosen      []model.PlannedCommand // so far
	constrained bool                   // budgets alone kept something back
	replanUnix  int64                  // see model.DisruptPlan.ReplanUnix
}

// remainder is what is left of a cluster without some nodes.
type remainder struct {
	nodes  []model.Node
	claims []model.Claim
}

// fork is a cluster as it will be once every open command, and those of the plan so far, are carried out.
type fork struct {
	snapshot *model.Snapshot // nodes that are to end show it; pods that wait are on the nodes they have their place on
	gone     map[string]bool // nodes disrupted, by name
	draining []model.Node    // the same where any pod is spread: they count as domains until their pods have moved
	spreads  bool            // some pod has a spread constraint that must hold
	coming   []model.Claim   // live claims, without those of nodes that are gone, and replacements that are not launched
	waiting  []int           // pods whose place is a claim that is on its way, ascending
	expected map[int]string  // pods that waited, or are on nodes that are to end, and are elsewhere here: where they are now, if anywhere
	unready  map[string]bool // nodes and claims that are not sure to be there: they take no pods that are moved voluntarily, by name
	churning map[string]bool // the same, and nodes that pods came to or went from a moment ago: these take none that are moved to save
	claimed  []string        // pods that wait and have a place on nodes of the command that is revalidated only, by key
	owned    bool            // snapshot.Pods is the fork's own and may be written to
}

// poolNode is a node of a pool with all that is known of it.
type poolNode struct {
	Candidate
	command         *model.Command // that disrupts it; nil = none
	blockers        []blocker      // why it stays, each once
	permitted       method         // what nothing forbids, of what there is reason for
	eligible        method         // what there is reason for, whatever forbids it
	expects         []string       // pods that have their place there soon, by key
	headroom        []int          // headroom of CapacityBuffers that has its place there, as indexes into the snapshot's pods; it is in Pods, too
	planned         bool           // by this plan: it is in a command
	skipReplacement bool           // its replacement had no capacity, and is tried again after a backoff

	why []model.KeptReason // why the plan did not choose it
}

func (node *poolNode) name() string { return node.Node.Name }

// mayDisrupt reports whether the node may be disrupted by a method now, budgets aside.
func (node *poolNode) mayDisrupt(by method) bool { return node.permitted&by != 0 && !node.planned }

// newPlanner looks everything up. A command that is revalidated holds nothing: its nodes are evaluated as if it were not there, and
// the fork is without them and with its replacements. Nor do those that come after it.
func newPlanner(in *Input, evaluated *model.Command) *planner {
	v := &planner{in: in, catalogs: in.Catalogs, set: withDefaults(in.Settings), now: in.NowUnix, stops: in.Stops, revalidated: evaluated}
	if in.Snapshot == nil {
		in.Snapshot = &model.Snapshot{}
	}
	if kept := keepTwoZones(in.Snapshot); kept != in.Snapshot {
		changed := *in
		changed.Snapshot = kept
		v.in = &changed
	}
	v.indexPools()
	v.indexClaims()
	v.indexBudgets()
	v.indexPods()
	v.indexPoolNodes()
	v.begin()
	v.budgets = newBudgetsLeft(v)
	for _, node := range v.poolNodes {
		v.evaluate(node)
	}
	return v
}

func (v *planner) indexPools() {
	v.pools = make(map[string]*model.Pool, len(v.in.Snapshot.Pools))
	for i := range v.in.Snapshot.Pools {
		pool := &v.in.Snapshot.Pools[i]
		v.pools[pool.Name] = pool
	}
}

// indexClaims joins claims with the open commands that disrupt them.
func (v *planner) indexClaims() {
	v.claims = make(map[string]*model.Claim, len(v.in.Claims))
	for i := range v.in.Claims {
		if claim := &v.in.Claims[i]; claim.Live() {
			v.claims[claim.Name] = claim
		}
	}
	v.commands = make(map[string]*model.Command)
	for i := range v.in.Commands {
		command := &v.in.Commands[i]
		if !command.State.Open() || v.isRevalidated(command) || v.comesAfter(command) {
			continue
		}
		for _, target := range command.Targets {
			if claim := v.claims[target.Claim]; claim != nil && claim.Command == command.ID {
				v.commands[target.Claim] = command
			}
		}
	}
}

// isRevalidated reports whether the command is the one that is revalidated.
func (v *planner) isRevalidated(c *model.Command) bool {
	return v.revalidated != nil && v.revalidated.ID == c.ID
}

// comesAfter reports whether the command was committed after the one that is revalidated, or has not been found to hold while
// that has. Of two that do not hold together the former does: it is evaluated as if the latter were not there, and the latter as if
// the former were carried out. So they were planned, too.
func (v *planner) comesAfter(c *model.Command) bool {
	if v.revalidated == nil || v.isRevalidated(c) {
		return false
	}
	if sure := v.revalidated.State == model.CommandReplacing; sure != (c.State == model.CommandReplacing) {
		return sure
	}
	return cmp.Or(cmp.Compare(c.SinceUnix, v.revalidated.SinceUnix), strings.Compare(c.ID, v.revalidated.ID)) > 0
}

// disrupts reports whether the command that is revalidated disrupts the node.
func (v *planner) disrupts(node *poolNode) bool {
	return v.revalidated != nil && node.Claim != nil && slices.ContainsFunc(v.revalidated.Targets, func(t model.Target) bool { return t.Claim == node.Claim.Name })
}

// replaces reports whether a claim is a replacement of the command that is revalidated.
func (v *planner) replaces(claim string) bool {
	return v.revalidated != nil && slices.ContainsFunc(v.revalidated.Replacements, func(p model.PlannedClaim) bool { return p.Name == claim })
}

// indexBudgets reads the selectors of PodDisruptionBudgets. One that cannot be read is about every pod of its namespace.
func (v *planner) indexBudgets() {
	v.pdbsOf = make(map[int][]int)
	v.pdbs = make([]topology.Peers, len(v.in.Snapshot.Budgets))
	for i := range v.in.Snapshot.Budgets {
		b := &v.in.Snapshot.Budgets[i]
		peers, err := topology.PeersOfSelector(b.Namespace, b.Selector)
		if err != nil {
			peers, _ = topology.PeersOfSelector(b.Namespace, &model.Selector{})
		}
		v.pdbs[i] = peers
	}
}

// budgetsOf returns the PodDisruptionBudgets that are about a pod, as indexes, by name.
func (v *planner) budgetsOf(pod *model.Pod) []int {
	known, read := v.pdbsOf[pod.Shape]
	if read {
		return known
	}
	shape := v.in.Snapshot.ShapeOf(pod)
	for i := range v.pdbs {
		if v.pdbs[i].Match(shape.Namespace, shape.Labels) {
			known = append(known, i)
		}
	}
	slices.SortStableFunc(known, func(a, b int) int {
		return strings.Compare(v.in.Snapshot.Budgets[a].Name, v.in.Snapshot.Budgets[b].Name)
	})
	v.pdbsOf[pod.Shape] = known
	return known
}

// indexPods lists the pods of each node, each list as long as it is to be from the start.
func (v *planner) indexPods() {
	snapshot := v.in.Snapshot
	number := make(map[string]int32, len(snapshot.Nodes))
	counts, at := make([]int, 0, len(snapshot.Nodes)), make([]int32, len(snapshot.Pods))
	total := 0
	for i := range snapshot.Pods {
		at[i] = -1
		if pod := &snapshot.Pods[i]; pod.NodeName != "" && !pod.Terminal() && pod.Shape >= 0 && pod.Shape < len(snapshot.Shapes) {
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
	v.podsOf = make(map[string][]int, len(number))
	for name, n := range number { // each list on its own
		v.sortPods(lists[n])
		v.podsOf[name] = lists[n]
	}
}

// sortPods orders pods by key, then UID.
func (v *planner) sortPods(pods []int) {
	compare := func(i, j int) int {
		a, b := &v.in.Snapshot.Pods[i], &v.in.Snapshot.Pods[j]
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), strings.Compare(a.UID, b.UID))
	}
	if !slices.IsSortedFunc(pods, compare) {
		slices.SortFunc(pods, compare)
	}
}

// indexPoolNodes joins the nodes of pools with claim, pool, pods and price.
func (v *planner) indexPoolNodes() {
	byProvider, byNode := make(map[string]*model.Claim, len(v.claims)), make(map[string]*model.Claim, len(v.claims))
	for i := range v.in.Claims {
		claim := &v.in.Claims[i]
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
	v.byName, v.prices = make(map[string]*poolNode), make(map[priceKey]model.MicroUSD)
	nodes := v.in.Snapshot.Nodes
	backing := make([]poolNode, 0, len(nodes))
	for i := range nodes {
		node := &nodes[i]
		if node.Pool() == "" || v.byName[node.Name] != nil {
			continue
		}
		claim := byProvider[node.ProviderID]
		if claim == nil || node.ProviderID == "" {
			claim = byNode[node.Name]
		}
		backing = append(backing, poolNode{Candidate: Candidate{Node: node, Claim: claim, Pool: v.pools[node.Pool()]}})
		m := &backing[len(backing)-1]
		v.byName[node.Name] = m
		v.poolNodes = append(v.poolNodes, m)
		for _, p := range v.podsOf[node.Name] {
			if pack.Displaced(v.in.Snapshot, p) {
				m.Pods = append(m.Pods, p)
			}
		}
		m.CostMilli, m.Empty = nodeCost(v.in.Snapshot, m.Pods)
		if claim != nil {
			m.Price, m.command = v.priceOf(claim), v.commands[claim.Name]
		}
	}
	slices.SortFunc(v.poolNodes, func(a, b *poolNode) int { return strings.Compare(a.name(), b.name()) })
}

// priceKey is what the price of an instance depends on.
type priceKey struct {
	class string
	model.OfferingKey
	reservation string
}

// priceOf returns what a claim's instance costs per hour today, whether or not its offering can be had; what it cost at launch where
// the catalog does not know the offering. 0 = not known.
func (v *planner) priceOf(claim *model.Claim) model.MicroUSD {
	key := priceKey{claim.Class, model.OfferingKey{InstanceType: claim.InstanceType, Zone: claim.Zone, CapacityType: claim.CapacityType}, claim.Reservation}
	price, known := v.prices[key]
	if !known {
		price = -1
		if t := v.typeOf(claim.Class, claim.InstanceType); t != nil {
			price = priceAmong(t.Offerings, &key)
		}
		v.prices[key] = price
	}
	if price < 0 {
		return claim.Price
	}
	return price
}

// priceAmong returns the price of the offering, −1 where it is not among them.
func priceAmong(offerings []model.Offering, key *priceKey) model.MicroUSD {
	for i := range offerings {
		o := &offerings[i]
		if o.Zone == key.Zone && o.CapacityType == key.CapacityType && (o.CapacityType != model.Reserved || o.ReservationID == key.reservation) {
			return o.Price
		}
	}
	return -1
}

// replanAt notes that the plan may be another at a time; one that is past says nothing.
func (v *planner) replanAt(unix int64) {
	if unix > v.now && (v.replanUnix == 0 || unix < v.replanUnix) {
		v.replanUnix = unix
	}
}
