package translate

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// draft is a shape together with what has yet to be looked up in other objects to complete it. Equal drafts become
// equal shapes.
type draft struct {
	shape *model.PodShape // the one copy of drafts.shapes

	priorityOpen bool   // the priority is that of its class
	policyOpen   bool   // and so is whether it preempts
	runtimeClass string // whose place, and unless overheadSet whose overhead, is not in yet; empty = none
	overheadSet  bool
	own          ownLabels // only where default spread looks at labels
}

// ownLabels are the values of perPodKeys.
type ownLabels [3]string

// drafts is the dictionary of drafts. The zero value is empty and ready.
type drafts struct {
	shapes wire.Shapes
	number map[draft]int
	list   []draft // by number
}

func (d *drafts) add(one draft) int {
	_, one.shape = d.shapes.Intern(one.shape)
	if n, ok := d.number[one]; ok {
		return n
	}
	if d.number == nil {
		d.number = make(map[draft]int)
	}
	n := len(d.list)
	d.number[one] = n
	d.list = append(d.list, one)
	return n
}

// draft says what of a pod is open. A pod with a UID came from an API server, which has filled in everything but, in
// clusters of old, the priority.
func (b *Builder) draft(pod *corev1.Pod, shape *model.PodShape) draft {
	spec := &pod.Spec
	stored := pod.UID != ""
	out := draft{shape: shape}
	out.priorityOpen = spec.Priority == nil && (spec.PriorityClassName != "" || !stored)
	out.policyOpen = out.priorityOpen && spec.PreemptionPolicy == nil
	if spec.RuntimeClassName != nil && !stored {
		out.runtimeClass, out.overheadSet = *spec.RuntimeClassName, len(spec.Overhead) > 0
	}
	if len(b.DefaultSpread) > 0 && len(shape.Spread) == 0 {
		out.own = ownLabelsOf(pod)
	}
	return out
}

// finish completes the shapes and numbers them.
func (b *Builder) finish() {
	s := &b.snapshot
	var final wire.Shapes
	shapes := make([]*model.PodShape, len(b.drafts.list)) // by number of the draft; nil = not complete yet
	numbers := make([]int, len(b.drafts.list))            // of the final shapes
	complete := func(draft int) {
		if shapes[draft] == nil {
			shape := b.complete(&b.drafts.list[draft])
			numbers[draft], shapes[draft] = final.Intern(&shape)
		}
	}
	newest := newestDaemons(s.Pods, b.drafts.list)
	for i := range s.Pods {
		draft := s.Pods[i].Shape
		complete(draft)
		s.Pods[i].Shape = numbers[draft]
	}
	for i := range s.DaemonSets {
		set := &s.DaemonSets[i]
		template := b.complete(&b.drafts.list[set.Shape])
		shape := &template
		if at, ok := newest[daemonKey{set.Namespace, set.Name}]; ok {
			shape = DaemonShape(shape, shapes[at])
		}
		set.Shape, _ = final.Intern(shape)
	}
	for i := range s.Buffers {
		if buffer := &s.Buffers[i]; buffer.Replicas > 0 {
			complete(buffer.Shape)
			buffer.Shape = numbers[buffer.Shape]
		}
	}
	s.Shapes = final.From(0)
}

// complete returns the shape with everything looked up. What is missing is left as it is.
func (b *Builder) complete(d *draft) model.PodShape {
	shape := *d.shape
	if d.priorityOpen {
		b.prioritize(&shape, d.policyOpen)
	}
	if class, ok := b.runtimes[d.runtimeClass]; ok {
		runIn(&shape, class, !d.overheadSet)
	}
	SpreadByDefault(&shape, b.DefaultSpread, &b.selectors, d.own.labels())
	return shape
}
