package ekscluster

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/api/autoscalingv1beta1"
	"github.com/joiner-sh/joiner/shared/model"
)

// maxConditionMessage is the longest message of a condition that the API takes.
const maxConditionMessage = 32768

// reportBuffer writes what a CapacityBuffer comes to. One that changed after it was looked at is left alone: it is
// being looked at again. Conditions of other types stay as they are.
func (c Reporter) reportBuffer(ctx context.Context, r *model.BufferReport) error {
	return (&status[autoscalingv1beta1.CapacityBuffer]{
		resource: autoscalingv1beta1.CapacityBufferResource, namespace: r.Namespace, name: r.Name, uid: r.UID,
		change: func(buffer *autoscalingv1beta1.CapacityBuffer) error {
			if seen := r.Status.Ready.Generation; seen != 0 && seen != buffer.Generation {
				return nil
			}
			showBuffer(&buffer.Status, &r.Status, metav1.NewTime(c.now()))
			return nil
		},
		of: func(buffer *autoscalingv1beta1.CapacityBuffer) any { return &buffer.Status },
	}).write(ctx, c.api)
}

func showBuffer(status *autoscalingv1beta1.CapacityBufferStatus, said *model.BufferStatus, now metav1.Time) {
	status.PodTemplateRef, status.PodTemplateGeneration = nil, nil
	status.Replicas, status.ProvisioningStrategy = nil, nil
	if said.Template != "" {
		status.PodTemplateRef = &autoscalingv1beta1.LocalObjectRef{Name: said.Template}
	}
	if said.TemplateGeneration != 0 {
		status.PodTemplateGeneration = &said.TemplateGeneration
	}
	if said.Sized {
		status.Replicas = &said.Replicas
	}
	if said.Strategy != "" {
		status.ProvisioningStrategy = &said.Strategy
	}
	for _, said := range []struct {
		name string
		model.BufferCondition
	}{{autoscalingv1beta1.ConditionReadyForProvisioning, said.Ready}, {autoscalingv1beta1.ConditionProvisioning,
		said.Provisioning}} {
		if said.Status == "" {
			continue // nothing was found out
		}
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: said.name, Status: metav1.ConditionStatus(said.Status), Reason: said.Reason,
			Message: cut(said.Message, maxConditionMessage), ObservedGeneration: said.Generation,
			LastTransitionTime: now,
		})
	}
}
