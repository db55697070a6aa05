package translate

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"github.com/joiner-sh/joiner/shared/model"
)

// systemPriorities are the classes every cluster has.
var systemPriorities = map[string]int32{
	"system-cluster-critical": 2_000_000_000,
	"system-node-critical":    2_000_001_000,
}

// prioritize gives a shape the priority of its class, or of the default class where it names none; with policy whether
// it preempts, too.
func (b *Builder) prioritize(shape *model.PodShape, policy bool) {
	class := b.priorities[shape.PriorityClass]
	if shape.PriorityClass == "" {
		class = b.defaultPriority()
	}
	if class == nil {
		shape.Priority = systemPriorities[shape.PriorityClass]
		return
	}
	shape.PriorityClass, shape.Priority = class.Name, class.Value
	if policy && class.PreemptionPolicy != nil {
		shape.NoPreemption = *class.PreemptionPolicy == corev1.PreemptNever
	}
}

// defaultPriority returns the class of pods that name none, nil where there is none: of several the lowest, as
// admission has it, and of equals the first by name.
func (b *Builder) defaultPriority() *schedulingv1.PriorityClass {
	var lowest *schedulingv1.PriorityClass
	for _, name := range slices.Sorted(maps.Keys(b.priorities)) {
		if class := b.priorities[name]; class.GlobalDefault && (lowest == nil || class.Value < lowest.Value) {
			lowest = class
		}
	}
	return lowest
}

// defaultClass returns the storage class of claims that name none, the first by name of several; empty for none.
func (b *Builder) defaultClass() string {
	first := ""
	for i := range b.snapshot.Storage {
		if c := &b.snapshot.Storage[i]; c.Default && (first == "" || c.Name < first) {
			first = c.Name
		}
	}
	return first
}

// runIn adds what a runtime class takes for itself and where it can run. The two parts of a request are rounded up
// each, so that fractions of a unit may count once too often.
func runIn(shape *model.PodShape, class *nodev1.RuntimeClass, overhead bool) {
	if overhead && class.Overhead != nil {
		extra, problems := rounded(class.Overhead.PodFixed, "overhead.podFixed", roundUp)
		shape.Requests = maps.Clone(shape.Requests)
		for _, name := range slices.Sorted(maps.Keys(extra)) {
			if extra[name] == 0 {
				continue
			}
			sum := shape.Requests[name] + extra[name]
			if sum < 0 { // both are not negative, so that the sum went beyond what 64 bits count
				problems = append(problems, fmt.Sprintf(
					"overhead.podFixed[%s]: is more than 64 bits hold, together with what the pod requests", name))
				continue
			}
			shape.Requests[name] = sum
		}
		for _, problem := range problems {
			shape.Unsupported = append(slices.Clip(shape.Unsupported),
				fmt.Sprintf("RuntimeClass %s: %s", class.Name, problem))
		}
	}
	if class.Scheduling == nil {
		return
	}
	selector := maps.Clone(shape.NodeSelector)
	for _, key := range slices.Sorted(maps.Keys(class.Scheduling.NodeSelector)) {
		value := class.Scheduling.NodeSelector[key]
		if own, ok := selector[key]; ok && own != value {
			shape.Unsupported = append(slices.Clip(shape.Unsupported), fmt.Sprintf(
				"spec.nodeSelector[%s]: %q: RuntimeClass %s has %q there; use that or another class",
				key, own, class.Name, value))
			continue
		}
		if selector == nil {
			selector = make(map[string]string)
		}
		selector[key] = value
	}
	shape.NodeSelector = nonEmpty(selector)
	shape.Tolerations = append(slices.Clip(shape.Tolerations), tolerations(class.Scheduling.Tolerations)...)
}
