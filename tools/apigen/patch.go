package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// A rule changes the schemas it applies to. Schemas are named by their path: ".spec.taints[]" is an item of the list
// spec.taints, ".metadata.labels{}" a value of the map metadata.labels.
type rule struct {
	kinds   []string
	applies func(path string) bool
	change  func(schema *apiextensionsv1.JSONSchemaProps)
}

// rules say what markers cannot, because the types are Kubernetes' own or have no name of their own.
var rules = []rule{
	{kinds: []string{"NodePool", "NodeClaim"}, applies: isTaint, change: restrictTaint},
	{kinds: []string{"NodePool"}, applies: is(".spec.template.metadata.labels{}"), change: restrictLabelValue},
	{kinds: []string{"EC2NodeClass"}, applies: is(".spec.kubelet"), change: describeKubelet},
	{kinds: []string{"NodeClaim"}, applies: is(".status.conditions[]"), change: relaxCondition},
}

const (
	subdomain     = `[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*`
	qualifiedName = `(` + subdomain + `/)?` + labelValue
	labelValue    = `[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?`
)

func is(want string) func(string) bool { return func(path string) bool { return path == want } }

func isTaint(path string) bool {
	return strings.HasSuffix(path, ".taints[]") || strings.HasSuffix(path, ".startupTaints[]")
}

// restrictTaint admits what a node can carry; core/v1 leaves that to the validation of nodes.
func restrictTaint(schema *apiextensionsv1.JSONSchemaProps) {
	edit(schema, "key", func(s *apiextensionsv1.JSONSchemaProps) {
		one := int64(1)
		s.MinLength, s.Pattern = &one, "^"+qualifiedName+"$"
	})
	edit(schema, "value", func(s *apiextensionsv1.JSONSchemaProps) { s.Pattern = "^(" + qualifiedName + ")?$" })
	edit(schema, "effect", func(s *apiextensionsv1.JSONSchemaProps) {
		s.Enum = nil
		for _, effect := range []string{"NoSchedule", "PreferNoSchedule", "NoExecute"} {
			s.Enum = append(s.Enum, apiextensionsv1.JSON{Raw: []byte(`"` + effect + `"`)})
		}
	})
}

func restrictLabelValue(schema *apiextensionsv1.JSONSchemaProps) {
	limit := int64(63)
	schema.MaxLength, schema.Pattern = &limit, "^("+labelValue+")?$"
}

// relaxCondition lets a condition of a claim do without reason and message, which claims written by others may lack.
func relaxCondition(schema *apiextensionsv1.JSONSchemaProps) {
	schema.Required = []string{"lastTransitionTime", "status", "type"}
	edit(schema, "reason", func(s *apiextensionsv1.JSONSchemaProps) {
		s.MinLength, s.Pattern = nil, "^("+strings.Trim(s.Pattern, "^$")+")?$"
	})
}

func edit(schema *apiextensionsv1.JSONSchemaProps, property string, change func(*apiextensionsv1.JSONSchemaProps)) {
	p := schema.Properties[property]
	change(&p)
	schema.Properties[property] = p
}

// patch applies the rules to a CRD. A rule that finds nothing to change is an error, since it guards nothing any more.
func patch(manifest []byte) ([]byte, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(manifest, &crd); err != nil {
		return nil, err
	}
	for number, r := range rules {
		if !slices.Contains(r.kinds, crd.Spec.Names.Kind) {
			continue
		}
		changed := 0
		for i := range crd.Spec.Versions {
			changed += walk("", crd.Spec.Versions[i].Schema.OpenAPIV3Schema, r)
		}
		if changed == 0 {
			return nil, fmt.Errorf("rule %d finds nothing to change in %s", number, crd.Spec.Names.Kind)
		}
	}
	return marshal(crd)
}

// walk applies r to the schema and everything in it, and returns how often it applied.
func walk(path string, schema *apiextensionsv1.JSONSchemaProps, r rule) int {
	changed := 0
	if r.applies(path) {
		r.change(schema)
		changed++
	}
	for name, property := range schema.Properties {
		changed += walk(path+"."+name, &property, r)
		schema.Properties[name] = property
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		changed += walk(path+"[]", schema.Items.Schema, r)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		changed += walk(path+"{}", schema.AdditionalProperties.Schema, r)
	}
	return changed
}

// marshal writes a CRD without the fields that only a server fills in.
func marshal(crd apiextensionsv1.CustomResourceDefinition) ([]byte, error) {
	data, err := json.Marshal(crd)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil {
		return nil, err
	}
	delete(object, "status")
	if metadata, ok := object["metadata"].(map[string]any); ok {
		delete(metadata, "creationTimestamp")
	}
	body, err := yaml.Marshal(object)
	if err != nil {
		return nil, err
	}
	return append([]byte("---\n"), body...), nil
}
