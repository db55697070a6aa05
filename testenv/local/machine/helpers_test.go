package machine_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/joiner-sh/joiner/testenv/local/machine"
)

// instance is an m7g.large with user data that joins the cluster and labels
// its node with the instance's id.
func instance(n int) machine.Instance {
	id := fmt.Sprintf("i-%017d", n)
	return machine.Instance{
		ID: id, Type: "m7g.large", Zone: "us-west-2a", ZoneID: "usw2-az1", Region: "us-west-2",
		PrivateDNSName: fmt.Sprintf("ip-10-0-0-%d.us-west-2.compute.internal", n),
		PrivateIP:      fmt.Sprintf("10.0.0.%d", n),
		Architecture:   "arm64", VCPUs: 2, MemoryBytes: 8 << 30, ENIMaxPods: 29,
		UserData:   userData("    flags: [\"--node-labels=instance=" + id + "\"]\n"),
		LaunchTime: time.Now(),
	}
}

// userData is a message as one for Amazon Linux 2023 is, with the lines given
// (indented by four) below spec.kubelet.
func userData(kubelet string) []byte {
	return userDataFor(clusterName, plane.Endpoint(), plane.CertificateAuthority(), kubelet)
}

func userDataFor(name, endpoint string, ca []byte, kubelet string) []byte {
	config := fmt.Sprintf(`apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster:
    name: %s
    apiServerEndpoint: %s
    certificateAuthority: %s
    cidr: 10.96.0.0/12
  kubelet:
%s`, name, endpoint, base64.StdEncoding.EncodeToString(ca), kubelet)
	return multipart("text/x-shellscript", "#!/bin/sh\necho hello\n", "application/node.eks.aws", config)
}

// multipart makes a message of pairs of content type and content.
func multipart(typesAndContents ...string) []byte {
	var b strings.Builder
	b.WriteString("MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"//\"\r\n\r\n")
	for i := 0; i < len(typesAndContents); i += 2 {
		fmt.Fprintf(&b, "--//\r\nContent-Type: %s\r\n\r\n%s\r\n", typesAndContents[i], typesAndContents[i+1])
	}
	b.WriteString("--//--\r\n")
	return []byte(b.String())
}

func client(t *testing.T) *kubernetes.Clientset {
	t.Helper()
	c, err := kubernetes.NewForConfig(plane.Config())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func node(t *testing.T, name string) *corev1.Node {
	t.Helper()
	n, err := client(t).CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// nodeGone reports whether no Node has the name.
func nodeGone(t *testing.T, name string) bool {
	t.Helper()
	_, err := client(t).CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err != nil
}

// boot boots the instance, ends it with the test, and waits for an event.
func boot(t *testing.T, f *machine.Fleet, r *recorder, i machine.Instance, until machine.EventKind) machine.Event {
	t.Helper()
	f.Booted(i)
	t.Cleanup(func() { f.Terminated(i.ID) })
	return r.await(t, i.ID, until)
}

func eventually(t *testing.T, what string, f func() (ok bool, state string)) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		ok, state := f()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited two minutes for %s: %s", what, state)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// recorder keeps a fleet's events.
type recorder struct {
	mu     sync.Mutex
	events []machine.Event
	more   chan struct{} // closed and replaced at each event
}

func newRecorder() *recorder { return &recorder{more: make(chan struct{})} }

func (r *recorder) record(e machine.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	close(r.more)
	r.more = make(chan struct{})
}

// of returns the events of an instance and a channel that closes at the next
// one of any.
func (r *recorder) of(id string) ([]machine.Event, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []machine.Event
	for _, e := range r.events {
		if e.InstanceID == id {
			found = append(found, e)
		}
	}
	return found, r.more
}

// await waits until something has happened to an instance.
func (r *recorder) await(t *testing.T, id string, kind machine.EventKind) machine.Event {
	t.Helper()
	timeout := time.After(2 * time.Minute)
	for {
		found, more := r.of(id)
		for _, e := range found {
			if e.Kind == kind {
				return e
			}
		}
		select {
		case <-more:
		case <-timeout:
			t.Fatalf("waited two minutes for %s of %s; it has %v", kind, id, found)
		}
	}
}

func (r *recorder) kinds(id string) []machine.EventKind {
	found, _ := r.of(id)
	var kinds []machine.EventKind
	for _, e := range found {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}
