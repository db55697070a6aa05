package existing

import (
	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/model"
)

// Memory is what plans of one cluster keep of its existing nodes from one to the next. The plans are as a Simulator's.
type Memory struct {
	requests []knownRequest     // by shape, as far as looked up
	drafts   map[draftKey]*Node // of claims on their way; nothing of them is written to
	caches   map[cacheKey]*nodeCache
	claims   *claimIndex // of the plan that is being made
	plans    int         // begun so far
	solvers  int         // of this plan, so far
	spaces   []nodeSpace // by solver of a plan
}

// nodeSpace is memory for existing nodes, which are over when their plan is made.
type nodeSpace struct {
	nodes []Node
	free  vector.Vector
}

// nodeCache keeps the existing nodes of nodes from one plan of a simulator to the next, with what runs on them taken
// off: only those whose pods have changed are made anew. Nodes of one name are the same in all plans of a simulator,
// and so are their claims, but for their pods.
type nodeCache struct {
	index map[string]int32 // existing nodes, by node name
	nodes []cachedNode
	pods  []cachedPod             // by index into the snapshot's pods, as they were last
	signs map[string]*cachedSigns // by the keys of labels they are of

	at     []int32 // by existing node: which of the snapshot's nodes it is of; −1 = none
	nodeOf []int32 // by pod: of which of the snapshot's nodes it holds something; −1 = none
	cached []int32 // by node of the snapshot: its existing node
	moving []bool  // scratch: by pod
	plan   int     // the simulator's plan that the above is of
	unique bool    // no two of its nodes have one name
}

// cacheKey says what existing nodes are made for: of what nobody asks for they say nothing.
type cacheKey struct{ ports, conflicts, disks bool }

// cachedNode is an existing node on which nothing is planned.
type cachedNode struct {
	Node
	made    bool // and what runs there is what ran there then
	claimed bool // its node has a claim
}

// cachedPod is a pod as it was last. Pods of one index need not be one pod.
type cachedPod struct {
	key      string // its UID; its namespace and name where it has none
	node     string
	shape    int32
	on       int32 // the existing node of its node; −1 = there is none
	occupies int32 // the existing node it holds something of; −1 = none
}

// cachedSigns are what pod groups can see of existing nodes, but for whether they are churning, which each plan says
// anew.
type cachedSigns struct {
	texts   []string
	numbers map[string]int32 // of texts
	of      []int32          // by existing node: its text; −1 = not looked up
}

// Node is capacity that exists or is on its way: a node, or a claim whose node is not in the snapshot yet.
type Node struct {
	Name        string
	Closed      bool // takes no pods: it is being deleted or drained, or its instance is gone. What runs there still counts.
	Initialized bool
	Churning    bool              // takes no settled pods
	labels      map[string]string // as written: Label reads them by today's names
	host        string            // its host name where no label says it; empty = it has none then
	Taints      []model.Taint
	Free        vector.Vector
	Promised    []model.PodRef // pods that were planned onto it
	homed       []int          // of a claim's: pods that are bound to it
	Number      int            // of its node in the order of the snapshot; −1 for a claim on its way
	cache       int32          // the existing node of the cache it was copied from; −1 = none
	unread      bool           // what runs on its node is not taken off free, ports and volumes yet

	// A claim that has not launched may still become any of several instances: Market and mask are set, and a pod fits
	// only where it fits all of them.
	Market *offerings.Market
	mask   vector.Bitset
	open   map[string][]string // by label: what it may be
	// Blind is set where nothing is known of what the claim will hold: it takes the pods it was planned for, and no
	// other.
	Blind bool

	coming   []int                      // DaemonSets whose pods are not there yet; noted where any pod group minds
	claiming []int                      // of those whose pods claim devices
	Ports    []model.HostPort           // taken
	Attached map[string]map[string]bool // by driver: volumes there
	attach   map[string]int64           // by driver: the most it can attach

	noted     []byte  // its labels any pod group or rule asks about
	signature int     // equal for existing nodes no pod group can tell apart by labels and taints
	slot      int     // among the open existing nodes of its signature
	shape     float64 // CPU free per byte of memory, to begin with; 0 where existing nodes are few
	Pods      []int   // placed by this plan
}

// nodeMaker describes nodes and claims as existing nodes.
type nodeMaker struct {
	In         *input.Input
	dims       vector.Dimensions
	markets    *offerings.Markets
	Daemons    []offerings.Daemon
	sets       map[daemonName]int // into daemons
	Classifier *group.Classifier
	asIs       bool // nodes as they are now, with no room kept for daemons to come

	NeedPorts     bool
	NeedConflicts bool
	NeedDisks     bool

	daemonTerms map[*offerings.Market][]*offerings.Reading // of daemons; filled when asked for
	requests    []knownRequest                             // by shape, as far as looked up
	drafts      map[draftKey]*Node                         // of claims on their way, by what they depend on; nil where each is made once
}

// Nodes is everything there is to put pods on, and what is counted of it.
type Nodes struct {
	nodeMaker
	Rules *group.PodRules
	Few   bool // so few pods wait that existing nodes are read when they are looked at, and not lined up

	moving map[int]bool // pods that hold nothing of the node they are on
	NodeOf []int32      // by pod: the number of the node it holds something of; −1 = none
	on     podsOn       // the same by node; only where few

	memory *Memory      // of plans before; nil = there is none
	cache  *nodeCache   // nil = none
	cached []int32      // by node: its existing node in the cache
	known  *cachedSigns // of the existing nodes in the cache
	byText [][2]int     // by text of known: its signature, and that of churning existing nodes; −1 = not looked up

	Lazily bool    // not all existing nodes are made yet: more makes the next ones
	next   int     // of the nodes: the first without an existing node
	late   []*Node // of nodes before it that are not initialized

	keys    []string                     // of labels any pod group or rule asks about
	noted   []byte                       // of all existing nodes
	Total   int                          // existing nodes there are, made or not
	List    []*Node                      // initialized first, then by name
	signs   map[string]int               // signatures
	BySign  [][]int                      // open existing nodes by signature, ascending
	finders []vector.Finder              // by signature
	addsOf  map[int][]group.Contribution // by shape

	claims *claimIndex
}

// claimIndex joins claims and nodes, by provider ID or by name. All solvers of one plan share it.
type claimIndex struct {
	byProvider, byNode map[string]int32 // claims
	at                 []int32          // by node: its claim, −1 = none
	joined             []bool           // by claim: its node is in the snapshot
}

// podsOn lists pods by the number of their node, in the order of the snapshot.
type podsOn struct {
	first []int32 // by node: where its pods begin in pods; one more than there are nodes
	pods  []int32
}

type daemonName struct{ namespace, name string }

// knownRequest is what pods of a shape ask of a node they are on.
type knownRequest struct {
	amounts vector.Vector // each ≥ 0; nil = not looked up yet
	daemon  bool          // they are of a DaemonSet
}

// draftKey is what the existing node of a claim on its way depends on.
type draftKey struct {
	claim               string // its name: of one name they are alike in all plans of a simulator, but for the pods they are promised to
	withPorts, withSets bool
}
