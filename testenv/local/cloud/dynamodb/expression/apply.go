package expression

import (
	"cmp"
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
)

// Apply returns the item as the update leaves it and changes nothing of the argument. Every right side sees
// the item as it was before. Errors are *attribute.ValidationError.
func (u *Update) Apply(item attribute.Item) (attribute.Item, error) {
	var sets, removes []change
	for _, a := range u.actions {
		v, err := a.result(item)
		if err != nil {
			return nil, err
		}
		if v.IsAbsent() {
			removes = append(removes, change{path: a.path})
		} else {
			sets = append(sets, change{path: a.path, value: v})
		}
	}
	// List elements are set in ascending order, so that several beyond the end append in order, and removed
	// in descending order, so that each index means the element it meant before.
	slices.SortStableFunc(sets, func(a, b change) int { return comparePaths(a.path, b.path) })
	slices.SortStableFunc(removes, func(a, b change) int { return comparePaths(b.path, a.path) })
	root := attribute.Map(item)
	for _, c := range slices.Concat(sets, removes) {
		var err error
		root, err = c.in(root, c.path)
		if err != nil {
			return nil, err
		}
	}
	return root.Map, nil
}

// change puts a value at a path; an absent one removes what is there.
type change struct {
	path  Path
	value attribute.Value
}

func comparePaths(a, b Path) int {
	return slices.CompareFunc(a, b, func(a, b Step) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Index, b.Index))
	})
}

// in returns parent with the change made at rest below it, copying what it changes on the way.
func (c change) in(parent attribute.Value, rest Path) (attribute.Value, error) {
	step, value := rest[0], c.value
	if len(rest) > 1 {
		child := step.in(parent)
		if child.IsAbsent() {
			return parent, errPath()
		}
		var err error
		value, err = c.in(child, rest[1:])
		if err != nil {
			return parent, err
		}
	}
	switch {
	case step.IsIndex && parent.Kind == attribute.L:
		return withElement(parent, step.Index, value), nil
	case !step.IsIndex && parent.Kind == attribute.M:
		return withField(parent, step.Name, value), nil
	}
	return parent, errPath()
}

func errPath() error {
	return invalidf("The document path provided in the update expression is invalid for update")
}

func withField(parent attribute.Value, name string, value attribute.Value) attribute.Value {
	fields := maps.Clone(parent.Map)
	if value.IsAbsent() {
		delete(fields, name)
	} else {
		fields[name] = value
	}
	return attribute.Map(fields)
}

func withElement(parent attribute.Value, index int, value attribute.Value) attribute.Value {
	list := slices.Clone(parent.List)
	switch {
	case index >= len(list) && value.IsAbsent():
	case index >= len(list):
		list = append(list, value)
	case value.IsAbsent():
		list = slices.Delete(list, index, index+1)
	default:
		list[index] = value
	}
	return attribute.List(list...)
}

// result returns the value the action leaves at its path, absent when it leaves none.
func (a action) result(item attribute.Item) (attribute.Value, error) {
	if a.section == "REMOVE" {
		return attribute.Value{}, nil
	}
	value, err := evaluate(a.value, item)
	if err != nil || a.section == "SET" {
		return value, err
	}
	old := a.path.In(item)
	switch {
	case old.IsAbsent() && a.section == "ADD":
		return value, nil
	case old.IsAbsent():
		return old, nil
	case old.Kind != value.Kind:
		return old, errOperand()
	case a.section == "DELETE":
		return old.Without(value), nil
	case old.Kind == attribute.N:
		sum, err := old.Number.Add(value.Number)
		return attribute.Num(sum), err
	}
	return old.Union(value), nil
}

func errOperand() error {
	return invalidf("An operand in the update expression has an incorrect data type")
}

func evaluate(t term, item attribute.Item) (attribute.Value, error) {
	switch t := t.(type) {
	case valueOperand:
		return t.value, nil
	case pathOperand:
		v := t.path.In(item)
		if v.IsAbsent() {
			return v, invalidf("The provided expression refers to an attribute that does not exist in the item")
		}
		return v, nil
	case arithmetic:
		return t.evaluate(item)
	case updateCall:
		if t.name == "if_not_exists" {
			if v := t.args[0].(pathOperand).path.In(item); !v.IsAbsent() {
				return v, nil
			}
			return evaluate(t.args[1], item)
		}
		return t.appendLists(item)
	}
	panic("expression: not a term of an update")
}

func (a arithmetic) evaluate(item attribute.Item) (attribute.Value, error) {
	left, err := evaluate(a.left, item)
	if err != nil {
		return left, err
	}
	right, err := evaluate(a.right, item)
	if err != nil {
		return right, err
	}
	if left.Kind != attribute.N || right.Kind != attribute.N {
		return attribute.Value{}, errOperand()
	}
	addend := right.Number
	if a.op == "-" {
		addend = addend.Neg()
	}
	sum, err := left.Number.Add(addend)
	return attribute.Num(sum), err
}

func (c updateCall) appendLists(item attribute.Item) (attribute.Value, error) {
	first, err := evaluate(c.args[0], item)
	if err != nil {
		return first, err
	}
	second, err := evaluate(c.args[1], item)
	if err != nil {
		return second, err
	}
	if first.Kind != attribute.L || second.Kind != attribute.L {
		return attribute.Value{}, errOperand()
	}
	return attribute.List(slices.Concat(first.List, second.List)...), nil
}
