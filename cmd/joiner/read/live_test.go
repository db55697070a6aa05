package read_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/joiner-sh/joiner/cmd/joiner/read"
)

// apiServer has the core group and apps, two pods on two pages, a node, and no more.
func apiServer(t *testing.T) *httptest.Server {
	object := func(kind, name string) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name, "namespace": "shop"}, "spec": map[string]any{"nodeName": "n1"}}
	}
	list := func(kind, next string, items ...map[string]any) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": kind + "List", "metadata": map[string]any{"continue": next}, "items": items}
	}
	kinds := func(group string, of ...map[string]any) map[string]any {
		return map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group, "resources": of}
	}
	kind := func(name, kind string, namespaced bool) map[string]any {
		return map[string]any{"name": name, "kind": kind, "namespaced": namespaced, "verbs": []string{"list", "get"}}
	}
	answers := map[string]any{
		"/api":         map[string]any{"kind": "APIVersions", "versions": []string{"v1"}},
		"/apis":        map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{}},
		"/api/v1":      kinds("v1", kind("pods", "Pod", true), kind("nodes", "Node", false)),
		"/api/v1/pods": list("Pod", "more", object("Pod", "web-0")), "/api/v1/pods?more": list("Pod", "", object("Pod", "web-1")),
		"/api/v1/nodes": list("Node", "", object("Node", "n1")),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		if next := r.URL.Query().Get("continue"); next != "" {
			path += "?" + next
		}
		w.Header().Set("Content-Type", "application/json")
		if answers[path] == nil {
			w.WriteHeader(http.StatusNotFound)
		}
		_ = json.NewEncoder(w).Encode(answers[path])
	}))
	t.Cleanup(server.Close)
	return server
}

func TestLiveReadsWhatAnAPIServerHas(t *testing.T) {
	t.Setenv("KUBECACHEDIR", t.TempDir())
	address := apiServer(t).URL
	cluster, err := read.Live(&genericclioptions.ConfigFlags{APIServer: &address}, read.Options{NowUnix: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got := pods(cluster); !slices.Equal(got, []string{"shop/web-0", "shop/web-1"}) || len(cluster.Snapshot.Nodes) != 1 {
		t.Errorf("read the pods %v and %d nodes", got, len(cluster.Snapshot.Nodes))
	}
	address = "http://127.0.0.1:1"
	if _, err := read.Live(&genericclioptions.ConfigFlags{APIServer: &address}, read.Options{}); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("of nobody: %v", err)
	}
}

func TestReadTakesURLs(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/cluster.yaml" {
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = w.Write([]byte(strings.Replace(aPod, "NAME", "a", 1)))
	}))
	defer server.Close()
	if got := pods(mustRead(t, server.URL+"/cluster.yaml")); len(got) != 1 {
		t.Errorf("read %v", got)
	}
	if _, err := read.Files([]string{server.URL + "/none"}, read.Options{}); err == nil || !strings.Contains(err.Error(), "403 Forbidden") {
		t.Errorf("what may not be read: %v", err)
	}
}
