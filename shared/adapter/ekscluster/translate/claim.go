package translate

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/model"
)

// Deadline returns when no pod is left on the node of a NodeClaim, in seconds of Unix, as an annotation of the
// NodeClaim says; 0 where it says nothing, or no time.
func Deadline(annotations map[string]string) int64 {
	at, err := time.Parse(time.RFC3339, annotations[model.AnnotationDeadline])
	if err != nil {
		return 0
	}
	return max(0, at.Unix())
}

// Claim returns the claim a NodeClaim object shows, as far as it says. Its times are those of its conditions. What only
// the ledger knows is absent: the pods planned onto it, its intent, its price.
func Claim(object *apiv1.NodeClaim) model.Claim {
	// A claim's requirements are spelled as a pool's, its resources as a node's.
	spec := apiv1.NodeClaimTemplateSpec{
		Requirements: object.Spec.Requirements, Taints: object.Spec.Taints, StartupTaints: object.Spec.StartupTaints,
		NodeClassRef: object.Spec.NodeClassRef, TerminationGracePeriod: object.Spec.TerminationGracePeriod,
		ExpireAfter: object.Spec.ExpireAfter,
	}
	pool := &apiv1.NodePool{Spec: apiv1.NodePoolSpec{Template: apiv1.NodeClaimTemplate{Spec: spec}}}
	template := Pool(pool).Template
	has := Node(&corev1.Node{Status: corev1.NodeStatus{Capacity: object.Status.Capacity,
		Allocatable: object.Status.Allocatable}})
	wants := Node(&corev1.Node{Status: corev1.NodeStatus{Capacity: object.Spec.Resources.Requests}})
	out := model.Claim{
		Name:          object.Name,
		Pool:          object.Labels[model.LabelNodePool],
		Class:         template.ClassName,
		State:         stateOf(object),
		Requirements:  template.Requirements,
		Requests:      wants.Capacity,
		InstanceTypes: acceptable(template.Requirements),
		Labels:        object.Labels,
		Annotations:   object.Annotations,
		Taints:        template.Taints,
		StartupTaints: template.StartupTaints,
		GraceSeconds:  template.GraceSeconds,
		ExpireSeconds: template.ExpireAfterSeconds,
		ProviderID:    object.Status.ProviderID,
		InstanceType:  object.Labels[model.LabelInstanceType],
		Zone:          object.Labels[model.LabelZone],
		ZoneID:        object.Labels[model.LabelZoneID],
		CapacityType:  object.Labels[model.LabelCapacityType],
		ImageID:       object.Status.ImageID,
		Capacity:      has.Capacity,
		Allocatable:   has.Allocatable,
		NodeName:      object.Status.NodeName,
		CreatedUnix:   max(0, object.CreationTimestamp.Unix()),
		ObjectUID:     string(object.UID),
	}
	showConditions(&out, object.Status.Conditions)
	return out
}

// showConditions fills in what conditions say of when a claim came how far, and of its drift.
func showConditions(claim *model.Claim, conditions []metav1.Condition) {
	for i := range conditions {
		c := &conditions[i]
		if c.Status != metav1.ConditionTrue {
			continue
		}
		since := max(0, c.LastTransitionTime.Unix())
		switch c.Type {
		case apiv1.ConditionLaunched:
			claim.LaunchedUnix = since
		case apiv1.ConditionRegistered:
			claim.RegisteredUnix = since
		case apiv1.ConditionInitialized:
			claim.InitializedUnix = since
		case apiv1.ConditionDrifted:
			claim.Drift, claim.DriftMessage, claim.DriftUnix = c.Reason, c.Message, since
		}
	}
}

// stateOf returns how far a claim has come. One that is being deleted is no capacity any more.
func stateOf(object *apiv1.NodeClaim) model.ClaimState {
	is := map[string]bool{}
	for _, condition := range object.Status.Conditions {
		is[condition.Type] = condition.Status == metav1.ConditionTrue
	}
	switch {
	case object.DeletionTimestamp != nil:
		return model.Gone
	case is[apiv1.ConditionInitialized]:
		return model.Initialized
	case is[apiv1.ConditionRegistered]:
		return model.Registered
	case is[apiv1.ConditionLaunched] || object.Status.ProviderID != "":
		return model.Launched
	}
	return model.Intended
}

// acceptable returns the instance types a claim lists, in its order; nil where it lists none.
func acceptable(requirements []model.Requirement) []string {
	for _, r := range requirements {
		if r.Key == model.LabelInstanceType && r.Operator == model.In {
			return r.Values
		}
	}
	return nil
}
