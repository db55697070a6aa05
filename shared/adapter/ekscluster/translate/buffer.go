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

	"github.com/joiner-sh/joiner/shared/api/autoscalingv1beta1"
	"github.com/joiner-sh/joiner/shared/model"
)

// maxHeadroom is for how many pods one buffer keeps room.
const maxHeadroom = 10_000

// Buffer is a CapacityBuffer with what became of it.
type Buffer struct {
	Namespace, Name string
	Of              string // whose pods the room is for: "PodTemplate web", "Deployment web"
	Replicas        int32  // for how many pods room is kept
	Problem         string // why for none, a sentence naming field, value and remedy; empty = there is nothing wrong
}

// Key returns namespace/name.
func (b *Buffer) Key() string { return b.Namespace + "/" + b.Name }

// templateKey names what a buffer can be of.
type templateKey struct{ kind, namespace, name string }

// scalable is a template and how many pods there are to be of it; replicas is nil where nobody says.
type scalable struct {
	template *corev1.PodTemplateSpec
	replicas *int32
}

// addScalable takes what a buffer can be of, false where the object is none.
func (b *Builder) addScalable(object any) bool {
	keep := func(kind string, meta *metav1.ObjectMeta, template *corev1.PodTemplateSpec, replicas *int32) {
		if b.Headroom {
			put(&b.scalables, templateKey{kind, meta.Namespace, meta.Name}, scalable{template, replicas})
		}
	}
	switch o := object.(type) {
	case *corev1.PodTemplate:
		keep("PodTemplate", &o.ObjectMeta, &o.Template, nil)
	case *appsv1.Deployment:
		keep("Deployment", &o.ObjectMeta, &o.Spec.Template, o.Spec.Replicas)
	case *appsv1.StatefulSet:
		keep("StatefulSet", &o.ObjectMeta, &o.Spec.Template, o.Spec.Replicas)
	case *appsv1.ReplicaSet:
		keep("ReplicaSet", &o.ObjectMeta, &o.Spec.Template, o.Spec.Replicas)
	default:
		return false
	}
	return true
}

// Buffers returns the CapacityBuffers that were added, by namespace and name, once Snapshot was asked for; it is then that what they
// name is looked up.
func (b *Builder) Buffers() []Buffer { return b.resolved }

// addHeadroom adds the room that buffers ask for to the pods.
func (b *Builder) addHeadroom() {
	buffers := sorted(b.buffers, func(o **autoscalingv1beta1.CapacityBuffer) (string, string) { return (*o).Namespace, (*o).Name })
	var room []model.Pod
	for _, object := range buffers {
		buffer := Buffer{Namespace: object.Namespace, Name: object.Name}
		var of scalable
		if buffer.Of, of, buffer.Problem = b.scalableOf(object); buffer.Problem == "" {
			shape := headroomShape(object.Namespace, of.template)
			if buffer.Replicas, buffer.Problem = headroomOf(&object.Spec, of.replicas, shape.shape.Requests); buffer.Replicas > 0 {
				room = append(room, b.headroom(object, &shape, buffer.Replicas)...)
			}
		}
		b.resolved = append(b.resolved, buffer)
	}
	b.snapshot.Pods = append(room, b.snapshot.Pods...) // of one name, the pod counts
}

// scalableOf looks up what a buffer is of.
func (b *Builder) scalableOf(buffer *autoscalingv1beta1.CapacityBuffer) (name string, of scalable, problem string) {
	if problems := autoscalingv1beta1.Validate(buffer); len(problems) > 0 {
		return "", scalable{}, strings.Join(problems, "; ")
	}
	if ref := buffer.Spec.PodTemplateRef; ref != nil {
		of, known := b.scalables[templateKey{"PodTemplate", buffer.Namespace, ref.Name}]
		if !known {
			return "", of, fmt.Sprintf("spec.podTemplateRef.name: %q: there is no such PodTemplate in namespace %s; make it, or name another", ref.Name, buffer.Namespace)
		}
		return "PodTemplate " + ref.Name, of, ""
	}
	ref := buffer.Spec.ScalableRef
	if group := cmp.Or(ref.APIGroup, "apps"); group != "apps" || !slices.Contains([]string{"Deployment", "StatefulSet", "ReplicaSet"}, ref.Kind) {
		return "", scalable{}, fmt.Sprintf("spec.scalableRef: %s of group %q: must be a Deployment, a StatefulSet or a ReplicaSet of group apps; name one, or a PodTemplate by spec.podTemplateRef", ref.Kind, group)
	}
	of, known := b.scalables[templateKey{ref.Kind, buffer.Namespace, ref.Name}]
	if !known {
		return "", of, fmt.Sprintf("spec.scalableRef.name: %q: there is no such %s in namespace %s; make it, or name another", ref.Name, ref.Kind, buffer.Namespace)
	}
	return ref.Kind + " " + ref.Name, of, ""
}

// headroomOf returns for how many pods of these requests there is to be room, of a workload of so many replicas (nil = one):
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
		return 0, "spec.limits: names no resource that the pods request, and nothing else says for how many there is to be room; set spec.replicas, or limit what they request"
	case size < 0:
		size = upper
	default:
		size = min(size, upper)
	}
	if size > maxHeadroom {
		return 0, fmt.Sprintf("spec: comes to room for %d pods, and a buffer may keep room for %d at most; ask for less, or by several buffers", size, maxHeadroom)
	}
	return int32(size), ""
}

// headroomPod is the pod that room is kept for, and its shape.
type headroomPod struct {
	pod   *corev1.Pod
	shape model.PodShape
}

// headroomShape makes the pod of a template that room is kept for: of the lowest priority, without volumes that would have to exist,
// and of nobody.
func headroomShape(namespace string, template *corev1.PodTemplateSpec) headroomPod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Labels: template.Labels}, Spec: template.Spec}
	lowest := int32(math.MinInt32)
	pod.Spec.Priority, pod.Spec.PriorityClassName = &lowest, ""
	pod.Spec.NodeName, pod.Spec.SchedulingGates = "", nil
	pod.Spec.Volumes = slices.DeleteFunc(slices.Clone(pod.Spec.Volumes), func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil || v.Ephemeral != nil
	})
	return headroomPod{pod, shape(pod)}
}

// headroom returns the room of n such pods.
func (b *Builder) headroom(buffer *autoscalingv1beta1.CapacityBuffer, of *headroomPod, n int32) []model.Pod {
	shape := b.drafts.add(b.draft(of.pod, &of.shape))
	key := buffer.Namespace + "/" + buffer.Name
	uid := cmp.Or(string(buffer.UID), "capacity-buffer/"+key)
	out := make([]model.Pod, n)
	for i := range out {
		out[i] = model.Pod{
			UID: fmt.Sprintf("%s-%d", uid, i), Namespace: buffer.Namespace, Name: fmt.Sprintf("capacity-buffer-%s-%d", buffer.Name, i),
			Shape: shape, Unschedulable: true, CreatedUnix: unix(&buffer.CreationTimestamp), Buffer: key,
		}
	}
	return out
}
