package ekscluster

import (
	"reflect"
	"sync"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// daemons joins DaemonSets with the newest pod each was seen to have: the next one will be like it. A change of either
// is a change of the DaemonSet. A pod stays the sample after its end, as long as nothing newer comes.
type daemons struct {
	observe func(wire.Change)

	mu   sync.Mutex // held while a change is handed on, so that changes of one DaemonSet come in order
	sets map[objectKey]*daemon
}

type daemon struct {
	set      *model.DaemonSet // nil while only pods of it were seen
	template *model.PodShape
	sample   *model.PodShape // nil = no pod seen
	made     int64           // when the sample's pod was, Unix
	last     *model.PodShape // what was handed on last
}

func newDaemons(observe func(wire.Change)) *daemons {
	return &daemons{observe: observe, sets: make(map[objectKey]*daemon)}
}

func (d *daemons) of(key objectKey) *daemon {
	if d.sets[key] == nil {
		d.sets[key] = &daemon{}
	}
	return d.sets[key]
}

func (d *daemons) changed(c wire.Change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one := d.of(objectKey{c.DaemonSet.Namespace, c.DaemonSet.Name})
	if one.set == nil || one.set.UID != c.DaemonSet.UID {
		one.last = nil
	}
	one.set, one.template = c.DaemonSet, c.Shape
	d.notify(one)
}

func (d *daemons) gone(namespace, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.sets, objectKey{namespace, name})
	d.observe(wire.Change{Deleted: true, DaemonSet: &model.DaemonSet{Namespace: namespace, Name: name}})
}

// pod looks at a pod of any owner.
func (d *daemons) pod(pod *model.Pod, shape *model.PodShape) {
	if shape.OwnerKind != "DaemonSet" || pod.Terminal() || pod.DeletedUnix != 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	one := d.of(objectKey{pod.Namespace, shape.OwnerName})
	if one.sample != nil && pod.CreatedUnix < one.made {
		return
	}
	one.sample, one.made = shape, pod.CreatedUnix
	if one.set != nil {
		d.notify(one)
	}
}

// notify hands the DaemonSet on where its shape is another than before.
func (d *daemons) notify(one *daemon) {
	shape := translate.DaemonShape(one.template, one.sample)
	if one.last != nil && reflect.DeepEqual(one.last, shape) {
		return
	}
	one.last = shape
	d.observe(wire.Change{DaemonSet: ref(*one.set), Shape: ref(*shape)})
}
