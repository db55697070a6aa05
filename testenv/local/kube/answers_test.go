package kube

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// A request for a resource whose store is laid out anew hangs for a minute and is then refused (seen on a busy machine).
func TestAResourceThatHangsIsAskedAgain(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch asked.Add(1) {
		case 1:
			<-r.Context().Done()
		case 2:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusGatewayTimeout)
			w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Timeout","code":504}`))
		default:
			w.Header().Set("Content-Type", "application/json")
			w.Write([]byte(`{"kind":"WidgetList","apiVersion":"example.joiner.sh/v1","metadata":{},"items":[]}`))
		}
	}))
	defer server.Close()
	client, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	a := &applier{client: client}
	widgets := schema.GroupVersionResource{Group: "example.joiner.sh", Version: "v1", Resource: "widgets"}
	for i, want := range []bool{false, false, true} {
		began := time.Now()
		answered, err := a.answers(t.Context(), widgets)
		if err != nil || answered != want {
			t.Errorf("try %d: %v, %v after %v; want %v", i+1, answered, err, time.Since(began), want)
		}
	}
}
