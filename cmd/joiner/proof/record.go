package proof

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"

	"github.com/joiner-sh/joiner/shared/wire"
)

// recordFormat is the version of the record's lines.
const recordFormat = 1

// Head is the first line of a record.
type Head struct {
	Format   int       `json:"format"`
	Source   string    `json:"source"`   // "aws", or what answered instead
	Evidence bool      `json:"evidence"` // whether it says anything about AWS
	Run      string    `json:"run"`
	Begun    time.Time `json:"begun"`
	Build    string    `json:"build"`
	Region   string    `json:"region"`
	Subnet   string    `json:"subnet,omitempty"`
	Cluster  bool      `json:"cluster,omitempty"` // a cluster was given
	Yes      bool      `json:"yes"`
	Probes   []string  `json:"probes"`
}

// Exchange is one request and its answer as they went over the wire, scrubbed.
type Exchange struct {
	Part     string            `json:"part"` // id of the probe, or name of what several share
	Service  string            `json:"service"`
	Action   string            `json:"action"`
	Caller   string            `json:"caller,omitempty"` // session of a role; "" is the caller's own
	At       float64           `json:"at"`               // seconds from the begin of the run to the request
	Took     float64           `json:"took,omitempty"`   // seconds from the request to the answer
	Request  string            `json:"request,omitempty"`
	Status   int               `json:"status,omitempty"` // 0: there was no answer
	Headers  map[string]string `json:"headers,omitempty"`
	Response string            `json:"response,omitempty"`
	Error    string            `json:"error,omitempty"` // of the connection
}

// line is one line of a record: one of these.
type line struct {
	Head     *Head     `json:"head,omitempty"`
	Exchange *Exchange `json:"exchange,omitempty"`
	Result   *Result   `json:"result,omitempty"`
}

type partKey struct{}
type callerKey struct{}

// withPart returns a context whose calls are recorded as a probe's, or as those of what several share.
func withPart(ctx context.Context, part string) context.Context {
	return context.WithValue(ctx, partKey{}, part)
}

func partOf(ctx context.Context) string {
	part, _ := ctx.Value(partKey{}).(string)
	return part
}

// operation is which call of which service a request is.
type operation struct{ service, action string }

// services are the names IAM has for services that the SDK names otherwise.
var services = map[string]string{
	"EC2": "ec2", "SQS": "sqs", "S3": "s3", "DynamoDB": "dynamodb", "STS": "sts", "IAM": "iam", "EKS": "eks", "SSM": "ssm",
	"EventBridge": "events", "Lambda": "lambda", "Pricing": "pricing", "Service Quotas": "servicequotas",
}

// operationOf reads the SDK's word for it; requests made without the SDK say it by WithOperation.
func operationOf(ctx context.Context) operation {
	if o, ok := ctx.Value(operation{}).(operation); ok {
		return o
	}
	id := awsmiddleware.GetServiceID(ctx)
	if name, ok := services[id]; ok {
		id = name
	}
	return operation{id, middleware.GetOperationName(ctx)}
}

// WithOperation names the call that a request without the SDK makes, e.g. "s3", "PutObject".
func WithOperation(ctx context.Context, service, action string) context.Context {
	return context.WithValue(ctx, operation{}, operation{service, action})
}

// keptHeaders are those of an answer that say something and give nobody away.
var keptHeaders = []string{
	"Content-Type", "Etag", "X-Amzn-Query-Error", "X-Amzn-Errortype", "X-Amz-Expiration", "X-Amz-Checksum-Crc64nvme",
	"X-Amz-Checksum-Type", "X-Amz-Bucket-Region", "Location", "X-Amz-Server-Side-Encryption",
}

// maxKept is how long a request is kept. Longer ones are kept as length and digest.
const maxKept = 16 << 10

// Doer sends a request, as *http.Client does.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// Recorder counts the cost of each request before it is sent, and writes down each exchange, scrubbed. It is safe for concurrent
// use.
type Recorder struct {
	Budget *Budget
	Scrub  *Scrubber
	Now    func() time.Time
	Begun  time.Time

	mu  sync.Mutex
	out io.Writer // nil: nothing is written down
	err error     // of writing
}

// NewRecorder returns a recorder that writes to out, which may be nil.
func NewRecorder(budget *Budget, scrub *Scrubber, now func() time.Time, out io.Writer) *Recorder {
	return &Recorder{Budget: budget, Scrub: scrub, Now: now, Begun: now(), out: out}
}

// Over returns who sends requests by way of next and of the recorder. caller names whose they are: "" is whoever runs the proof.
// A request that costs too much is answered with an *OverCeiling.
func (r *Recorder) Over(next Doer, caller string) Doer { return recorded{r, next, caller} }

type recorded struct {
	*Recorder
	next   Doer
	caller string
}

// Do implements Doer.
func (r recorded) Do(request *http.Request) (*http.Response, error) {
	if r.caller != "" {
		request = request.WithContext(context.WithValue(request.Context(), callerKey{}, r.caller))
	}
	op, part := operationOf(request.Context()), partOf(request.Context())
	body, err := drain(request)
	if err != nil {
		return nil, err
	}
	if err := r.Budget.Spend(op.service+":"+op.action, requestCost(op.service, len(body))); err != nil {
		return nil, err
	}
	x := &Exchange{
		Part: part, Service: op.service, Action: op.action, Caller: r.caller, Request: kept(request, body), At: r.Now().Sub(r.Begun).Seconds(),
	}
	response, err := r.next.Do(request)
	x.Took = r.Now().Sub(r.Begun).Seconds() - x.At
	if err != nil {
		x.Error = err.Error()
		return nil, notedError(err, r.write(line{Exchange: r.scrubbed(x)}))
	}
	answer, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(answer))
	x.Status, x.Response, x.Headers = response.StatusCode, string(answer), map[string]string{}
	for _, name := range keptHeaders {
		if value := response.Header.Get(name); value != "" {
			x.Headers[name] = value
		}
	}
	return response, r.write(line{Exchange: r.scrubbed(x)})
}

// notedError returns the error of a call, or that of writing it down.
func notedError(call, writing error) error {
	if writing != nil {
		return writing
	}
	return call
}

// drain returns the request's body and leaves it there to be sent.
func drain(request *http.Request) ([]byte, error) {
	if request.Body == nil || request.Body == http.NoBody {
		return nil, nil
	}
	body, err := io.ReadAll(request.Body)
	request.Body.Close()
	request.Body = io.NopCloser(bytes.NewReader(body))
	return body, err
}

// kept is what a record has of a request: the body of services that have one URL, else method, path and body.
func kept(request *http.Request, body []byte) string {
	text := string(body)
	if strings.HasPrefix(request.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		if form, err := url.QueryUnescape(text); err == nil {
			text = form
		}
	}
	if len(text) > maxKept {
		sum := sha256.Sum256(body)
		text = fmt.Sprintf("%d bytes, sha256 %s", len(body), hex.EncodeToString(sum[:]))
	}
	if request.Method == http.MethodPost && request.URL.Path == "/" {
		return text
	}
	query := request.URL.Query()
	for name := range query {
		if strings.HasPrefix(name, "X-Amz-") {
			query.Del(name)
		}
	}
	head := request.Method + " " + request.URL.Path
	if len(query) > 0 {
		head += "?" + query.Encode()
	}
	for _, name := range []string{"If-Match", "If-None-Match", "X-Amz-Sdk-Checksum-Algorithm"} {
		if value := request.Header.Get(name); value != "" {
			head += "\n" + name + ": " + value
		}
	}
	if text != "" {
		head += "\n\n" + text
	}
	return head
}

func (r *Recorder) scrubbed(x *Exchange) *Exchange {
	if r.out == nil {
		return x // nobody reads it
	}
	x.Request, x.Response, x.Error = r.Scrub.Text(x.Request), r.Scrub.Text(reduced(x.Service, x.Action, x.Response)), r.Scrub.Text(x.Error)
	for name, value := range x.Headers {
		x.Headers[name] = r.Scrub.Text(value)
	}
	return x
}

// write adds a line to the record.
func (r *Recorder) write(l line) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.out == nil || r.err != nil {
		return r.err
	}
	var text []byte
	if text, r.err = wire.EncodeJSON(l); r.err == nil {
		_, r.err = r.out.Write(text)
	}
	if r.err != nil {
		r.err = fmt.Errorf("write the record: %w", r.err)
	}
	return r.err
}
