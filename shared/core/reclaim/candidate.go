package reclaim

import "github.com/joiner-sh/joiner/shared/model"

// Candidate is a node that may be given back by choice.
type Candidate struct {
	Node  *model.Node
	Claim *model.Claim
	Pool  *model.Pool
	Pods  []int          // that will be made anew elsewhere, as indexes into the snapshot's pods, by key
	Price model.MicroUSD // per hour, of its offer; 0 = not known
	// CostMilli is what disturbing its pods costs, in thousandths of an ordinary pod: one for the node, and for each pod what its
	// priority and deletion cost make of one, none below 0.
	CostMilli int64
	Empty     bool   // no pod of it costs anything to disturb
	Quiet     bool   // consolidateAfter has passed since its last pod event
	Drift     string // why a machine launched now would differ; empty = it would not
	DriftUnix int64
	Expired   bool // older than expireAfter, of a pool whose expiry obeys budgets
}
