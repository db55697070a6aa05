package crds_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/shared/api/awsv1"
	v1 "github.com/joiner-sh/joiner/shared/api/v1"
)

// manifests returns the objects of every file of testdata/manifests, by file name.
func manifests(t *testing.T) map[string][]object {
	t.Helper()
	paths, err := filepath.Glob("../testdata/manifests/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no manifests found: %v", err)
	}
	files := map[string][]object{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(path)] = read(t, string(text))
	}
	return files
}

// typed returns an empty value of the Go type of a kind.
func typed(t *testing.T, kind string) any {
	t.Helper()
	switch kind {
	case v1.KindNodePool:
		return &v1.NodePool{}
	case v1.KindNodeClaim:
		return &v1.NodeClaim{}
	case awsv1.KindEC2NodeClass:
		return &awsv1.EC2NodeClass{}
	}
	t.Fatalf("no type for kind %s", kind)
	return nil
}

func TestManifestsAreAdmitted(t *testing.T) {
	s := newServer(t)
	for file, objects := range manifests(t) {
		for _, obj := range objects {
			name, _ := obj["kind"].(string)
			t.Run(file+" "+name, func(t *testing.T) {
				if _, errs := s[name].admit(t, obj, nil); len(errs) > 0 {
					t.Errorf("refused: %v", errs)
				}
			})
		}
	}
}

// What is stored comes back unchanged from the Go types: every field of the schema has a place there, and no duration or
// quantity is written otherwise than it was.
func TestStoredManifestsSurviveTheGoTypes(t *testing.T) {
	s := newServer(t)
	for file, objects := range manifests(t) {
		for _, obj := range objects {
			name, _ := obj["kind"].(string)
			t.Run(file+" "+name, func(t *testing.T) {
				stored, _ := s[name].admit(t, obj, nil)
				text, err := json.Marshal(stored)
				if err != nil {
					t.Fatal(err)
				}
				value := typed(t, name)
				if err := yaml.UnmarshalStrict(text, value); err != nil {
					t.Fatalf("read into %T: %v", value, err)
				}
				again, err := json.Marshal(value)
				if err != nil {
					t.Fatal(err)
				}
				var back object
				if err := json.Unmarshal(again, &back); err != nil {
					t.Fatal(err)
				}
				for _, side := range []object{stored, back} {
					normalizeQuantities(t, side)
					delete(side, "status")
				}
				if !equality.Semantic.DeepEqual(back, stored) {
					t.Errorf("changed on the way\nstored: %s\n  back: %s", text, again)
				}
			})
		}
	}
}

// normalizeQuantities writes limits in their shortest form, as the Go types do: 1000 and "1k" are the same quantity.
func normalizeQuantities(t *testing.T, obj object) {
	t.Helper()
	spec, _ := obj["spec"].(object)
	limits, _ := spec["limits"].(object)
	for name, value := range limits {
		quantity, err := resource.ParseQuantity(fmt.Sprint(value))
		if err != nil {
			t.Fatal(err)
		}
		limits[name] = quantity.String()
	}
}

func TestManifestPoolsAreValid(t *testing.T) {
	for file, objects := range manifests(t) {
		for _, obj := range objects {
			if obj["kind"] != v1.KindNodePool {
				continue
			}
			text, err := json.Marshal(obj)
			if err != nil {
				t.Fatal(err)
			}
			pool := &v1.NodePool{}
			if err := yaml.UnmarshalStrict(text, pool); err != nil {
				t.Fatal(err)
			}
			for _, problem := range v1.ValidateNodePool(pool) {
				t.Errorf("%s: pool %s: %v", file, pool.Name, problem)
			}
		}
	}
}

// The defaults in Go are those of the schema.
func TestDefaultsInGoAreThoseOfTheSchema(t *testing.T) {
	s := newServer(t)
	for _, tt := range []struct{ kind, text string }{
		{v1.KindNodePool, minimalPool},
		{v1.KindNodePool, minimalPool + "  disruption: {budgets: [{reasons: [Empty]}]}\n"},
		{v1.KindNodePool, minimalPool + "  disruption: {budgets: [], consolidateAfter: Never}\n"},
		{v1.KindNodeClaim, minimalClaim},
	} {
		stored, errs := s[tt.kind].admit(t, readOne(t, tt.text), nil)
		if len(errs) > 0 {
			t.Fatalf("refused: %v", errs)
		}
		text, err := json.Marshal(stored)
		if err != nil {
			t.Fatal(err)
		}
		want, got := typed(t, tt.kind), typed(t, tt.kind)
		if err := yaml.UnmarshalStrict(text, want); err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict([]byte(tt.text), got); err != nil {
			t.Fatal(err)
		}
		got.(interface{ SetDefaults() }).SetDefaults()
		wantText, _ := json.Marshal(want)
		gotText, _ := json.Marshal(got)
		if !bytes.Equal(gotText, wantText) {
			t.Errorf("SetDefaults gives\n%s\nthe schema\n%s", gotText, wantText)
		}
	}
}
