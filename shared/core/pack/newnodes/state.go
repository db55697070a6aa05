package newnodes

import (
	"github.com/joiner-sh/joiner/shared/core/device"
	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/pricing"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
)

// CandidatePool is a pool that can make nodes for a pod group, and in which ways.
type CandidatePool struct {
	Pool     int
	Variants []offerings.Variant
}

// Cell is a combination of domains new nodes can be made in for a pod group.
type Cell struct {
	Values []string        // by PodGroup.Keys
	Pools  []CandidatePool // in the order they are asked
	Cost   int64           // of a unit there at best, in nano-USD per hour
	Pods   []int           // assigned to it
}

// PodBatch is pods of one pod group that are to be packed together onto new nodes.
type PodBatch struct {
	PodGroup *group.PodGroup
	Pods     []int
	Values   []string // by PodGroup.Keys: the domain
	Pools    []CandidatePool
	next     int // of stands
}

// searchDepth is how many nodes are opened with everything compared: the first of them, a third of that where batches
// are many, and after them every so many.
type searchDepth struct{ first, every int }

// searchBudget is how many offerings are compared for a node, and by how many batches.
type searchBudget struct {
	sample  int // batches looked at
	own     int // offerings that suit the seed best, were there endless units of it
	mix     int // offerings that suit all there is best
	fit     int // offerings that suit the units of the seed there are best
	low     int // cheapest offerings
	winners int // offerings that nodes of the offering set were opened with lately
}

// attempt is one offering to open a node with, and what of value it would carry.
type attempt struct {
	option int
	column int
	value  int64
	even   bool // filled evenly
}

// ranking is columns by the lowest price for what they carry, which are put in order as far as they are asked for.
type ranking struct {
	ranked []int
	rest   []ratio // a heap, the best first
}

// ratio is what a column carries for its price.
type ratio struct {
	column         int
	price, carried int64
}

// remainingBatch is the units of one pod batch that are still to be placed on a pool.
type remainingBatch struct {
	podBatch *PodBatch
	PodGroup *group.PodGroup
	options  []*offerings.Option
	count    int // units at first, ≥ 0
}

// item is some units of one batch on a node.
type item struct {
	Batch  int
	option int
	count  int // ≥ 1
}

// Node is a claim in the making.
type Node struct {
	Items       []item
	Flag        int // custom labels
	OfferingSet *offerings.Set
	Mask        vector.Bitset // columns acceptable to every pod, available or not
	Load        vector.Vector // of the pods, without daemons
	Column      int           // the cheapest offering that holds it
	Price       int64         // of column, micro-USD per hour
	LimitUse    []int64       // what it takes of the pool's limits
	Reservation string        // set where the node is bought of reserved capacity, and of nothing else
	relaxed     bool          // the pool's minValues cannot all be met
	Pods        []int         // indexes into the snapshot's pods; set when the run is chosen
}

// purchases are what nodes of a pool are bought as, and what they leave of its limits and reservations.
type purchases struct {
	Pool       *offerings.Pool
	open       vector.Bitset
	left       []int64          // of the pool's limits
	reserved   map[string]int64 // instances left of each reservation
	joined     map[[2]int]*offerings.Set
	bestEffort bool // as in Input.BestEffortMinValues
}

// Packing packs batches onto new nodes of one pool, by one strategy.
type Packing struct {
	filling
	purchases
	planner *Planner
	order   []int // batches, in the order nodes are opened for them and filled from; spent ones are dropped now and then
	spent   int   // batches of order without units
	Nodes   []Node

	pricing   *pricing.Rates // nil where batches keep the worth they came with
	rated     bool           // batches are worth what rates say
	valueLeft float64        // of all units still to be placed
	valueThen float64        // valueLeft when rates were last adjusted

	input struct { // what the run was made of
		batches []remainingBatch
		order   []int
		priced  bool
	}
	wholes  []whole // in the order of opening
	takeAll int     // of opened: when a node for all that is left is opened; −1 = never

	opened      int // nodes opened, or tried to
	searchDepth searchDepth
	sampled     map[int][]int    // by size: some batches of order, which offerings are compared by
	mixes       map[int]*ranking // by offering set: offerings by what they charge for all that is left
	winners     map[int][]int    // by offering set: offerings that nodes were opened with lately
	short       []int            // scratch
}

// Planner places pod batches on new nodes.
type Planner struct {
	In        *input.Input
	Tries     int // as of a question
	Dims      vector.Dimensions
	rules     *group.PodRules
	Markets   *offerings.Markets
	Daemons   []offerings.Daemon
	Devices   *device.Index             // of what nodes have
	Pristine  []*offerings.Pool         // pools that are copied where they are looked at; nil = they are made
	Rates     map[string]*pricing.Rates // by pool, of everything that is to be placed sooner or later; nil = not known
	Ready     []*offerings.Pool         // pools, once any is looked at; nil before
	Reserved  map[string]int64          // instances left of each reservation, from then on
	poolsOf   map[string][]CandidatePool
	divisions map[string][]Cell
	surveyor  *Planner                  // looks at the pools where this one does not; nil until asked for
	offerings map[string][]string       // by venue, request and label: the domains new nodes for a pod group can be in now
	pricings  []*pricing.Rates          // by pool, of what waits wherever it may be; nil until asked for
	expected  []waiting                 // what it is of
	Owners    map[int][]*group.PodGroup // by topology group: pod groups that are spread by it, hosts aside
	Runs      []*Packing                // the chosen ones, in the order they were packed
}

// waiting is units of a pod group before any is placed.
type waiting struct {
	podGroup *group.PodGroup
	units    int
}

// whole is one node for all that was left when another was opened.
type whole struct {
	opened int // nodes that had been opened, or tried to
	nodes  int // nodes there were
	price  int64
}
