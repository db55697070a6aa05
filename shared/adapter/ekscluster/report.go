package ekscluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/api/awsv1"
	"github.com/joiner-sh/joiner/shared/api/condition"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Report publishes events and conditions. Each is independent; the first error is returned after all were tried, where
// an object that is gone meanwhile is none. An event is not repeated for some minutes, and counted up after; an
// unchanged status is not written.
func (c Reporter) Report(ctx context.Context, report model.Report) error {
	pools := poolReports(&report)
	errEvents := each(report.Events, func(e model.Event) error { return c.publish(ctx, e) })
	errPools := each(pools, func(p poolReport) error { return gone(c.reportPool(ctx, &p)) })
	errClasses := each(report.Classes, func(r model.ClassReport) error { return gone(c.reportClass(ctx, &r)) })
	errClaims := each(claimReports(&report), func(r claimReport) error { return gone(c.reportClaim(ctx, &r)) })
	errBuffers := each(report.Buffers, func(r model.BufferReport) error { return gone(c.reportBuffer(ctx, &r)) })
	errOverlays := each(report.Overlays, func(r model.OverlayReport) error { return gone(c.reportOverlay(ctx, &r)) })
	for _, err := range []error{errEvents, errPools, errClasses, errClaims, errBuffers, errOverlays} {
		if err != nil {
			return err
		}
	}
	return nil
}

// poolReport is everything a report says of one pool, so that it is one write.
type poolReport struct {
	name, uid  string
	conditions []model.Condition
	status     *model.PoolStatus // nil = nothing said
}

// poolReports gathers a report by pool, in the order of names.
func poolReports(report *model.Report) []poolReport {
	byName := make(map[string]*poolReport)
	at := func(name, uid string) *poolReport {
		if byName[name] == nil {
			byName[name] = &poolReport{name: name, uid: uid}
		}
		return byName[name]
	}
	for _, c := range report.Pools {
		p := at(c.Object, c.UID)
		p.conditions = append(p.conditions, c)
	}
	for i := range report.PoolStatus {
		s := &report.PoolStatus[i]
		at(s.Pool, s.UID).status = s
	}
	out := make([]poolReport, 0, len(byName))
	for _, p := range byName {
		out = append(out, *p)
	}
	slices.SortFunc(out, func(a, b poolReport) int { return strings.Compare(a.name, b.name) })
	return out
}

// reportPool writes a pool's status, and tells by an event when the pool becomes Ready or stops being it.
func (c Reporter) reportPool(ctx context.Context, p *poolReport) error {
	var before metav1.ConditionStatus
	var after metav1.Condition
	err := (&status[apiv1.NodePool]{
		resource: apiv1.NodePoolResource, name: p.name, uid: p.uid,
		change: func(pool *apiv1.NodePool) error {
			before = ""
			if ready := meta.FindStatusCondition(pool.Status.Conditions, condition.Ready); ready != nil {
				before = ready.Status // as it is stored: a change of the spec alone makes it Unknown in the set
			}
			set := apiv1.NodePoolConditions.For(pool, c.now())
			defer func() { after = set.Get(condition.Ready) }()
			var errs []error
			for i := range p.conditions {
				errs = append(errs, say(set, &p.conditions[i]))
			}
			if p.status != nil {
				errs = append(errs, showPool(pool, set, p.status))
			}
			return errors.Join(errs...)
		},
		of: func(pool *apiv1.NodePool) any { return &pool.Status },
	}).write(ctx, c.api)
	if err != nil || after.Status == before || after.Status == metav1.ConditionUnknown {
		return err
	}
	event := model.Event{
		Kind: apiv1.KindNodePool, Name: p.name, UID: p.uid, Reason: condition.Ready,
		Message: "nodes may be launched from this NodePool",
	}
	if after.Status == metav1.ConditionFalse {
		event.Warning, event.Reason, event.Message = true, reasonNotReady, after.Message
	}
	return c.publish(ctx, event)
}

// reasonNotReady is the reason of the event that an object stops being Ready.
const reasonNotReady = "NotReady"

// showPool shows what a pool has. Of a pool that was changed meanwhile the nodes are counted again before they are
// shown.
func showPool(pool *apiv1.NodePool, set *condition.Set, s *model.PoolStatus) error {
	pool.Status.Nodes = s.Nodes
	pool.Status.Resources = sameQuantities(pool.Status.Resources, quantities(s.Resources))
	if s.ClassGeneration != 0 {
		pool.Status.NodeClassObservedGeneration = s.ClassGeneration
	}
	counted := &s.Rollout
	if counted.Generation != pool.Generation {
		return nil
	}
	pool.Status.Rollout = &apiv1.NodePoolRollout{
		ObservedGeneration: counted.Generation, Current: counted.Current, Drifted: counted.Drifted,
		Replacing: counted.Replacing,
	}
	said := model.Condition{Object: s.Pool, UID: s.UID, Type: model.ConditionRolledOut}
	said.Status, said.Reason, said.Message = counted.Condition()
	return say(set, &said)
}

// claimReport is everything a report says of one NodeClaim, so that it is one write.
type claimReport struct {
	name, uid    string
	conditions   []*model.Condition
	podEventUnix int64 // 0 = nothing said
}

// claimReports gathers a report by NodeClaim, in the order in which they are first named.
func claimReports(report *model.Report) []claimReport {
	var out []claimReport
	known := make(map[[2]string]int, len(report.Claims)+len(report.PodEvents))
	at := func(name, uid string) *claimReport {
		i, is := known[[2]string{name, uid}]
		if !is {
			i = len(out)
			known[[2]string{name, uid}], out = i, append(out, claimReport{name: name, uid: uid})
		}
		return &out[i]
	}
	for i := range report.Claims {
		r := at(report.Claims[i].Object, report.Claims[i].UID)
		r.conditions = append(r.conditions, &report.Claims[i])
	}
	for _, event := range report.PodEvents {
		at(event.Claim, event.UID).podEventUnix = event.AtUnix
	}
	return out
}

func (c Reporter) reportClaim(ctx context.Context, r *claimReport) error {
	return claimStatus(r.name, r.uid, nil, func(o *apiv1.NodeClaim) error {
		set := apiv1.NodeClaimConditions.For(o, c.now())
		var errs []error
		for _, said := range r.conditions {
			errs = append(errs, sayOfClaim(o, set, said))
		}
		if at := time.Unix(r.podEventUnix, 0).UTC(); r.podEventUnix != 0 && at.After(o.Status.LastPodEventTime.Time) {
			o.Status.LastPodEventTime = metav1.NewTime(at)
		}
		return errors.Join(errs...)
	}).write(ctx, c.api)
}

// sayOfClaim writes a condition of a NodeClaim that has no instance yet, or of any whether and why it is disrupted
// voluntarily.
func sayOfClaim(o *apiv1.NodeClaim, set *condition.Set, said *model.Condition) error {
	choice := said.Type == apiv1.ConditionDisruptionReason || said.Type == apiv1.ConditionConsolidatable
	switch {
	case choice && said.Status == "":
		set.Remove(said.Type)
		return nil
	case o.Status.ProviderID != "" && !choice:
		return nil
	}
	return say(set, said)
}

func say(set *condition.Set, c *model.Condition) error {
	switch metav1.ConditionStatus(c.Status) {
	case metav1.ConditionTrue:
		set.SetTrueWithReason(c.Type, c.Reason, c.Message)
	case metav1.ConditionFalse:
		set.SetFalse(c.Type, c.Reason, c.Message)
	case metav1.ConditionUnknown:
		set.SetUnknown(c.Type, c.Reason, c.Message)
	default:
		return fault.New(fault.Invalid, "", "condition %s of %s: status %q is not True, False or Unknown", c.Type,
			c.Object, c.Status)
	}
	return nil
}

// sameQuantities keeps the old list where the new one means the same, so that 1Ti is not written over 1024Gi.
func sameQuantities(old, new corev1.ResourceList) corev1.ResourceList {
	for name, q := range new {
		if before, ok := old[name]; ok && before.Cmp(q) == 0 {
			new[name] = before
		}
	}
	return new
}

// reportClass writes what a class resolves to. A class that changed after it was resolved is left alone: it is being
// looked at again.
func (c Reporter) reportClass(ctx context.Context, r *model.ClassReport) error {
	return (&status[awsv1.EC2NodeClass]{
		resource: awsv1.EC2NodeClassResource, name: r.Class, uid: r.UID,
		change: func(class *awsv1.EC2NodeClass) error {
			if r.Waiting != "" {
				classConditions().For(class, c.now()).SetTrueWithReason(ConditionTerminating, ReasonWaiting, r.Waiting)
				return nil
			}
			if seen := r.Status.ObservedGeneration; seen != 0 && seen != class.Generation {
				return nil
			}
			showClass(class, &r.Status, c.now())
			return nil
		},
		of: func(class *awsv1.EC2NodeClass) any { return &class.Status },
	}).write(ctx, c.api)
}

func showClass(class *awsv1.EC2NodeClass, resolved *model.ClassStatus, now time.Time) {
	status := &class.Status
	status.Subnets, status.SecurityGroups, status.AMIs = nil, nil, nil
	for _, s := range resolved.Subnets {
		status.Subnets = append(status.Subnets, awsv1.Subnet{ID: s.ID, Zone: s.Zone, ZoneID: s.ZoneID})
	}
	for _, g := range resolved.SecurityGroups {
		status.SecurityGroups = append(status.SecurityGroups, awsv1.SecurityGroup{ID: g.ID, Name: g.Name})
	}
	for _, i := range resolved.Images {
		status.AMIs = append(status.AMIs, awsv1.AMI{ID: i.ID, Name: i.Name, Deprecated: i.Deprecated,
			Requirements: selectorRequirements(i.Requirements)})
	}
	status.InstanceProfile = resolved.InstanceProfile
	status.CapacityReservations = nil
	for i := range resolved.Reservations {
		status.CapacityReservations = append(status.CapacityReservations,
			shownReservation(&resolved.Reservations[i], now))
	}

	types := classConditions()
	set := types.For(class, now)
	bad := make(map[string]bool)
	for i := range resolved.Problems {
		p := &resolved.Problems[i]
		if bad[p.Condition] {
			continue // the first problem of a condition is reported
		}
		bad[p.Condition] = true
		if p.Unknown {
			set.SetUnknown(p.Condition, p.Reason, p.Message)
		} else {
			set.SetFalse(p.Condition, p.Reason, p.Message)
		}
	}
	for _, dependent := range types.Dependents {
		if !bad[dependent] {
			set.SetTrueWithReason(dependent, dependent, found(dependent, class, resolved))
		}
	}
}

// classConditions are those that count towards Ready; reservations are always used.
func classConditions() condition.Types { return awsv1.Conditions(true) }

// What is said of an EC2NodeClass that is being deleted.
const (
	ConditionTerminating = "Terminating"
	ReasonWaiting        = "WaitingOnNodeClaimTermination"
)

func shownReservation(r *model.Reservation, now time.Time) awsv1.CapacityReservation {
	out := awsv1.CapacityReservation{
		ID: r.ID, InstanceType: r.InstanceType, AvailabilityZone: r.Zone, OwnerID: r.Owner,
		InstanceMatchCriteria: awsv1.InstanceMatchCriteria(r.MatchCriteria),
		ReservationType:       awsv1.ReservationDefault, Interruptible: r.Interruptible, State: awsv1.ReservationActive,
	}
	if r.Block {
		out.ReservationType = awsv1.ReservationCapacityBlock
	}
	if r.Expiring(now.Unix()) {
		out.State = awsv1.ReservationExpiring
	}
	if r.EndUnix != 0 {
		end := metav1.NewTime(time.Unix(r.EndUnix, 0).UTC())
		out.EndTime = &end
	}
	return out
}

// found says what a part of a class resolved to, so that describing the object explains it.
func found(conditionType string, class *awsv1.EC2NodeClass, resolved *model.ClassStatus) string {
	counted := func(n int, what, field string, more string) string {
		if n != 1 {
			what += "s"
		}
		return fmt.Sprintf("%d %s by %s%s", n, what, field, more)
	}
	switch conditionType {
	case awsv1.ConditionSubnetsReady:
		zones := map[string]bool{}
		for _, s := range resolved.Subnets {
			zones[s.Zone] = true
		}
		return counted(len(resolved.Subnets), "subnet", "spec.subnetSelectorTerms",
			" in "+strings.Join(slices.Sorted(maps.Keys(zones)), ", "))
	case awsv1.ConditionSecurityGroupsReady:
		return counted(len(resolved.SecurityGroups), "security group", "spec.securityGroupSelectorTerms", "")
	case awsv1.ConditionAMIsReady:
		old := 0
		for _, i := range resolved.Images {
			if i.Deprecated {
				old++
			}
		}
		more := ""
		if old > 0 {
			more = fmt.Sprintf(", %d of them deprecated", old)
		}
		return counted(len(resolved.Images), "image", "spec.amiSelectorTerms", more)
	case awsv1.ConditionInstanceProfileReady:
		if class.Spec.Role != "" {
			return fmt.Sprintf("instance profile %s holds spec.role %s", resolved.InstanceProfile, class.Spec.Role)
		}
		return "instance profile of spec.instanceProfile"
	case awsv1.ConditionPlacementGroupReady:
		if group := resolved.PlacementGroup; group != nil {
			return fmt.Sprintf("placement group %s (%s) by spec.placementGroupSelector", group.ID, group.Strategy)
		}
	case awsv1.ConditionCapacityReservationsReady:
		if len(class.Spec.CapacityReservationSelectorTerms) > 0 {
			return counted(len(resolved.Reservations), "active capacity reservation",
				"spec.capacityReservationSelectorTerms", "")
		}
	}
	return ""
}

func selectorRequirements(list []model.Requirement) []corev1.NodeSelectorRequirement {
	out := []corev1.NodeSelectorRequirement{} // required, and may be empty
	for _, r := range list {
		out = append(out, corev1.NodeSelectorRequirement{Key: r.Key, Operator: corev1.NodeSelectorOperator(r.Operator),
			Values: r.Values})
	}
	return out
}
