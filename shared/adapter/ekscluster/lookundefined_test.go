package ekscluster

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// M28: where NodeClaims are not defined a look is an error that says so, and reports the nodes all the same.
func TestM28ReadLiveWithoutTheDefinitionOfNodeClaimsReturnsNodes(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/api/v1/nodes":
			_, _ = io.WriteString(w, `{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"9"},
				"items":[{"metadata":{"name":"n","uid":"u-n"},"spec":{"providerID":"aws:///us-west-2a/i-1"}}]}`)
		case "/apis/karpenter.sh/v1/nodepools":
			_, _ = io.WriteString(w, `{"kind":"NodePoolList","apiVersion":"karpenter.sh/v1","metadata":{"resourceVersion":"9"},"items":[]}`)
		default: // as the API server answers for a path that no definition serves
			http.Error(w, "404 page not found", http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	c, err := New(&rest.Config{Host: server.URL}, "prod", "us-west-2")
	if err != nil {
		t.Fatal(err)
	}
	live, err := c.ReadLive(t.Context())
	if !fault.Is(err, fault.NotFound) || fault.CodeOf(err) != model.CodeUndefined {
		t.Fatalf("%v", err)
	}
	if !live.Undefined || live.Version != 9 || len(live.Nodes) != 1 || live.Nodes[0].UID != "u-n" {
		t.Errorf("%+v", live)
	}
}
