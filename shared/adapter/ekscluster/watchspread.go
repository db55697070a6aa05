package ekscluster

import (
	"reflect"
	"sync"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// spreader gives pods the cluster's default spread before it hands them on, and again when what selects them changes.
// It exists only where there is a default, as it keeps every pod's row.
type spreader struct {
	constraints []model.Spread
	observe     func(wire.Change)

	mu        sync.Mutex // held while a change is handed on, so that changes of one pod come in order
	selectors translate.Selectors
	pods      map[string]map[string]*spreadPod // by namespace and name
	shapes    wire.Shapes
	count     int // of pods
}

// spreadPod is a pod as it was seen, and the spread it was handed on with.
type spreadPod struct {
	pod   model.Pod
	shape *model.PodShape // shared with its like, without default spread
	own   map[string]string
	last  []model.Spread
}

func newSpreader(constraints []model.Spread, observe func(wire.Change)) *spreader {
	return &spreader{constraints: constraints, observe: observe, pods: make(map[string]map[string]*spreadPod)}
}

// pod hands a pod on; own are its labels that shapes leave out.
func (s *spreader) pod(pod *model.Pod, shape *model.PodShape, own map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compact()
	_, shared := s.shapes.Intern(shape)
	one := &spreadPod{pod: *pod, shape: shared, own: own}
	in := s.pods[pod.Namespace]
	if in == nil {
		in = make(map[string]*spreadPod)
		s.pods[pod.Namespace] = in
	}
	if in[pod.Name] == nil {
		s.count++
	}
	in[pod.Name] = one
	s.notify(one, true)
}

func (s *spreader) podGone(namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if in := s.pods[namespace]; in[name] != nil {
		delete(in, name)
		s.count--
		if len(in) == 0 {
			delete(s.pods, namespace)
		}
	}
	s.observe(wire.Change{Deleted: true, Pod: &model.Pod{Namespace: namespace, Name: name}})
}

// selects takes a Service or a controller that is new or changed, and with gone one that is deleted.
func (s *spreader) selects(namespace string, object any, gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change := s.selectors.Put
	if gone {
		change = s.selectors.Delete
	}
	if !change(object) {
		return // its status changed, and that is most of what happens to controllers
	}
	for _, one := range s.pods[namespace] {
		s.notify(one, false)
	}
}

// notify hands a pod on, where it is not new only with a spread that is another than before.
func (s *spreader) notify(one *spreadPod, fresh bool) {
	shape := *one.shape
	translate.SpreadByDefault(&shape, s.constraints, &s.selectors, one.own)
	if !fresh && reflect.DeepEqual(one.last, shape.Spread) {
		return
	}
	one.last = shape.Spread
	s.observe(wire.Change{Pod: ref(one.pod), Shape: &shape})
}

// compact forgets shapes that no pod has any more, once there are many of them.
func (s *spreader) compact() {
	if s.shapes.Len() < 2*s.count+1000 {
		return
	}
	s.shapes = wire.Shapes{}
	for _, in := range s.pods {
		for _, one := range in {
			_, one.shape = s.shapes.Intern(one.shape)
		}
	}
}
