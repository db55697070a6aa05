package translate

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/api/wellknown"
	"github.com/joiner-sh/joiner/shared/model"
)

const (
	defaultGraceSeconds = 30
	anyAddress          = "0.0.0.0" // as a port's host address the same as none
)

// Pod returns a pod and its shape. The pod's Shape is 0: whoever keeps the dictionary of shapes sets it.
func Pod(pod *corev1.Pod) (model.Pod, model.PodShape) {
	out := model.Pod{
		UID:           string(pod.UID),
		Namespace:     pod.Namespace,
		Name:          pod.Name,
		NodeName:      pod.Spec.NodeName,
		NominatedNode: pod.Status.NominatedNodeName,
		Phase:         phase(pod.Status.Phase),
		CreatedUnix:   unix(&pod.CreationTimestamp),
		StartedUnix:   unix(pod.Status.StartTime),
		DeletedUnix:   unix(pod.DeletionTimestamp),
		Claims:        claims(pod),
	}
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		switch c.Type {
		case corev1.PodScheduled:
			out.Unschedulable = c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
		case corev1.PodReady:
			out.Ready = c.Status == corev1.ConditionTrue
		}
	}
	return out, shape(pod)
}

// scheduled reports whether a scheduler has said anything of the pod.
func scheduled(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions,
		func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled })
}

func phase(p corev1.PodPhase) model.Phase {
	switch p {
	case corev1.PodPending, "":
		return model.Pending
	case corev1.PodSucceeded:
		return model.Succeeded
	case corev1.PodFailed:
		return model.Failed
	}
	return model.Running
}

// claims returns the names of the pod's PersistentVolumeClaims in volume order.
func claims(pod *corev1.Pod) []string {
	var out []string
	for i := range pod.Spec.Volumes {
		switch v := &pod.Spec.Volumes[i]; {
		case v.PersistentVolumeClaim != nil:
			out = append(out, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			out = append(out, pod.Name+"-"+v.Name)
		}
	}
	return out
}

func shape(pod *corev1.Pod) model.PodShape {
	spec := &pod.Spec
	out := model.PodShape{
		Namespace:     pod.Namespace,
		Labels:        sharedLabels(pod.Labels),
		NodeSelector:  nonEmpty(spec.NodeSelector),
		Tolerations:   tolerations(spec.Tolerations),
		HostPorts:     hostPorts(spec),
		Ephemeral:     ephemeral(spec),
		PriorityClass: spec.PriorityClassName,
		SchedulerName: spec.SchedulerName,
		Gated:         len(spec.SchedulingGates) > 0,
		DoNotDisrupt:  pod.Annotations[wellknown.AnnotationDoNotDisrupt],
		TwoZones:      pod.Annotations[model.AnnotationTwoZones] == "true",
		Window:        window(pod.Annotations),
		System:        pod.Annotations[model.AnnotationSystem] == "true",
		DeletionCost:  deletionCost(pod),
		GraceSeconds:  defaultGraceSeconds,
		NoPreemption:  spec.PreemptionPolicy != nil && *spec.PreemptionPolicy == corev1.PreemptNever,
		DeviceClaims:  podClaims(spec.ResourceClaims, pod.Status.ResourceClaimStatuses),
	}
	out.DynamicResource = len(out.DeviceClaims) > 0
	if spec.Priority != nil {
		out.Priority = *spec.Priority
	}
	if spec.TerminationGracePeriodSeconds != nil {
		out.GraceSeconds = *spec.TerminationGracePeriodSeconds
	}
	if owner := metav1.GetControllerOf(pod); owner != nil {
		out.OwnerKind, out.OwnerName = ownerKind(owner), owner.Name
	}
	var problems []string
	stored := withDefaultRequests(pod)
	out.Requests, problems = requests(stored)
	out.ExtendedRequests = extendedRequests(stored)
	out.Unsupported = append(problems, affinities(&out, spec)...)
	out.Unsupported = append(out.Unsupported, beyondModel(spec)...)
	return out
}

// window returns when a pod's annotations let its node be disrupted voluntarily; nil where they say nothing of it.
func window(annotations map[string]string) *model.PodWindow {
	w := model.PodWindow{
		Schedule: annotations[model.AnnotationWindowSchedule],
		Duration: annotations[model.AnnotationWindowDuration],
		TimeZone: annotations[model.AnnotationWindowTimeZone],
	}
	if w == (model.PodWindow{}) {
		return nil
	}
	return &w
}

// ownerKind is the plain kind for the API groups of Kubernetes itself, and kind.group for any other, so that somebody
// else's DaemonSet is not taken for the one whose pods every node gets.
func ownerKind(owner *metav1.OwnerReference) string {
	switch owner.APIVersion {
	case "v1", "apps/v1", "batch/v1":
		return owner.Kind
	}
	for i := range owner.APIVersion {
		if owner.APIVersion[i] == '/' {
			return owner.Kind + "." + owner.APIVersion[:i]
		}
	}
	return owner.Kind + "." + owner.APIVersion
}

func deletionCost(pod *corev1.Pod) int32 {
	cost, err := strconv.ParseInt(pod.Annotations[corev1.PodDeletionCost], 10, 32)
	if err != nil {
		return 0 // absent or no number: the ReplicaSet controller reads it as nothing, too
	}
	return int32(cost)
}

func tolerations(list []corev1.Toleration) []model.Toleration {
	var out []model.Toleration
	for i := range list {
		t := &list[i]
		out = append(out,
			model.Toleration{Key: t.Key, Operator: string(t.Operator), Value: t.Value, Effect: string(t.Effect)})
	}
	return out
}

// hostPorts lists the ports that containers which run beside each other take on the node. On the host's network every
// container port is one.
func hostPorts(spec *corev1.PodSpec) []model.HostPort {
	var out []model.HostPort
	add := func(c *corev1.Container) {
		for i := range c.Ports {
			p := &c.Ports[i]
			port := p.HostPort
			if port == 0 && spec.HostNetwork {
				port = p.ContainerPort
			}
			if port == 0 {
				continue
			}
			protocol := string(p.Protocol)
			if protocol == "" {
				protocol = string(corev1.ProtocolTCP)
			}
			ip := p.HostIP
			if ip == anyAddress {
				ip = ""
			}
			out = append(out, model.HostPort{IP: ip, Port: port, Protocol: protocol})
		}
	}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			add(c)
		}
	}
	for i := range spec.Containers {
		add(&spec.Containers[i])
	}
	return out
}

func unix(t *metav1.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

func nonEmpty(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return m
}
