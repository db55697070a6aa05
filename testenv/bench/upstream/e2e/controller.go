package e2e

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// metricsPath is where the suites of performance ask for what Karpenter takes: its pod, by way of the API server. The pod is the one of
// manifests/controller.yaml, which nothing runs.
const metricsPath = "/api/v1/namespaces/kube-system/pods/http:karpenter:8080/proxy/metrics"

// Controller is an API server as those suites see it: the real one, and a pod of Karpenter's that tells what Joiner takes.
type Controller struct {
	server *httptest.Server
	prefix string // of every path, so that only who is told it gets in
}

// StartController serves in front of the API server of a kubeconfig until Stop. read is Footprint.Read.
func StartController(kubeconfig string, read func() (memory int64, cpu float64, err error)) (*Controller, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", kubeconfig, err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", kubeconfig, err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", kubeconfig, err)
	}
	c := &Controller{prefix: "/" + rand.Text()}
	real := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, // watches are told as they come
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
	}
	mux := http.NewServeMux()
	mux.Handle(c.prefix+"/", http.StripPrefix(c.prefix, real))
	mux.HandleFunc("GET "+c.prefix+metricsPath, func(w http.ResponseWriter, _ *http.Request) {
		memory, cpu, err := read()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprintf(w, "# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes %d\n# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total %g\n", memory, cpu)
	})
	c.server = httptest.NewServer(mux)
	return c, nil
}

// Stop ends serving and drops open connections.
func (c *Controller) Stop() {
	c.server.CloseClientConnections()
	c.server.Close()
}

// WriteKubeconfig writes a kubeconfig by which everything is reached as its reader is.
func (c *Controller) WriteKubeconfig(path string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["stack"] = &clientcmdapi.Cluster{Server: c.server.URL + c.prefix}
	config.Contexts["stack"] = &clientcmdapi.Context{Cluster: "stack"}
	config.CurrentContext = "stack"
	return clientcmd.WriteToFile(*config, path)
}

// measure puts into a cluster whom the suites of performance look for, and writes a kubeconfig into dir by which they find it.
func (p Place) measure(ctx context.Context, dir string) (stop func(), err error) {
	file, err := WriteManifest(dir, "controller", p.Cluster)
	if err != nil {
		return nil, err
	}
	if err := p.Apply(ctx, file); err != nil {
		return nil, err
	}
	c, err := StartController(p.Kubeconfig, NewFootprint(p.PID).Read)
	if err != nil {
		return nil, err
	}
	return c.Stop, c.WriteKubeconfig(filepath.Join(dir, "kubeconfig"))
}

// leastSamples are needed to say what CPU was taken: it is the difference of two.
const leastSamples = 2

// measured returns an error where a suite of performance has left a report in dir that rests on no samples, or none at all: such a spec
// passes whatever is taken.
func measured(dir string) error {
	reports, err := filepath.Glob(filepath.Join(dir, "*_performance_report.json"))
	if err != nil {
		return err
	}
	if len(reports) == 0 {
		return fmt.Errorf("it has left no report in %s", dir)
	}
	for _, path := range reports {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var report struct {
			Samples int `json:"metrics_sample_count"`
		}
		if err := json.Unmarshal(text, &report); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		if report.Samples < leastSamples {
			return fmt.Errorf("%s rests on %d samples of what Joiner takes; it needs %d", filepath.Base(path), report.Samples, leastSamples)
		}
	}
	return nil
}
