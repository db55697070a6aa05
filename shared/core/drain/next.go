package drain

import "github.com/joiner-sh/joiner/shared/model"

// Kind says what a step is.
type Kind string

// The kinds of steps.
const (
	Cordon    Kind = "Cordon"    // taint the node and take it out of load balancers
	Evict     Kind = "Evict"     // ask for these pods to leave
	Wait      Kind = "Wait"      // nothing can be done before AgainUnix
	Terminate Kind = "Terminate" // tell EC2 to end the machine
	Done      Kind = "Done"      // the machine has ended: let its objects go
)

// View is what one step is decided by.
type View struct {
	Claim    model.Claim     // Draining or Terminating, with its Drain
	Node     *model.Occupied // of its machine; nil = there is none
	Instance *model.Instance // of a Terminating claim, as EC2 shows it; nil = EC2 does not, or was not asked
	Replaced bool            // what its pods need has been asked of EC2
	NowUnix  int64           // by the ledger's clock
}

// Settings are the numbers of a drain. The zero value of a field means the default named with it.
type Settings struct {
	ReplaceSeconds int64 // the first eviction waits at most so long for replacements to be asked for: 5
	SettleSeconds  int64 // a node stays empty for so long before its machine ends, for pods that were bound before the taint was seen: 5
	StuckSeconds   int64 // a pod that ought to have gone so long ago is not waited for: 60
	BackoffSeconds int64 // of a pod whose eviction was refused, doubling from 1 up to this: 10
	MaxEvictions   int   // in one step: 100
}

// Eviction is a pod that is to leave.
type Eviction struct {
	Pod model.PodRef
	// Force has the pod deleted rather than evicted, whatever forbids it, with GraceSeconds ≥ 1.
	Force        bool
	GraceSeconds int64
}

// Obstacle is what keeps a node from becoming empty, as data.
type Obstacle struct {
	Pod     model.PodRef // zero where it is about no pod
	Volume  string       // name of a VolumeAttachment
	Code    string       // DisruptionBudget, TooManyBudgets, DoNotDisrupt, Leaving, EarlierTier, VolumeAttached, NotReplaced, …
	Message string       // a sentence
}

// Step is what is to be done next.
type Step struct {
	Kind      Kind
	Evictions []Eviction  // of Evict, in the order of their tiers and keys
	AgainUnix int64       // when to look again after the step; 0 = at once
	Obstacles []Obstacle  // by pod key and volume
	Drain     model.Drain // the claim's, as it is to be recorded before the step is done
}

// Next returns the next step of a drain.
func Next(view View, settings Settings) Step { panic("not built yet") }
