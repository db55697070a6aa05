package cloudformation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Template is one parsed template. Nothing in it is resolved.
type Template struct {
	Description string
	Parameters  map[string]Parameter
	Mappings    map[string]map[string]map[string]any
	Conditions  map[string]any
	Resources   map[string]Resource // by logical id
	Outputs     map[string]Output
}

// Parameter is what a stack is asked for.
type Parameter struct {
	Type          string
	Default       any // nil: none
	AllowedValues []any
}

// Resource is one resource as the template writes it.
type Resource struct {
	Type                string
	Properties          map[string]any
	Condition           string // "": always made
	DependsOn           []string
	DeletionPolicy      string // "", Delete, Retain, RetainExceptOnCreate or Snapshot
	UpdateReplacePolicy string
}

// Output is what a stack tells others.
type Output struct {
	Description string
	Value       any
	Export      any // its name; nil: not exported
	Condition   string
}

// Parse reads a template written in JSON. Sections and attributes this package does not know are errors. Metadata is left out; of
// Rules only CDK's check of the bootstrap's version is taken, which asserts nothing of the template itself.
func Parse(text []byte) (*Template, error) {
	var raw struct {
		AWSTemplateFormatVersion string
		Description              string
		Metadata                 json.RawMessage
		Parameters               map[string]json.RawMessage
		Mappings                 map[string]map[string]map[string]any
		Conditions               map[string]any
		Rules                    map[string]json.RawMessage
		Resources                map[string]json.RawMessage
		Outputs                  map[string]json.RawMessage
	}
	if err := strictly(text, &raw); err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	if v := raw.AWSTemplateFormatVersion; v != "" && v != "2010-09-09" {
		return nil, fmt.Errorf("read template: AWSTemplateFormatVersion is %q; there is only 2010-09-09", v)
	}
	for name := range raw.Rules {
		if name != "CheckBootstrapVersion" {
			return nil, fmt.Errorf("read template: rule %s: rules are not evaluated here", name)
		}
	}
	t := &Template{
		Description: raw.Description, Mappings: raw.Mappings, Conditions: raw.Conditions,
		Parameters: map[string]Parameter{}, Resources: map[string]Resource{}, Outputs: map[string]Output{},
	}
	for _, section := range []func() error{
		func() error { return each("parameter", raw.Parameters, t.addParameter) },
		func() error { return each("resource", raw.Resources, t.addResource) },
		func() error { return each("output", raw.Outputs, t.addOutput) },
	} {
		if err := section(); err != nil {
			return nil, fmt.Errorf("read template: %w", err)
		}
	}
	if len(t.Resources) == 0 {
		return nil, fmt.Errorf("read template: it has no Resources")
	}
	return t, nil
}

// each calls add for every member in the order of names.
func each(kind string, members map[string]json.RawMessage, add func(name string, text []byte) error) error {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if err := add(name, members[name]); err != nil {
			return fmt.Errorf("%s %s: %w", kind, name, err)
		}
	}
	return nil
}

func (t *Template) addParameter(name string, text []byte) error {
	var raw struct {
		Type                                                     string
		Default                                                  any
		AllowedValues                                            []any
		Description, AllowedPattern, ConstraintDescription       string
		NoEcho, MinLength, MaxLength, MinValue, MaxValue, Public any
	}
	if err := strictly(text, &raw); err != nil {
		return err
	}
	t.Parameters[name] = Parameter{Type: raw.Type, Default: raw.Default, AllowedValues: raw.AllowedValues}
	return nil
}

func (t *Template) addResource(name string, text []byte) error {
	var raw struct {
		Type                                           string
		Properties                                     map[string]any
		Condition, DeletionPolicy, UpdateReplacePolicy string
		DependsOn                                      any
		Metadata                                       json.RawMessage
	}
	if err := strictly(text, &raw); err != nil {
		return err
	}
	if raw.Type == "" {
		return fmt.Errorf("it has no Type")
	}
	depends, err := stringsOf(raw.DependsOn)
	if err != nil {
		return fmt.Errorf("DependsOn: %w", err)
	}
	t.Resources[name] = Resource{
		Type: raw.Type, Properties: raw.Properties, Condition: raw.Condition, DependsOn: depends,
		DeletionPolicy: raw.DeletionPolicy, UpdateReplacePolicy: raw.UpdateReplacePolicy,
	}
	return nil
}

func (t *Template) addOutput(name string, text []byte) error {
	var raw struct {
		Description, Condition string
		Value                  any
		Export                 *struct{ Name any }
	}
	if err := strictly(text, &raw); err != nil {
		return err
	}
	o := Output{Description: raw.Description, Value: raw.Value, Condition: raw.Condition}
	if raw.Export != nil {
		o.Export = raw.Export.Name
	}
	t.Outputs[name] = o
	return nil
}

// OfType returns the logical ids of the resources of a type, sorted.
func (t *Template) OfType(resourceType string) []string {
	var out []string
	for id, r := range t.Resources {
		if r.Type == resourceType {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// strictly decodes JSON and refuses fields that out does not have. Numbers stay as they are written.
func strictly(text []byte, out any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	d.UseNumber()
	return d.Decode(out)
}

// stringsOf returns a string or a list of strings as a list; nil gives none.
func stringsOf(value any) ([]string, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case string:
		return []string{v}, nil
	case []any:
		out := make([]string, 0, len(v))
		for _, item := range v {
			s, ok := item.(string)
			if !ok {
				return nil, fmt.Errorf("%v is no string", item)
			}
			out = append(out, s)
		}
		return out, nil
	}
	return nil, fmt.Errorf("%v is neither a string nor a list of strings", value)
}

// text returns a scalar as CloudFormation joins it into strings.
func text(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	case bool:
		return fmt.Sprint(v), nil
	case []any: // as Ref of a parameter of type CommaDelimitedList is joined
		parts, err := stringsOf(v)
		return strings.Join(parts, ","), err
	}
	return "", fmt.Errorf("%v (%T) is no string", value, value)
}
