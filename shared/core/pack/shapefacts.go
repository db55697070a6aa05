package pack

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/terms"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/model"
)

// shapeFacts is what a snapshot's shapes ask for by themselves, whatever nodes and other pods there are: what all plans of a simulator have
// in common. It is read as far as it is asked for, and never forgotten.
type shapeFacts struct {
	shapes          []model.PodShape
	ignorePreferred bool              // preferred node affinity is left to kube-scheduler
	dims            vector.Dimensions // of requests, all that any shape asks for; nil where those are not known yet
	facts           []*facts          // by shape; nil = not read yet
	demands         map[string]*demand
	texts           map[string]int // interned texts, so that keys are short
	firsts          map[string]int // shapes, by key: the first of it
	scratch         *scratch
	spread          int8 // whether any shape has a spread constraint that must hold, in the same way
	guarded         int8 // whether any shape has required anti-affinity: 1 = yes, −1 = no, 0 = not looked up
}

// facts are what one shape asks for by itself. Nothing of it is written to.
type facts struct {
	no        *model.Reason // why it can never be placed; then only demand is set
	demand    *demand
	resources model.Resources // with one of pods at least, and nothing that is 0
	request   vector.Vector   // the same; nil where the shape facts has no dimensions
	key       string          // equal for shapes that differ only in what rules between pods say of them
	like      int             // the first shape of that key that was read
	venue     string          // the venue of its pod groups, volumes and daemons it is apart from aside

	tolerations [][]model.Toleration // of a pod group of one pod in a unit
}

func newShapeFacts(shapes []model.PodShape, ignorePreferred bool) *shapeFacts {
	return &shapeFacts{shapes: shapes, ignorePreferred: ignorePreferred, facts: make([]*facts, len(shapes)), demands: make(map[string]*demand), texts: make(map[string]int), firsts: make(map[string]int)}
}

// of returns what the shape of that index asks for.
func (l *shapeFacts) of(index int) *facts {
	if index < 0 || index >= len(l.shapes) {
		return &facts{no: &model.Reason{Code: input.Invalid, Message: "the snapshot has no spec for the pod", Remedy: "wait for the next snapshot"}}
	}
	if l.facts[index] == nil {
		l.facts[index] = l.read(&l.shapes[index])
		l.note(index, l.facts[index])
	}
	return l.facts[index]
}

func (l *shapeFacts) read(shape *model.PodShape) *facts {
	out := &facts{demand: l.demandOf(shape)}
	if l.dims != nil {
		out.request = l.dims.Vector(shape.Requests)
	}
	out.no = cmp.Or(out.demand.no, unplannable(shape))
	if out.no == nil && (l.dims == nil || slices.Min(out.request) < 0) {
		out.no = negative(shape)
	}
	if out.no != nil {
		return out
	}
	out.resources = l.resourcesOf(shape, out)
	out.tolerations = [][]model.Toleration{shape.Tolerations}
	out.key, out.venue = l.keyOf(shape, out), l.venueOf(shape, out)
	return out
}

// lend returns what pods are grouped with, nothing in it. One at a time has it.
func (l *shapeFacts) lend() *scratch {
	if l.scratch == nil {
		n := len(l.shapes)
		l.scratch = &scratch{make([]*shapeInfo, n), make([]*podGroup, n), make([]*podGroup, n)}
	}
	return l.scratch
}

// note notes which shape was the first of its key.
func (l *shapeFacts) note(index int, f *facts) {
	if f.no != nil {
		return
	}
	first, known := l.firsts[f.key]
	if !known {
		first = index
		l.firsts[f.key] = index
	}
	f.like = first
}

// resourcesOf returns what the shape's pods ask for, and corrects the vector of it where dimensions are known.
func (l *shapeFacts) resourcesOf(shape *model.PodShape, f *facts) model.Resources {
	asked := 0
	for _, amount := range f.request {
		if amount != 0 {
			asked++
		}
	}
	if asked > 0 && asked == len(shape.Requests) && shape.Requests[model.Pods] > 0 { // as it should be
		return shape.Requests
	}
	out := maps.Clone(shape.Requests)
	if out == nil {
		out = make(model.Resources)
	}
	out[model.Pods] = max(1, out[model.Pods])
	maps.DeleteFunc(out, func(_ string, amount int64) bool { return amount == 0 })
	if l.dims != nil {
		f.request = l.dims.Vector(out)
	}
	return out
}

// demandOf reads the shape's node selection; shapes with the same one share it.
func (l *shapeFacts) demandOf(shape *model.PodShape) *demand {
	key := demandKey(shape)
	d, known := l.demands[key]
	if !known {
		d = &demand{id: len(l.demands)}
		d.there, d.no = terms.Required(shape)
		d.forNewNodes()
		for _, term := range d.there {
			d.noteNames(term)
		}
		if !l.ignorePreferred {
			d.preferred = terms.Preferred(shape)
		}
		l.demands[key] = d
	}
	return d
}

// keyOf writes down everything scheduling looks at, rules between pods aside.
func (l *shapeFacts) keyOf(shape *model.PodShape, f *facts) string {
	b := make([]byte, 0, 64)
	number := func(n int64) { b = binary.AppendVarint(b, n) }
	number(int64(f.demand.id))
	number(int64(shape.Priority))
	if l.dims != nil {
		for _, amount := range f.request {
			number(amount)
		}
	} else {
		for _, name := range resource.Names(f.resources) {
			number(int64(l.intern(name)))
			number(f.resources[name])
		}
	}
	number(-1)
	if len(shape.Tolerations) > 0 {
		number(int64(l.intern(terms.KeyOfTolerations(shape.Tolerations))))
	}
	number(-2)
	for _, p := range shape.HostPorts {
		number(int64(l.intern(portKey(p))))
	}
	number(-3)
	return string(b)
}

// venueOf says where new nodes for the shape may be.
func (l *shapeFacts) venueOf(shape *model.PodShape, f *facts) string {
	out := strconv.Itoa(f.demand.id) + "\x00"
	if len(shape.Tolerations) > 0 {
		out += "\x00t" + strconv.Itoa(l.intern(terms.KeyOfTolerations(shape.Tolerations)))
	}
	for _, p := range shape.HostPorts {
		out += "\x00" + portKey(p)
	}
	return out
}

func portKey(p model.HostPort) string { return fmt.Sprintf("%q/%d/%s", p.IP, p.Port, p.Protocol) }

func (l *shapeFacts) intern(text string) int {
	n, known := l.texts[text]
	if !known {
		n = len(l.texts)
		l.texts[text] = n
	}
	return n
}

// spreads reports whether any shape has a spread constraint that must hold.
func (l *shapeFacts) spreads() bool {
	if l.spread == 0 {
		l.spread = -1
		if HasSpreads(l.shapes) {
			l.spread = 1
		}
	}
	return l.spread > 0
}

// guards reports whether any shape has required anti-affinity.
func (l *shapeFacts) guards() bool {
	if l.guarded == 0 {
		l.guarded = -1
		if slices.ContainsFunc(l.shapes, func(s model.PodShape) bool { return len(s.PodAntiAffinity) > 0 }) {
			l.guarded = 1
		}
	}
	return l.guarded > 0
}
