package expression

import (
	"fmt"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
)

// Path names an attribute or a part of one: a top-level name, then map fields and list indexes.
type Path []Step

// Step is one step of a path: a list index if IsIndex, a name otherwise.
type Step struct {
	Name    string
	Index   int
	IsIndex bool
}

// Top returns the name of the top-level attribute the path starts at.
func (p Path) Top() string { return p[0].Name }

// String renders the path as AWS does in messages: [pods, [1], name].
func (p Path) String() string {
	parts := make([]string, len(p))
	for i, s := range p {
		parts[i] = s.Name
		if s.IsIndex {
			parts[i] = fmt.Sprintf("[%d]", s.Index)
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// In returns the value at the path, absent when the item has none.
func (p Path) In(item attribute.Item) attribute.Value {
	v := item[p.Top()]
	for _, step := range p[1:] {
		v = step.in(v)
	}
	return v
}

func (s Step) in(v attribute.Value) attribute.Value {
	switch {
	case s.IsIndex && v.Kind == attribute.L && s.Index < len(v.List):
		return v.List[s.Index]
	case !s.IsIndex && v.Kind == attribute.M:
		return v.Map[s.Name]
	}
	return attribute.Value{}
}

func (p Path) equal(o Path) bool {
	return len(p) == len(o) && p.commonSteps(o) == len(p)
}

func (p Path) commonSteps(o Path) int {
	n := 0
	for n < len(p) && n < len(o) && p[n] == o[n] {
		n++
	}
	return n
}

// checkDisjoint refuses two paths of one expression that overlap (one leads to the other or to the same
// place) or conflict (one treats as a list what the other treats as a map).
func checkDisjoint(paths []Path) error {
	for i, one := range paths {
		for _, two := range paths[:i] {
			common := one.commonSteps(two)
			problem := ""
			switch {
			case common == len(one) || common == len(two):
				problem = "overlap"
			case one[common].IsIndex != two[common].IsIndex:
				problem = "conflict"
			}
			if problem != "" {
				return invalidf("Two document paths %s with each other; must remove or rewrite one of these paths; "+
					"path one: %s, path two: %s", problem, two, one)
			}
		}
	}
	return nil
}
