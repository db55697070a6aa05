package ekscluster

import (
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/api/awsv1"
	"github.com/joiner-sh/joiner/shared/api/condition"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/api/wellknown"
	"github.com/joiner-sh/joiner/shared/model"
)

// claimObject returns the NodeClaim object that shows a claim, without its status. Our finalizer keeps it, however it
// is deleted, until its instance has ended: see Free.
func claimObject(claim *model.Claim, region string) *apiv1.NodeClaim {
	object := &apiv1.NodeClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: apiv1.GroupVersion.String(), Kind: apiv1.KindNodeClaim},
		ObjectMeta: metav1.ObjectMeta{
			Name: claim.Name, Labels: claimLabels(claim, region), Annotations: claimAnnotations(claim),
			Finalizers: []string{model.Finalizer},
		},
		Spec: apiv1.NodeClaimSpec{
			Taints:        kubeTaints(claim.Taints),
			StartupTaints: kubeTaints(claim.StartupTaints),
			Requirements:  kubeRequirements(claim.Requirements),
			Resources:     apiv1.ResourceRequirements{Requests: quantities(claim.Requests)},
			NodeClassRef: apiv1.NodeClassReference{
				Group: wellknown.AWSGroup, Kind: awsv1.KindEC2NodeClass, Name: claim.Class,
			},
			ExpireAfter: apiv1.NewNillableDuration(seconds(claim.ExpireSeconds)),
		},
	}
	if grace := seconds(claim.GraceSeconds); grace != nil {
		d := apiv1.NewDuration(*grace)
		object.Spec.TerminationGracePeriod = &d
	}
	if claim.PoolUID != "" {
		block := true
		object.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: apiv1.GroupVersion.String(), Kind: apiv1.KindNodePool, Name: claim.Pool,
			UID: uid(claim.PoolUID), BlockOwnerDeletion: &block,
		}}
	}
	return object
}

// claimAnnotations returns the claim's own annotations, and its price.
func claimAnnotations(claim *model.Claim) map[string]string {
	if claim.Price <= 0 {
		return maps.Clone(claim.Annotations)
	}
	annotations := make(map[string]string, len(claim.Annotations)+1)
	maps.Copy(annotations, claim.Annotations)
	annotations[model.AnnotationPrice] = fmt.Sprintf("%.4f", claim.Price.USD())
	return annotations
}

// claimLabels returns the claim's own labels, what its requirements leave no choice about, and what became of it; the
// later of these wins.
func claimLabels(claim *model.Claim, region string) map[string]string {
	labels := make(map[string]string)
	for _, r := range claim.Requirements {
		key := wellknown.Normalize(r.Key)
		if r.Operator == model.In && len(r.Values) == 1 && wellknown.RestrictedReason(key) == "" {
			labels[key] = r.Values[0]
		}
	}
	maps.Copy(labels, claim.Labels)
	for key, value := range map[string]string{
		wellknown.LabelNodePool:     claim.Pool,
		wellknown.LabelEC2NodeClass: claim.Class,
		wellknown.LabelInstanceType: claim.InstanceType,
		wellknown.LabelZone:         claim.Zone,
		wellknown.LabelZoneID:       claim.ZoneID,
		wellknown.LabelRegion:       region,
		wellknown.LabelCapacityType: claim.CapacityType,
	} {
		if value != "" {
			labels[key] = value
		}
	}
	return labels
}

// kubeRequirements leaves out keys the definition refuses on a claim.
func kubeRequirements(list []model.Requirement) []apiv1.Requirement {
	out := []apiv1.Requirement{} // required, and may be empty
	for i := range list {
		r := &list[i]
		if wellknown.RestrictedReason(r.Key) != "" {
			continue
		}
		requirement := apiv1.Requirement{Key: r.Key, Operator: corev1.NodeSelectorOperator(r.Operator),
			Values: r.Values}
		if r.MinValues > 0 {
			least := r.MinValues
			requirement.MinValues = &least
		}
		out = append(out, requirement)
	}
	return out
}

func kubeTaints(list []model.Taint) []corev1.Taint {
	var out []corev1.Taint
	for _, t := range list {
		out = append(out, corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
	}
	return out
}

func seconds(n *int64) *time.Duration {
	if n == nil {
		return nil
	}
	d := time.Duration(*n) * time.Second
	return &d
}

// showState brings an object's status up to what the claim says. Times of transitions are the claim's own.
func showState(object *apiv1.NodeClaim, claim *model.Claim) {
	status := &object.Status
	status.NodeName, status.ProviderID, status.ImageID = claim.NodeName, claim.ProviderID, claim.ImageID
	status.Capacity, status.Allocatable = quantities(claim.Capacity), quantities(claim.Allocatable)

	if ending(claim.State) { // how far it came before is shown already
		showEnd(object, claim)
		return
	}
	reached := func(state model.ClaimState) bool { return order[claim.State] >= order[state] }
	at := func(unix int64) time.Time { return time.Unix(unix, 0) }
	if reached(model.Launched) {
		apiv1.NodeClaimConditions.For(object, at(claim.LaunchedUnix)).SetTrue(apiv1.ConditionLaunched)
	}
	if reached(model.Registered) {
		apiv1.NodeClaimConditions.For(object, at(claim.RegisteredUnix)).SetTrue(apiv1.ConditionRegistered)
	} else {
		showUnregistered(apiv1.NodeClaimConditions.For(object, at(claim.LaunchedUnix)), claim)
	}
	if reached(model.Initialized) {
		apiv1.NodeClaimConditions.For(object, at(claim.InitializedUnix)).SetTrue(apiv1.ConditionInitialized)
	} else {
		reason, message := apiv1.ReasonNodeNotFound, "node has not joined yet"
		if reached(model.Registered) {
			reason, message = apiv1.ReasonNodeNotReady, "node is not ready for pods yet"
			if claim.WaitReason != "" {
				reason, message = claim.WaitReason, claim.WaitMessage
			}
		}
		apiv1.NodeClaimConditions.For(object, at(max(claim.LaunchedUnix, claim.RegisteredUnix))).
			SetUnknown(apiv1.ConditionInitialized, reason, message)
	}
	if reached(model.Initialized) {
		showConsistency(object, claim)
	}
	if drifted := apiv1.NodeClaimConditions.For(object, at(claim.DriftUnix)); claim.Drift != "" {
		drifted.SetTrueWithReason(apiv1.ConditionDrifted, claim.Drift, claim.DriftMessage)
	} else {
		drifted.Remove(apiv1.ConditionDrifted)
	}
}

// ending reports whether a claim in that state has stopped going forward through the states of order.
func ending(state model.ClaimState) bool {
	return state == model.Draining || state == model.Terminating || state == model.Gone
}

// showUnregistered says why no node of a claim is registered yet.
func showUnregistered(conditions *condition.Set, claim *model.Claim) {
	switch claim.WaitReason {
	case apiv1.ReasonMultipleNodesFound: // nothing but people can get it on
		conditions.SetFalse(apiv1.ConditionRegistered, claim.WaitReason, claim.WaitMessage)
	case apiv1.ReasonRegistrationHookPending:
		conditions.SetUnknown(apiv1.ConditionRegistered, claim.WaitReason, claim.WaitMessage)
	default:
		conditions.SetUnknown(apiv1.ConditionRegistered, apiv1.ReasonNodeNotFound, "node has not joined yet")
	}
}

// showConsistency says of an initialized claim whether its node has what was launched.
func showConsistency(object *apiv1.NodeClaim, claim *model.Claim) {
	if claim.Inconsistent != "" {
		apiv1.NodeClaimConditions.For(object, time.Unix(claim.InconsistentUnix, 0)).
			SetFalse(apiv1.ConditionConsistentStateFound, apiv1.ReasonConsistencyCheckFailed, claim.Inconsistent)
		return
	}
	at := time.Unix(max(claim.InitializedUnix, claim.InconsistentUnix), 0)
	apiv1.NodeClaimConditions.For(object, at).SetTrue(apiv1.ConditionConsistentStateFound)
}

// order of the states a claim goes through before it ends.
var order = map[model.ClaimState]int{model.Intended: 0, model.Launched: 1, model.Registered: 2, model.Initialized: 3}

// showEnd brings the conditions of a claim's end up to its Drain: why it ends, whether its node is empty, whether its
// volumes are detached, whether its instance is ending. Times of transitions are the drain's own.
func showEnd(object *apiv1.NodeClaim, claim *model.Claim) {
	drain := claim.Drain
	if drain == nil {
		return
	}
	on := func(unix int64) *condition.Set { return apiv1.NodeClaimConditions.For(object, time.Unix(unix, 0)) }
	if claim.FailureCode != "" {
		on(drain.SinceUnix).SetTrueWithReason(apiv1.ConditionDisruptionReason, claim.FailureCode, claim.FailureMessage)
	}
	late := drain.DeadlineUnix != 0 && drain.DetachedUnix >= drain.DeadlineUnix // nobody waits for volumes any more
	switch {
	case drain.EmptyUnix == 0:
		on(drain.SinceUnix).SetUnknown(apiv1.ConditionDrained, apiv1.ReasonDraining, strings.Join(drain.Waits, "; "))
	case drain.DetachedUnix == 0:
		on(drain.EmptyUnix).SetTrue(apiv1.ConditionDrained)
		on(drain.EmptyUnix).SetUnknown(apiv1.ConditionVolumesDetached, apiv1.ReasonAwaitingVolumeDetachment,
			strings.Join(drain.Waits, "; "))
	case late:
		on(drain.EmptyUnix).SetTrue(apiv1.ConditionDrained)
		on(drain.DetachedUnix).SetFalse(apiv1.ConditionVolumesDetached, apiv1.ReasonTerminationGracePeriodElapsed,
			strings.Join(drain.Waits, "; "))
	default:
		on(drain.EmptyUnix).SetTrue(apiv1.ConditionDrained)
		on(drain.DetachedUnix).SetTrue(apiv1.ConditionVolumesDetached)
	}
	if drain.EndUnix != 0 {
		on(drain.EndUnix).SetTrue(apiv1.ConditionInstanceTerminating)
	}
}
