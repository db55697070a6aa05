package disruption

import (
	"cmp"
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// poolNode is a node of a pool with all that is known of it.
type poolNode struct {
	Node  *model.Node
	Claim *model.Claim // nil = the ledger has none
	Pool  *model.Pool  // nil = there is none of that name
	// Pods will be made anew elsewhere, headroom of CapacityBuffers included: indexes into the snapshot's pods, by key.
	Pods  []int
	Price model.MicroUSD // per hour, of its offering; 0 = not known
	// CostMilli is what disturbing its pods costs, in thousandths of an ordinary pod: one for the node, and for each
	// pod what its priority and deletion cost make of one, none below 0.
	CostMilli int64
	Empty     bool // no pod of it costs anything to disturb, and no CapacityBuffer has headroom there
	Quiet     bool // consolidateAfter has passed since its last pod event

	command         *model.Command // that disrupts it; nil = none
	blockers        []blocker      // why it stays, each once
	permitted       method         // what nothing forbids, of what there is reason for
	eligible        method         // what there is reason for, whatever forbids it
	expects         []string       // pods that have their place there soon, by key
	headroom        []int          // pods of CapacityBuffers that have their place there; in Pods, too
	planned         bool           // by this plan: it is in a command
	skipReplacement bool           // its replacement had no capacity, and is tried again after a backoff

	why []model.KeptReason // why the plan did not choose it
}

func (node *poolNode) name() string { return node.Node.Name }

// mayDisrupt reports whether the node may be disrupted by a method now, budgets aside.
func (node *poolNode) mayDisrupt(by method) bool { return node.permitted&by != 0 && !node.planned }

// consolidatable reports whether the node serves pods and has been left in peace for as long as its pool asks for.
// Pools of a fixed size ask for nothing.
func (node *poolNode) consolidatable() bool {
	return node.Quiet && node.Claim != nil &&
		node.Pool.Replicas == nil && node.Claim.State == model.Initialized && node.Node.Initialized() &&
		!slices.ContainsFunc(node.blockers, func(b blocker) bool { return b.Code == Young || b.Code == NotQuiet })
}

// initializedUnix returns since when the node serves pods, as far as anybody knows.
func (node *poolNode) initializedUnix() int64 {
	if node.Claim == nil {
		return node.Node.CreatedUnix
	}
	return cmp.Or(
		node.Claim.InitializedUnix, node.Claim.RegisteredUnix, node.Node.CreatedUnix, node.Claim.CreatedUnix)
}

// forbid notes why the node stays.
func (node *poolNode) forbid(by method, code, format string, values ...any) {
	node.blockers = append(node.blockers, blocker{*because(code, format, values...), by})
}

// allow works out what is left, once all that forbids is known.
func (node *poolNode) allow() {
	node.permitted = node.eligible
	for _, b := range node.blockers {
		node.permitted &^= b.forbids
	}
	if node.permitted&(consolidating|eventual) == 0 {
		node.permitted &^= replacing
	}
}

// blockByExpected blocks a node that pods have their place on soon.
func (node *poolNode) blockByExpected() {
	if len(node.expects) == 0 {
		return
	}
	slices.Sort(node.expects)
	node.expects = slices.Compact(node.expects)
	i := slices.IndexFunc(node.blockers, func(b blocker) bool { return b.Code == PodsExpected })
	if i < 0 {
		i = len(node.blockers)
		node.blockers = append(node.blockers, blocker{forbids: budgeted})
	}
	node.blockers[i].KeptReason = *because(PodsExpected, "it is planned to take %s", some("pod", node.expects))
	node.allow()
}

// keep notes why the plan does not choose the node.
func (node *poolNode) keep(reason model.KeptReason) {
	if !slices.Contains(node.why, reason) {
		node.why = append(node.why, reason)
	}
}

// explain returns why the node stays: all that forbids what there is reason for and what the plan found, or else all
// that is known.
func (node *poolNode) explain() []model.KeptReason {
	if out := append(reasonsOf(node.blockers, node.eligible), node.why...); len(out) > 0 {
		return out
	}
	if out := reasonsOf(node.blockers, everything); len(out) > 0 {
		return out
	}
	return []model.KeptReason{{Code: NoSavings, Message: "there is no reason to disrupt it"}}
}

// podsOf returns the pods of nodes that will be made anew elsewhere.
func podsOf(nodes []*poolNode) []int {
	var pods []int
	for _, node := range nodes {
		pods = append(pods, node.Pods...)
	}
	return pods
}

// priceOf returns what nodes cost per hour.
func priceOf(nodes []*poolNode) model.MicroUSD {
	sum := model.MicroUSD(0)
	for _, node := range nodes {
		sum += node.Price
	}
	return sum
}
