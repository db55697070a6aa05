package drain

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

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

// Settings are the numbers of a drain. The zero value of a field means the default named with it.
type Settings struct {
	ReplaceSeconds int64 // the first eviction waits at most so long for replacements to be asked for: 5
	SettleSeconds  int64 // a node stays empty for so long before its instance ends, for pods that were bound before the taint was seen: 5
	StuckSeconds   int64 // a pod that ought to have gone so long ago is not waited for: 60
	BackoffSeconds int64 // of a pod whose eviction was refused, doubling from 1 up to this: 10
	LeaveSeconds   int64 // after pods were asked to leave it is looked how far they have come: 1
	MaxEvictions   int   // in one step: 100

	// DetachSeconds is how long an empty node's volumes are waited for where no deadline says when to stop: 600. Kubernetes
	// itself detaches them by force after six minutes, so that beyond that an end of the instance delays nobody any more.
	DetachSeconds int64
	CordonSeconds int64 // with a deadline, a node that cannot be tainted is emptied all the same after: 10
	UnreadyAfter  int64 // a node has to be Ready again within so many seconds, or its drain's deadline is now: 1800
	PollSeconds   int64 // the longest time between two looks at a drain: 30
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
	CodeTooManyBudgets   = "TooManyBudgets"   // several PodDisruptionBudgets name the pod, and then the API evicts it never
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

// Next returns the next step of a drain. It is safe to do a step twice, late, or never.
func Next(view View, settings Settings) Step {
	d := begin(view, settings.WithDefaults())
	switch d.claim.State {
	case model.Draining:
		d.empty()
	case model.Terminating:
		d.end()
	default:
		d.stay("claim " + d.claim.Name + " is " + string(d.claim.State) + ", which is not ending")
	}
	return d.finish()
}

// drainer is one step while it is decided.
type drainer struct {
	settings Settings
	claim    *model.Claim
	instance *model.Instance // of the claim; nil = not shown
	node     *model.Node     // nil = there is none
	pods     []pod           // that are waited for, by tier and key
	volumes  []model.Attachment
	replaced bool
	now      int64 // by the ledger's clock
	read     int64 // the same moment by the API server's
	step     Step
	due      int64 // the earliest useful moment so far; 0 = none
}

// begin reads a view, with every time and grace brought into the range that sums are made in.
func begin(view View, settings Settings) *drainer {
	d := &drainer{settings: settings, claim: &view.Claim, replaced: view.Replaced, now: sane(view.NowUnix)}
	d.read = d.now
	if i := view.Instance; i != nil && i.ID != "" && i.ID == view.Claim.InstanceID {
		d.instance = i
	}
	d.step.Drain = saneDrain(view.Claim.Drain, d.now, settings.PollSeconds)
	if o := view.Node; o != nil {
		d.node = &o.Node
		if o.ReadUnix > 0 {
			d.read = sane(o.ReadUnix)
		}
		d.unready()
		d.occupants(o)
	}
	d.step.Drain.Refused = d.stillRefused(view.Node)
	return d
}

// unready makes now the deadline of a drain whose node has not been Ready for as long as is tolerated: its kubelet neither
// ends pods nor says that they have ended (R32).
func (d *drainer) unready() {
	if d.node.Ready || d.node.ReadyUnix <= 0 || d.claim.State != model.Draining {
		return
	}
	if until := d.ours(d.node.ReadyUnix) + d.settings.UnreadyAfter; d.now < until {
		d.at(until)
		return
	}
	if deadline := &d.step.Drain.DeadlineUnix; *deadline == 0 || *deadline > d.now {
		*deadline = d.now
	}
}

// deadline returns when no pod is left, whatever forbids it, and whether there is such a time.
func (d *drainer) deadline() (int64, bool) {
	return d.step.Drain.DeadlineUnix, d.step.Drain.DeadlineUnix != 0
}

// overdue reports whether the deadline was so many seconds ago.
func (d *drainer) overdue(seconds int64) bool {
	deadline, set := d.deadline()
	return set && d.now >= deadline+seconds
}

// empty decides the step of a Draining claim.
func (d *drainer) empty() {
	if d.ended() {
		d.step.Kind = Done
		return
	}
	if d.claim.InstanceID == "" {
		d.stay("claim " + d.claim.Name + " names no instance")
		return
	}
	if d.cordon() || d.evict() {
		return
	}
	d.finishEmpty()
}

// ended reports whether EC2 says in so many words that the instance was terminated.
func (d *drainer) ended() bool { return d.instance != nil && d.instance.State == "terminated" }

// cordon has the node tainted where the taint does not show. Evictions wait for it, so that evicted pods are not bound
// there again; with a deadline they do not wait for ever.
func (d *drainer) cordon() bool {
	drain := &d.step.Drain
	if d.node == nil {
		return false
	}
	if Cordoned(d.node) {
		if drain.TaintedUnix == 0 {
			drain.TaintedUnix = d.now
		}
		return false
	}
	if _, set := d.deadline(); set && drain.CordonUnix != 0 && d.now-drain.CordonUnix >= d.settings.CordonSeconds {
		d.obstacle(Obstacle{Code: CodeNotTainted, Message: "the taint " + model.TaintDisrupted + " does not show on node " + d.node.Name + "; it is drained without it", SinceUnix: drain.CordonUnix})
		return false
	}
	d.step.Kind = Cordon
	if drain.CordonUnix == 0 {
		drain.CordonUnix = d.now
		d.due = 0 // at once, whatever else has its time
		return true
	}
	d.obstacle(Obstacle{Code: CodeNotTainted, Message: "the taint " + model.TaintDisrupted + " does not show on node " + d.node.Name, SinceUnix: drain.CordonUnix})
	d.after(d.growing(drain.CordonUnix, 1))
	return true
}

// Cordoned reports whether a node carries the taint of a drain and is out of load balancers.
func Cordoned(node *model.Node) bool {
	if _, out := node.Labels[model.LabelExcludeBalancers]; !out {
		return false
	}
	return slices.ContainsFunc(node.Taints, func(t model.Taint) bool {
		return t.Key == model.TaintDisrupted && t.Effect == model.NoSchedule
	})
}

// finishEmpty decides the step of a node that nothing is left on: it stays empty for a moment, then its volumes are waited for,
// and then its instance ends. A deadline cuts both short.
func (d *drainer) finishEmpty() {
	drain := &d.step.Drain
	if drain.EmptyUnix == 0 {
		drain.EmptyUnix = d.now
	}
	if d.overdue(0) {
		drain.DetachedUnix = firstSet(drain.DetachedUnix, d.now)
		d.terminate()
		return
	}
	if len(d.volumes) > 0 && d.now-drain.EmptyUnix < d.settings.DetachSeconds {
		drain.DetachedUnix = 0
		for _, v := range d.volumes {
			d.obstacle(Obstacle{
				Volume: v.Name, Code: CodeVolume, SinceUnix: drain.EmptyUnix,
				Message: "volume " + v.Volume + " is still attached to node " + d.node.Name + " (VolumeAttachment " + v.Name + ")",
			})
		}
		d.after(d.growing(drain.EmptyUnix, 1))
		d.at(drain.EmptyUnix + d.settings.DetachSeconds)
	} else {
		drain.DetachedUnix = firstSet(drain.DetachedUnix, d.now)
	}
	if settled := drain.EmptyUnix + d.settings.SettleSeconds; d.now < settled {
		d.obstacle(Obstacle{Code: CodeSettling, Message: "the node of claim " + d.claim.Name + " has just become empty", SinceUnix: drain.EmptyUnix, UntilUnix: settled})
		d.at(settled)
	}
	if d.only(CodeNotTainted) {
		d.terminate()
		return
	}
	if deadline, set := d.deadline(); set {
		d.at(deadline)
	}
	d.wait()
}

// only reports whether all obstacles there are have one code.
func (d *drainer) only(code string) bool {
	return !slices.ContainsFunc(d.step.Obstacles, func(o Obstacle) bool { return o.Code != code })
}

// end decides the step of a Terminating claim: EC2 is asked again until it says that the instance was terminated. That it
// does not show the instance says nothing.
func (d *drainer) end() {
	drain := &d.step.Drain
	switch {
	case d.ended():
		d.step.Kind = Done
	case d.claim.InstanceID == "":
		d.stay("claim " + d.claim.Name + " names no instance")
	case d.instance != nil && d.instance.State == "shutting-down":
		drain.EndUnix = firstSet(drain.EndUnix, d.now)
		d.obstacle(Obstacle{Code: CodeInstanceEnding, Message: "instance " + d.claim.InstanceID + " is shutting down", SinceUnix: drain.EndUnix})
		d.after(d.growing(drain.EndUnix, 5))
		d.wait()
	default:
		d.terminate()
	}
}

func (d *drainer) terminate() {
	drain := &d.step.Drain
	d.step.Kind = Terminate
	drain.EndUnix = firstSet(drain.EndUnix, d.now)
	d.obstacle(Obstacle{Code: CodeInstanceEnding, Message: "EC2 does not say yet that instance " + d.claim.InstanceID + " was terminated", SinceUnix: drain.EndUnix})
	d.after(d.growing(drain.EndUnix, 5))
}

// stay leaves a claim alone that nothing may be done to.
func (d *drainer) stay(why string) {
	d.obstacle(Obstacle{Code: CodeClaimNotEnding, Message: why})
	d.after(d.settings.PollSeconds)
	d.wait()
}

func (d *drainer) wait() { d.step.Kind = Wait }

func firstSet(a, b int64) int64 {
	if a != 0 {
		return a
	}
	return b
}
