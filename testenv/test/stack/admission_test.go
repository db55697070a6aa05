package stack

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/joiner-sh/joiner/testenv/local/kube/child"
)

// TestU6ReviewsGoOnToAWatcher: by the address and the authority that the API server gets, past watchers that have
// not begun to answer; and while none answers, the connection ends at once.
func TestU6ReviewsGoOnToAWatcher(t *testing.T) {
	a, err := newAdmission(filepath.Join(t.TempDir(), "admission"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.close)
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(a.ca) {
		t.Fatalf("no certificate: %s", a.ca)
	}
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true,
	}}
	if answer, err := client.Get(a.url()); err == nil {
		t.Fatalf("somebody answers without a watcher: %v", answer.Status)
	}

	pair, err := tls.LoadX509KeyPair(filepath.Join(a.folder, "tls.crt"), filepath.Join(a.folder, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	handler := func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) }
	server := &http.Server{
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}}, Handler: http.HandlerFunc(handler),
	}
	go func() { _ = server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { server.Close() })
	line, err := json.Marshal(map[string]string{"msg": "serving admission", "address": listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"{\"msg\":\"seen the cluster\"}\n", "no JSON\n" + string(line) + "\n"} {
		log := filepath.Join(t.TempDir(), "log")
		process, err := child.Start(child.Spec{
			Name: fmt.Sprint("watcher-", i), Path: "/bin/sleep", Args: []string{"60"}, LogPath: log + ".process",
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(process.Kill)
		if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		a.add(answering{log: log, ended: process.Err})
	}
	answer, err := client.Get(a.url())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var path [6]byte
	if n, _ := answer.Body.Read(path[:]); string(path[:n]) != "/admit" {
		t.Errorf("the watcher is asked for %q", path[:n])
	}
}

// warnings notes what the API server says beside its answers.
type warnings struct {
	mutex sync.Mutex
	texts []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.texts = append(w.texts, text)
}

func (w *warnings) take() string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	text := strings.Join(w.texts, "\n")
	w.texts = nil
	return text
}

// TestU6PeopleAreWarnedAndRefusedWhileTheyApply: with the chart's own registration, a watcher of the stack answers.
func TestU6PeopleAreWarnedAndRefusedWhileTheyApply(t *testing.T) {
	if testing.Short() {
		t.Skip("a whole stack")
	}
	s, err := Start(t.Context(), Options{Admission: true, ResyncEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	said := &warnings{}
	config := rest.CopyConfig(s.Kube.Config())
	config.WarningHandler = said
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	pools := objects.Resource(schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"})
	apply := func(requirements ...any) error {
		t.Helper()
		said.take()
		pool := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "of-nothing"},
			"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
				"nodeClassRef": map[string]any{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "missing"},
				"requirements": append([]any{}, requirements...),
			}}},
		}}
		_, err := pools.Create(t.Context(), pool, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	const want = `there is no EC2NodeClass of this name`
	var warned string
	deadline := time.Now().Add(time.Minute)
	for ; !strings.Contains(warned, want) && time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if err := apply(); err != nil {
			t.Fatal(err)
		}
		warned = said.take()
	}
	if !strings.Contains(warned, want) {
		t.Errorf("a NodePool of a class that is missing: %q", warned)
	}
	if err := apply(map[string]any{"key": "kubernetes.io/arch", "operator": "In", "values": []any{"amd64"}},
		map[string]any{"key": "kubernetes.io/arch", "operator": "In", "values": []any{"arm64"}}); err == nil {
		t.Errorf("requirements that exclude each other are taken, with %q", said.take())
	} else if !strings.Contains(err.Error(), "admit.joiner.sh") {
		t.Errorf("somebody else refuses: %v", err)
	}
}
