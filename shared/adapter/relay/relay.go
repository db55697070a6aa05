package relay

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

const (
	answerWithin = 10 * time.Second // where the context does not say
	// what reads is asked again after this: its first asking may have met a watcher's end
	retryAfter  = 4 * time.Second
	giveUpAhead = 200 * time.Millisecond
)

// Codes of errors of RoundTrip. All are Internal or, of a refusal, Denied: none says anything of the cluster's objects.
const (
	CodeNotStarted = "RelayUntaken"    // no watcher took the request, as far as is known; it may yet
	CodeUnanswered = "RelayUnanswered" // a watcher took it and did not answer: it is unknown whether it was carried out
	CodeBroken     = "RelayBroken"     // the watcher got no answer from the API server: the same
	CodeRefused    = "RelayRefused"    // it was not carried out
	CodeForged     = "RelayForged"     // the answer was written by nobody who read the request
)

// Relay asks clusters through their queues, and finds the answers with the program's own permissions. It may be used
// from many goroutines.
type Relay struct {
	answers *Answers
}

// New returns the relay whose answers are in a table and a bucket of the config's account.
func New(config aws.Config, table, bucket string) *Relay {
	return &Relay{NewAnswers(dynamodb.NewFromConfig(config), table, s3.NewFromConfig(config), bucket)}
}

// Through returns the way to the API server of a cluster in relay mode. The permissions are those of the cluster's role
// of the program, by which the watcher knows who asks.
func (r *Relay) Through(rights aws.Config, reg model.Registration) http.RoundTripper {
	return &transport{
		cluster: reg.Cluster, url: reg.RelayURL, queue: sqs.NewFromConfig(rights), answers: r.answers,
		poller: &poller{cluster: reg.Cluster, answers: r.answers},
	}
}

// transport is one cluster's.
type transport struct {
	cluster string
	url     string
	queue   *sqs.Client
	answers *Answers
	poller  *poller
}

// RoundTrip implements http.RoundTripper. What changes something is sent once; what reads is asked again where no
// answer comes for some seconds.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	asked, err := t.read(request)
	if err != nil {
		return nil, err
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(answerWithin)
	}
	ctx, cancel := context.WithDeadline(ctx, deadline.Add(-giveUpAhead)) // so that the error is ours
	defer cancel()
	if !asked.Mutates() && time.Until(deadline) > retryAfter+giveUpAhead {
		first, cancel := context.WithTimeout(ctx, retryAfter)
		answer, err := t.ask(first, asked)
		late := first.Err() != nil
		cancel()
		if err == nil || !late || ctx.Err() != nil || fault.CodeOf(err) != CodeNotStarted {
			return answered(request, answer, err)
		}
	}
	answer, err := t.ask(ctx, asked)
	return answered(request, answer, err)
}

// read makes the request that travels of one of HTTP.
func (t *transport) read(request *http.Request) (wire.RelayRequest, error) {
	out := wire.RelayRequest{
		Cluster: t.cluster, Method: request.Method, Path: request.URL.EscapedPath(), Query: request.URL.RawQuery,
		Accept: request.Header.Get("Accept"), ContentType: request.Header.Get("Content-Type"),
	}
	if request.Body == nil {
		return out, nil
	}
	defer request.Body.Close()
	var err error
	out.Body, err = io.ReadAll(io.LimitReader(request.Body, wire.MaxRelayRequestBytes+1))
	return out, fault.Wrap(fault.Invalid, "", err, "read the body of %s %s", request.Method, request.URL.Path)
}

// ask sends the request under an id and with a key of its own, and waits for its answer until ctx ends.
func (t *transport) ask(ctx context.Context, r wire.RelayRequest) (wire.RelayAnswer, error) {
	var secret [16 + wire.RelayKeyBytes]byte
	rand.Read(secret[:]) // it never fails
	r.ID, r.Key = hex.EncodeToString(secret[:16]), secret[16:]
	deadline, _ := ctx.Deadline()
	r.WithinMillis = max(1, time.Until(deadline).Milliseconds())
	body, err := wire.EncodeRelayRequest(r)
	if err != nil {
		return wire.RelayAnswer{}, err
	}
	_, err = t.queue.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &t.url, MessageBody: aws.String(string(body))})
	if err != nil {
		return wire.RelayAnswer{}, translate(err, "request to cluster %s: send %s %s to %s", t.cluster, r.Method,
			r.Path, t.url)
	}
	known := t.poller.wait(ctx, r)
	switch {
	case known.err != nil:
		return wire.RelayAnswer{}, known.err
	case known.sealed != nil || known.object != "":
		return t.open(ctx, known, &r)
	case known.taken:
		return wire.RelayAnswer{}, fault.New(fault.Internal, CodeUnanswered, "request to cluster %s: a watcher"+
			" received %s %s and did not answer in time; whether it was carried out is"+
			" unknown", t.cluster, r.Method, r.Path)
	}
	return wire.RelayAnswer{}, fault.New(fault.Internal, CodeNotStarted,
		"request to cluster %s: no watcher answered %s %s in time; is one running, with the chart's relay.enabled?",
		t.cluster, r.Method, r.Path)
}

// open reads the answer that was found.
func (t *transport) open(ctx context.Context, s state, r *wire.RelayRequest) (wire.RelayAnswer, error) {
	answer, err := t.answers.open(ctx, s, r)
	switch {
	case fault.Is(err, fault.Invalid):
		return answer, fault.Wrap(fault.Internal, CodeForged, err, "request to cluster %s: %s %s", t.cluster, r.Method,
			r.Path)
	case err != nil:
		return answer, err
	case answer.Refused != "":
		return answer, fault.New(fault.Denied, CodeRefused, "%s: %s", answer.Refused, answer.Message)
	case answer.Broken != "":
		return answer, fault.New(fault.Internal, CodeBroken,
			"request to cluster %s: the watcher got no answer to %s %s: %s",
			t.cluster, r.Method, r.Path, answer.Message)
	}
	return answer, nil
}

// answered makes an answer of HTTP of the one that traveled.
func answered(request *http.Request, a wire.RelayAnswer, err error) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	for name, value := range a.Header {
		header.Set(name, value)
	}
	return &http.Response{
		Status: strconv.Itoa(a.Status) + " " + http.StatusText(a.Status), StatusCode: a.Status, Proto: "HTTP/1.1",
		ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(a.Body)), ContentLength: int64(len(a.Body)),
		Request: request,
	}, nil
}
