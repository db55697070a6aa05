package ekscluster

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/wire"
)

// RelayUser is whom the API server's log names for what functions ask through the relay; which of them it was shows by
// the group.
const RelayUser = "joiner:relay"

// handedOn are the headers of an answer that a client goes by.
var handedOn = []string{"Content-Type", "Date", "Retry-After", "Warning"}

// Executor carries out requests at the API server with the permissions of groups it may impersonate. It may be used
// from many goroutines.
type Executor struct {
	client *http.Client
	base   *url.URL
}

// NewExecutor returns the carrier at the API server of a Kubernetes client configuration.
func NewExecutor(config *rest.Config) (*Executor, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = "joiner-relay"
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "", err, "client configuration of the cluster")
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "", err, "client configuration of the cluster")
	}
	return &Executor{client: client, base: base}, nil
}

// Do asks the API server and returns what it said, whatever that was. An error means that it is unknown whether the
// request was carried out.
func (c *Executor) Do(ctx context.Context, group string, r wire.RelayRequest) (wire.RelayAnswer, error) {
	target := *c.base
	target.Path, target.RawQuery = strings.TrimSuffix(target.Path, "/")+r.Path, r.Query
	request, err := http.NewRequestWithContext(ctx, r.Method, target.String(), bytes.NewReader(r.Body))
	if err != nil {
		return wire.RelayAnswer{}, fault.Wrap(fault.Invalid, "", err, "build the request %s %s", r.Method, r.Path)
	}
	request.Header.Set(transport.ImpersonateUserHeader, RelayUser)
	request.Header.Set(transport.ImpersonateGroupHeader, group)
	for name, value := range map[string]string{"Accept": r.Accept, "Content-Type": r.ContentType} {
		if value != "" {
			request.Header.Set(name, value)
		}
	}
	response, err := c.client.Do(request)
	if err != nil {
		return wire.RelayAnswer{}, fault.Wrap(fault.Internal, "", err, "send to the API server: %s %s", r.Method,
			r.Path)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, wire.MaxRelayAnswerBytes+1))
	if err == nil && len(body) > wire.MaxRelayAnswerBytes {
		err = fault.New(fault.Invalid, "TooLarge", "more than %d bytes", wire.MaxRelayAnswerBytes)
	}
	if err != nil {
		return wire.RelayAnswer{}, fault.Wrap(fault.Internal, "", err, "read the API server's answer to %s %s",
			r.Method, r.Path)
	}
	answer := wire.RelayAnswer{Status: response.StatusCode, Header: map[string]string{}, Body: body}
	for _, name := range handedOn {
		if value := response.Header.Get(name); value != "" {
			answer.Header[name] = value
		}
	}
	return answer, nil
}
