package ekscluster

import (
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// server answers as told and counts requests and connections.
type server struct {
	*httptest.Server
	requests, connections atomic.Int32
}

func serve(t *testing.T, handle func(n int32, w http.ResponseWriter, r *http.Request)) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handle(s.requests.Add(1), w, r)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.connections.Add(1)
		}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *server) transport(t *testing.T, now func() time.Time) *bearer {
	t.Helper()
	base, err := newTransport(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(base.CloseIdleConnections)
	return &bearer{base: base, tokens: signer(now), now: now}
}

func do(t *testing.T, b *bearer, method, url, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := b.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestARefusedTokenIsSignedAnewOnceAndTheRequestRepeated(t *testing.T) {
	clock := time.Now()
	now := func() time.Time { clock = clock.Add(2 * time.Second); return clock } // so that two tokens differ
	var seen []string
	s := serve(t, func(n int32, w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization"))
		if n == 1 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		io.Copy(w, r.Body)
	})
	b := s.transport(t, now)
	if code, text := do(t, b, http.MethodPost, s.URL, "hello"); code != http.StatusOK || text != "hello" {
		t.Fatalf("got %d %q", code, text)
	}
	if len(seen) != 2 || !strings.HasPrefix(seen[0], "Bearer k8s-aws-v1.") {
		t.Fatalf("got tokens %q", seen)
	}

	refusing := serve(t, func(_ int32, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	if code, _ := do(t, refusing.transport(t, now), http.MethodGet, refusing.URL, ""); code != http.StatusUnauthorized || refusing.requests.Load() != 2 {
		t.Fatalf("got %d after %d requests, want 401 after 2", code, refusing.requests.Load())
	}
}

func TestAConnectionIdleForAMinuteIsNotTrusted(t *testing.T) {
	clock := time.Now()
	s := serve(t, func(_ int32, w http.ResponseWriter, _ *http.Request) {})
	b := s.transport(t, func() time.Time { return clock })
	for _, step := range []struct {
		idle        time.Duration
		connections int32
	}{{0, 1}, {59 * time.Second, 1}, {61 * time.Second, 2}, {time.Second, 2}} {
		clock = clock.Add(step.idle)
		do(t, b, http.MethodGet, s.URL, "")
		if got := s.connections.Load(); got != step.connections {
			t.Errorf("after %s idle: %d connections, want %d", step.idle, got, step.connections)
		}
	}
}

func TestOnlyReadsAreRepeatedAfterABrokenConnection(t *testing.T) {
	breakFirst := func(n int32, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			panic(http.ErrAbortHandler)
		}
	}
	s := serve(t, breakFirst)
	if code, _ := do(t, s.transport(t, time.Now), http.MethodGet, s.URL, ""); code != http.StatusOK {
		t.Fatalf("got %d", code)
	}
	s = serve(t, breakFirst)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	if response, err := s.transport(t, time.Now).RoundTrip(request); err == nil {
		response.Body.Close()
		t.Fatalf("a write was repeated %d times", s.requests.Load())
	}
}

func TestConnectNeedsEndpointAndCertificateAuthority(t *testing.T) {
	for name, reg := range map[string]model.Registration{
		"no authority": {Cluster: "prod", Endpoint: "https://127.0.0.1:1"},
		"no endpoint":  {Cluster: "prod"},
		"no TLS":       {Cluster: "prod", Endpoint: "http://127.0.0.1:1"},
	} {
		if _, err := Connect(aws.Config{Region: "us-west-2"}, reg, nil); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: got %v, want Invalid", name, err)
		}
	}
}
