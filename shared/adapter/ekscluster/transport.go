package ekscluster

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
)

const (
	callTimeout = 5 * time.Second  // until a request begins to be answered
	idleLimit   = 60 * time.Second // after which a connection is not trusted to have outlived a freeze
)

// newTransport returns a transport that trusts only the cluster's own authority and notices dead connections. A sandbox
// is frozen between invocations: a connection may look alive to it and be long gone.
func newTransport(ca []byte) (*http.Transport, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, fault.New(fault.Invalid, "", "the certificate authority of the cluster is not PEM")
	}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 3 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSClientConfig:       &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:   3 * time.Second,
		ResponseHeaderTimeout: callTimeout,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   16,
		IdleConnTimeout:       90 * time.Second,
		HTTP2:                 &http.HTTP2Config{SendPingTimeout: 2 * time.Second, PingTimeout: 2 * time.Second},
	}, nil
}

// bearer puts the token on each request, signs again where it is refused, and starts on a fresh connection where the
// old one was idle for long or breaks.
type bearer struct {
	base   *http.Transport
	tokens *tokens
	now    func() time.Time

	mu       sync.Mutex
	lastUsed time.Time
}

// RoundTrip implements http.RoundTripper.
func (b *bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	b.refresh()
	response, token, err := b.send(request)
	switch {
	case err != nil && repeatable(request) && request.Context().Err() == nil:
		b.base.CloseIdleConnections()
	case err == nil && response.StatusCode == http.StatusUnauthorized && replayable(request):
		b.tokens.drop(token)
		discard(response)
	default:
		return response, err
	}
	again, err := replay(request)
	if err != nil {
		return nil, err
	}
	response, _, err = b.send(again)
	return response, err
}

// refresh releases connections that were idle for long.
func (b *bearer) refresh() {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	if !b.lastUsed.IsZero() && now.Sub(b.lastUsed) > idleLimit {
		b.base.CloseIdleConnections()
	}
	b.lastUsed = now
}

func (b *bearer) send(request *http.Request) (*http.Response, string, error) {
	token, err := b.tokens.get(request.Context())
	if err != nil {
		if request.Body != nil {
			request.Body.Close()
		}
		return nil, "", err
	}
	signed := request.Clone(request.Context())
	signed.Header.Set("Authorization", "Bearer "+token)
	response, err := b.base.RoundTrip(signed)
	return response, token, err
}

// repeatable says whether sending the request twice does what sending it once does.
func repeatable(request *http.Request) bool { return request.Method == http.MethodGet }

// replayable says whether the body can be had again.
func replayable(request *http.Request) bool { return request.Body == nil || request.GetBody != nil }

func replay(request *http.Request) (*http.Request, error) {
	again := request.Clone(request.Context())
	if request.GetBody != nil {
		body, err := request.GetBody()
		if err != nil {
			return nil, err
		}
		again.Body = body
	}
	return again, nil
}

// discard reads the little that is left of an answer, so that its connection can be used again.
func discard(response *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 4<<10)) // an error only costs the connection
	response.Body.Close()
}
