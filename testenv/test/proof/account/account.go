package account

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/eks"
	"github.com/joiner-sh/joiner/testenv/local/cloud/iam"
	"github.com/joiner-sh/joiner/testenv/local/cloud/pricing"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/local/cloud/servicequotas"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sqs"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ssm"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/events"
)

// Account is a modeled account.
type Account struct {
	Cloud  *cloud.Cloud
	EC2    *ec2.Model
	EKS    *eks.Model
	Tables *dynamodb.Model
	Bus    *events.Bus
	Lambda *Limits
	Clock  *Clock

	user  sts.Credentials
	roles *roles
	rules *rules
	dead  atomic.Bool  // the client's process is
	after atomic.Int64 // requests it still makes; negative: any number
	calls atomic.Int64
	slow  time.Duration
}

// Clock is one that stands still but for Sleep.
type Clock struct {
	mu sync.Mutex
	*clock.Fake
}

// Sleep moves the clock on.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Advance(d)
	return nil
}

// New returns an account with a network, an instance profile and nothing else, of some readings of what AWS leaves open; nil is what the
// environment says.
func New(reads *reading.Set) *Account {
	a := &Account{Clock: &Clock{Fake: clock.NewFake(time.Date(2026, 3, 2, 10, 30, 0, 0, time.UTC))}}
	a.after.Store(-1)
	a.Cloud = cloud.New(cloud.Options{Clock: a.Clock.Fake, ClientClock: clock.System(), Readings: reads})
	network := ec2.DefaultNetwork("proof")
	timing := ec2.DefaultTiming()
	a.EC2 = ec2.New(ec2.Options{Clock: a.Clock.Fake, Account: a.Cloud.Account(), Timing: &timing, Network: &network, Readings: reads})
	a.EKS = eks.New(eks.Options{Clock: a.Clock.Fake, Account: a.Cloud.Account(), Region: a.Cloud.Region(), Readings: reads})
	a.Tables = dynamodb.NewModel(dynamodb.Options{Clock: a.Clock.Fake, Account: a.Cloud.Account(), Region: a.Cloud.Region(), Durations: dynamodb.Durations{Table: 3 * time.Second}})
	// Here requests are carried out in an instant, so that none meets another: these items do, as package dynamodb has it.
	a.Tables.SetFaults(dynamodb.Faults{Batch: func(_ int, item dynamodb.ItemRef) bool { return item.Key["PK"].Text == "conflict" }})
	a.Bus = events.NewBus(events.Config{Account: a.Cloud.Account(), Region: a.Cloud.Region(), Clock: a.Clock.Fake})
	a.EC2.AddInstanceProfile("nodes", "nodes") // of the account's own: it knows its profiles
	a.Lambda = &Limits{Executions: 1000}
	a.user = a.Cloud.STS.AddUser("jane.doe")
	a.roles = newRoles(a)
	a.rules = newRules(a)
	for name, h := range map[string]http.Handler{
		"ec2": ec2.NewHandler(a.EC2), "eks": eks.NewHandler(a.EKS), "dynamodb": dynamodb.NewHandler(a.Tables),
		"ssm":     ssm.NewHandler(ssm.New(ssm.Options{Account: a.Cloud.Account()})),
		"pricing": pricing.NewHandler(pricing.New(pricing.Options{})), "servicequotas": servicequotas.NewHandler(servicequotas.New()),
		"sqs": queuePolicies(a, sqs.NewHandler(a.Cloud.SQS)),
		"iam": a.roles.iam(iam.NewHandler(a.EC2, a.Cloud.Policies)), "sts": a.roles.sts(), "events": a.rules.handler(), "lambda": a.Lambda,
	} {
		a.Cloud.Register(name, h)
	}
	a.EC2.OnEvent(func(source, detailType string, detail any, resources []string) {
		text, err := json.Marshal(detail)
		if err != nil {
			panic(err)
		}
		if _, err := a.Bus.PutEvents(context.Background(), events.Entry{Source: source, DetailType: detailType, Detail: text, Resources: resources, Time: a.Clock.Now()}); err != nil {
			panic(err)
		}
	})
	return a
}

// Root returns SDK configuration for the account's root, without a network.
func (a *Account) Root() aws.Config {
	c := a.Cloud.Config()
	c.BaseEndpoint, c.HTTPClient = aws.String("http://localhost"), a
	return c
}

// Config returns SDK configuration for a user of the account who may do everything, without a network.
func (a *Account) Config() aws.Config {
	c := a.Cloud.ConfigFor(a.user)
	c.BaseEndpoint, c.HTTPClient = aws.String("http://localhost"), a
	return c
}

// KillAfter has the client's process die when it is about to send its n-th request from now on, n ≥ 1: that one and all later ones
// are not sent. A negative n lets it live.
func (a *Account) KillAfter(n int) {
	a.dead.Store(false)
	a.after.Store(int64(n))
}

// Slow has each request take so long on the account's clock.
func (a *Account) Slow(d time.Duration) { a.slow = d }

// Died reports whether the process did.
func (a *Account) Died() bool { return a.dead.Load() }

// Calls returns how many requests were sent.
func (a *Account) Calls() int { return int(a.calls.Load()) }

// killed is the error of requests of a process that is no more. It is context.Canceled, so that nobody tries again.
var killed = context.Canceled

// Do sends a request to the models. It implements aws.HTTPClient.
func (a *Account) Do(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if n := a.after.Load(); n >= 0 {
		if a.after.Add(-1) <= 0 {
			a.dead.Store(true)
			a.after.Store(0)
			return nil, killed
		}
	}
	a.calls.Add(1)
	if a.slow > 0 {
		if err := a.Clock.Sleep(r.Context(), a.slow); err != nil {
			return nil, err
		}
	}
	return a.send(r)
}

// send serves a request, and has a long poll wait on the account's clock.
func (a *Account) send(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body.Close()
	}
	for waited := 0; ; waited++ {
		answer := a.once(r, body)
		wait, polling := longPoll(r, body)
		if !polling || waited >= wait || !bytes.Equal(bytes.TrimSpace(answer.Body.Bytes()), []byte("{}")) {
			response := answer.Result()
			response.Request = r
			return response, nil
		}
		if err := a.Clock.Sleep(r.Context(), time.Second); err != nil {
			return nil, err
		}
	}
}

func (a *Account) once(r *http.Request, body []byte) *httptest.ResponseRecorder {
	in := r.Clone(context.WithoutCancel(r.Context()))
	in.RequestURI, in.Host = r.URL.RequestURI(), cmpOr(r.Host, r.URL.Host)
	if wait, polling := longPoll(r, body); polling && wait > 0 {
		in = in.WithContext(impatient{in.Context()}) // send waits
	}
	in.Body = io.NopCloser(bytes.NewReader(body))
	out := httptest.NewRecorder()
	a.Cloud.ServeHTTP(out, in)
	return out
}

// impatient is a context whose end has come for who waits, and for nobody else: a receive that waits for messages answers at once with
// what there is.
type impatient struct{ context.Context }

var over = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Done implements context.Context.
func (impatient) Done() <-chan struct{} { return over }

// longPoll returns how many seconds a receive waits for messages.
func longPoll(r *http.Request, body []byte) (seconds int, polling bool) {
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".ReceiveMessage") {
		return 0, false
	}
	var in struct{ WaitTimeSeconds int }
	if err := json.Unmarshal(body, &in); err != nil {
		return 0, false
	}
	return in.WaitTimeSeconds, in.WaitTimeSeconds > 0
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
