package expression

import (
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
)

// Projection selects parts of an item. The nil Projection selects everything.
type Projection struct {
	Paths []Path
	root  *branch
}

// branch is one place on the way to the selected parts; a leaf selects all below it.
type branch struct {
	leaf     bool
	fields   map[string]*branch
	elements map[int]*branch
}

// ParseProjection parses a ProjectionExpression.
func ParseProjection(text string, env *Env) (*Projection, error) {
	return run("ProjectionExpression", text, env, func(p *parser) *Projection {
		paths := []Path{p.path()}
		for p.accept(",") {
			paths = append(paths, p.path())
		}
		p.faults.add(pathsOverlap, checkDisjoint(paths))
		return NewProjection(paths)
	})
}

// NewProjection makes a projection of paths that do not overlap.
func NewProjection(paths []Path) *Projection {
	root := &branch{}
	for _, path := range paths {
		at := root
		for _, step := range path {
			at = at.child(step)
		}
		at.leaf = true
	}
	return &Projection{Paths: paths, root: root}
}

func (b *branch) child(step Step) *branch {
	if step.IsIndex {
		if b.elements == nil {
			b.elements = map[int]*branch{}
		}
		if b.elements[step.Index] == nil {
			b.elements[step.Index] = &branch{}
		}
		return b.elements[step.Index]
	}
	if b.fields == nil {
		b.fields = map[string]*branch{}
	}
	if b.fields[step.Name] == nil {
		b.fields[step.Name] = &branch{}
	}
	return b.fields[step.Name]
}

// Of returns the selected parts of the item; list elements close ranks in their order. Of nil is nil.
func (p *Projection) Of(item attribute.Item) attribute.Item {
	if p == nil || item == nil {
		return item
	}
	return p.root.ofFields(item)
}

func (b *branch) of(v attribute.Value) attribute.Value {
	switch {
	case b.leaf:
		return v
	case v.Kind == attribute.M && len(b.fields) > 0:
		if fields := b.ofFields(v.Map); len(fields) > 0 {
			return attribute.Map(fields)
		}
	case v.Kind == attribute.L && len(b.elements) > 0:
		if elements := b.ofElements(v.List); len(elements) > 0 {
			return attribute.List(elements...)
		}
	}
	return attribute.Value{}
}

func (b *branch) ofFields(fields map[string]attribute.Value) map[string]attribute.Value {
	selected := map[string]attribute.Value{}
	for name, below := range b.fields {
		if v := below.of(fields[name]); !v.IsAbsent() {
			selected[name] = v
		}
	}
	return selected
}

func (b *branch) ofElements(list []attribute.Value) []attribute.Value {
	var selected []attribute.Value
	for _, i := range slices.Sorted(maps.Keys(b.elements)) {
		if i >= len(list) {
			break
		}
		if v := b.elements[i].of(list[i]); !v.IsAbsent() {
			selected = append(selected, v)
		}
	}
	return selected
}
