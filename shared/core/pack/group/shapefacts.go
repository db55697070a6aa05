package group

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

// shapeInfo is a pending shape, read once.
type shapeInfo struct {
	*facts
	no                *model.Reason
	guards            []int
	conflicts         []int // DaemonSets whose pods cannot be beside it
	constraints, soft []Constraint
	contributions     []Contribution
	keys              []string
	key               string
	simple            bool // key is what the shape says by itself: no rule is about it
}

// scratch is what is known of shapes while pods are grouped, by shape.
type scratch struct {
	shapes              []*shapeInfo // nil = no pending pod has it
	plain, plainSettled []*PodGroup  // by the first shape that is like theirs: pod groups of pods without rules or volumes
}

// finish adds memberships, once every topology group is known.
func (info *shapeInfo) finish(rules *PodRules, shape *model.PodShape) {
	if rules.Empty() {
		return
	}
	info.contributions = rules.Memberships(shape, info.guards)
	for _, list := range [][]Constraint{info.constraints, info.soft} {
		for u := range list {
			t := &rules.TopologyGroups[list[u].TopologyGroup]
			list[u].Self, list[u].ByHost, list[u].Slot = WeightIn(info.contributions, list[u].TopologyGroup), t.Host, t.slot
		}
	}
	note := func(t int) {
		if topologyGroup := &rules.TopologyGroups[t]; !topologyGroup.Host && !slices.Contains(info.keys, topologyGroup.Key) {
			info.keys = append(info.keys, topologyGroup.Key)
		}
	}
	for _, u := range slices.Concat(info.constraints, info.soft) {
		note(u.TopologyGroup)
	}
	for _, a := range info.contributions {
		note(a.TopologyGroup)
	}
	slices.Sort(info.keys)
}

// ShapeFacts is what a snapshot's shapes ask for by themselves, whatever nodes and other pods there are: what all plans
// of a simulator have in common. It is read as far as it is asked for, and never forgotten.
type ShapeFacts struct {
	shapes          []model.PodShape
	ignorePreferred bool              // preferred node affinity is left to kube-scheduler
	Dims            vector.Dimensions // of requests, all that any shape asks for; nil where those are not known yet
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
	No        *model.Reason // why it can never be placed; then only demand is set
	Demand    *demand
	resources model.Resources // with one of pods at least, and nothing that is 0
	request   vector.Vector   // the same; nil where the shape facts has no dimensions
	key       string          // equal for shapes that differ only in what rules between pods say of them
	like      int             // the first shape of that key that was read
	venue     string          // the venue of its pod groups, volumes and daemons it is apart from aside

	tolerations [][]model.Toleration // of a pod group of one pod in a unit
}

// NewShapeFacts returns what the shapes ask for, none of them read yet.
func NewShapeFacts(shapes []model.PodShape, ignorePreferred bool) *ShapeFacts {
	return &ShapeFacts{shapes: shapes, ignorePreferred: ignorePreferred, facts: make([]*facts, len(shapes)), demands: make(map[string]*demand), texts: make(map[string]int), firsts: make(map[string]int)}
}

// Of returns what the shape of that index asks for.
func (l *ShapeFacts) Of(index int) *facts {
	if index < 0 || index >= len(l.shapes) {
		return &facts{No: &model.Reason{Code: input.Invalid, Message: "the snapshot has no spec for the pod",
			Remedy: "wait for the next snapshot"}}
	}
	if l.facts[index] == nil {
		l.facts[index] = l.read(&l.shapes[index])
		l.note(index, l.facts[index])
	}
	return l.facts[index]
}

func (l *ShapeFacts) read(shape *model.PodShape) *facts {
	out := &facts{Demand: l.demandOf(shape)}
	if l.Dims != nil {
		out.request = l.Dims.Vector(shape.Requests)
	}
	out.No = cmp.Or(out.Demand.no, unplannable(shape))
	if out.No == nil && (l.Dims == nil || slices.Min(out.request) < 0) {
		out.No = negative(shape)
	}
	if out.No != nil {
		return out
	}
	out.resources = l.resourcesOf(shape, out)
	out.tolerations = [][]model.Toleration{shape.Tolerations}
	out.key, out.venue = l.keyOf(shape, out), l.venueOf(shape, out)
	return out
}

// lend returns what pods are grouped with, nothing in it. One at a time has it.
func (l *ShapeFacts) lend() *scratch {
	if l.scratch == nil {
		n := len(l.shapes)
		l.scratch = &scratch{make([]*shapeInfo, n), make([]*PodGroup, n), make([]*PodGroup, n)}
	}
	return l.scratch
}

// note notes which shape was the first of its key.
func (l *ShapeFacts) note(index int, f *facts) {
	if f.No != nil {
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
func (l *ShapeFacts) resourcesOf(shape *model.PodShape, f *facts) model.Resources {
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
	if l.Dims != nil {
		f.request = l.Dims.Vector(out)
	}
	return out
}

// demandOf reads the shape's node selection; shapes with the same one share it.
func (l *ShapeFacts) demandOf(shape *model.PodShape) *demand {
	key := demandKey(shape)
	d, known := l.demands[key]
	if !known {
		d = &demand{id: len(l.demands)}
		d.There, d.no = terms.Required(shape)
		d.forNewNodes()
		for _, term := range d.There {
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
func (l *ShapeFacts) keyOf(shape *model.PodShape, f *facts) string {
	b := make([]byte, 0, 64)
	number := func(n int64) { b = binary.AppendVarint(b, n) }
	number(int64(f.Demand.id))
	number(int64(shape.Priority))
	if l.Dims != nil {
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
func (l *ShapeFacts) venueOf(shape *model.PodShape, f *facts) string {
	out := strconv.Itoa(f.Demand.id) + "\x00"
	if len(shape.Tolerations) > 0 {
		out += "\x00t" + strconv.Itoa(l.intern(terms.KeyOfTolerations(shape.Tolerations)))
	}
	for _, p := range shape.HostPorts {
		out += "\x00" + portKey(p)
	}
	return out
}

func portKey(p model.HostPort) string { return fmt.Sprintf("%q/%d/%s", p.IP, p.Port, p.Protocol) }

func (l *ShapeFacts) intern(text string) int {
	n, known := l.texts[text]
	if !known {
		n = len(l.texts)
		l.texts[text] = n
	}
	return n
}

// Spreads reports whether any shape has a spread constraint that must hold.
func (l *ShapeFacts) Spreads() bool {
	if l.spread == 0 {
		l.spread = -1
		if HasSpreads(l.shapes) {
			l.spread = 1
		}
	}
	return l.spread > 0
}

// guards reports whether any shape has required anti-affinity.
func (l *ShapeFacts) guards() bool {
	if l.guarded == 0 {
		l.guarded = -1
		if slices.ContainsFunc(l.shapes, func(s model.PodShape) bool { return len(s.PodAntiAffinity) > 0 }) {
			l.guarded = 1
		}
	}
	return l.guarded > 0
}

// HasSpreads reports whether any of the shapes has a topology spread constraint that must hold.
func HasSpreads(shapes []model.PodShape) bool {
	return slices.ContainsFunc(shapes, func(s model.PodShape) bool {
		return slices.ContainsFunc(s.Spread, func(c model.Spread) bool { return !c.Anyway })
	})
}
