package boot

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/joiner-sh/joiner/testenv/test/timed"
)

// R61, S35, M57: a call that AWS never answers ends while the invocation still has time, with the reason; one that
// would end soon enough by itself is not cut short.
func TestR61_S35_CallThatHangsEndsBeforeTheInvocationDoes(t *testing.T) {
	release := make(chan struct{})
	hung := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer hung.Close()
	defer close(release)
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_ENDPOINT_URL", hung.URL)
	config := AWS()
	config.Credentials = credentials.NewStaticCredentialsProvider("id", "secret", "")

	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	_, err := dynamodb.NewFromConfig(config).GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String("joiner"), Key: map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: "x"}},
	})
	if err == nil || ctx.Err() != nil {
		t.Fatalf("%v; the invocation is over: %v", err, ctx.Err())
	}
	deadline, _ := ctx.Deadline()
	timed.Within(t, "a call that hangs, of 3 s", 3*time.Second-time.Until(deadline), 2700*time.Millisecond) // the rest is to release the lease
	if !strings.Contains(err.Error(), "deadline exceeded") {
		t.Errorf("%v does not say that it was the time", err)
	}
}

// A18: a launch may take what is left of the invocation, any other call 20 s; both leave time to do something about it.
func TestA18LaunchMayTakeWhatTheInvocationHasLeft(t *testing.T) {
	t.Setenv("AWS_REGION", "us-east-1")
	config := AWS()
	config.Credentials = credentials.NewStaticCredentialsProvider("id", "secret", "")
	ends := map[string]time.Time{}
	config.HTTPClient = sender(func(q *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return nil, err
		}
		action, _, _ := strings.Cut(strings.TrimPrefix(string(body), "Action="), "&")
		ends[action], _ = q.Context().Deadline()
		return nil, http.ErrHandlerTimeout
	})
	over := time.Now().Add(15 * time.Minute)
	ctx, cancel := context.WithDeadline(t.Context(), over)
	defer cancel()
	client := ec2.NewFromConfig(config, func(o *ec2.Options) { o.RetryMaxAttempts = 1 })
	before := time.Now()
	_, _ = client.CreateFleet(ctx, &ec2.CreateFleetInput{
		LaunchTemplateConfigs: []ec2types.FleetLaunchTemplateConfigRequest{}, TargetCapacitySpecification: &ec2types.TargetCapacitySpecificationRequest{TotalTargetCapacity: aws.Int32(1)},
	})
	_, _ = client.DescribeInstances(ctx, &ec2.DescribeInstancesInput{})
	after := time.Now()
	if got, slack := over.Sub(ends["CreateFleet"]), after.Sub(before); got < callLeaves-slack || got > callLeaves+slack {
		t.Errorf("a launch ends %v before the invocation, want %v", got, callLeaves)
	}
	if got := ends["DescribeInstances"]; got.Before(before.Add(callWithin)) || got.After(after.Add(callWithin)) {
		t.Errorf("a list ends %v after it began, want %v", got.Sub(before), callWithin)
	}
}

type sender func(*http.Request) (*http.Response, error)

func (s sender) Do(q *http.Request) (*http.Response, error) { return s(q) }

// C1: calls that are made side by side again and again go over the connections that are there.
func TestC1_CallsSideBySideKeepTheirConnections(t *testing.T) {
	const parallel, rounds = 50, 6
	var opened atomic.Int64
	var together sync.WaitGroup
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		together.Done()
		together.Wait() // until all of a round are there: each needs a connection of its own
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_, _ = w.Write([]byte("{}"))
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	config := AWS()
	config.Credentials = credentials.NewStaticCredentialsProvider("id", "secret", "")
	client := dynamodb.NewFromConfig(config)
	for range rounds {
		together.Add(parallel)
		var calls sync.WaitGroup
		for range parallel {
			calls.Go(func() {
				if _, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{
					TableName: aws.String("joiner"), Key: map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: "x"}},
				}); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
	}
	if n := opened.Load(); n > 2*parallel { // a connection that is just being returned is not there yet for the next
		t.Errorf("%d connections were opened for %d calls at a time", n, parallel)
	}
}

// The body of an answer may be read after the call has returned.
func TestBodyIsReadAfterTheCall(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		time.Sleep(50 * time.Millisecond)
		_, _ = w.Write([]byte("snapshot"))
	}))
	defer server.Close()
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	config := AWS()
	config.Credentials = credentials.NewStaticCredentialsProvider("id", "secret", "")
	out, err := s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true }).GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("b"), Key: aws.String("k")})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(out.Body); err != nil || string(text) != "snapshot" {
		t.Errorf("%q, %v", text, err)
	}
}

// R59, S35: a queue that is not there, and a service that cannot be reached at all, are errors that say so.
func TestR59_S35_ServiceThatIsNotThereIsAnError(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close() // nobody is there
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_ENDPOINT_URL", "http://"+address)
	config := AWS()
	config.Credentials = credentials.NewStaticCredentialsProvider("id", "secret", "")
	_, err = sqs.NewFromConfig(config).SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: aws.String("http://" + address + "/q"), MessageBody: aws.String("x")})
	if err == nil || !strings.Contains(err.Error(), "SQS: SendMessage") {
		t.Errorf("%v", err)
	}
}

// R59: without a region a program says so and what to set.
func TestR59_NoRegionIsSaidWithItsRemedy(t *testing.T) {
	text, err := play(t, "region", "AWS_REGION=", "AWS_DEFAULT_REGION=", "AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null")
	if err == nil || !strings.Contains(text, "set AWS_REGION") || strings.Contains(text, "panic") {
		t.Errorf("%v: %s", err, text)
	}
}
