package cloud_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	awssts "github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

func start(t *testing.T, o cloud.Options) *cloud.Cloud {
	t.Helper()
	c, err := cloud.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// once is a configuration whose clients try each call a single time.
func once(c *cloud.Cloud) aws.Config {
	cfg := c.Config()
	cfg.RetryMaxAttempts = 1
	return cfg
}

func TestServicesShareOnePortByCredentialScope(t *testing.T) {
	c := start(t, cloud.Options{})
	if _, err := awssqs.NewFromConfig(c.Config()).CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("q")}); err != nil {
		t.Errorf("sqs: %v", err)
	}
	if _, err := awss3.NewFromConfig(c.Config()).ListBuckets(t.Context(), nil); err != nil {
		t.Errorf("s3: %v", err)
	}
	id, err := awssts.NewFromConfig(c.Config()).GetCallerIdentity(t.Context(), nil)
	if err != nil || *id.Arn != "arn:aws:iam::123456789012:root" {
		t.Errorf("sts: %v, %v; want the root of the account", id, err)
	}
	if names := c.SQS.QueueNames(); len(names) != 1 || names[0] != "q" {
		t.Errorf("queues %v, want q", names)
	}
}

func TestRegisteredServiceSeesTheCaller(t *testing.T) {
	c := start(t, cloud.Options{})
	var seen wire.Identity
	c.Register("sqs", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = wire.Caller(r.Context())
		io.WriteString(w, "{}")
	}))
	user := c.STS.AddUser("watcher")
	if _, err := awssqs.NewFromConfig(c.ConfigFor(user)).ListQueues(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if seen.ARN != "arn:aws:iam::123456789012:user/watcher" || seen.AccessKeyID != user.AccessKeyID {
		t.Errorf("handler saw %+v, want the user watcher", seen)
	}
}

func TestUnknownServiceIsNotImplemented(t *testing.T) {
	c := start(t, cloud.Options{})
	c.Register("sqs", nil)
	_, err := awssqs.NewFromConfig(once(c)).ListQueues(t.Context(), nil)
	wantCode(t, err, "NotImplemented")
}

func TestBadSignaturesAreRefusedInTheWordsOfTheService(t *testing.T) {
	c := start(t, cloud.Options{})
	guess := sts.Credentials{AccessKeyID: cloud.DefaultAccessKeyID, SecretAccessKey: "guess"}
	stranger := sts.Credentials{AccessKeyID: "AKIASTRANGER", SecretAccessKey: "x"}
	calls := map[string]func(aws.Config) error{
		"sqs": func(cfg aws.Config) error {
			_, err := awssqs.NewFromConfig(cfg).ListQueues(t.Context(), nil)
			return err
		},
		"sts": func(cfg aws.Config) error {
			_, err := awssts.NewFromConfig(cfg).GetCallerIdentity(t.Context(), nil)
			return err
		},
		"s3": func(cfg aws.Config) error {
			_, err := awss3.NewFromConfig(cfg).ListBuckets(t.Context(), nil)
			return err
		},
	}
	for _, tt := range []struct {
		service string
		creds   sts.Credentials
		want    string
	}{
		{"sqs", guess, "SignatureDoesNotMatch"},
		{"sqs", stranger, "InvalidClientTokenId"},
		{"sts", guess, "SignatureDoesNotMatch"},
		{"sts", stranger, "InvalidClientTokenId"},
		{"s3", guess, "SignatureDoesNotMatch"},
		{"s3", stranger, "InvalidAccessKeyId"},
	} {
		t.Run(tt.service+" "+tt.want, func(t *testing.T) {
			cfg := c.ConfigFor(tt.creds)
			cfg.RetryMaxAttempts = 1
			wantCode(t, calls[tt.service](cfg), tt.want)
		})
	}
}

func TestUnsignedRequestIsRefused(t *testing.T) {
	c := start(t, cloud.Options{})
	resp, err := http.Post(c.Endpoint(), "application/x-www-form-urlencoded", strings.NewReader("Action=GetCallerIdentity&Version=2011-06-15"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 403 || !strings.Contains(string(body), "<Code>MissingAuthenticationToken</Code>") {
		t.Errorf("got %d %s, %v; want 403 MissingAuthenticationToken", resp.StatusCode, body, err)
	}
}

func TestEnvironmentIsEnoughForAProcess(t *testing.T) {
	c := start(t, cloud.Options{})
	env := strings.Join(c.Environment(sts.Credentials{AccessKeyID: "A", SecretAccessKey: "S", SessionToken: "T"}), "\n")
	for _, want := range []string{"AWS_ENDPOINT_URL=" + c.Endpoint(), "AWS_REGION=us-west-2", "AWS_ACCESS_KEY_ID=A", "AWS_SECRET_ACCESS_KEY=S", "AWS_SESSION_TOKEN=T"} {
		if !strings.Contains(env, want) {
			t.Errorf("environment lacks %s:\n%s", want, env)
		}
	}
}

func TestServingEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	c, err := cloud.Start(ctx, cloud.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	deadline := time.Now().Add(5 * time.Second)
	for time.Now().Before(deadline) {
		if _, err := http.Get(c.Endpoint()); err != nil {
			return
		}
	}
	t.Error("still serving five seconds after its context was cancelled")
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code {
		t.Errorf("got %v, want code %s", err, code)
	}
}
