package main

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/joiner-sh/joiner/shared/api/crds"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/testenv/local/kube"
)

// gateway is an HTTP API before the function: requests become events of payload format 2.0, bodies as text or in base64.
type gateway struct {
	t      *testing.T
	handle *handler
	encode bool
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		g.t.Error(err)
	}
	event := events.APIGatewayV2HTTPRequest{Version: "2.0", RouteKey: "POST /{proxy+}", RawPath: r.URL.Path, RawQueryString: r.URL.RawQuery, Body: string(body)}
	event.RequestContext.HTTP.Method, event.RequestContext.HTTP.Path = r.Method, r.URL.Path
	if g.encode {
		event.Body, event.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
	g.encode = !g.encode
	text, err := json.Marshal(event)
	if err != nil {
		g.t.Error(err)
	}
	var received events.APIGatewayV2HTTPRequest
	if err := json.Unmarshal(text, &received); err != nil {
		g.t.Error(err)
	}
	answer, err := g.handle.handle(r.Context(), received)
	if err != nil {
		http.Error(w, "Internal Server Error", http.StatusInternalServerError)
		return
	}
	for name, value := range answer.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(answer.StatusCode)
	io.WriteString(w, answer.Body)
}

// heard collects warnings as kubectl prints them.
type heard struct {
	mu   sync.Mutex
	said []string
}

// HandleWarningHeader takes one warning.
func (h *heard) HandleWarningHeader(_ int, _, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, text)
}

func (h *heard) take() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	said := strings.Join(h.said, "\n")
	h.said = nil
	return said
}

// nothing is a pool that no instance type meets.
const nothing = `apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: nothing}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [x99]}
`

// A real API server asks through a URL with the secret in its path, the only place it can be in.
func TestAnAPIServerAsksThroughAURL(t *testing.T) {
	plane, err := kube.Start(t.Context(), kube.Options{Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Stop)
	if err := plane.Apply(t.Context(), crds.Manifests()...); err != nil {
		t.Fatal(err)
	}
	p := newPlace()
	server := httptest.NewTLSServer(&gateway{t: t, handle: p.handler})
	t.Cleanup(server.Close)
	warned, config := &heard{}, plane.Config()
	config.WarningHandler = warned
	people, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(plane.Config())
	if err != nil {
		t.Fatal(err)
	}
	register := func(path string) {
		t.Helper()
		url, ignore, none := server.URL+path, admissionregistrationv1.Ignore, admissionregistrationv1.SideEffectClassNone
		hooks := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
		_ = hooks.Delete(t.Context(), "joiner", metav1.DeleteOptions{}) // at first there is none
		_, err := hooks.Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "joiner"}, Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "admission.joiner.sh", FailurePolicy: &ignore, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})},
			Rules: []admissionregistrationv1.RuleWithOperations{{Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule: admissionregistrationv1.Rule{APIGroups: []string{"karpenter.sh"}, APIVersions: []string{"v1"}, Resources: []string{"nodepools"}}}},
		}}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	made := 0
	create := func(arch string) (string, error) {
		t.Helper()
		made++
		var review struct {
			Request struct{ Object map[string]any }
		}
		if err := json.Unmarshal([]byte(strings.Replace(pool, "ARCH", arch, 1)), &review); err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{Object: review.Request.Object}
		object.SetName(fmt.Sprint("pool-", made))
		_, err := people.Resource(apiv1.NodePoolResource).Create(t.Context(), object, metav1.CreateOptions{})
		return warned.take(), err
	}
	eventually := func(what, arch string, ok func(said string, err error) bool) {
		t.Helper()
		said, err := "", errors.New("never tried")
		for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(100 * time.Millisecond) { // until the API server knows the configuration
			if said, err = create(arch); ok(said, err) {
				return
			}
		}
		t.Fatalf("%s: %s, %v", what, said, err)
	}

	register("/" + first + "/444455556666/us-east-1")
	eventually("warnings", "amd64", func(said string, err error) bool {
		return err == nil && strings.Contains(said, "1 of the 1 instance types that us-east-1 has") && strings.Contains(said, "c5.large")
	})
	// What kubectl prints of a pool that matches nothing: that it is so, and why. The pool is applied all the same.
	_, reported, err := plane.Kubectl(t.Context(), []byte(nothing), "apply", "-f", "-")
	if want := "Warning: spec.template.spec.requirements[1]: nothing matches, no node can be launched: no instance type has karpenter.k8s.aws/instance-family In [x99]; c5 is offered. Remedy: "; err != nil || !strings.Contains(reported, want) {
		t.Errorf("%v, kubectl printed %s", err, reported)
	}
	for range 2 { // as text and in base64
		if _, err := create("arm64"); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "requirements[1]") || !strings.Contains(err.Error(), "Remedy: ") {
			t.Errorf("what no node can meet: %v", err)
		}
	}
	register("/" + second)
	eventually("without the secret nothing is said, and nobody kept from anything", "arm64", func(said string, err error) bool { return err == nil && said == "" })
}
