package cloudformation

import (
	"fmt"
	"slices"
)

// condition tells whether a condition holds. above are those that are being evaluated.
func (s *Stack) condition(name string, above []string) (bool, error) {
	if holds, known := s.conditions[name]; known {
		return holds, nil
	}
	node, ok := s.Conditions[name]
	if !ok {
		return false, fmt.Errorf("there is no condition %s", name)
	}
	if slices.Contains(above, name) {
		return false, fmt.Errorf("condition %s depends on itself", name)
	}
	holds, err := s.truth(node, append(slices.Clone(above), name))
	if err == nil {
		s.conditions[name] = holds
	}
	return holds, err
}

// truth evaluates the functions conditions are made of.
func (s *Stack) truth(node any, above []string) (bool, error) {
	name, argument, is := function(node)
	if !is {
		return false, fmt.Errorf("%v is no condition", node)
	}
	if name == "Condition" {
		return s.condition(fmt.Sprint(argument), above)
	}
	list, ok := argument.([]any)
	if !ok {
		return false, fmt.Errorf("%s: %v is no list", name, argument)
	}
	switch name {
	case "Fn::Equals":
		return s.equals(list)
	case "Fn::Not":
		if len(list) != 1 {
			return false, fmt.Errorf("Fn::Not takes one condition, not %d", len(list))
		}
		holds, err := s.truth(list[0], above)
		return !holds, err
	case "Fn::And", "Fn::Or":
		all := name == "Fn::And"
		for _, part := range list {
			holds, err := s.truth(part, above)
			if err != nil || holds != all {
				return holds, err
			}
		}
		return all, nil
	}
	return false, fmt.Errorf("%s is not known here in a condition", name)
}

func (s *Stack) equals(pair []any) (bool, error) {
	if len(pair) != 2 {
		return false, fmt.Errorf("Fn::Equals takes two values, not %d", len(pair))
	}
	a, err := s.resolvedText(pair[0])
	if err != nil {
		return false, err
	}
	b, err := s.resolvedText(pair[1])
	return a == b, err
}
