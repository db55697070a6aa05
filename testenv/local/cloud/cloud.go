package cloud

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/joiner-sh/joiner/testenv/local/cloud/access"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/cloudwatch"
	"github.com/joiner-sh/joiner/testenv/local/cloud/policy"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/local/cloud/s3"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sqs"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire/sigv4"
)

// What an empty Options stands for. The key pair is the one AWS prints in its
// own documentation: it opens nothing anywhere else.
const (
	DefaultAccount         = "123456789012"
	DefaultRegion          = "us-west-2"
	DefaultAccessKeyID     = "AKIAIOSFODNN7EXAMPLE"
	DefaultSecretAccessKey = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
)

// Options say what cloud to start. The zero value is a working one.
type Options struct {
	Clock   clock.Clock // nil: the system's
	Account string      // twelve digits
	Region  string
	Address string // host:port to listen on; empty for a free loopback port
	// The long-lived key pair of the account's root.
	AccessKeyID     string
	SecretAccessKey string
	// ClientClock is the clock requests are signed by; nil: Clock. Set it to the
	// system's where Clock is advanced by more than signatures may be old.
	ClientClock clock.Clock
	// Latency is waited before every request is handled. nil: none.
	Latency Latency
	// Readings are of what AWS leaves open; nil means what the environment says.
	Readings *reading.Set
}

// Latency says how long a call of an action takes on top of handling it.
type Latency func(service, action string) time.Duration

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	for field, value := range map[*string]string{
		&o.Account:         DefaultAccount,
		&o.Region:          DefaultRegion,
		&o.Address:         "127.0.0.1:0",
		&o.AccessKeyID:     DefaultAccessKeyID,
		&o.SecretAccessKey: DefaultSecretAccessKey,
	} {
		if *field == "" {
			*field = value
		}
	}
	return o
}

// Cloud is a running model of AWS. It is safe for concurrent use.
type Cloud struct {
	STS *sts.Model
	SQS *sqs.Model
	S3  *s3.Model

	Alarms *cloudwatch.Model
	// Policies are the account's. A principal without any may do everything; see access.Book.
	Policies *access.Book

	options  Options
	verifier sigv4.Verifier
	endpoint string
	server   *http.Server
	log      requestLog
	faults   faultList

	mu       sync.Mutex
	services map[string]http.Handler    // keyed by the service of the credential scope
	others   map[[2]string]http.Handler // the same for callers of other accounts, by account and service
	latency  Latency
	sources  map[string]string // ARN of what a service acts for, by access key
}

// New returns a cloud that listens nowhere: an http.Handler for whoever has a
// server already. Its Endpoint is empty.
func New(o Options) *Cloud {
	o = o.withDefaults()
	c := &Cloud{
		options:  o,
		services: map[string]http.Handler{},
		others:   map[[2]string]http.Handler{},
		latency:  o.Latency,
		sources:  map[string]string{},
		Policies: access.NewBook(o.Account, o.Region, o.Clock.Now),
		STS:      sts.NewModel(sts.Options{Clock: o.Clock, Account: o.Account}),
		SQS:      sqs.NewModel(sqs.Options{Clock: o.Clock, Account: o.Account, Region: o.Region, Readings: o.Readings}),
		S3:       s3.NewModel(s3.Options{Clock: o.Clock, Account: o.Account, Region: o.Region, Readings: o.Readings}),
	}
	c.Policies.Readings, c.Alarms = o.Readings, cloudwatch.New()
	c.STS.AddRootKey(o.AccessKeyID, o.SecretAccessKey)
	c.STS.Federated = func(provider string, a wire.Access) string { // what the trust of a role says
		if d := c.Policies.Decide(policy.Principal{Provider: provider}, a); !d.Allowed() {
			return access.Because(d, a.Action)
		}
		return ""
	}
	c.verifier = sigv4.Verifier{Keys: c.STS, Now: o.Clock.Now}
	if o.ClientClock != nil {
		c.verifier.ClientNow = o.ClientClock.Now
	}
	c.Register("sts", sts.NewHandler(c.STS))
	c.Register("sqs", sqs.NewHandler(c.SQS))
	c.Register("s3", s3.NewHandler(c.S3))
	c.Register("monitoring", cloudwatch.NewHandler(c.Alarms))
	return c
}

// Start returns a cloud that serves until ctx is done or Close is called.
func Start(ctx context.Context, o Options) (*Cloud, error) {
	c := New(o)
	listener, err := net.Listen("tcp", c.options.Address)
	if err != nil {
		return nil, fmt.Errorf("listen for AWS requests: %w", err)
	}
	c.endpoint = "http://" + listener.Addr().String()
	c.server = &http.Server{Handler: c, ReadHeaderTimeout: 10 * time.Second}
	go c.server.Serve(listener) // returns when closed
	context.AfterFunc(ctx, func() { c.server.Close() })
	return c, nil
}

// Close ends serving and drops open connections.
func (c *Cloud) Close() error {
	if c.server == nil {
		return nil
	}
	return c.server.Close()
}

// Endpoint returns the base URL, e.g. "http://127.0.0.1:40123".
func (c *Cloud) Endpoint() string { return c.endpoint }

// Clock returns the clock everything goes by.
func (c *Cloud) Clock() clock.Clock { return c.options.Clock }

// Account returns the account everything belongs to.
func (c *Cloud) Account() string { return c.options.Account }

// Region returns the region everything is in.
func (c *Cloud) Region() string { return c.options.Region }

// Config returns SDK configuration for the account's root.
func (c *Cloud) Config() aws.Config {
	return c.ConfigFor(sts.Credentials{AccessKeyID: c.options.AccessKeyID, SecretAccessKey: c.options.SecretAccessKey})
}

// ConfigFor returns SDK configuration for the holder of a key.
func (c *Cloud) ConfigFor(k sts.Credentials) aws.Config {
	return aws.Config{
		Region:       c.options.Region,
		BaseEndpoint: aws.String(c.endpoint),
		Credentials:  credentials.NewStaticCredentialsProvider(k.AccessKeyID, k.SecretAccessKey, k.SessionToken),
		// What configuration loaded the usual way says.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenSupported,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenSupported,
	}
}

// Environment returns what a process needs in its environment to use this cloud
// as the holder of a key, as NAME=value.
func (c *Cloud) Environment(k sts.Credentials) []string {
	env := []string{
		"AWS_ENDPOINT_URL=" + c.endpoint,
		"AWS_REGION=" + c.options.Region,
		"AWS_DEFAULT_REGION=" + c.options.Region,
		"AWS_ACCESS_KEY_ID=" + k.AccessKeyID,
		"AWS_SECRET_ACCESS_KEY=" + k.SecretAccessKey,
		"AWS_EC2_METADATA_DISABLED=true",
	}
	if k.SessionToken != "" {
		env = append(env, "AWS_SESSION_TOKEN="+k.SessionToken)
	}
	return env
}

// Register makes h answer for a service, named as in the credential scope:
// "dynamodb", "ec2", "ssm", "eks", "pricing", "iam". A handler registered
// before under the same name is replaced. h sees requests whose signature holds,
// with the caller in their context (wire.Caller). A handler that implements
// ActionNamer names the actions of its own requests.
func (c *Cloud) Register(service string, h http.Handler) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.services[service] = h
}

// RegisterFor makes h answer for a service where the caller is of another account: what that account has is apart. Without one callers of
// other accounts get the answers of Register's handler, as far as policies let them.
func (c *Cloud) RegisterFor(account, service string, h http.Handler) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.others[[2]string{account, service}] = h
}

// SetLatency replaces Options.Latency; nil ends it.
func (c *Cloud) SetLatency(l Latency) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.latency = l
}

func (c *Cloud) lookup(account, service, action string) (h http.Handler, wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.latency != nil {
		wait = c.latency(service, action)
	}
	if other := c.others[[2]string{account, service}]; other != nil {
		return other, wait
	}
	return c.services[service], wait
}

func (c *Cloud) handler(service string) http.Handler {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.services[service]
}
