package cloudformation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Environment is where a stack is deployed, and what it is asked for.
type Environment struct {
	Account   string // twelve digits
	Region    string
	Partition string // "aws" when empty
	URLSuffix string // "amazonaws.com" when empty
	StackName string
	StackID   string // an ARN; made of the stack's name when empty
	// Parameters are the template's parameters by name; absent ones have their default. A list is written with commas.
	Parameters map[string]string
	// Exports are what other stacks export, by name, for Fn::ImportValue.
	Exports map[string]string
	// Zones are the region's Availability Zones; a, b and c when nil.
	Zones []string
}

func (e Environment) withDefaults() Environment {
	for field, value := range map[*string]string{
		&e.Partition: "aws", &e.URLSuffix: "amazonaws.com",
		&e.StackID: fmt.Sprintf("arn:aws:cloudformation:%s:%s:stack/%s/00000000-0000-4000-8000-000000000000", e.Region, e.Account, e.StackName),
	} {
		if *field == "" {
			*field = value
		}
	}
	if e.Zones == nil {
		e.Zones = []string{e.Region + "a", e.Region + "b", e.Region + "c"}
	}
	return e
}

// Values say what resources came to be. Both may be called often for the same resource and must answer alike.
type Values interface {
	// Ref returns what Ref of a resource gives, e.g. a queue's URL.
	Ref(logicalID string) (any, error)
	// Attribute returns what Fn::GetAtt gives, e.g. of a role "Arn".
	Attribute(logicalID, attribute string) (any, error)
}

// Stack is a template in its environment.
type Stack struct {
	*Template
	Environment Environment // with its defaults
	values      Values
	conditions  map[string]bool
}

// With puts the template in its environment and evaluates its conditions. values nil: Named. The error names a parameter without
// a value or a condition that cannot be told, or resources that
// depend on each other in a circle.
func (t *Template) With(env Environment, values Values) (*Stack, error) {
	s := &Stack{Template: t, Environment: env.withDefaults(), values: values}
	if values == nil {
		s.values = &Named{Stack: s}
	}
	for _, name := range slices.Sorted(maps.Keys(env.Parameters)) {
		if _, ok := t.Parameters[name]; !ok {
			return nil, fmt.Errorf("parameter %s: the template has none of that name", name)
		}
	}
	s.conditions = map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(t.Conditions)) {
		if _, err := s.condition(name, nil); err != nil {
			return nil, fmt.Errorf("condition %s: %w", name, err)
		}
	}
	if _, err := s.Order(); err != nil { // else resolving might never end
		return nil, err
	}
	return s, nil
}

// Made reports whether a resource is made in this environment: it is in the template, and its condition holds.
func (s *Stack) Made(logicalID string) bool {
	r, ok := s.Resources[logicalID]
	return ok && (r.Condition == "" || s.conditions[r.Condition])
}

// Properties returns the properties of a resource with every function resolved. It is never nil.
func (s *Stack) Properties(logicalID string) (map[string]any, error) {
	r, ok := s.Resources[logicalID]
	if !ok {
		return nil, fmt.Errorf("resource %s: there is none of that name", logicalID)
	}
	out, err := s.Resolve(r.Properties)
	if err != nil {
		return nil, fmt.Errorf("resource %s (%s): %w", logicalID, r.Type, err)
	}
	properties, _ := out.(map[string]any)
	if properties == nil {
		properties = map[string]any{}
	}
	return properties, nil
}

// Attribute returns an attribute of a resource, as Fn::GetAtt does.
func (s *Stack) Attribute(logicalID, attribute string) (string, error) {
	v, err := s.values.Attribute(logicalID, attribute)
	if err != nil {
		return "", err
	}
	return text(v)
}

// Ref returns what Ref gives for a resource, a parameter or a pseudo parameter.
func (s *Stack) Ref(name string) (string, error) {
	v, err := s.ref(name)
	if err != nil {
		return "", err
	}
	return text(v)
}

// OutputValues returns the outputs whose condition holds, by name.
func (s *Stack) OutputValues() (map[string]string, error) {
	return s.outputs(func(name string, o Output) (any, bool) { return name, true })
}

// ExportValues returns what the stack exports, by the name of the export.
func (s *Stack) ExportValues() (map[string]string, error) {
	return s.outputs(func(_ string, o Output) (any, bool) { return o.Export, o.Export != nil })
}

// ExportName returns what an output is exported as.
func (s *Stack) ExportName(output string) (string, error) {
	return s.resolvedText(s.Outputs[output].Export)
}

// Imports returns the names of the exports that the stack's resources and outputs use, sorted.
func (s *Stack) Imports() ([]string, error) {
	found := map[string]bool{}
	var walk func(node any) error
	walk = func(node any) error {
		name, argument, is := function(node)
		switch {
		case is && name == "Fn::ImportValue":
			export, err := s.resolvedText(argument)
			found[export] = true
			return err
		case is && name == "Fn::If":
			branch, err := s.branch(argument)
			if err != nil {
				return err
			}
			return walk(branch)
		}
		switch n := node.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(n)) {
				if err := walk(n[key]); err != nil {
					return err
				}
			}
		case []any:
			for _, item := range n {
				if err := walk(item); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for id, r := range s.Resources {
		if !s.Made(id) {
			continue
		}
		if err := walk(r.Properties); err != nil {
			return nil, fmt.Errorf("resource %s: %w", id, err)
		}
	}
	for name, o := range s.Outputs {
		if err := walk(o.Value); err != nil {
			return nil, fmt.Errorf("output %s: %w", name, err)
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// Needs returns the logical ids that a resource refers to or depends on, sorted.
func (s *Stack) Needs(logicalID string) []string { return s.needs(s.Resources[logicalID]) }

func (s *Stack) outputs(key func(name string, o Output) (any, bool)) (map[string]string, error) {
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(s.Outputs)) {
		o := s.Outputs[name]
		raw, wanted := key(name, o)
		if !wanted || o.Condition != "" && !s.conditions[o.Condition] {
			continue
		}
		k, err := s.resolvedText(raw)
		if err != nil {
			return nil, fmt.Errorf("output %s: %w", name, err)
		}
		if out[k], err = s.resolvedText(o.Value); err != nil {
			return nil, fmt.Errorf("output %s: %w", name, err)
		}
	}
	return out, nil
}

func (s *Stack) resolvedText(node any) (string, error) {
	v, err := s.Resolve(node)
	if err != nil {
		return "", err
	}
	return text(v)
}

// Order returns the logical ids of the resources that are made, each after all it refers to or depends on, and otherwise by name.
// The error names a resource on a circle, or one that refers to what is not made.
func (s *Stack) Order() ([]string, error) {
	var out []string
	state := map[string]int{} // 1: under way, 2: done
	var visit func(id, from string) error
	visit = func(id, from string) error {
		switch {
		case state[id] == 2:
			return nil
		case state[id] == 1:
			return fmt.Errorf("resource %s depends on itself by way of %s", id, from)
		case !s.Made(id):
			return fmt.Errorf("resource %s depends on %s, which is not made", from, id)
		}
		state[id] = 1
		for _, need := range s.needs(s.Resources[id]) {
			if err := visit(need, id); err != nil {
				return err
			}
		}
		state[id] = 2
		out = append(out, id)
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(s.Resources)) {
		if !s.Made(id) {
			continue
		}
		if err := visit(id, id); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// needs returns the logical ids a resource refers to or depends on, sorted.
func (s *Stack) needs(r Resource) []string {
	found := map[string]bool{}
	for _, id := range r.DependsOn {
		found[id] = found[id] || s.Made(id) // what is not made is not waited for
	}
	s.refers(r.Properties, func(name string) {
		if _, ok := s.Resources[name]; ok {
			found[name] = true
		}
	})
	maps.DeleteFunc(found, func(_ string, needed bool) bool { return !needed })
	return slices.Sorted(maps.Keys(found))
}

// refers calls f for every name that a node refers to. Of Fn::If only the branch that counts is looked at.
func (s *Stack) refers(node any, f func(name string)) {
	name, argument, is := function(node)
	switch {
	case is && name == "Ref":
		f(fmt.Sprint(argument))
		return
	case is && name == "Fn::GetAtt":
		id, _, _ := getAtt(argument)
		f(fmt.Sprint(id))
		return
	case is && name == "Fn::Sub":
		pattern, locals, err := subParts(argument)
		if err != nil {
			return // Resolve says so
		}
		for _, n := range placeholders(pattern) {
			if _, local := locals[n]; !local {
				id, _, _ := strings.Cut(n, ".")
				f(id)
			}
		}
		s.refers(locals, f)
		return
	case is && name == "Fn::If":
		if branch, err := s.branch(argument); err == nil {
			s.refers(branch, f)
		}
		return
	}
	switch n := node.(type) {
	case map[string]any:
		for _, v := range n {
			s.refers(v, f)
		}
	case []any:
		for _, v := range n {
			s.refers(v, f)
		}
	}
}
