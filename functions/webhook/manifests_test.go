package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/bench/speccases"
)

// manifests returns the objects of the manifests people have for Karpenter, as JSON by file and number.
func manifests(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("../../shared/api/testdata/manifests/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	out := map[string][]byte{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, document := range strings.Split("\n"+string(text), "\n---") {
			object, err := yaml.YAMLToJSON([]byte(document))
			if err != nil {
				t.Fatal(err)
			}
			if string(object) != "null" {
				out[filepath.Base(path)+" "+string(rune('a'+i))] = object
			}
		}
	}
	return out
}

// asked returns a review of creating the object.
func asked(t testing.TB, object []byte) string {
	t.Helper()
	var head struct{ APIVersion, Kind string }
	if err := json.Unmarshal(object, &head); err != nil {
		t.Fatal(err)
	}
	group, version, _ := strings.Cut(head.APIVersion, "/")
	body, err := json.Marshal(map[string]any{
		"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
		"request": map[string]any{"uid": "u-1", "operation": "CREATE", "kind": map[string]string{"group": group, "version": version, "kind": head.Kind}, "object": json.RawMessage(object)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestKarpentersManifestsAreAllowed(t *testing.T) {
	p, pools := newPlace(), 0
	for name, object := range manifests(t) {
		answer := read(t, p.post(t, "/"+first, asked(t, object)))
		if !answer.Allowed {
			t.Errorf("%s: %s", name, answer.Result.Message)
		}
		if strings.Contains(string(object), `"kind":"NodePool"`) {
			pools++
			if len(answer.Warnings) == 0 {
				t.Errorf("%s: not even what matches is said", name)
			}
		}
	}
	if pools < 3 {
		t.Errorf("only %d pools: the test looks at the wrong place", pools)
	}
}

// Whatever is posted, nobody panics, in the judgment neither.
func FuzzAdmit(f *testing.F) {
	for _, object := range manifests(f) {
		f.Add(asked(f, object))
	}
	f.Add(strings.Replace(pool, "ARCH", "arm64", 1))
	kept, err := speccases.Kept()
	if err != nil {
		f.Fatal(err)
	}
	for _, object := range kept.NodePools {
		f.Add(asked(f, object))
	}
	p := newPlace()
	f.Fuzz(func(t *testing.T, body string) {
		answer := p.post(t, "/"+first, body)
		if answer.StatusCode >= 500 {
			t.Errorf("%q: %d %s", body, answer.StatusCode, p.log.String())
		}
		p.log.Reset()
	})
}

func TestAnUnreadableCatalogIsTold(t *testing.T) {
	p := newPlace()
	p.own = model.Registration{Account: "999999999999", Region: "eu-west-1"}
	if answer := read(t, p.post(t, "/"+first, strings.Replace(pool, "ARCH", "amd64", 1))); !answer.Allowed || strings.Contains(strings.Join(answer.Warnings, "\n"), "instance types") {
		t.Errorf("%+v", answer)
	}
	if !strings.Contains(p.log.String(), "reviewed without the catalog") {
		t.Errorf("%s", p.log.String())
	}
}
