package cost

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	sdkdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	sdks3 "github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	sdksqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// Names of what the account has.
const (
	table  = "joiner"
	bucket = "joiner-snapshots"
)

// Account is an installation with one cluster, and the meter of what it uses. It is for one goroutine.
type Account struct {
	world    *world.World
	cloud    *cloud.Cloud
	table    *dynamodb.Model
	clients  clients
	queues   map[string]string // URL by name
	watcher  *watcher
	meter    meter
	scenario Scenario
	next     int // of the scenario's events

	functions map[string]*function
}

type clients struct {
	dynamodb *sdkdynamodb.Client
	s3       *sdks3.Client
	sqs      *sdksqs.Client
}

// Queues, by the ids of their mappings in the template; the one that keeps order is FIFO.
const (
	planQueue         = "plan.fifo" // the cluster's
	catalogQueue      = "catalog"
	disruptionQueue   = "disruption"
	interruptionQueue = "interruption"
	noticesQueue      = "notices"
)

// NewAccount returns an installation whose cluster is as the scenario says. Close ends it.
func NewAccount(ctx context.Context, scenario Scenario) (*Account, error) {
	w := scenario.world()
	a := &Account{
		world: w, scenario: scenario, queues: map[string]string{},
		// Prices are those of a region of AWS's commercial partition, whose standard queues take message groups; conflicts of writes are rare.
		cloud: cloud.New(cloud.Options{Clock: w.Clock, Readings: reading.Other(reading.GroupOnStandard, reading.ConditionalConflict)}),
		table: dynamodb.NewModel(dynamodb.Options{Clock: w.Clock}),
	}
	a.cloud.Register("dynamodb", dynamodb.NewHandler(a.table))
	config := a.cloud.Config()
	config.BaseEndpoint, config.HTTPClient = aws.String("http://aws.test"), &http.Client{Transport: inside{a.cloud, w.Clock, &a.meter}}
	sign := signer{v4.NewSigner(), w.Clock}
	a.clients = clients{
		dynamodb: sdkdynamodb.NewFromConfig(config, func(o *sdkdynamodb.Options) { o.HTTPSignerV4 = sign }),
		s3:       sdks3.NewFromConfig(config, func(o *sdks3.Options) { o.HTTPSignerV4, o.UsePathStyle = sign, true }),
		sqs:      sdksqs.NewFromConfig(config, func(o *sdksqs.Options) { o.HTTPSignerV4 = sign }),
	}
	if err := a.create(ctx); err != nil {
		return nil, err
	}
	a.meter.begin(a)
	a.functions = a.deploy()
	a.watcher = newWatcher(ctx, a)
	return a, nil
}

// Close ends the watcher.
func (a *Account) Close() { a.watcher.close() }

// create makes table, bucket and queues, and attaches the cluster.
func (a *Account) create(ctx context.Context) error {
	ledger := dynamoledger.New(a.clients.dynamodb, table, dynamoledger.Clock(a.now))
	if err := ledger.EnsureTable(ctx); err != nil {
		return err
	}
	if err := ledger.Register(ctx, world.Registration()); err != nil {
		return err
	}
	if _, err := a.clients.s3.CreateBucket(ctx, &sdks3.CreateBucketInput{
		Bucket:                    aws.String(bucket),
		CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: s3types.BucketLocationConstraint(a.cloud.Region())},
	}); err != nil {
		return fmt.Errorf("create the bucket: %w", err)
	}
	for _, name := range []string{planQueue, catalogQueue, disruptionQueue, interruptionQueue, noticesQueue} {
		attributes := map[string]string{"VisibilityTimeout": "60"}
		if name == planQueue {
			attributes["FifoQueue"] = "true"
		}
		out, err := a.clients.sqs.CreateQueue(ctx, &sdksqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
		if err != nil {
			return fmt.Errorf("create queue %s: %w", name, err)
		}
		a.queues[name] = *out.QueueUrl
	}
	return nil
}

func (a *Account) now() time.Time { return a.world.Clock.Now() }

// inside carries requests to the modeled AWS without a network. Answers are dated by its clock, as AWS's are.
type inside struct {
	cloud *cloud.Cloud
	clock *clock.Fake
	meter *meter
}

// RoundTrip answers the request.
func (t inside) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context()) // a RoundTripper leaves its request alone
	r.Host, r.RequestURI = cmp.Or(r.Host, r.URL.Host), r.URL.RequestURI()
	if r.Body == nil {
		r.Body = http.NoBody
	}
	queue := strings.HasPrefix(r.Header.Get("X-Amz-Target"), "AmazonSQS.")
	var body []byte
	if queue {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	recorder := httptest.NewRecorder()
	t.cloud.ServeHTTP(recorder, r)
	if queue {
		t.meter.queued(bytes.Contains(body, []byte(`.fifo"`)), max(len(body), recorder.Body.Len()))
	}
	answer := recorder.Result()
	if key, object := strings.CutPrefix(r.URL.Path, "/"+bucket+"/"); object && r.Method == http.MethodPut && answer.StatusCode == http.StatusOK {
		t.meter.stored(key, r.ContentLength)
	}
	answer.Header.Set("Date", t.clock.Now().UTC().Format(http.TimeFormat))
	answer.Request = r
	return answer, nil
}

// signer signs by the clock of the modeled AWS, which is not the system's.
type signer struct {
	*v4.Signer
	clock *clock.Fake
}

// SignHTTP signs a request.
func (s signer) SignHTTP(
	ctx context.Context, credentials aws.Credentials, r *http.Request, payloadHash, service, region string, _ time.Time, options ...func(*v4.SignerOptions),
) error {
	return s.Signer.SignHTTP(ctx, credentials, r, payloadHash, service, region, s.clock.Now(), options...)
}
