package translate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/joiner-sh/joiner/shared/api/autoscalingv1beta1"
	"github.com/joiner-sh/joiner/shared/model"
)

// maxHeadroom is for how many pods one buffer keeps room.
const maxHeadroom = 10_000

// Kinds of what a buffer can be of.
const (
	KindPodTemplate = "PodTemplate"
	KindDeployment  = "Deployment"
	KindStatefulSet = "StatefulSet"
	KindReplicaSet  = "ReplicaSet"
)

// workloads are the kinds of group apps among them.
var workloads = []string{KindDeployment, KindStatefulSet, KindReplicaSet}

// ScalableKey names what a buffer can be of.
type ScalableKey struct{ Kind, Namespace, Name string }

// Scalable is a template and how many pods there are to be of it.
type Scalable struct {
	Template   *corev1.PodTemplateSpec
	Replicas   *int32 // nil = nobody says
	Generation int64  // of the object
}

// ScalableOf returns what a buffer is of; false where that is nothing we know to look for.
func ScalableOf(buffer *autoscalingv1beta1.CapacityBuffer) (ScalableKey, bool) {
	key := scalableOf(buffer)
	return key, key != ScalableKey{}
}

// ScalableFrom returns what a buffer can be of, false where the object is none.
func ScalableFrom(object any) (ScalableKey, *Scalable, bool) {
	of := func(kind string, meta *metav1.ObjectMeta, template *corev1.PodTemplateSpec, replicas *int32) (ScalableKey,
		*Scalable, bool) {
		return ScalableKey{kind, meta.Namespace, meta.Name}, &Scalable{stripTemplate(template), replicas,
			meta.Generation}, true
	}
	switch o := object.(type) {
	case *corev1.PodTemplate:
		return of(KindPodTemplate, &o.ObjectMeta, &o.Template, nil)
	case *appsv1.Deployment:
		return of(KindDeployment, &o.ObjectMeta, &o.Spec.Template, o.Spec.Replicas)
	case *appsv1.StatefulSet:
		return of(KindStatefulSet, &o.ObjectMeta, &o.Spec.Template, o.Spec.Replicas)
	case *appsv1.ReplicaSet:
		return of(KindReplicaSet, &o.ObjectMeta, &o.Spec.Template, o.Spec.Replicas)
	}
	return ScalableKey{}, nil, false
}

// stripTemplate returns a template without most of what scheduling does not look at, which is most of it.
func stripTemplate(template *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	out := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: template.Labels}, Spec: template.Spec}
	for _, list := range []*[]corev1.Container{&out.Spec.InitContainers, &out.Spec.Containers} {
		*list = slices.Clone(*list)
		for i := range *list {
			c := &(*list)[i]
			c.Image, c.Command, c.Args, c.Env, c.EnvFrom, c.VolumeMounts = "", nil, nil, nil, nil, nil
			c.LivenessProbe, c.ReadinessProbe, c.StartupProbe, c.Lifecycle = nil, nil, nil, nil
		}
	}
	return out
}

// BufferObject reads a CapacityBuffer.
func BufferObject(object *unstructured.Unstructured) (*autoscalingv1beta1.CapacityBuffer, error) {
	buffer := &autoscalingv1beta1.CapacityBuffer{}
	if err := convert(object.Object, buffer); err != nil {
		return nil, err
	}
	return buffer, nil
}

// addScalable takes what a buffer can be of, false where the object is none.
func (b *Builder) addScalable(object any) bool {
	key, of, is := ScalableFrom(object)
	if is && b.Headroom {
		put(&b.scalables, key, of)
	}
	return is
}

// addBuffers resolves the buffers that were added. Their shapes are those of drafts.
func (b *Builder) addBuffers() {
	for _, object := range sorted(b.buffers,
		func(o **autoscalingv1beta1.CapacityBuffer) (string, string) { return (*o).Namespace, (*o).Name }) {
		of := b.scalables[scalableOf(object)]
		buffer, pod, shape := Buffer(object, of)
		if buffer.Replicas > 0 {
			buffer.Shape = b.drafts.add(b.draft(pod, shape))
		}
		b.snapshot.Buffers = append(b.snapshot.Buffers, buffer)
	}
}

// scalableOf returns what a buffer is of; zero where that cannot be said.
func scalableOf(buffer *autoscalingv1beta1.CapacityBuffer) ScalableKey {
	switch spec := &buffer.Spec; {
	case len(autoscalingv1beta1.Validate(buffer)) > 0:
		return ScalableKey{}
	case spec.PodTemplateRef != nil:
		return ScalableKey{KindPodTemplate, buffer.Namespace, spec.PodTemplateRef.Name}
	case cmp.Or(spec.ScalableRef.APIGroup, "apps") == "apps" && slices.Contains(workloads, spec.ScalableRef.Kind):
		return ScalableKey{spec.ScalableRef.Kind, buffer.Namespace, spec.ScalableRef.Name}
	}
	return ScalableKey{}
}

// Buffer returns a CapacityBuffer with what it comes to, of what it is of (nil = there is no such), its Shape −1; and
// where there is room to keep, the pod it is for with its shape.
func Buffer(object *autoscalingv1beta1.CapacityBuffer, of *Scalable) (buffer model.Buffer, pod *corev1.Pod,
	like *model.PodShape) {
	buffer = model.Buffer{
		Namespace: object.Namespace, Name: object.Name,
		UID:        cmp.Or(string(object.UID), "capacity-buffer/"+object.Namespace+"/"+object.Name),
		Generation: object.Generation, CreatedUnix: unix(&object.CreationTimestamp), Shape: -1,
		Strategy: autoscalingv1beta1.ActiveCapacity, Status: bufferStatus(&object.Status),
	}
	if strategy := object.Spec.ProvisioningStrategy; strategy != nil && *strategy != "" {
		buffer.Strategy = *strategy
	}
	key := scalableOf(object)
	if buffer.Reason, buffer.Problem = problemOf(object, key, of); buffer.Problem != "" {
		return buffer, nil, nil
	}
	buffer.Of = key.Kind + " " + key.Name
	if key.Kind == KindPodTemplate {
		buffer.Template, buffer.TemplateGeneration = key.Name, of.Generation
	}
	made := headroomPod(object.Namespace, of.Template)
	its := shape(made)
	var problem string
	if buffer.Replicas, problem = headroomOf(&object.Spec, of.Replicas, its.Requests); problem != "" {
		buffer.Problem, buffer.Reason = problem, model.ResolutionFailed
	}
	if buffer.Replicas == 0 {
		return buffer, nil, nil
	}
	return buffer, made, &its
}

// problemOf returns why it cannot be said what a buffer is of; empty where it can.
func problemOf(object *autoscalingv1beta1.CapacityBuffer, key ScalableKey, of *Scalable) (reason, problem string) {
	if problems := autoscalingv1beta1.Validate(object); len(problems) > 0 {
		return model.ResolutionFailed, strings.Join(problems, "; ")
	}
	if key == (ScalableKey{}) {
		ref := object.Spec.ScalableRef
		return model.ResolutionFailed, fmt.Sprintf("spec.scalableRef: %s of group %q: must be a Deployment, a"+
			" StatefulSet or a ReplicaSet of group apps; name one, or a PodTemplate by"+
			" spec.podTemplateRef", ref.Kind, cmp.Or(ref.APIGroup, "apps"))
	}
	switch {
	case of != nil:
		return "", ""
	case key.Kind == KindPodTemplate:
		return model.PodTemplateNotFound, fmt.Sprintf(
			"spec.podTemplateRef.name: %q: there is no such PodTemplate in namespace %s; create it, or name another",
			key.Name, key.Namespace)
	}
	return model.ScalableRefNotFound, fmt.Sprintf(
		"spec.scalableRef.name: %q: there is no such %s in namespace %s; create it, or name another",
		key.Name, key.Kind, key.Namespace)
}

// bufferStatus returns what a buffer's object says.
func bufferStatus(status *autoscalingv1beta1.CapacityBufferStatus) model.BufferStatus {
	out := model.BufferStatus{}
	if status.PodTemplateRef != nil {
		out.Template = status.PodTemplateRef.Name
	}
	if status.PodTemplateGeneration != nil {
		out.TemplateGeneration = *status.PodTemplateGeneration
	}
	if status.Replicas != nil {
		out.Sized, out.Replicas = true, *status.Replicas
	}
	if status.ProvisioningStrategy != nil {
		out.Strategy = *status.ProvisioningStrategy
	}
	for i := range status.Conditions {
		c := &status.Conditions[i]
		said := model.BufferCondition{Status: string(c.Status), Reason: c.Reason, Message: c.Message,
			Generation: c.ObservedGeneration}
		switch c.Type {
		case autoscalingv1beta1.ConditionReadyForProvisioning:
			out.Ready = said
		case autoscalingv1beta1.ConditionProvisioning:
			out.Provisioning = said
		}
	}
	return out
}

// headroomOf returns for how many pods of these requests there is to be room, of a workload of so many replicas (nil =
// one):
//
//	size  = max(replicas, ⌈scale × percentage / 100⌉)
//	upper = min over the resources that are both limited and requested of ⌊limit ÷ request⌋
//
// It is the smaller of both, and upper where neither replicas nor percentage is given.
func headroomOf(spec *autoscalingv1beta1.CapacityBufferSpec, scale *int32, requests model.Resources) (int32, string) {
	size := int64(-1)
	if spec.Replicas != nil {
		size = int64(*spec.Replicas)
	}
	if spec.Percentage != nil {
		replicas := int64(1)
		if scale != nil {
			replicas = max(0, int64(*scale))
		}
		size = max(size, (replicas*int64(*spec.Percentage)+99)/100)
	}
	limits, problems := amounts(spec.Limits, "spec.limits")
	if len(problems) > 0 {
		return 0, strings.Join(problems, "; ")
	}
	upper := int64(math.MaxInt64)
	for name, limit := range limits { // the least of all: the order does not matter
		if request := requests[name]; request > 0 {
			upper = min(upper, limit/request)
		}
	}
	switch {
	case size < 0 && upper == math.MaxInt64:
		return 0, "spec.limits: names no resource that the pods request, and nothing else sets the number of" +
			" replicas; set spec.replicas, or limit what they request"
	case size < 0:
		size = upper
	default:
		size = min(size, upper)
	}
	if size > maxHeadroom {
		return 0, fmt.Sprintf("spec: requests headroom for %d pods, and a buffer may request at most %d; request"+
			" less, or use several buffers", size, maxHeadroom)
	}
	return int32(size), ""
}

// headroomPod makes the pod of a template that room is kept for: of the lowest priority, without volumes that would
// have to exist, and of nobody.
func headroomPod(namespace string, template *corev1.PodTemplateSpec) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Labels: template.Labels},
		Spec: template.Spec}
	lowest := int32(math.MinInt32)
	pod.Spec.Priority, pod.Spec.PriorityClassName = &lowest, ""
	pod.Spec.NodeName, pod.Spec.SchedulingGates = "", nil
	pod.Spec.Volumes = slices.DeleteFunc(slices.Clone(pod.Spec.Volumes), func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil || v.Ephemeral != nil
	})
	return pod
}
