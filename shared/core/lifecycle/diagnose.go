package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

// Diagnose returns what looks wrong, by kind and then by subject: at most one finding for each claim, instance and
// object. Of a claim that is Draining, beside the end of its instance, only what brings its deadline forward is found.
// While NodeClaims are not defined only what EC2 and the ledger say is found: instances that ended, are taken back or
// never joined, and ends that began before. While claims or intents of the ledger cannot be read, nothing is found of
// what the ledger does not know.
func Diagnose(view View, settings Settings) []Finding {
	j := index(view, settings.WithDefaults())
	for i := range view.Records.Claims {
		if claim := &view.Records.Claims[i]; claim.Live() {
			j.claim(claim)
		}
	}
	j.expire()
	for _, id := range j.ids {
		j.orphan(j.instances[id])
	}
	for i := range view.Live.Objects {
		j.object(&view.Live.Objects[i])
	}
	for i := range view.Live.Nodes {
		j.node(&view.Live.Nodes[i])
	}
	j.reportDeferred()
	slices.SortStableFunc(j.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)), strings.Compare(a.Subject, b.Subject), strings.Compare(a.Code, b.Code))
	})
	return j.findings
}

// claim diagnoses a live claim.
func (j *diagnosis) claim(claim *model.Claim) {
	if claim.State == model.Intended {
		if !j.open(claim.Intent) {
			j.find(Finding{Kind: Stranded, Subject: claim.Name, Wait: j.settings.Confirm, Claim: claim})
		}
		return
	}
	if claim.InstanceID == "" {
		return
	}
	f := Finding{
		Subject: claim.Name, Claim: claim, Instance: j.instances[claim.InstanceID], Object: j.objectOf(claim), Nodes: j.nodes[claim.InstanceID],
	}
	switch {
	case f.Instance == nil && !j.spokenFor(&f):
		f.Kind, f.Wait, f.Removes = Missing, j.settings.YoungFor, f.serves()
		if j.view.Records.NowUnix-max(claim.CreatedUnix, claim.LaunchedUnix) >= j.settings.OldAfter {
			f.Wait = j.settings.Confirm
		}
		j.find(f)
	case f.Instance != nil && f.Instance.State == "terminated":
		f.Kind = Ended
		j.find(f)
	case claim.State == model.Terminating:
		if f.Instance != nil && !over(f.Instance) {
			f.Kind, f.Code = Retired, claim.FailureCode
			j.find(f)
		}
	case claim.State == model.Draining:
		if !j.hasten(f) {
			j.letGo(f)
		}
	case j.requested(&f) || j.failing(&f):
		f.DeadlineUnix = claim.Deadline(j.view.Records.NowUnix, f.DeadlineUnix, deadlineOf(f.Object))
		j.find(f)
	case !j.view.Live.Undefined && j.old(&f):
		f.Kind, f.DeadlineUnix = Expired, claim.Deadline(j.view.Records.NowUnix, deadlineOf(f.Object))
		j.expiring = append(j.expiring, f)
	}
}

// spokenFor reports whether something speaks for an instance that EC2 does not show: a Ready node, or, before a node of
// it has registered, somebody who wants it to end and need not wait until EC2 shows it.
func (j *diagnosis) spokenFor(f *Finding) bool {
	if f.Claim.State == model.Launched && f.Object != nil && f.Object.DeletedUnix != 0 {
		return true
	}
	return slices.ContainsFunc(f.Nodes, func(n model.Node) bool { return n.Ready })
}

// hasten finds what brings the deadline of a drain forward that is under way, and reports whether anything does.
func (j *diagnosis) hasten(f Finding) bool {
	if !j.requested(&f) && deadlineOf(f.Object) == 0 {
		return false
	}
	if own, asked := deadlineOf(f.Object), f.DeadlineUnix; own != 0 && (asked == 0 || own < asked) {
		f.DeadlineUnix = own
		if f.Kind == "" {
			f.Kind, f.Detail = ObjectDeleted, "its annotation "+model.AnnotationDeadline+" sets the time by which it has to be empty"
		}
	}
	var before int64
	if f.Claim.Drain != nil {
		before = f.Claim.Drain.DeadlineUnix
	}
	if f.DeadlineUnix != 0 && (before == 0 || f.DeadlineUnix < before) {
		f.Removes = false // it goes already
		j.find(f)
		return true
	}
	return false
}

// warned reports whether a claim drains because EC2 takes its instance back, with a deadline that says when: that EC2
// goes on saying so is no news, and the moment it first did is known better than by a later check.
func warned(claim *model.Claim) bool {
	return claim.State == model.Draining && claim.FailureCode == model.EndedSpotInterrupted && claim.Drain != nil && claim.Drain.DeadlineUnix != 0
}

// spotEnds returns when no pod may be left on a spot instance that EC2 takes back since a time. A time that is not
// within the warning says nothing: the instance would have ended, or the status has been changed since.
func (j *diagnosis) spotEnds(since int64) int64 {
	now := j.view.Records.NowUnix
	if ends := since + WarningSeconds - MarginSeconds; since <= now && ends > now {
		return ends
	}
	return now + j.settings.SpotLeft
}

// requested fills in a finding of what people, their objects or AWS ask for in so many words, and reports whether there
// is any. Its deadline is what the asking itself says.
func (j *diagnosis) requested(f *Finding) bool {
	now := j.view.Records.NowUnix
	since, interrupted := j.interrupted[f.Claim.InstanceID]
	joined := f.Claim.State != model.Launched
	state := ""
	if f.Instance != nil {
		state = f.Instance.State
	}
	switch {
	case interrupted && !warned(f.Claim):
		f.Kind, f.DeadlineUnix = Interrupted, j.spotEnds(since)
	case state == "stopped": // nothing runs there any more, and nobody says so of the pods
		f.Kind, f.Detail, f.DeadlineUnix = Stopping, state, now
	case state == "stopping", state == "shutting-down" && joined:
		f.Kind, f.Detail = Stopping, state
	case f.Instance != nil && over(f.Instance):
		return false
	case f.Claim.State != model.Draining && f.Object != nil && f.Object.DeletedUnix != 0 && j.vanishes(f):
		f.Kind, f.Detail = Vanished, j.whyVanished(f)
	case f.Object != nil && f.Object.DeletedUnix != 0:
		f.Kind, f.Detail = ObjectDeleted, j.poolDeleted(f.Claim.Pool)
	case j.definesClaims() && slices.ContainsFunc(f.Nodes, func(n model.Node) bool { // registered before its claim was adopted, or had heard of it, perhaps
		return n.DeletedUnix != 0 && (n.Registered() || n.Finalizer || joined && (f.Claim.NodeUID == "" || n.UID == f.Claim.NodeUID))
	}):
		f.Kind = NodeDeleted
	case f.Claim.BlockEndsUnix > 0 && now >= f.Claim.BlockEndsUnix-j.settings.BlockNotice:
		f.Kind, f.DeadlineUnix = BlockEnds, max(now, f.Claim.BlockEndsUnix-j.settings.BlockLeft-5)
	default:
		return j.impairment(f)
	}
	return true
}

// impairment fills in a finding of the worst that EC2's status checks say of an instance: failed checks end it at once
// (R62), an event that EC2 has scheduled has it emptied before.
func (j *diagnosis) impairment(f *Finding) bool {
	now := j.view.Records.NowUnix
	for _, i := range j.impaired[f.Claim.InstanceID] {
		var wait int64
		switch {
		case i.Kind == model.ImpairedEvent:
			if f.Kind == "" {
				f.Kind, f.Code, f.Detail = Impaired, model.EndedScheduledChange, "EC2 has scheduled "+i.Code+": "+i.Message
			}
			continue
		case i.Kind != model.ImpairedInstance && i.Kind != model.ImpairedSystem:
			continue
		case i.SinceUnix <= 0:
			wait = j.settings.FailedFor
		case now-i.SinceUnix < j.settings.FailedFor:
			continue
		}
		if f.Code == model.EndedStatusFailed && f.Wait <= wait {
			continue
		}
		f.Kind, f.Code, f.Wait, f.Removes, f.DeadlineUnix = Impaired, model.EndedStatusFailed, wait, true, now
		f.Detail = "EC2's check " + i.Kind + " fails: " + i.Message
	}
	return f.Kind == Impaired
}

// failing fills in a finding of what shows that an instance or its node does not work, and reports whether anything
// does.
func (j *diagnosis) failing(f *Finding) bool {
	joined := f.Claim.State != model.Launched
	switch {
	case f.Instance == nil || over(f.Instance):
		return false
	case j.view.Live.Undefined: // whatever else a claim or its node lacks may have gone with the definition
		if joined || len(f.Nodes) > 0 || !j.overdue(f.Claim, f.Instance) {
			return false
		}
		j.neverJoined(f)
	case f.Claim.ObjectUID != "" && f.Object == nil && j.vanished(f):
		f.Kind, f.Wait, f.Detail = Vanished, j.settings.Confirm, j.whyVanished(f)
	case f.Claim.ObjectUID != "" && f.Object == nil:
		f.Kind, f.Detail, f.Wait, f.Removes = ObjectDeleted, j.poolDeleted(f.Claim.Pool), j.settings.Confirm, joined
	case joined && len(f.Nodes) == 0:
		f.Kind, f.Wait, f.Removes = NodeGone, j.settings.Confirm, true
	case !joined && len(f.Nodes) == 0 && j.overdue(f.Claim, f.Instance):
		j.neverJoined(f)
	default:
		return joined && j.unhealthy(f)
	}
	return true
}

func (j *diagnosis) neverJoined(f *Finding) {
	f.Kind, f.Wait = NeverJoined, j.settings.Confirm
	f.Detail = (time.Duration(j.joinWithin(f.Claim.Pool)) * time.Second).String()
}

// overdue reports whether an instance's node should have joined by now. EC2's time of launch and the ledger's time are
// both AWS's; the claim's own is only used, with a margin for a clock that is wrong, where EC2 says none.
func (j *diagnosis) overdue(claim *model.Claim, instance *model.Instance) bool {
	since := instance.LaunchedUnix
	if since == 0 {
		since = claim.LaunchedUnix + j.settings.YoungFor
	}
	return j.view.Records.NowUnix-since >= j.joinWithin(claim.Pool)
}

// joinWithin returns within how many seconds an instance of a pool must join. Where NodePools cannot be read it is the
// most that a NodePool may ask for.
func (j *diagnosis) joinWithin(pool string) int64 {
	if j.view.Live.PoolsUnread != "" && pool != "" {
		return max(j.settings.JoinWithin, model.MaxJoinWait)
	}
	return j.view.Live.Waits[pool].JoinOr(j.settings.JoinWithin)
}

// orphan diagnoses an instance.
func (j *diagnosis) orphan(instance *model.Instance) {
	if j.unread || !Owned(*instance, j.view.Cluster) || over(instance) || j.live[instance.ID] != nil || j.waiting[instance.Tags[tagIntent]] {
		return
	}
	nodes := j.nodes[instance.ID]
	f := Finding{
		Kind: Orphan, Subject: instance.ID, Wait: j.settings.Confirm,
		Removes: slices.ContainsFunc(nodes, func(n model.Node) bool { return n.Registered() }),
		Claim:   j.gone[instance.ID], Instance: instance, Object: j.shown[instance.ID], Nodes: nodes,
	}
	if j.view.Live.Undefined && !Condemned(&f) && !Adoptable(&f) { // its NodeClaim would have had it adopted
		return
	}
	j.find(f)
}

// object diagnoses a NodeClaim object: whether what it shows is gone for good. One that never showed an instance and
// that the ledger knows nothing of was made by somebody else; one that people made is asked for again where it got no
// instance. Either is released where it is being deleted.
func (j *diagnosis) object(object *model.ClaimObject) {
	claim, finding := j.claims[object.Claim.Name], Finding{Kind: OrphanedNodeClaim, Subject: object.Claim.Name, Object: object}
	id := InstanceID(object.Claim.ProviderID)
	never := id == "" && (claim == nil || !claim.Live() && claim.Pool == "" && claim.InstanceID == "")
	switch {
	case object.ClassKind != "": // another controller's: its finalizer may have the name of ours, and is not ours to take off
		return
	case claim == nil && (j.unread && id != "" || j.view.Records.Unread.Has(model.UnreadClaim, object.Claim.Name)): // it is unknown whether its claim is gone
		return
	case never && (object.DeletedUnix == 0 || !object.Finalizer):
		return
	case never:
		finding.Wait = j.settings.Confirm
	case claim != nil && !claim.Live():
		if claim.ObjectUID != "" && claim.ObjectUID != object.Claim.ObjectUID || id != "" && id != claim.InstanceID {
			return
		}
		if slices.ContainsFunc(j.nodes[cmp.Or(id, claim.InstanceID)], HeldByOthers) {
			return // a NodeClaim stays as long as its Node, as with Karpenter
		}
		finding.Claim = claim
	case claim == nil && j.outlived(&finding, j.live[id]):
	case (claim == nil || unrelated(claim, object)) && id != "" && j.live[id] == nil:
		instance := j.instances[id]
		if instance == nil || !Owned(*instance, j.view.Cluster) || instance.State != "terminated" {
			return
		}
		finding.Instance, finding.Wait = instance, j.settings.Confirm
	default:
		return
	}
	j.find(finding)
}

// HeldByOthers reports whether a Node that is being deleted is kept by finalizers of which none is ours.
func HeldByOthers(node model.Node) bool { return node.DeletedUnix != 0 && !node.Finalizer }

// unrelated reports whether the object of a living claim's name is not the claim's, which has none yet: it shows the
// instance of an earlier claim of that name, the record of which was lost.
func unrelated(claim *model.Claim, object *model.ClaimObject) bool {
	return claim.ObjectUID == "" && claim.InstanceID != "" && InstanceID(object.Claim.ProviderID) != claim.InstanceID
}

// node diagnoses a Node object whose claim is gone: it goes too, unless it is Ready and EC2 does not say that its
// instance has ended. One that is being deleted already is left over while our finalizer holds it. So is one whose
// claim the ledger has forgotten, where EC2 says that its instance was ours and has ended.
func (j *diagnosis) node(node *model.Node) {
	id := InstanceID(node.ProviderID)
	claim, instance := j.gone[id], j.instances[id]
	if id == "" || j.live[id] != nil || node.DeletedUnix != 0 && !node.Finalizer {
		return
	}
	if claim == nil {
		if !j.unread && node.Finalizer && instance != nil && Owned(*instance, j.view.Cluster) && instance.State == "terminated" {
			j.find(Finding{Kind: OrphanedNode, Subject: node.Name, Wait: j.settings.Confirm, Instance: instance, Nodes: []model.Node{*node}})
		}
		return
	}
	if instance != nil && instance.State != "terminated" || instance == nil && node.Ready {
		return
	}
	j.find(Finding{Kind: OrphanedNode, Subject: node.Name, Claim: claim, Instance: instance, Nodes: []model.Node{*node}})
}

// unhealthy fills in a finding of a node that has to be repaired, which is to end its instance now. It reports whether
// it does: where more of the pool's nodes are unhealthy than a few, the fault is not the instances', and none is.
// Nor is any of a pool that wants no repair, or of which it is not known what it wants.
func (j *diagnosis) unhealthy(f *Finding) bool {
	now := j.view.Records.NowUnix
	for i := range f.Nodes {
		node := &f.Nodes[i]
		pool := node.Pool()
		tolerate := cmp.Or(j.view.Live.Waits[pool].RepairSeconds, j.settings.RepairAfter)
		condition, due, bad := worst(node, f.Claim.RegisteredUnix, tolerate)
		if tolerate < 0 || !bad || now < due {
			continue
		}
		why := fmt.Sprintf("condition %s of node %s has been %s since %s", condition.Type, node.Name, condition.Status, clock(condition.SinceUnix))
		if unread := j.view.Live.PoolsUnread; unread != "" && pool != "" {
			j.deferEnd(pool, model.EndedUnhealthy, why, "for how long the NodePool bears it is unknown: "+unread)
			continue
		}
		w := j.nodeHealth[pool]
		if most := (w.nodes*j.settings.RepairPercent + 99) / 100; w.sick > most {
			j.deferEnd(pool, model.EndedUnhealthy, why, fmt.Sprintf("%d of %d nodes are unhealthy; while there are more than %d, none is repaired", w.sick, w.nodes, most))
			continue
		}
		f.Kind, f.Detail, f.Wait, f.Removes, f.DeadlineUnix = Unhealthy, why, j.settings.Confirm, true, now
		return true
	}
	return false
}
