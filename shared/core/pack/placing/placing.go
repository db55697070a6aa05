package placing

import (
	"github.com/joiner-sh/joiner/shared/core/pack/existing"
	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/newnodes"
)

// NodeSet is the open existing nodes a pod group cannot tell apart.
type NodeSet struct {
	Sign    int
	values  []string   // by PodGroup.Keys; empty where the label is not there
	open    [][]string // of a claim on its way: what a label that is not there yet may be
	vague   bool       // the pod group is counted by a label that may still be anything
	Soft    bool       // a PreferNoSchedule taint speaks against it
	coming  bool       // on its way: what is there goes first
	cursor  int        // slots before it hold no more of the pod group
	wrapped bool       // the existing nodes before where the search began are looked at too
	settled bool       // nothing more fits
}

// Assigner gives every pod group its place: an existing node that exists, or the domains of new nodes. After it no rule
// between pods of different nodes is left open, so that packing need not know of them.
type Assigner struct {
	Planner  *newnodes.Planner
	Existing *existing.Nodes
	Rules    *group.PodRules
	MayOpen  bool                     // new nodes may be asked for
	Wide     map[*group.PodGroup]bool // pod groups that count domains no node is in yet; nil = all
	Strict   bool                     // every pod keeps the balance others ask for, wherever that costs more
}

// Placement is one pod group on its way to its places.
type Placement struct {
	*Assigner
	podGroup     *group.PodGroup
	nodeSets     []NodeSet
	cells        []newnodes.Cell
	universe     [][]string // by use: the domains a spread constraint counts; nil for other uses
	exact        []bool     // by use: of a spread by host that counts the existing nodes there are
	softs        [][]string
	spreads      bool       // over domains
	hostAffinity bool       // needs a pod on the same node, which no new node has
	start        [][]string // of a pod group whose first pod decides where the others go: the domains in which most fit what exists; nil = any
}
