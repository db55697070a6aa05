package translate

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// ParseDefaultSpread reads what kube-scheduler's configuration has under defaultConstraints of PodTopologySpread (YAML
// or JSON), and nil from an empty text or the word "none". Invalid, with the place, where kube-scheduler would refuse
// it.
//
// Without configuration kube-scheduler prefers, for pods of a Service or of a controller, no more than three beyond the
// rest per node and five per zone. Those are preferences: nothing that is planned can break them, so that they are
// not repeated here.
func ParseDefaultSpread(text string) ([]model.Spread, error) {
	if strings.TrimSpace(text) == "none" {
		return nil, nil
	}
	var list []corev1.TopologySpreadConstraint
	if err := yaml.UnmarshalStrict([]byte(text), &list); err != nil {
		return nil, fault.Wrap(fault.Invalid, "", err, "read default spread")
	}
	t := &terms{}
	var out []model.Spread
	for i := range list {
		at := field.NewPath("defaultConstraints").Index(i)
		c := &list[i]
		if c.LabelSelector != nil {
			t.complain("%s.labelSelector: must be left out; it is found for each pod", at)
		}
		if c.WhenUnsatisfiable == "" {
			t.complain("%s.whenUnsatisfiable: %q: must be DoNotSchedule or ScheduleAnyway", at, "")
		}
		out = append(out, t.spread(at, c))
		for j := range out[:i] {
			if out[j].TopologyKey == out[i].TopologyKey && out[j].Anyway == out[i].Anyway {
				t.complain("%s: %s is constrained twice", at, c.TopologyKey)
			}
		}
	}
	if len(t.problems) > 0 {
		return nil, fault.New(fault.Invalid, "", "default spread: %s", t.problems[0])
	}
	return out, nil
}

// SpreadByDefault gives a shape without spread of its own the default constraints, over the pods that are its like as
// kube-scheduler finds them: those of the Services that select the pod and of its controller. A pod that has neither is
// left alone. own are the pod's labels that shapes leave out.
func SpreadByDefault(shape *model.PodShape, constraints []model.Spread, selectors *Selectors, own map[string]string) {
	if len(constraints) == 0 || len(shape.Spread) > 0 {
		return
	}
	like, found := selectors.like(shape, own)
	if !found {
		return
	}
	shape.Spread = slices.Clone(constraints)
	for i := range shape.Spread {
		shape.Spread[i].Selector = like
	}
}

// Selectors knows by what Services and controllers select their pods. The zero value is empty and ready. It is for one
// goroutine at a time.
type Selectors struct {
	services map[string]map[string]map[string]string // namespace, name: labels
	owners   map[ownerKey]*model.Selector
}

type ownerKey struct{ kind, namespace, name string }

// Put takes a Service, ReplicationController, ReplicaSet or StatefulSet, leaves any other object alone, and returns
// whether that changes what selects pods.
func (s *Selectors) Put(object any) bool {
	switch o := object.(type) {
	case *corev1.Service:
		if o.Spec.Selector == nil { // selects nothing, where an empty one selects everything
			return s.Delete(o)
		}
		if have, ok := s.services[o.Namespace][o.Name]; ok && maps.Equal(have, o.Spec.Selector) {
			return false
		}
		if s.services == nil {
			s.services = make(map[string]map[string]map[string]string)
		}
		if s.services[o.Namespace] == nil {
			s.services[o.Namespace] = make(map[string]map[string]string)
		}
		s.services[o.Namespace][o.Name] = o.Spec.Selector
		return true
	case *corev1.ReplicationController:
		return s.own("ReplicationController", o, &model.Selector{MatchLabels: nonEmpty(o.Spec.Selector)})
	case *appsv1.ReplicaSet:
		return s.own("ReplicaSet", o, readable(o.Spec.Selector))
	case *appsv1.StatefulSet:
		return s.own("StatefulSet", o, readable(o.Spec.Selector))
	}
	return false
}

// Delete forgets an object that was put, of which namespace and name are enough, and returns whether it was there.
func (s *Selectors) Delete(object any) bool {
	switch o := object.(type) {
	case *corev1.Service:
		_, there := s.services[o.Namespace][o.Name]
		delete(s.services[o.Namespace], o.Name)
		return there
	case *corev1.ReplicationController:
		return s.disown(ownerKey{"ReplicationController", o.Namespace, o.Name})
	case *appsv1.ReplicaSet:
		return s.disown(ownerKey{"ReplicaSet", o.Namespace, o.Name})
	case *appsv1.StatefulSet:
		return s.disown(ownerKey{"StatefulSet", o.Namespace, o.Name})
	}
	return false
}

func (s *Selectors) own(kind string, o metav1.Object, by *model.Selector) bool {
	key := ownerKey{kind, o.GetNamespace(), o.GetName()}
	if have, ok := s.owners[key]; ok && reflect.DeepEqual(have, by) {
		return false
	}
	put(&s.owners, key, by)
	return true
}

func (s *Selectors) disown(key ownerKey) bool {
	_, there := s.owners[key]
	delete(s.owners, key)
	return there
}

// readable returns a selector; nil for none and for one that cannot be read, which say nothing.
func readable(s *metav1.LabelSelector) *model.Selector {
	if _, err := metav1.LabelSelectorAsSelector(s); err != nil {
		return nil
	}
	return selector(s)
}

// like returns what selects the pods that are like one of the shape; false where nothing does. A nil selector stands
// for one that only the pod itself can match, as that of a Service for one pod of a StatefulSet: spread over nobody
// else is met everywhere.
func (s *Selectors) like(shape *model.PodShape, own map[string]string) (*model.Selector, bool) {
	labels := make(map[string]string)
	for _, by := range s.services[shape.Namespace] {
		if selects(by, shape.Labels, own) {
			maps.Copy(labels, by)
		}
	}
	var expressions []model.Requirement
	if by := s.owners[ownerKey{shape.OwnerKind, shape.Namespace, shape.OwnerName}]; by != nil {
		for _, key := range slices.Sorted(maps.Keys(by.MatchLabels)) {
			value := by.MatchLabels[key]
			if have, ok := labels[key]; ok && have != value && shape.OwnerKind != "ReplicationController" {
				expressions = append(expressions,
					model.Requirement{Key: key, Operator: model.In, Values: []string{value}})
				continue
			}
			labels[key] = value
		}
		expressions = append(expressions, by.Expressions...)
	}
	if len(labels)+len(expressions) == 0 {
		return nil, false
	}
	for key := range labels {
		if perPod(key) {
			return nil, true
		}
	}
	slices.SortStableFunc(expressions, func(a, b model.Requirement) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Operator, b.Operator),
			slices.Compare(a.Values, b.Values))
	})
	return &model.Selector{MatchLabels: nonEmpty(labels), Expressions: expressions}, true
}

// selects reports whether a Service's labels are all among the pod's.
func selects(by, labels, own map[string]string) bool {
	for key, value := range by {
		have, ok := labels[key]
		if !ok {
			have, ok = own[key]
		}
		if !ok || have != value {
			return false
		}
	}
	return true
}

// OwnLabels returns the labels of a pod that its shape leaves out; nil for none.
func OwnLabels(pod *corev1.Pod) map[string]string { return ownLabelsOf(pod).labels() }

func ownLabelsOf(pod *corev1.Pod) ownLabels {
	var out ownLabels
	for i, key := range perPodKeys {
		out[i] = pod.Labels[key]
	}
	return out
}

func (o ownLabels) labels() map[string]string {
	var out map[string]string
	for i, key := range perPodKeys {
		if o[i] != "" {
			put(&out, key, o[i])
		}
	}
	return out
}
