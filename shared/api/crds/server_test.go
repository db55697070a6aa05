package crds_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/schema"
	"github.com/joiner-sh/joiner/shared/api/crds"
)

// A kind does to objects of one CRD what an API server does on admission.
type kind struct{ *schema.Kind }

type object = map[string]any

// server holds a kind for every embedded CRD, by name of the kind. It is never changed after loading.
type server map[string]*kind

func newServer(t *testing.T) server {
	t.Helper()
	s := server{}
	for _, manifest := range crds.Manifests() {
		k, err := newKind(manifest)
		if err != nil {
			t.Fatal(err)
		}
		s[k.Definition.Spec.Names.Kind] = k
	}
	return s
}

func newKind(manifest []byte) (*kind, error) {
	k, err := schema.Of(manifest)
	return &kind{k}, err
}

// admit returns the object as it would be stored, and what the API server has against it. old is nil on creation.
func (k *kind) admit(t *testing.T, obj, old object) (object, field.ErrorList) {
	t.Helper()
	return k.Admit(t.Context(), obj, old)
}

// read returns the objects of a YAML text with several documents.
func read(t *testing.T, text string) []object {
	t.Helper()
	var objects []object
	for _, document := range strings.Split("\n"+text, "\n---") {
		if obj := readOne(t, document); len(obj) > 0 {
			objects = append(objects, obj)
		}
	}
	return objects
}

// readOne returns one object of YAML, with whole numbers as int64 as an API server has them.
func readOne(t *testing.T, text string) object {
	t.Helper()
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatalf("read %q: %v", text, err)
	}
	var obj object
	if err := json.Unmarshal(data, &obj); err != nil {
		t.Fatalf("read %q: %v", text, err)
	}
	return obj
}

// merged returns base changed by a merge patch in YAML: maps are merged, null removes, anything else replaces.
func merged(t *testing.T, base, patch string) object {
	t.Helper()
	return mergeInto(readOne(t, base), readOne(t, patch))
}

func mergeInto(target, change object) object {
	if target == nil {
		target = object{}
	}
	for _, key := range slices.Sorted(maps.Keys(change)) {
		switch value := change[key].(type) {
		case nil:
			delete(target, key)
		case object:
			nested, _ := target[key].(object)
			target[key] = mergeInto(nested, value)
		default:
			target[key] = value
		}
	}
	return target
}

// An admission is one line of a table: a change of a valid object and what the API server says to it.
type admission struct {
	name  string // checklist row first
	patch string
	// path and message are of the error that is expected; both empty where the object is admitted.
	path, message string
}

// run admits base changed as each case says. update compares with the unchanged base as the stored object.
func run(t *testing.T, k *kind, base string, update bool, cases []admission) {
	t.Helper()
	var old object
	if update {
		stored, errs := k.admit(t, readOne(t, base), nil)
		if len(errs) > 0 {
			t.Fatalf("the object to update is refused: %v", errs)
		}
		old = stored
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			_, errs := k.admit(t, merged(t, base, tt.patch), old)
			switch {
			case tt.path == "" && len(errs) > 0:
				t.Errorf("refused, want admitted\nchange: %.300s\nerrors: %v", tt.patch, errs)
			case tt.path != "" && !refusedAt(errs, tt.path, tt.message):
				t.Errorf("want an error at %s with %q\nchange: %.300s\nerrors: %v", tt.path, tt.message, tt.patch, errs)
			}
		})
	}
}

func refusedAt(errs field.ErrorList, path, message string) bool {
	return slices.ContainsFunc(errs, func(err *field.Error) bool {
		return err.Field == path && strings.Contains(err.ErrorBody(), message)
	})
}

// repeat returns n copies of item in a YAML flow list, with %d replaced by the number of the copy.
func repeat(n int, item string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = strings.ReplaceAll(item, "%d", fmt.Sprint(i))
	}
	return "[" + strings.Join(items, ", ") + "]"
}

func TestDefinitionsAreValid(t *testing.T) {
	for name, k := range newServer(t) {
		t.Run(name, func(t *testing.T) {
			defaulted := k.Definition.DeepCopy()
			apiextensionsv1.SetDefaults_CustomResourceDefinition(defaulted)
			apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&defaulted.Spec)
			internal := &apiextensions.CustomResourceDefinition{}
			if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(defaulted, internal, nil); err != nil {
				t.Fatal(err)
			}
			internal.Status.StoredVersions = []string{k.Definition.Spec.Versions[0].Name}
			if errs := crdvalidation.ValidateCustomResourceDefinition(t.Context(), internal); len(errs) > 0 {
				t.Errorf("an API server refuses the definition: %v", errs)
			}
		})
	}
}
