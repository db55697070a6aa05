package cloud

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire/sigv4"
)

// maxBodyBytes is more than any modeled service takes.
const maxBodyBytes = 256 << 20

// ActionNamer is a handler whose requests carry the name of their action
// neither in a header nor in a form: S3, EKS.
type ActionNamer interface {
	// ActionName returns e.g. "PutObject", for the log and for faults.
	ActionName(r *http.Request) string
}

// ServeHTTP takes one request from arrival to its line in the log. The line is
// there before the client has its answer.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	started := c.options.Clock.Now()
	r = r.WithContext(wire.WithRequestID(r.Context(), wire.NewRequestID()))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err != nil {
		http.Error(w, "read request: "+err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	service := serviceOf(r)
	action := c.actionOf(service, r, body)
	if service == "" && action == webIdentity {
		service = "sts"
	}
	call := &call{
		cloud: c, service: service, action: action,
		protocol: wire.ProtocolOf(service, r), body: body,
	}
	answer := &answer{header: w.Header(), status: http.StatusOK}
	answered := false // else a handler panicked, or the connection is to be dropped
	defer func() {
		c.log.add(Request{
			Time: started, Duration: c.options.Clock.Now().Sub(started),
			Service: service, Action: call.action, CallerARN: call.caller.ARN, RequestID: wire.RequestID(r.Context()),
			Status: answer.status, ErrorCode: answer.errorCode, Dropped: call.dropped,
			RequestBytes: int64(len(body)), ResponseBytes: int64(answer.body.Len()),
		})
		if answered {
			w.WriteHeader(answer.status)
			w.Write(answer.body.Bytes())
		}
	}()
	call.serve(answer, r)
	answered = true
}

// call is one request on its way through the front door.
type call struct {
	cloud           *Cloud
	service, action string
	protocol        wire.Protocol
	body            []byte
	caller          wire.Identity
	dropped         bool
}

// serve verifies, delays, fails, authorizes and handles the request, in that order.
func (c *call) serve(w *answer, r *http.Request) {
	caller, err := c.cloud.verifier.Verify(r, c.body)
	if err != nil && !c.unsigned() {
		wire.WriteError(w, r, c.protocol, refusal(c.protocol, err))
		return
	}
	c.caller = caller
	r = r.WithContext(wire.WithCaller(r.Context(), caller))
	guard := c.guard(r)
	r = r.WithContext(wire.WithGuard(r.Context(), guard))
	handler, wait := c.cloud.lookup(caller.Account, c.service, c.action)
	fault := c.cloud.faults.next(c.service, c.action, r, c.body)
	if err := clock.Sleep(r.Context(), c.cloud.options.Clock, wait+fault.Latency); err != nil {
		return // the client has gone
	}
	switch {
	case fault.Drop == DropBefore:
		c.drop()
	case fault.Err != nil:
		wire.WriteError(w, r, c.protocol, fault.Err)
		return
	case handler == nil:
		wire.WriteError(w, r, c.protocol, wire.StatusErrorf(http.StatusNotImplemented, "NotImplemented", "Service %q is not modelled here", c.service))
		return
	}
	if refused := c.authorize(r, guard); refused != nil {
		wire.WriteError(w, r, c.protocol, refused)
		return
	}
	if fault.Drop == DropAfter {
		handler.ServeHTTP(discard{http.Header{}}, r)
		c.drop()
	}
	handler.ServeHTTP(w, r)
	c.hide(w, r, guard)
}

// webIdentity is the action of STS that nobody signs: the token in it says who asks.
const webIdentity = "AssumeRoleWithWebIdentity"

// unsigned reports whether the request may come without a signature.
func (c *call) unsigned() bool { return c.service == "sts" && c.action == webIdentity }

// drop ends the connection without an answer. It does not return.
func (c *call) drop() {
	c.dropped = true
	panic(http.ErrAbortHandler)
}

// serviceOf returns the service of the credential scope; of an unsigned request
// the one its target or host names, else "".
func serviceOf(r *http.Request) string {
	if scope, ok := sigv4.ScopeOf(r); ok {
		return scope.Service
	}
	target, _, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	switch {
	case strings.HasPrefix(target, "DynamoDB"):
		return "dynamodb"
	case target == "AmazonSQS":
		return "sqs"
	case target == "AmazonSSM":
		return "ssm"
	case target == "AWSPriceListService":
		return "pricing"
	}
	for label := range strings.SplitSeq(r.Host, ".") {
		switch label {
		case "dynamodb", "ec2", "eks", "iam", "s3", "sqs", "ssm", "sts":
			return label
		}
	}
	return ""
}

func (c *Cloud) actionOf(service string, r *http.Request, body []byte) string {
	if namer, ok := c.handler(service).(ActionNamer); ok {
		return namer.ActionName(r)
	}
	if _, action, ok := strings.Cut(r.Header.Get("X-Amz-Target"), "."); ok {
		return action
	}
	if action := r.URL.Query().Get("Action"); action != "" {
		return action
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		form, err := url.ParseQuery(string(body))
		if err == nil && form.Get("Action") != "" {
			return form.Get("Action")
		}
	}
	return r.Method + " " + r.URL.Path
}

// refusal words a failed verification as the protocol's services do.
func refusal(protocol wire.Protocol, err error) *wire.Error {
	var r *sigv4.Refusal
	if !errors.As(err, &r) {
		return wire.AsError(err)
	}
	names := refusalNames[r.Reason]
	switch protocol {
	case wire.ProtocolJSON:
		return &wire.Error{Code: names.json, Message: r.Message, QueryCode: names.query}
	case wire.ProtocolRESTJSON:
		return wire.StatusErrorf(http.StatusForbidden, names.json, "%s", r.Message)
	case wire.ProtocolEC2:
		return wire.StatusErrorf(names.ec2Status, names.ec2, "%s", r.Message)
	case wire.ProtocolRESTXML:
		return wire.StatusErrorf(names.s3Status, names.s3, "%s", r.Message)
	}
	return wire.StatusErrorf(http.StatusForbidden, names.query, "%s", r.Message)
}

var refusalNames = map[sigv4.Reason]struct {
	json, query, ec2 string
	ec2Status        int
	s3               string
	s3Status         int
}{
	sigv4.Missing:         {"MissingAuthenticationTokenException", "MissingAuthenticationToken", "MissingAuthenticationToken", 403, "AccessDenied", 403},
	sigv4.Malformed:       {"IncompleteSignatureException", "IncompleteSignature", "AuthFailure", 401, "AuthorizationHeaderMalformed", 400},
	sigv4.UnknownKey:      {"UnrecognizedClientException", "InvalidClientTokenId", "AuthFailure", 401, "InvalidAccessKeyId", 403},
	sigv4.ExpiredKey:      {"ExpiredTokenException", "ExpiredToken", "RequestExpired", 400, "ExpiredToken", 400},
	sigv4.Mismatch:        {"InvalidSignatureException", "SignatureDoesNotMatch", "AuthFailure", 401, "SignatureDoesNotMatch", 403},
	sigv4.Skewed:          {"InvalidSignatureException", "SignatureDoesNotMatch", "RequestExpired", 400, "RequestTimeTooSkewed", 403},
	sigv4.Expired:         {"InvalidSignatureException", "SignatureDoesNotMatch", "RequestExpired", 400, "AccessDenied", 403},
	sigv4.PayloadMismatch: {"InvalidSignatureException", "SignatureDoesNotMatch", "AuthFailure", 401, "XAmzContentSHA256Mismatch", 400},
}

// answer holds a response back until it is in the log.
type answer struct {
	header    http.Header
	status    int
	body      bytes.Buffer
	errorCode string
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }

// NoteError implements wire.ErrorNoter.
func (a *answer) NoteError(code string) { a.errorCode = code }

// discard is the writer of a response nobody will see.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}
