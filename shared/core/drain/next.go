package drain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

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
	d.step.Drain.Refused = stillRefused(d.step.Drain.Refused, view.Node)
	return d
}

// unready makes now the deadline of a drain whose node has not been Ready for as long as is tolerated: its kubelet
// neither ends pods nor says that they have ended (R32).
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
	notTainted := Obstacle{
		Code: CodeNotTainted, SinceUnix: drain.CordonUnix,
		Message: "the taint " + model.TaintDisrupted + " does not show on node " + d.node.Name,
	}
	if _, set := d.deadline(); set && drain.CordonUnix != 0 && d.now-drain.CordonUnix >= d.settings.CordonSeconds {
		notTainted.Message += "; it is drained without it"
		d.obstacle(notTainted)
		return false
	}
	d.step.Kind = Cordon
	if drain.CordonUnix == 0 {
		drain.CordonUnix = d.now
		d.due = 0 // at once, whatever else has its time
		return true
	}
	d.obstacle(notTainted)
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

// finishEmpty decides the step of a node that nothing is left on: it stays empty for a moment, then its volumes are
// waited for, and then its instance ends. A deadline cuts both short.
func (d *drainer) finishEmpty() {
	drain := &d.step.Drain
	if drain.EmptyUnix == 0 {
		drain.EmptyUnix = d.now
	}
	if d.overdue(0) {
		drain.DetachedUnix = cmp.Or(drain.DetachedUnix, d.now)
		d.terminate()
		return
	}
	if len(d.volumes) > 0 && d.now-drain.EmptyUnix < d.settings.DetachSeconds {
		drain.DetachedUnix = 0
		for _, v := range d.volumes {
			d.obstacle(Obstacle{
				Volume: v.Name, Code: CodeVolume, SinceUnix: drain.EmptyUnix,
				Message: fmt.Sprintf("volume %s is still attached to node %s (VolumeAttachment %s)",
					v.Volume, d.node.Name, v.Name),
			})
		}
		d.after(d.growing(drain.EmptyUnix, 1))
		d.at(drain.EmptyUnix + d.settings.DetachSeconds)
	} else {
		drain.DetachedUnix = cmp.Or(drain.DetachedUnix, d.now)
	}
	if settled := drain.EmptyUnix + d.settings.SettleSeconds; d.now < settled {
		d.obstacle(Obstacle{
			Code: CodeSettling, SinceUnix: drain.EmptyUnix, UntilUnix: settled,
			Message: "the node of claim " + d.claim.Name + " has just become empty",
		})
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

// end decides the step of a Terminating claim: EC2 is asked again until it says that the instance was terminated. That
// it does not show the instance says nothing.
func (d *drainer) end() {
	switch {
	case d.ended():
		d.step.Kind = Done
	case d.claim.InstanceID == "":
		d.stay("claim " + d.claim.Name + " names no instance")
	case d.instance != nil && d.instance.State == "shutting-down":
		d.ending(Wait, "instance "+d.claim.InstanceID+" is shutting down")
	default:
		d.terminate()
	}
}

func (d *drainer) terminate() {
	d.ending(Terminate, "EC2 does not say yet that instance "+d.claim.InstanceID+" was terminated")
}

// ending makes the step one of an instance that ends.
func (d *drainer) ending(kind Kind, message string) {
	drain := &d.step.Drain
	d.step.Kind = kind
	drain.EndUnix = cmp.Or(drain.EndUnix, d.now)
	d.obstacle(Obstacle{Code: CodeInstanceEnding, Message: message, SinceUnix: drain.EndUnix})
	d.after(d.growing(drain.EndUnix, 5))
}

// stay leaves a claim alone that nothing may be done to.
func (d *drainer) stay(why string) {
	d.obstacle(Obstacle{Code: CodeClaimNotEnding, Message: why})
	d.after(d.settings.PollSeconds)
	d.wait()
}
