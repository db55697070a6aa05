package cloud_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	bridgetypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/policy"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/events"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/schedule"
)

const anotherAccount = "222222222222"

// Who may do everything in an account has nothing of another one that the other does not give, and what accounts have is apart.
func TestAccountsAreApart(t *testing.T) {
	g := startGuarded(t, allow("Any", "sqs:*", "*", ""))
	admin, err := g.STS.Assume(g.STS.AddRole(sts.Role{Name: "Admin", Account: anotherAccount}), "s1", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	theirs := ec2.New(ec2.Options{Clock: clock.System(), Account: anotherAccount, Seed: 2})
	g.RegisterFor(anotherAccount, "ec2", ec2.NewHandler(theirs))
	bus := events.NewBus(events.Config{Account: g.Account(), Region: g.Region()})
	g.Register("events", schedule.NewHandler(schedule.New(schedule.Config{}), bus, nil))
	config := g.ConfigFor(admin)
	config.RetryMaxAttempts = 1

	queue, err := awssqs.NewFromConfig(g.Config()).CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("q")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = awssqs.NewFromConfig(config).SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: queue.QueueUrl, MessageBody: aws.String("x")})
	if codeOf(err) != "AccessDenied" {
		t.Errorf("send: %v", err)
	}
	objects := awss3.NewFromConfig(config, func(o *awss3.Options) { o.UsePathStyle = true })
	if _, err = objects.PutObject(t.Context(), &awss3.PutObjectInput{Bucket: aws.String("b"), Key: aws.String("k"), Body: strings.NewReader("x")}); codeOf(err) != "AccessDenied" {
		t.Errorf("write: %v", err)
	}
	networks := func(config aws.Config) string {
		out, err := awsec2.NewFromConfig(config).DescribeSubnets(t.Context(), &awsec2.DescribeSubnetsInput{})
		if err != nil {
			t.Fatal(err)
		}
		return aws.ToString(out.Subnets[0].OwnerId)
	}
	if own, other := networks(g.Config()), networks(config); own != g.Account() || other != anotherAccount {
		t.Errorf("the accounts' subnets are of %s and %s", own, other)
	}

	arn := "arn:aws:events:" + g.Region() + ":" + g.Account() + ":event-bus/default"
	put := func(source string) (*eventbridge.PutEventsOutput, error) {
		return eventbridge.NewFromConfig(config).PutEvents(t.Context(), &eventbridge.PutEventsInput{Entries: []bridgetypes.PutEventsRequestEntry{
			{EventBusName: &arn, Source: &source, DetailType: aws.String("d"), Detail: aws.String(`{}`)},
		}})
	}
	if _, err := put("mine"); codeOf(err) != "AccessDeniedException" {
		t.Errorf("an event on a bus that is not open to it: %v", err)
	}
	g.Policies.SetResource(arn, "policy of the bus", parsed(t, policy.Resource, `{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "events:PutEvents",
		"Principal": {"AWS": "arn:aws:iam::`+anotherAccount+`:root"}, "Resource": "`+arn+`", "Condition": {"StringEquals": {"events:source": ["aws.ec2", "open"]}}}}`))
	if _, err := put("mine"); codeOf(err) != "AccessDeniedException" {
		t.Errorf("an event of a source that is not open to it: %v", err)
	}
	if out, err := put("aws.ec2"); err != nil || out.FailedEntryCount != 1 || aws.ToString(out.Entries[0].ErrorCode) != "NotAuthorizedForSourceException" {
		t.Errorf("an event in the name of AWS: %+v, %v", out, err)
	}
	var got []byte
	pattern, err := events.ParsePattern([]byte(`{"source": ["open"]}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.PutRule(events.Rule{Name: "r", Pattern: pattern, Targets: []events.Target{{Send: func(_ context.Context, event []byte) error { got = event; return nil }}}}); err != nil {
		t.Fatal(err)
	}
	if out, err := put("open"); err != nil || out.FailedEntryCount != 0 || !strings.Contains(string(got), `"account":"`+anotherAccount+`"`) {
		t.Errorf("%+v, %v; the rule got %s, want an event in the name of the sender's account", out, err, got)
	}
}
