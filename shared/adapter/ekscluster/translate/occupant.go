package translate

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/api/wellknown"
	"github.com/joiner-sh/joiner/shared/model"
)

// Occupant returns a pod as draining looks at it, and the names of its PersistentVolumeClaims in volume order. Which
// volumes those are bound to is for whoever knows these to fill in.
func Occupant(pod *corev1.Pod) (model.Occupant, []string) {
	out := model.Occupant{
		PodRef:        model.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)},
		Phase:         phase(pod.Status.Phase),
		Labels:        pod.Labels,
		PriorityClass: pod.Spec.PriorityClassName,
		Tolerations:   tolerations(pod.Spec.Tolerations),
		DoNotDisrupt:  pod.Annotations[wellknown.AnnotationDoNotDisrupt],
		Window:        window(pod.Annotations),
		System:        pod.Annotations[model.AnnotationSystem] == "true",
		GraceSeconds:  defaultGraceSeconds,
		StartedUnix:   unix(pod.Status.StartTime),
		DeletedUnix:   unix(pod.DeletionTimestamp), // the API server writes the end of its grace there, not the request
	}
	_, out.Static = pod.Annotations[corev1.MirrorPodAnnotationKey]
	if pod.Spec.Priority != nil {
		out.Priority = *pod.Spec.Priority
	}
	if grace := pod.Spec.TerminationGracePeriodSeconds; grace != nil {
		out.GraceSeconds = max(0, *grace)
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			out.Ready = c.Status == corev1.ConditionTrue
		}
	}
	if owner := metav1.GetControllerOf(pod); owner != nil {
		out.OwnerKind = ownerKind(owner)
	}
	return out, claims(pod)
}

// Attachment returns what a VolumeAttachment says, but for the node it is of.
func Attachment(o *storagev1.VolumeAttachment) model.Attachment {
	out := model.Attachment{Name: o.Name, Attached: o.Status.Attached, DeletedUnix: unix(o.DeletionTimestamp)}
	if volume := o.Spec.Source.PersistentVolumeName; volume != nil {
		out.Volume = *volume
	}
	return out
}
