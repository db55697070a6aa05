package helm

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// withoutCertificate are the values of people who take every default, as they stand in an Application of Argo CD.
func withoutCertificate(t *testing.T) map[string]any {
	t.Helper()
	given := values(t, "default")
	delete(given, "webhook")
	return given
}

// documentsOf are the objects of a rendering.
func documentsOf(t *testing.T, rendered []byte) []map[string]any {
	t.Helper()
	var out []map[string]any
	for _, document := range strings.Split("\n"+string(rendered), "\n---\n") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if object != nil {
			out = append(out, object)
		}
	}
	return out
}

// oneOf is the one object of a kind.
func oneOf(t *testing.T, objects []map[string]any, kind string) map[string]any {
	t.Helper()
	var found map[string]any
	for _, object := range objects {
		if object["kind"] == kind {
			if found != nil {
				t.Fatalf("there are two of kind %s", kind)
			}
			found = object
		}
	}
	if found == nil {
		t.Fatalf("there is no %s", kind)
	}
	return found
}

// TestA47RenderingWithoutAClusterIsTheSameEachTime: Argo CD renders the chart anew at each sync and asks no cluster. Whatever it is
// given, two renderings are the same bytes, or the chart says why not and what to choose.
func TestA47RenderingWithoutAClusterIsTheSameEachTime(t *testing.T) {
	r := release(t)
	_, err := r.Template(t.Context(), withoutCertificate(t))
	if err == nil {
		t.Fatal("a certificate is made at each rendering")
	}
	for _, want := range []string{"another each time", "webhook.certManager.enabled", "webhook.secretName", "webhook.caBundle", "webhook.enabled"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("it says\n%v\nand not %q", err, want)
		}
	}
	for name, webhook := range map[string]map[string]any{
		"cert-manager":             {"certManager": map[string]any{"enabled": true}},
		"cert-manager, own issuer": {"certManager": map[string]any{"enabled": true, "issuerRef": map[string]any{"name": "company", "kind": "ClusterIssuer"}}},
		"a certificate of theirs":  {"secretName": "joiner-own", "annotations": map[string]any{"cert-manager.io/inject-ca-from": "joiner/own"}},
		"a Secret and who signed":  {"secretName": "joiner-own", "caBundle": "-----BEGIN CERTIFICATE-----\nbm90IG9uZQ==\n-----END CERTIFICATE-----\n"},
		"nobody answers":           {"enabled": false},
	} {
		given := withoutCertificate(t)
		given["webhook"] = webhook
		first, err := r.Template(t.Context(), given)
		must(t, name, err)
		second, err := r.Template(t.Context(), given)
		must(t, name, err)
		if !bytes.Equal(first, second) {
			t.Errorf("%s: two renderings differ", name)
		}
		if bytes.Contains(first, []byte("tls.key:")) {
			t.Errorf("%s: a key is rendered", name)
		}
	}
}

// TestA47CertManagerMakesTheCertificate: the Certificate is of the names the API server calls, its Secret is the one the watcher
// reads, and its CA is written into the registration, which has none of its own.
func TestA47CertManagerMakesTheCertificate(t *testing.T) {
	r := release(t)
	given := withoutCertificate(t)
	given["webhook"] = map[string]any{"certManager": map[string]any{"enabled": true}}
	must(t, "lint", r.Lint(t.Context(), given))
	rendered, err := r.Template(t.Context(), given)
	must(t, "render", err)
	objects := documentsOf(t, rendered)
	oneOf(t, objects, "Issuer")
	spec := oneOf(t, objects, "Certificate")["spec"].(map[string]any)
	if names, _ := spec["dnsNames"].([]any); len(names) != 2 || names[0] != "joiner-webhook.joiner.svc" {
		t.Errorf("the certificate is of %v", spec["dnsNames"])
	}
	if ref, _ := spec["issuerRef"].(map[string]any); ref["name"] != "joiner-webhook" || ref["kind"] != "Issuer" {
		t.Errorf("it is signed by %v", spec["issuerRef"])
	}
	registration := oneOf(t, objects, "ValidatingWebhookConfiguration")
	annotations, _ := registration["metadata"].(map[string]any)["annotations"].(map[string]any)
	if annotations["cert-manager.io/inject-ca-from"] != "joiner/joiner-webhook" {
		t.Errorf("the registration has annotations %v", annotations)
	}
	hook := registration["webhooks"].([]any)[0].(map[string]any)["clientConfig"].(map[string]any)
	if _, there := hook["caBundle"]; there {
		t.Error("the registration names a CA of its own")
	}
	text, err := yaml.Marshal(oneOf(t, objects, "Deployment"))
	must(t, "write", err)
	if want := "secretName: " + spec["secretName"].(string) + "\n"; !bytes.Contains(text, []byte(want)) {
		t.Errorf("the watcher does not read %s", want)
	}
	given["webhook"] = map[string]any{"certManager": map[string]any{"enabled": true, "issuerRef": map[string]any{"name": "company", "kind": "ClusterIssuer"}}}
	rendered, err = r.Template(t.Context(), given)
	must(t, "render", err)
	if bytes.Contains(rendered, []byte("kind: Issuer\n")) || !bytes.Contains(rendered, []byte("name: company")) {
		t.Error("an issuer of theirs is not used")
	}
}

// TestA47ExamplesAreOfThisChart: what the examples for Argo CD and Flux say of values is rendered by the chart, the same each time
// where nobody asks a cluster.
func TestA47ExamplesAreOfThisChart(t *testing.T) {
	r := release(t)
	for name, at := range map[string][]string{"argocd.yaml": {"spec", "source", "helm", "valuesObject"}, "flux.yaml": {"spec", "values"}} {
		text, err := os.ReadFile(filepath.Join(ChartDir(), "examples", name))
		must(t, "read", err)
		kind := map[string]string{"argocd.yaml": "Application", "flux.yaml": "HelmRelease"}[name]
		found := any(oneOf(t, documentsOf(t, text), kind))
		for _, key := range at {
			found = found.(map[string]any)[key]
		}
		given, is := found.(map[string]any)
		if !is {
			t.Fatalf("%s: there are no values at %v", name, at)
		}
		must(t, name, r.Lint(t.Context(), given))
		first, err := r.Template(t.Context(), given)
		must(t, name, err)
		second, err := r.Template(t.Context(), given)
		must(t, name, err)
		if !bytes.Equal(first, second) {
			t.Errorf("%s: two renderings differ", name)
		}
	}
}

var asked = regexp.MustCompile(`\bkarpenter_[a-z_]+`)

// TestA51AlertsAskForMetricsThereAre: each metric of the PrometheusRule is one that the watcher has, as docs/reference/metrics.md lists them.
func TestA51AlertsAskForMetricsThereAre(t *testing.T) {
	r := release(t)
	rendered, err := r.Template(t.Context(), values(t, "default"), "--set", "metrics.prometheusRule.enabled=true")
	must(t, "render", err)
	rule, err := yaml.Marshal(oneOf(t, documentsOf(t, rendered), "PrometheusRule"))
	must(t, "write", err)
	metrics, err := os.ReadFile(filepath.Join(ChartDir(), "..", "..", "docs", "reference", "metrics.md"))
	must(t, "read", err)
	names := asked.FindAllString(string(rule), -1)
	if len(names) < 3 {
		t.Fatalf("the alerts ask for %v", names)
	}
	for _, name := range names {
		if !bytes.Contains(metrics, []byte("\n| `"+name+"` | ")) {
			t.Errorf("an alert asks for %s, which the watcher does not have", name)
		}
	}
	plain, err := r.Template(t.Context(), values(t, "default"))
	must(t, "render", err)
	if bytes.Contains(plain, []byte("PrometheusRule")) {
		t.Error("alerts are made though nobody asked for them")
	}
}
