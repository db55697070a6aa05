package drain

import "github.com/joiner-sh/joiner/shared/model"

// Kind says what a step is.
type Kind string

// The kinds of steps.
const (
	Cordon    Kind = "Cordon"    // taint the node and take it out of load balancers
	Evict     Kind = "Evict"     // ask for these pods to leave
	Wait      Kind = "Wait"      // nothing can be done before DueUnix
	Terminate Kind = "Terminate" // tell EC2 to end the instance
	Done      Kind = "Done"      // the instance has ended: let its objects go
)

// View is what one step is decided by.
type View struct {
	Claim    model.Claim     // Draining or Terminating, with its Drain
	Node     *model.Occupied // of its instance; nil = there is none
	Instance *model.Instance // of a Terminating claim, as EC2 shows it; nil = EC2 does not, or was not asked
	Replaced bool            // what its pods need has been asked of EC2
	NowUnix  int64           // by the ledger's clock
}

// Settings are the numbers of a drain. The zero value of a field means its default: see WithDefaults.
type Settings struct {
	ReplaceSeconds int64 // the first eviction waits at most so long for replacements to be asked for
	SettleSeconds  int64 // a node stays empty for so long before its instance ends, for pods bound just before
	StuckSeconds   int64 // a pod that ought to have gone so long ago is not waited for
	BackoffSeconds int64 // of a pod whose eviction was refused, doubling from 1 up to this
	LeaveSeconds   int64 // after pods were asked to leave it is looked how far they have come
	MaxEvictions   int   // in one step

	// DetachSeconds is how long an empty node's volumes are waited for where no deadline says when to stop.
	// Kubernetes itself detaches them by force after six minutes, so that beyond that an end of the instance delays
	// nobody any more.
	DetachSeconds int64
	CordonSeconds int64 // with a deadline, a node that cannot be tainted is emptied all the same after
	UnreadyAfter  int64 // a node has to be Ready again within so many seconds, or its drain's deadline is now
	PollSeconds   int64 // the longest time between two looks at a drain
}

// WithDefaults returns the settings with the defaults filled in.
func (s Settings) WithDefaults() Settings {
	fill := func(field *int64, value int64) {
		if *field <= 0 {
			*field = value
		}
	}
	fill(&s.ReplaceSeconds, 5)
	fill(&s.SettleSeconds, 5)
	fill(&s.StuckSeconds, 60)
	fill(&s.BackoffSeconds, 10)
	fill(&s.LeaveSeconds, 1)
	fill(&s.DetachSeconds, 600)
	fill(&s.CordonSeconds, 10)
	fill(&s.UnreadyAfter, 30*60)
	fill(&s.PollSeconds, 30)
	if s.MaxEvictions <= 0 {
		s.MaxEvictions = 100
	}
	return s
}

// Eviction is a pod that is to leave.
type Eviction struct {
	Pod model.PodRef
	// Force has the pod deleted rather than evicted, whatever forbids it, with GraceSeconds ≥ 1.
	Force        bool
	GraceSeconds int64
}

// Obstacle is what keeps a node from becoming empty, or its instance from ending, as data.
type Obstacle struct {
	Pod       model.PodRef // zero where it is about no pod
	Volume    string       // name of a VolumeAttachment
	Code      string       // one of the codes below, or the one a refusal carries
	Message   string       // a sentence
	SinceUnix int64        // since when it has been in the way; 0 = not known
	UntilUnix int64        // when it is out of the way by itself; 0 = not known
}

// Codes of obstacles.
const (
	CodeDisruptionBudget = "DisruptionBudget" // a PodDisruptionBudget does not allow the eviction now
	CodeTooManyBudgets   = "TooManyBudgets"   // several PodDisruptionBudgets name the pod: the API never evicts it
	CodeRefused          = "EvictionRefused"  // the API server refused the eviction for another reason
	CodeDeleteFailed     = "DeleteFailed"     // the pod was to be deleted and could not be
	CodeDoNotDisrupt     = "DoNotDisrupt"     // the pod says so
	CodeLeaving          = "Leaving"          // it is ending
	CodeEarlierTier      = "EarlierTier"      // pods of an earlier tier are still there
	CodeNotReplaced      = "NotReplaced"      // what the pods need has not been asked of EC2 yet
	CodeNotTainted       = "NotTainted"       // the taint of a drain does not show on the node yet
	CodeSettling         = "Settling"         // the node has been empty for a moment only
	CodeVolume           = "VolumeAttached"   // a volume is still attached to the node
	CodeInstanceEnding   = "InstanceEnding"   // the instance does not show as terminated yet
	CodeClaimNotEnding   = "NotEnding"        // the claim is not one that ends, or has no instance
)

// Step is what is to be done next.
type Step struct {
	Kind      Kind
	Evictions []Eviction  // of Evict, in the order of their tiers and keys
	DueUnix   int64       // when to look again after the step; 0 = at once
	Obstacles []Obstacle  // by pod key and volume
	Drain     model.Drain // the claim's, as it is to be recorded before the step is done
}
