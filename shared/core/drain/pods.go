package drain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// The tiers pods leave in: each when the one before is empty.
const (
	tierOrdinary = iota
	tierDaemons
	tierCritical
	tierCriticalDaemons
)

// occupants finds the pods that are waited for, and the attachments that may be.
func (d *drainer) occupants(o *model.Occupied) {
	refused := map[string]*model.Refusal{}
	for i := range d.step.Drain.Refused {
		refused[d.step.Drain.Refused[i].UID] = &d.step.Drain.Refused[i]
	}
	stay := map[string]bool{} // volumes of pods nobody waits for: they stay where they are
	seen := map[string]bool{}
	for i := range o.Pods {
		occupant := &o.Pods[i]
		if d.stays(occupant) {
			for _, volume := range occupant.Volumes {
				stay[volume] = true
			}
			continue
		}
		if occupant.Phase == model.Succeeded || occupant.Phase == model.Failed || seen[occupant.UID] ||
			d.past(occupant, refused[occupant.UID]) {
			continue
		}
		seen[occupant.UID] = occupant.UID != ""
		p := pod{
			Occupant: occupant, tier: tier(occupant), grace: sane(occupant.GraceSeconds),
			shield: model.ReadDoNotDisrupt(occupant.DoNotDisrupt, sane(occupant.StartedUnix)), refused: refused[occupant.UID],
		}
		if p.leaving() {
			p.goneBy = d.ours(occupant.DeletedUnix)
		}
		d.pods = append(d.pods, p)
	}
	slices.SortStableFunc(d.pods, func(a, b pod) int {
		return cmp.Or(cmp.Compare(a.tier, b.tier), strings.Compare(a.Key(), b.Key()), strings.Compare(a.UID, b.UID))
	})
	for _, attachment := range o.Volumes {
		if attachment.Volume != "" && !stay[attachment.Volume] {
			d.volumes = append(d.volumes, attachment)
		}
	}
	slices.SortStableFunc(d.volumes, func(a, b model.Attachment) int { return strings.Compare(a.Name, b.Name) })
}

// stays reports whether a pod is left where it is: the kubelet runs it by itself, it tolerates the taint of a drain, or
// it ought to have gone a while ago.
func (d *drainer) stays(o *model.Occupant) bool {
	if o.Static || o.OwnerKind == "Node" || tolerates(o.Tolerations) {
		return true
	}
	return o.DeletedUnix != 0 && d.read-sane(o.DeletedUnix) > d.settings.StuckSeconds
}

// past reports whether a pod is not waited for any more because the deadline is over: it has had what grace it was
// given, or the API server has refused to delete it for too long.
func (d *drainer) past(o *model.Occupant, refused *model.Refusal) bool {
	if !d.overdue(0) {
		return false
	}
	if o.DeletedUnix != 0 && d.ours(o.DeletedUnix) < d.now {
		return true
	}
	return refused != nil && refused.Code == CodeDeleteFailed && d.overdue(d.settings.StuckSeconds) &&
		d.now >= refused.FirstUnix+d.settings.StuckSeconds
}

func tier(o *model.Occupant) int {
	out := tierOrdinary
	if o.PriorityClass == "system-cluster-critical" || o.PriorityClass == "system-node-critical" {
		out = tierCritical
	}
	if o.OwnerKind == "DaemonSet" {
		out++
	}
	return out
}

// tolerates reports whether a pod may run on a node with the taint of a drain: there it would be bound again at once.
func tolerates(tolerations []model.Toleration) bool {
	return slices.ContainsFunc(tolerations, func(t model.Toleration) bool {
		if t.Effect != "" && t.Effect != model.NoSchedule || t.Key != "" && t.Key != model.TaintDisrupted {
			return false
		}
		return t.Operator == "Exists" || (t.Operator == "" || t.Operator == "Equal") && t.Key != "" && t.Value == ""
	})
}

// evict asks for the pods to leave that may be asked now: those the deadline is near for, and of the first tier that is
// not empty those that nothing forbids. It reports whether anybody has to leave yet.
func (d *drainer) evict() bool {
	if len(d.pods) == 0 {
		return false
	}
	d.step.Drain.EmptyUnix, d.step.Drain.DetachedUnix = 0, 0
	var chosen []chosenPod
	first := d.pods[0].tier
	for i := range d.pods {
		p := &d.pods[i]
		d.forceLater(p)
		switch {
		case p.UID == "":
			d.obstacle(Obstacle{Pod: p.PodRef, Code: CodeRefused, Message: "pod " + p.Key() +
				" has no UID, without which it cannot be distinguished from another of its name"})
			d.after(d.settings.PollSeconds)
		case d.force(p):
			if p.failing(d.now) {
				d.blocked(p)
				break
			}
			deadline, _ := d.deadline()
			left := max(1, min(deadline-d.now, p.grace))
			chosen = append(chosen, chosenPod{p, Eviction{Pod: p.PodRef, Force: true, GraceSeconds: left}})
		case p.leaving():
			d.obstacle(Obstacle{Pod: p.PodRef, Code: CodeLeaving, UntilUnix: p.goneBy, Message: "pod " + p.Key() +
				" is terminating; its grace period ends at " + clock(p.goneBy)})
			d.after(d.growing(p.goneBy-p.grace, 1))
			for _, moment := range []int64{p.goneBy, p.goneBy + d.settings.StuckSeconds + 1} {
				if moment > d.now {
					d.at(moment)
				}
			}
		case p.tier > first:
			message := "pod " + p.Key() + " is evicted after those of earlier tiers"
			d.obstacle(Obstacle{Pod: p.PodRef, Code: CodeEarlierTier, Message: message})
		case p.shield.Active(d.read):
			d.shielded(p)
		case p.refused != nil && p.refused.NextUnix > d.now:
			d.blocked(p)
		default:
			chosen = append(chosen, chosenPod{p, Eviction{Pod: p.PodRef}})
		}
	}
	chosen = d.replacedFirst(chosen)
	if len(chosen) == 0 {
		d.wait()
		return true
	}
	d.choose(chosen)
	return true
}

// chosenPod is a pod with what is to be done to it.
type chosenPod struct {
	*pod
	eviction Eviction
}

// replacedFirst leaves out evictions that nothing presses while what the pods need has not been asked of EC2.
func (d *drainer) replacedFirst(chosen []chosenPod) []chosenPod {
	until := d.step.Drain.SinceUnix + d.settings.ReplaceSeconds
	displaced := slices.ContainsFunc(chosen, func(c chosenPod) bool { return !c.eviction.Force && !c.daemon() })
	if d.replaced || d.now >= until || !displaced {
		return chosen
	}
	message := "the replacement capacity for the pods of claim " + d.claim.Name + " has not been requested from EC2 yet"
	d.obstacle(Obstacle{Code: CodeNotReplaced, SinceUnix: d.step.Drain.SinceUnix, UntilUnix: until, Message: message})
	d.after(1)
	return slices.DeleteFunc(chosen, func(c chosenPod) bool { return !c.eviction.Force })
}

// choose makes an Evict step of at most MaxEvictions: those that are pressed first, and of them those that were refused
// least often, so that none waits behind one that is refused for ever.
func (d *drainer) choose(chosen []chosenPod) {
	d.step.Kind = Evict
	more := len(chosen) > d.settings.MaxEvictions
	slices.SortStableFunc(chosen, func(a, b chosenPod) int {
		return cmp.Or(cmp.Compare(pressing(a), pressing(b)), cmp.Compare(a.tries(), b.tries()))
	})
	chosen = chosen[:min(len(chosen), d.settings.MaxEvictions)]
	slices.SortStableFunc(chosen, func(a, b chosenPod) int {
		return cmp.Or(cmp.Compare(a.tier, b.tier), strings.Compare(a.Key(), b.Key()), strings.Compare(a.UID, b.UID))
	})
	for _, c := range chosen {
		d.step.Evictions = append(d.step.Evictions, c.eviction)
	}
	d.after(d.settings.LeaveSeconds)
	if more {
		d.due = 0
	}
}

func pressing(c chosenPod) int {
	if c.eviction.Force {
		return 0
	}
	return 1
}

// force reports whether a pod is to be deleted now for the deadline's sake: from the deadline less its own grace on,
// unless it is ending by then anyway.
func (d *drainer) force(p *pod) bool {
	deadline, set := d.deadline()
	return set && d.now >= deadline-p.grace && (!p.leaving() || p.goneBy > max(deadline, d.now)+1)
}

// forceLater notes when the deadline begins to press a pod.
func (d *drainer) forceLater(p *pod) {
	deadline, set := d.deadline()
	if !set {
		return
	}
	for _, moment := range []int64{deadline - p.grace, deadline} {
		if moment > d.now {
			d.at(moment)
		}
	}
	if d.now >= deadline {
		d.after(1)
	}
}

// shielded notes that a pod must not be disrupted.
func (d *drainer) shielded(p *pod) {
	o := Obstacle{Pod: p.PodRef, Code: CodeDoNotDisrupt, Message: fmt.Sprintf(
		"pod %s is not to be disrupted (annotation %s: %s)", p.Key(), model.AnnotationNotDisrupt, p.DoNotDisrupt)}
	d.after(d.growing(d.step.Drain.SinceUnix, 1))
	if p.shield.UntilUnix != 0 {
		o.UntilUnix = d.ours(p.shield.UntilUnix)
		o.Message += ", until " + clock(o.UntilUnix)
		d.at(o.UntilUnix)
	}
	d.obstacle(o)
}

// blocked notes that a pod's eviction was refused and when it is asked for again.
func (d *drainer) blocked(p *pod) {
	r := p.refused
	o := Obstacle{Pod: p.PodRef, Code: r.Code, SinceUnix: r.FirstUnix}
	what, remedy := "cannot be evicted", ""
	switch r.Code {
	case CodeTooManyBudgets:
		remedy = "; one PodDisruptionBudget at most may select a pod"
	case CodeDeleteFailed:
		what = "cannot be deleted"
	}
	if minutes := (d.now - o.SinceUnix) / 60; d.now-o.SinceUnix >= blockedLong {
		what += fmt.Sprintf(" for %d minutes", minutes)
	}
	o.Message = fmt.Sprintf("pod %s %s (%s): %s%s", p.Key(), what, r.Code, r.Message, remedy)
	d.obstacle(o)
	d.at(r.NextUnix)
}
