package kube_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

func TestApplyServesNewKindsBeforeTheirObjects(t *testing.T) {
	widgets := readFile(t, "testdata/widgets.yaml")
	if err := plane.Apply(t.Context(), widgets); err != nil {
		t.Fatal(err)
	}
	if size := widgetSize(t); size != 3 {
		t.Errorf("size is %d, want 3", size)
	}

	changed := bytes.ReplaceAll(widgets, []byte("size: 3"), []byte("size: 4"))
	if err := plane.Apply(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	if size := widgetSize(t); size != 4 {
		t.Errorf("size after applying 4 is %d", size)
	}

	refused := bytes.ReplaceAll(widgets, []byte("size: 3"), []byte("size: 11"))
	err := plane.Apply(t.Context(), refused)
	if err == nil || !strings.Contains(err.Error(), "apply Widget first") || !strings.Contains(err.Error(), "spec.size") {
		t.Errorf("applying 11 where 10 is the limit: got %v", err)
	}
}

// A definition that another client made, Helm for one, is listed some time later. That took seconds on a busy machine.
func TestApplyWaitsForAKindThatAnotherClientDefined(t *testing.T) {
	name := fmt.Sprintf("adget%d", time.Now().UnixNano()) // of this run: a definition goes some time after it is deleted
	manifests := strings.NewReplacer("widget", "g"+name, "Widget", "G"+name).Replace(string(readFile(t, "testdata/widgets.yaml")))
	object, manifest, _ := strings.Cut(manifests, "\n---\n")
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), definition); err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(plane.Config())
	if err != nil {
		t.Fatal(err)
	}
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := definitions.Create(t.Context(), definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	defer definitions.Delete(t.Context(), definition.GetName(), metav1.DeleteOptions{})
	if err := plane.Apply(t.Context(), []byte(object)); err != nil {
		t.Error(err)
	}
}

func TestApplyRefusesUnreadableManifests(t *testing.T) {
	cases := map[string]struct{ manifest, want string }{
		"not YAML":        {"a: [", "document 1"},
		"no kind":         {"apiVersion: v1\nmetadata: {name: x}\n", "document 1: apiVersion or kind is missing"},
		"second document": {"apiVersion: v1\nkind: Namespace\nmetadata: {name: never}\n---\nkind: x\n", "document 2"},
		"duplicate key":   {"apiVersion: v1\nkind: Pod\nkind: Node\n", "document 1"},
		"unknown kind":    {"apiVersion: example.joiner.sh/v9\nkind: Nothing\nmetadata: {name: x}\n", "apply Nothing x"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := plane.Apply(t.Context(), []byte(c.manifest))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
	_, err := clientFor(t, plane.Config()).CoreV1().Namespaces().Get(t.Context(), "never", metav1.GetOptions{})
	if err == nil {
		t.Error("a manifest that cannot be read to its end was applied in part")
	}
}

func widgetSize(t *testing.T) int64 {
	t.Helper()
	client, err := dynamic.NewForConfig(plane.Config())
	if err != nil {
		t.Fatal(err)
	}
	resource := schema.GroupVersionResource{Group: "example.joiner.sh", Version: "v1", Resource: "widgets"}
	widget, err := client.Resource(resource).Get(t.Context(), "first", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	size, _, err := unstructured.NestedInt64(widget.Object, "spec", "size")
	if err != nil {
		t.Fatal(err)
	}
	return size
}
