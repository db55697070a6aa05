package ekscluster

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/fault"
)

// field is one of a message in protobuf that has a length.
func field(number int, value []byte) []byte {
	out := binary.AppendUvarint(nil, uint64(number)<<3|2)
	return append(binary.AppendUvarint(out, uint64(len(value))), value...)
}

// enveloped is an object as API servers send it.
func enveloped(kind string, object []byte) []byte {
	meta := append(field(1, []byte("v1")), field(2, []byte(kind))...)
	return append(append([]byte(protobufEnvelope), field(1, meta)...), field(2, object)...)
}

// serving is a client of an API server that answers everything with the same bytes.
func serving(t *testing.T, contentType string, body []byte) *Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	c, err := New(&rest.Config{Host: server.URL}, "web", "us-west-2")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestW7AnAPIServersAnswerIsBounded: whoever has the cluster's API server, or answers for it through the relay, is refused with the name of
// what was asked and the bound, and nothing large was made before.
func TestW7AnAPIServersAnswerIsBounded(t *testing.T) {
	const protobuf = "application/vnd.kubernetes.protobuf"
	pods := func(c *Client) error { _, err := c.Present(t.Context(), "a"); return err }
	claims := func(c *Client) error {
		_, err := c.custom.Resource(apiv1.NodeClaimResource).List(t.Context(), metav1.ListOptions{})
		return translateError(err, "list nodeclaims")
	}
	empty := strings.Repeat("{},", 5_000_000) + "{}"
	for name, c := range map[string]struct {
		contentType string
		body        []byte
		ask         func(*Client) error
		want        string
	}{
		"too many bytes":      {protobuf, enveloped("PodList", bytes.Repeat([]byte{0}, maxAnswerBytes)), pods, "/api/v1/pods has more than 33554432 bytes"},
		"empty pods":          {protobuf, enveloped("PodList", bytes.Repeat(field(2, nil), 10_000_000)), pods, "/api/v1/pods takes more than 128 MiB"},
		"containers":          {protobuf, enveloped("PodList", field(2, field(2, bytes.Repeat(field(2, nil), 10_000_000)))), pods, "takes more than 128 MiB"},
		"labels":              {protobuf, enveloped("PodList", field(2, field(1, bytes.Repeat(field(11, nil), 10_000_000)))), pods, "takes more than 128 MiB"},
		"another kind":        {protobuf, enveloped("Nonsense", nil), pods, `is of kind "Nonsense" of "v1"`},
		"no protobuf":         {protobuf, []byte(protobufEnvelope + "\x0f\xff"), pods, "is not protobuf"},
		"pods as JSON":        {"application/json", []byte(`{"kind":"PodList","apiVersion":"v1","items":[` + empty + `]}`), pods, "takes more than the 128 MiB"},
		"claims":              {"application/json", []byte(`{"kind":"NodeClaimList","apiVersion":"karpenter.sh/v1","items":[` + empty + `]}`), claims, "nodeclaims takes more than the 128 MiB"},
		"text without a kind": {"text/html", bytes.Repeat([]byte("<p>"), 1<<20), pods, "of such at most 1048576 are read"},
	} {
		t.Run(name, func(t *testing.T) {
			client := serving(t, c.contentType, c.body)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := c.ask(client)
			runtime.ReadMemStats(&after)
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %s %v, want %q", fault.KindOf(err), err, c.want)
			}
			if made := after.TotalAlloc - before.TotalAlloc; made > 400<<20 {
				t.Errorf("%d MiB were made of %d bytes", made>>20, len(c.body))
			}
		})
	}
}

// TestW7AListWithoutEndIsRefused: each page is small, and there is always one more.
func TestW7AListWithoutEndIsRefused(t *testing.T) {
	page := append(field(1, field(3, []byte("more"))), bytes.Repeat(field(2, field(1, field(1, []byte("web")))), 20_000)...)
	_, err := serving(t, "application/vnd.kubernetes.protobuf", enveloped("PodList", page)).Present(t.Context(), "a")
	if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), fmt.Sprintf("list pods: there are %d and more", maxListed+20_000)) {
		t.Errorf("got %v", err)
	}
}

// TestW7APageOfLargePodsIsRead: 500 pods of eight containers with forty variables each weigh no less than they take, and pass.
func TestW7APageOfLargePodsIsRead(t *testing.T) {
	var list corev1.PodList
	for i := range pageSize {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("web-%d", i), Namespace: "web", UID: "33333333-0000-4000-8000-000000000000", CreationTimestamp: metav1.NewTime(time.Unix(1_800_000_000, 0)),
			Labels: map[string]string{"app": "web", "pod-template-hash": "7d4b9c6f8"}, Annotations: map[string]string{"a": strings.Repeat("x", 1000)},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: metav1.NewFieldsV1(strings.Repeat("f", 2000))}},
		}}
		for range 8 {
			container := corev1.Container{Name: "web", Image: "registry/web:1", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("100m")}}}
			for range 40 {
				container.Env = append(container.Env, corev1.EnvVar{Name: "SOME_VARIABLE", Value: "some value of it"})
			}
			pod.Spec.Containers = append(pod.Spec.Containers, container)
		}
		list.Items = append(list.Items, pod)
	}
	object, err := list.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	p := scale{what: "the page", left: maxAnswerWeight}
	if err := p.message(object, reflect.TypeFor[corev1.PodList]()); err != nil {
		t.Fatal(err)
	}
	weight := maxAnswerWeight - p.left
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var read corev1.PodList
	if err := read.Unmarshal(object); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(read)
	takes := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("%d bytes take %d, weight %d", len(object), takes, weight)
	if takes > weight {
		t.Errorf("takes %d bytes and weighs %d", takes, weight)
	}
	present, err := serving(t, "application/vnd.kubernetes.protobuf", enveloped("PodList", object)).Present(t.Context(), "")
	if err != nil || len(present) != 1 {
		t.Errorf("%d pods, %v", len(present), err)
	}
}
