package events

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Pattern is a parsed event pattern. The zero value matches every event.
type Pattern struct {
	root *node
}

// node is one object of a pattern: all its fields must match, and one branch of its $or.
type node struct {
	fields []field
	or     []*node
}

// field is one name of a pattern object: either an object below it or a list of matchers, one of which must hold.
type field struct {
	name     string
	below    *node
	matchers []matcher
}

// maxDepth bounds the nesting of a pattern.
const maxDepth = 32

// ParsePattern reads a pattern in EventBridge's JSON form. The error names the field it is about.
func ParsePattern(pattern []byte) (Pattern, error) {
	root, err := parseNode(pattern, 0)
	if err != nil {
		return Pattern{}, fmt.Errorf("parse event pattern: %w", err)
	}
	if len(root.fields) == 0 && len(root.or) == 0 {
		return Pattern{}, errors.New("parse event pattern: it is empty")
	}
	return Pattern{root: root}, nil
}

func parseNode(raw json.RawMessage, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested more than %d deep", maxDepth)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, fmt.Errorf("want an object: %w", err)
	}
	if members == nil {
		return nil, errors.New("want an object, got null")
	}
	n := &node{}
	for name, value := range members {
		var err error
		if name == "$or" {
			n.or, err = parseOr(value, depth)
		} else {
			err = n.addField(name, value, depth)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return n, nil
}

func (n *node) addField(name string, value json.RawMessage, depth int) error {
	var alternatives []json.RawMessage
	if json.Unmarshal(value, &alternatives) == nil && alternatives != nil {
		matchers, err := parseMatchers(alternatives)
		if err != nil {
			return err
		}
		n.fields = append(n.fields, field{name: name, matchers: matchers})
		return nil
	}
	below, err := parseNode(value, depth+1)
	if err != nil {
		return fmt.Errorf("want an array or an object: %w", err)
	}
	n.fields = append(n.fields, field{name: name, below: below})
	return nil
}

func parseOr(value json.RawMessage, depth int) ([]*node, error) {
	var branches []json.RawMessage
	if err := json.Unmarshal(value, &branches); err != nil || len(branches) < 2 {
		return nil, errors.New("want an array of at least two objects")
	}
	nodes := make([]*node, 0, len(branches))
	for i, branch := range branches {
		n, err := parseNode(branch, depth+1)
		if err != nil {
			return nil, fmt.Errorf("branch %d: %w", i, err)
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// Matches says whether the event, a JSON object, matches. What is no JSON object matches only the zero pattern.
func (p Pattern) Matches(event []byte) bool {
	if p.root == nil {
		return true
	}
	var value map[string]any
	if err := json.Unmarshal(event, &value); err != nil {
		return false
	}
	return p.root.matches(value)
}

func (n *node) matches(object map[string]any) bool {
	for _, f := range n.fields {
		if !f.matches(object) {
			return false
		}
	}
	return len(n.or) == 0 || slices.ContainsFunc(n.or, func(branch *node) bool { return branch.matches(object) })
}

func (f field) matches(object map[string]any) bool {
	value, present := object[f.name]
	if f.below != nil {
		return matchesBelow(f.below, value)
	}
	leaves := leavesOf(value, present)
	for _, matches := range f.matchers {
		if matches(leaves) {
			return true
		}
	}
	return false
}

// matchesBelow descends into an object or into the elements of an array, one of which must match as a whole. What is
// absent is descended into as an empty object, for a pattern may ask for that by exists.
func matchesBelow(below *node, value any) bool {
	switch value := value.(type) {
	case map[string]any:
		return below.matches(value)
	case []any:
		return slices.ContainsFunc(value, func(element any) bool { return matchesBelow(below, element) })
	case nil:
		return below.matches(nil)
	}
	return false
}

// leavesOf returns the values that matchers look at: the value itself, or the elements of an array, nested ones too.
// Objects are no leaves. The result is nil when there is none.
func leavesOf(value any, present bool) []any {
	if !present {
		return nil
	}
	switch value := value.(type) {
	case map[string]any:
		return nil
	case []any:
		var leaves []any
		for _, element := range value {
			leaves = append(leaves, leavesOf(element, true)...)
		}
		return leaves
	}
	return []any{value}
}
