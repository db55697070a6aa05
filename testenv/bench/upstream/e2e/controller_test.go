package e2e

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// behind starts a Controller in front of an API server that is handler, and returns a client as the suites have it.
func behind(t *testing.T, handler http.HandlerFunc, read func() (int64, float64, error)) *kubernetes.Clientset {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "real")
	if err := os.WriteFile(kubeconfig, []byte(`{"clusters": [{"name": "a", "cluster": {"server": "`+server.URL+`"}}], "contexts": [{"name": "a", "context": {"cluster": "a"}}], "current-context": "a"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := StartController(kubeconfig, read)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	path := filepath.Join(dir, "seen")
	if err := c.WriteKubeconfig(path); err != nil {
		t.Fatal(err)
	}
	if answer, err := http.Get(c.server.URL + metricsPath); err != nil || answer.StatusCode != http.StatusNotFound {
		t.Errorf("who was not told the prefix gets %v %v", answer, err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestControllerTellsWhatJoinerTakesAndPassesOnTheRest(t *testing.T) {
	var asked []string
	client := behind(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "karpenter"}}`)
	}, func() (int64, float64, error) { return 1 << 20, 1.5, nil })
	pods := client.CoreV1().Pods("kube-system")
	text, err := pods.ProxyGet("http", "karpenter", "8080", "/metrics", nil).DoRaw(t.Context())
	if err != nil || !strings.Contains(string(text), "\nprocess_resident_memory_bytes 1048576\n") || !strings.Contains(string(text), "\nprocess_cpu_seconds_total 1.5\n") {
		t.Errorf("metrics %q %v", text, err)
	}
	if len(asked) != 0 {
		t.Errorf("the API server was asked for %q", asked)
	}
	text, err = pods.ProxyGet("http", "other", "8080", "/metrics", nil).DoRaw(t.Context())
	if err != nil || len(asked) != 1 || asked[0] != "/api/v1/namespaces/kube-system/pods/http:other:8080/proxy/metrics" {
		t.Errorf("of another pod: %q %v, the API server was asked for %q", text, err, asked)
	}
	if _, err := client.CoreV1().RESTClient().Get().AbsPath("/api/v1/namespaces/kube-system/pods").Param("limit", "5").DoRaw(t.Context()); err != nil || asked[len(asked)-1] != "/api/v1/namespaces/kube-system/pods?limit=5" {
		t.Errorf("a list: %v, the API server was asked for %q", err, asked)
	}
}

func TestControllerThatCannotMeasureSaysSo(t *testing.T) {
	client := behind(t, func(http.ResponseWriter, *http.Request) { t.Error("the API server was asked") }, func() (int64, float64, error) { return 0, 0, errors.New("no /proc") })
	_, err := client.CoreV1().Pods("kube-system").ProxyGet("http", "karpenter", "8080", "/metrics", nil).DoRaw(t.Context())
	if err == nil {
		t.Error("it has answered")
	}
}

func TestPassingOnNoSamplesIsNotPassing(t *testing.T) {
	dir := t.TempDir()
	if err := measured(dir); err == nil || !strings.Contains(err.Error(), "no report") {
		t.Errorf("without a report: %v", err)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name+"_performance_report.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("scale_out", `{"metrics_sample_count": 2}`)
	if err := measured(dir); err != nil {
		t.Error(err)
	}
	write("consolidation", `{"metrics_sample_count": 1}`)
	if err := measured(dir); err == nil || !strings.Contains(err.Error(), "consolidation_performance_report.json rests on 1 samples") {
		t.Errorf("with one sample: %v", err)
	}
	write("consolidation", `{`)
	if err := measured(dir); err == nil {
		t.Error("a broken report is none")
	}
}
