package schema

import (
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/shared/api/crds"
)

// Kind is what an API server has of a definition.
type Kind struct {
	Definition apiextensionsv1.CustomResourceDefinition
	Structural *schema.Structural

	schema validation.SchemaValidator
	rules  *cel.Validator
}

// Of returns the kind that a definition defines, a manifest in YAML.
func Of(manifest []byte) (*Kind, error) {
	k := &Kind{}
	if err := yaml.UnmarshalStrict(manifest, &k.Definition); err != nil {
		return nil, fmt.Errorf("read a definition: %w", err)
	}
	spec, props := &k.Definition.Spec, &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
		spec.Versions[0].Schema.OpenAPIV3Schema.DeepCopy(), props, nil); err != nil {
		return nil, fmt.Errorf("convert the schema of %s: %w", k.Definition.Name, err)
	}
	var err error
	if k.Structural, err = schema.NewStructural(props); err != nil {
		return nil, fmt.Errorf("read the schema of %s: %w", k.Definition.Name, err)
	}
	if k.schema, _, err = validation.NewSchemaValidator(props); err != nil {
		return nil, fmt.Errorf("read the schema of %s: %w", k.Definition.Name, err)
	}
	k.rules = cel.NewValidator(k.Structural, true, celconfig.PerCallLimit)
	return k, nil
}

// Admit returns an object as it would be stored, and what an API server has against it. old is the object that it
// replaces, nil where it is created. Both stay as they are.
func (k *Kind) Admit(ctx context.Context, object, old map[string]any) (map[string]any, field.ErrorList) {
	object = runtime.DeepCopyJSON(object)
	pruning.Prune(object, k.Structural, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(object, k.Structural)
	defaulting.Default(object, k.Structural)
	problems := validation.ValidateCustomResource(nil, object, k.schema)
	problems = append(problems, listtype.ValidateListSetsAndMaps(nil, k.Structural, object)...)
	var before any // nil, and not a nil map
	if old != nil {
		before = old
	}
	rules, _ := k.rules.Validate(ctx, nil, k.Structural, object, before, celconfig.RuntimeCELCostBudget)
	return object, append(problems, rules...)
}

// Kinds are the kinds that the definitions define. The zero value is ready; definitions are prepared when the first
// object of any is asked about. Not for use by several goroutines.
type Kinds struct {
	known map[string]*Kind // by apiVersion and kind
}

// Problems returns what an API server has against the creation of an object, which is JSON: nil if it is stored, and
// nil for an object of another kind or version. Unknown fields are none of it.
func (k *Kinds) Problems(ctx context.Context, version, name string, text []byte) (field.ErrorList, error) {
	if k.known == nil {
		if err := k.prepare(); err != nil {
			return nil, err
		}
	}
	of := k.known[version+" "+name]
	if of == nil {
		return nil, nil
	}
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, fmt.Errorf("read a %s: %w", name, err)
	}
	_, problems := of.Admit(ctx, object, nil)
	return problems, nil
}

func (k *Kinds) prepare() error {
	k.known = map[string]*Kind{}
	for _, manifest := range crds.Manifests() {
		of, err := Of(manifest)
		if err != nil {
			return err
		}
		spec := &of.Definition.Spec
		k.known[spec.Group+"/"+spec.Versions[0].Name+" "+spec.Names.Kind] = of
	}
	return nil
}
