package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/joiner-sh/joiner/testenv/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/kube"
	lambdaruntime "github.com/joiner-sh/joiner/testenv/runtime"
	"github.com/joiner-sh/joiner/testenv/runtime/delivery"
	"github.com/joiner-sh/joiner/testenv/runtime/eventsource"
	"github.com/joiner-sh/joiner/testenv/runtime/schedule"
)

// kubernetesMinor is the version as EKS writes it: "1.36".
func kubernetesMinor() string {
	parts := strings.SplitN(strings.TrimPrefix(kube.KubernetesVersion, "v"), ".", 3)
	return parts[0] + "." + parts[1]
}

// createQueues makes the plan queue, that of the catalogue, the queues of looks, of the judge and of notices, and for each the one
// for hints nobody could handle.
func (s *Stack) createQueues(ctx context.Context, client *sqs.Client) error {
	var err error
	if s.QueueURL, err = s.createQueue(ctx, client, queue, dead, map[string]string{"FifoQueue": "true"}); err != nil {
		return err
	}
	if s.CatalogURL, err = s.createQueue(ctx, client, catalogQueue, catalogDead, map[string]string{"FifoQueue": "true"}); err != nil {
		return err
	}
	if s.LooksURL, err = s.createQueue(ctx, client, looks, looksDead, map[string]string{}); err != nil {
		return err
	}
	if s.JudgeURL, err = s.createQueue(ctx, client, judgeQueue, judgeDead, map[string]string{}); err != nil {
		return err
	}
	s.NoticesURL, err = s.createQueue(ctx, client, notices, noticesDead, map[string]string{})
	return err
}

// createQueue makes a queue and its dead-letter queue, both with the attributes, and returns the URL of the first.
func (s *Stack) createQueue(ctx context.Context, client *sqs.Client, name, deadName string, attributes map[string]string) (string, error) {
	deadOut, err := client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &deadName, Attributes: attributes})
	if err != nil {
		return "", fmt.Errorf("create queue %s: %w", deadName, err)
	}
	arn, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: deadOut.QueueUrl, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn}})
	if err != nil {
		return "", fmt.Errorf("read queue %s: %w", deadName, err)
	}
	redrive, err := json.Marshal(map[string]any{"deadLetterTargetArn": arn.Attributes["QueueArn"], "maxReceiveCount": s.Options.MaxReceives})
	if err != nil {
		return "", err
	}
	attributes["VisibilityTimeout"], attributes["RedrivePolicy"] = strconv.Itoa(int(s.Options.Visibility.Seconds())), string(redrive)
	out, err := client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		return "", fmt.Errorf("create queue %s: %w", name, err)
	}
	return awssdk.ToString(out.QueueUrl), nil
}

// noticeBatches is how many batches of notices are handled at once: as many as Lambda begins with when a standard queue fills.
const noticeBatches = 5

// startFunctions deploys the functions, feeds each from its queue and ticks them.
func (s *Stack) startFunctions(ctx context.Context, b binaries) error {
	runner, err := lambdaruntime.New(lambdaruntime.Config{
		Region: s.Cloud.Region(), AccountID: s.Cloud.Account(), EndpointURL: s.Cloud.Endpoint(),
		Credentials: func(_ context.Context, f lambdaruntime.Function) (awssdk.Credentials, error) {
			c, err := s.Cloud.STS.Assume(f.Role, f.Name, sessionLife)
			return awssdk.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey, SessionToken: c.SessionToken}, err
		},
		OnLog: s.Options.OnLog, OnExit: s.Options.OnExit,
	})
	if err != nil {
		return err
	}
	s.Runtime = runner
	env := map[string]string{
		"JOINER_TABLE": table, "JOINER_BUCKET": bucket, "JOINER_QUEUE_URL": s.QueueURL, "JOINER_INTERRUPTION_QUEUE_URL": s.LooksURL,
		"JOINER_CATALOG_QUEUE_URL": s.CatalogURL, "JOINER_DISRUPTION_QUEUE_URL": s.JudgeURL,
	}
	for name, value := range s.Options.FunctionEnv {
		env[name] = value
	}
	for name, path := range map[string]string{function: b.function("provision"), collector: b.function("interruption"), catalog: b.function("catalog"), judge: b.function("disrupt")} {
		own := maps.Clone(env)
		maps.Copy(own, map[string]map[string]string{function: s.Options.PlannerEnv, collector: s.Options.EndsEnv, judge: s.Options.JudgeEnv}[name])
		err = runner.Deploy(lambdaruntime.Function{
			Name: name, Path: path, Env: own, MemoryMB: 1769, Timeout: s.Options.Timeout, Role: s.roleARN(name),
		})
		if err != nil {
			return err
		}
	}
	s.mapping, err = eventsource.Start(ctx, runner, sqs.NewFromConfig(s.Cloud.Config()), eventsource.Config{
		Function: function, QueueURL: s.QueueURL, BatchSize: 10, ReportBatchItemFailures: true,
		Faults: s.Options.Faults, OnDelivery: s.Options.OnDelivery,
	})
	if err != nil {
		return err
	}
	s.closeLater(s.mapping.Stop)
	for _, config := range []eventsource.Config{
		{Function: collector, QueueURL: s.LooksURL},
		{Function: catalog, QueueURL: s.CatalogURL},
		{Function: judge, QueueURL: s.JudgeURL},
		// A mass interruption is hundreds of events within a second: several batches at once, and while those are under way
		// the next ones fill up.
		{Function: collector, QueueURL: s.NoticesURL, MaximumConcurrency: noticeBatches, OnDelivery: s.Options.OnNotices},
	} {
		config.BatchSize, config.ReportBatchItemFailures = 10, true
		mapping, err := eventsource.Start(ctx, runner, sqs.NewFromConfig(s.Cloud.Config()), config)
		if err != nil {
			return err
		}
		s.closeLater(mapping.Stop)
	}
	s.closeLater(runner.Stop) // before the mappings, which would wait for what is in flight
	s.schedule = schedule.New(schedule.Config{Account: s.Cloud.Account(), Region: s.Cloud.Region()})
	s.closeLater(s.schedule.Stop)
	for name, target := range map[string]string{"sweep": function, "collect": collector, "catalog": catalog, "disrupt": judge} {
		err := s.schedule.Create(schedule.Schedule{
			Name: name, Expression: rate(s.Options.SweepEvery), Input: `{"sweep":"<aws.scheduler.scheduled-time>"}`,
			Target: delivery.Lambda(context.Background(), clock.System(), runner, target, nil),
			Policy: &delivery.Policy{MaxRetries: 1, MaxAge: time.Minute},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func rate(every time.Duration) string {
	minutes := max(1, int(every/time.Minute))
	if minutes == 1 {
		return "rate(1 minute)"
	}
	return fmt.Sprintf("rate(%d minutes)", minutes)
}

// Sweep sends the tick of a minute now, without waiting for the schedule.
func (s *Stack) Sweep(ctx context.Context) (lambdaruntime.Result, error) {
	return s.Runtime.Invoke(ctx, function, []byte(`{"sweep":"`+time.Now().UTC().Format(time.RFC3339)+`"}`))
}

// Collect sends the collector's tick of a minute now, without waiting for the schedule.
func (s *Stack) Collect(ctx context.Context) (lambdaruntime.Result, error) {
	return s.Runtime.Invoke(ctx, collector, []byte(`{"sweep":"`+time.Now().UTC().Format(time.RFC3339)+`"}`))
}

// Resolve sends the catalogue's tick of a minute now, without waiting for the schedule.
func (s *Stack) Resolve(ctx context.Context) (lambdaruntime.Result, error) {
	return s.Runtime.Invoke(ctx, catalog, []byte(`{"sweep":"`+time.Now().UTC().Format(time.RFC3339)+`"}`))
}

// Judge sends the judge's tick of a minute now, without waiting for the schedule.
func (s *Stack) Judge(ctx context.Context) (lambdaruntime.Result, error) {
	return s.Runtime.Invoke(ctx, judge, []byte(`{"sweep":"`+time.Now().UTC().Format(time.RFC3339)+`"}`))
}

// FunctionName is what the provision function is deployed as.
func (s *Stack) FunctionName() string { return function }

// Mapping returns the event source that feeds the function.
func (s *Stack) Mapping() *eventsource.Mapping { return s.mapping }
