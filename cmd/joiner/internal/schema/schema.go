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
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/shared/api/crds"
)

// Kinds are the kinds that the definitions define. The zero value is ready; definitions are prepared when the first
// object of any is asked about. Not for use by several goroutines.
type Kinds struct {
	known map[string]*kind // by apiVersion and kind
}

// kind is what an API server has of a definition.
type kind struct {
	structural *schema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
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
	pruning.Prune(object, of.structural, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(object, of.structural)
	defaulting.Default(object, of.structural)
	problems := validation.ValidateCustomResource(nil, object, of.schema)
	problems = append(problems, listtype.ValidateListSetsAndMaps(nil, of.structural, object)...)
	rules, _ := of.rules.Validate(ctx, nil, of.structural, object, nil, celconfig.RuntimeCELCostBudget)
	return append(problems, rules...), nil
}

func (k *Kinds) prepare() error {
	k.known = map[string]*kind{}
	for _, manifest := range crds.Manifests() {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(manifest, &crd); err != nil {
			return fmt.Errorf("read a definition: %w", err)
		}
		props := &apiextensions.JSONSchemaProps{}
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
			crd.Spec.Versions[0].Schema.OpenAPIV3Schema, props, nil); err != nil {
			return fmt.Errorf("convert the schema of %s: %w", crd.Name, err)
		}
		structural, err := schema.NewStructural(props)
		if err != nil {
			return fmt.Errorf("read the schema of %s: %w", crd.Name, err)
		}
		validator, _, err := validation.NewSchemaValidator(props)
		if err != nil {
			return fmt.Errorf("read the schema of %s: %w", crd.Name, err)
		}
		version := crd.Spec.Group + "/" + crd.Spec.Versions[0].Name
		k.known[version+" "+crd.Spec.Names.Kind] = &kind{structural: structural, schema: validator,
			rules: cel.NewValidator(structural, true, celconfig.PerCallLimit)}
	}
	return nil
}
