package referee

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"

	karpapis "github.com/aws/karpenter-provider-aws/pkg/apis"
	"github.com/joiner-sh/joiner/shared/api/crds"
)

// Scenario is what both are given: a class, a pool of that class, and a pod that waits.
type Scenario struct {
	Name        string
	Class, Pool map[string]any // as people wrote them
	Pod         corev1.Pod
}

// Scenarios reads scenarios/*.yaml, by name. Each has a node role and a discovery tag to be filled in.
func Scenarios(t testing.TB, nodeRole string) []Scenario {
	t.Helper()
	files, err := filepath.Glob("scenarios/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	var out []Scenario
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s := Scenario{Name: strings.TrimSuffix(filepath.Base(file), ".yaml")}
		filled := strings.NewReplacer("NODE_ROLE", nodeRole, "CLUSTER", cluster).Replace(string(text))
		documents := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(filled)))
		for {
			document, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil {
				err = s.take(document)
			}
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
		}
		if s.Class == nil || s.Pool == nil || s.Pod.Name == "" {
			t.Fatalf("%s: it needs an EC2NodeClass, a NodePool and a Pod", file)
		}
		out = append(out, s)
	}
	return out
}

// Scenario returns the one of that name, with the site's node role.
func (s *Site) Scenario(name string) Scenario {
	s.Helper()
	for _, scenario := range Scenarios(s, s.NodeRole) {
		if scenario.Name == name {
			return scenario
		}
	}
	s.Fatalf("there is no scenario %s", name)
	return Scenario{}
}

// take reads one document.
func (s *Scenario) take(document []byte) error {
	text, err := yaml.ToJSON(document)
	if err != nil {
		return err
	}
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		return err
	}
	switch object["kind"] {
	case "EC2NodeClass":
		s.Class = object
	case "NodePool":
		s.Pool = object
	case "Pod":
		return json.Unmarshal(text, &s.Pod)
	default:
		return errors.New("it has an object that is no EC2NodeClass, NodePool or Pod")
	}
	return nil
}

// schemas returns the schema of each kind that a list of definitions makes.
func schemas(t testing.TB, definitions [][]byte) map[string]*apiextensionsv1.JSONSchemaProps {
	t.Helper()
	out := map[string]*apiextensionsv1.JSONSchemaProps{}
	for _, text := range definitions {
		var d apiextensionsv1.CustomResourceDefinition
		if err := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096).Decode(&d); err != nil {
			t.Fatal(err)
		}
		for i := range d.Spec.Versions {
			if v := &d.Spec.Versions[i]; v.Storage {
				out[d.Spec.Names.Kind] = v.Schema.OpenAPIV3Schema
			}
		}
	}
	return out
}

// OurSchemas are those of the definitions that our chart installs.
func OurSchemas(t testing.TB) map[string]*apiextensionsv1.JSONSchemaProps {
	return schemas(t, crds.Manifests())
}

// TheirSchemas are those of the definitions that Karpenter installs.
func TheirSchemas(t testing.TB) map[string]*apiextensionsv1.JSONSchemaProps {
	return schemas(t, [][]byte{karpapis.EC2NodeClassCRD, karpapis.NodePoolCRD})
}

// Defaulted returns a copy of an object with the defaults of its definition, as an API server stores it.
func Defaulted(schemas map[string]*apiextensionsv1.JSONSchemaProps, object map[string]any) *unstructured.Unstructured {
	out := runtime.DeepCopyJSON(object)
	fill(schemas[out["kind"].(string)], out)
	return &unstructured.Unstructured{Object: out}
}

// fill adds what a schema says of what is missing, from the outside inwards.
func fill(schema *apiextensionsv1.JSONSchemaProps, value any) {
	if schema == nil {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
			property := schema.Properties[name]
			if _, there := v[name]; !there && property.Default != nil {
				var value any
				if err := json.Unmarshal(property.Default.Raw, &value); err != nil {
					panic(err) // an API server would have refused the definition
				}
				v[name] = value
			}
			fill(&property, v[name])
		}
	case []any:
		if schema.Items != nil {
			for _, item := range v {
				fill(schema.Items.Schema, item)
			}
		}
	}
}
