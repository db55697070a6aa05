package cloud_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

func TestFaultActsOnTheRequestsItNames(t *testing.T) {
	c := start(t, cloud.Options{})
	client := awssqs.NewFromConfig(once(c))
	fault := c.Inject(cloud.Fault{Service: "sqs", Action: "ListQueues", From: 2, Times: 2, Err: wire.StatusErrorf(400, "AccessDenied", "not now")})
	create := func() error {
		_, err := client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("q")})
		return err
	}
	list := func() error { _, err := client.ListQueues(t.Context(), nil); return err }
	for i, want := range []string{"", "AccessDenied", "AccessDenied", ""} {
		if err := create(); err != nil {
			t.Errorf("create: %v, though the fault names another action", err)
		}
		err := list()
		if want != "" {
			wantCode(t, err, want)
		} else if err != nil {
			t.Errorf("list %d: %v", i+1, err)
		}
	}
	if got := fault.Acted(); got != 2 {
		t.Errorf("fault acted %d times, want 2", got)
	}
}

func TestRemovedFaultActsNoMore(t *testing.T) {
	c := start(t, cloud.Options{})
	fault := c.Inject(cloud.Fault{Err: wire.Errorf("AccessDenied", "no")})
	fault.Remove()
	fault.Remove()
	if _, err := awssqs.NewFromConfig(once(c)).ListQueues(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func TestFaultMatchesOnTheBody(t *testing.T) {
	c := start(t, cloud.Options{})
	c.Inject(cloud.Fault{Err: wire.Errorf("AccessDenied", "no"), Match: func(_ *http.Request, body []byte) bool {
		return string(body) == `{"QueueName":"bad"}`
	}})
	client := awssqs.NewFromConfig(once(c))
	if _, err := client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("good")}); err != nil {
		t.Errorf("good: %v", err)
	}
	_, err := client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("bad")})
	wantCode(t, err, "AccessDenied")
}

func TestDroppedConnectionLeavesTheOutcomeUnknown(t *testing.T) {
	for drop, happened := range map[cloud.Drop]bool{cloud.DropBefore: false, cloud.DropAfter: true} {
		t.Run(fmt.Sprintf("effect %v", happened), func(t *testing.T) {
			c := start(t, cloud.Options{})
			c.Inject(cloud.Fault{Action: "CreateQueue", Times: 1, Drop: drop})
			client := awssqs.NewFromConfig(once(c))
			_, err := client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("q")})
			var api smithy.APIError
			if err == nil || errors.As(err, &api) {
				t.Errorf("got %v, want a connection error", err)
			}
			if got := len(c.SQS.QueueNames()) == 1; got != happened {
				t.Errorf("queue exists: %v, want %v", got, happened)
			}
			if log := c.Requests(); len(log) != 1 || !log[0].Dropped {
				t.Errorf("log %+v, want one dropped request", log)
			}
			if _, err := client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("q")}); err != nil {
				t.Errorf("second attempt: %v", err)
			}
		})
	}
}

func TestLatencyPassesOnTheCloudsClock(t *testing.T) {
	fake := clock.NewFake(time.Now())
	c := start(t, cloud.Options{Clock: fake, Latency: func(service, action string) time.Duration {
		if service == "sqs" && action == "ListQueues" {
			return time.Minute
		}
		return 0
	}})
	client := awssqs.NewFromConfig(once(c))
	done := make(chan error, 1)
	go func() { _, err := client.ListQueues(t.Context(), nil); done <- err }()
	if err := fake.AwaitPending(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		t.Fatalf("answered before a minute passed: %v", err)
	default:
	}
	fake.Advance(time.Minute)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := c.Requests()[0].Duration; got != time.Minute {
		t.Errorf("logged duration %v, want 1m", got)
	}
	c.SetLatency(nil)
	if _, err := client.ListQueues(t.Context(), nil); err != nil {
		t.Errorf("without latency: %v", err)
	}
}

func TestOldSignatureIsRefused(t *testing.T) {
	c := start(t, cloud.Options{Clock: clock.NewFake(time.Now().Add(20 * time.Minute))})
	_, err := awssqs.NewFromConfig(once(c)).ListQueues(t.Context(), nil)
	wantCode(t, err, "SignatureDoesNotMatch")
}

func TestClientsMayHaveAClockOfTheirOwn(t *testing.T) {
	fake := clock.NewFake(time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC))
	c := start(t, cloud.Options{Clock: fake, ClientClock: clock.System()})
	session, err := c.STS.Assume(c.STS.AddRole(sts.Role{Name: "r"}), "s1", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	list := func() error {
		cfg := c.ConfigFor(session)
		cfg.RetryMaxAttempts = 1
		_, err := awssqs.NewFromConfig(cfg).ListQueues(t.Context(), nil)
		return err
	}
	if err := list(); err != nil {
		t.Errorf("years apart: %v", err)
	}
	fake.Advance(time.Hour)
	wantCode(t, list(), "ExpiredToken")
}

func TestIsolatedServicesGiveNoAnswer(t *testing.T) {
	c := start(t, cloud.Options{})
	queues := awssqs.NewFromConfig(once(c))
	join := c.Isolate("sqs", "iam")
	_, err := queues.ListQueues(t.Context(), nil)
	var api smithy.APIError
	if err == nil || errors.As(err, &api) {
		t.Errorf("cut off: %v, want no answer at all", err)
	}
	if _, err := awss3.NewFromConfig(once(c)).ListBuckets(t.Context(), nil); err != nil {
		t.Errorf("another service: %v", err)
	}
	join()
	if _, err := queues.ListQueues(t.Context(), nil); err != nil {
		t.Errorf("joined again: %v", err)
	}
}
