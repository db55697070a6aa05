package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
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

// builds are the binaries under way.
type builds struct {
	group     sync.WaitGroup
	provision string
	watcher   string
	errs      [2]error
}

// buildAll compiles function and watcher while the rest starts.
func (s *Stack) buildAll(ctx context.Context) *builds {
	b := &builds{}
	b.group.Add(1)
	go func() {
		defer b.group.Done()
		root := moduleRoot()
		b.provision, b.errs[0] = lambdaruntime.Build(ctx, root, "./functions/provision", filepath.Join(s.dir, "provision"))
		if s.Options.Watchers > 0 {
			b.watcher, b.errs[1] = build(ctx, root, "./cmd/watcher", filepath.Join(s.dir, "watcher"))
		}
	}()
	return b
}

func (b *builds) wait() error {
	b.group.Wait()
	for _, err := range b.errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// createQueues makes the plan queue and the one for hints nobody could handle.
func (s *Stack) createQueues(ctx context.Context, client *sqs.Client) error {
	deadOut, err := client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: ptr(dead), Attributes: map[string]string{"FifoQueue": "true"}})
	if err != nil {
		return fmt.Errorf("create queue %s: %w", dead, err)
	}
	attributes, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: deadOut.QueueUrl, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn}})
	if err != nil {
		return fmt.Errorf("read queue %s: %w", dead, err)
	}
	redrive, err := json.Marshal(map[string]any{"deadLetterTargetArn": attributes.Attributes["QueueArn"], "maxReceiveCount": s.Options.MaxReceives})
	if err != nil {
		return err
	}
	out, err := client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: ptr(queue), Attributes: map[string]string{
		"FifoQueue": "true", "VisibilityTimeout": strconv.Itoa(int(s.Options.Visibility.Seconds())), "RedrivePolicy": string(redrive),
	}})
	if err != nil {
		return fmt.Errorf("create queue %s: %w", queue, err)
	}
	s.QueueURL = awssdk.ToString(out.QueueUrl)
	return nil
}

// startFunctions deploys the function, feeds it from the queue and ticks it.
func (s *Stack) startFunctions(ctx context.Context, b *builds) error {
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
	env := map[string]string{"JOINER_TABLE": table, "JOINER_BUCKET": bucket, "JOINER_QUEUE_URL": s.QueueURL}
	for name, value := range s.Options.FunctionEnv {
		env[name] = value
	}
	err = runner.Deploy(lambdaruntime.Function{
		Name: function, Path: b.provision, Env: env, MemoryMB: 1769, Timeout: s.Options.Timeout, Role: s.roleARN(function),
	})
	if err != nil {
		return err
	}
	s.mapping, err = eventsource.Start(ctx, runner, sqs.NewFromConfig(s.Cloud.Config()), eventsource.Config{
		Function: function, QueueURL: s.QueueURL, BatchSize: 10, ReportBatchItemFailures: true,
		Faults: s.Options.Faults, OnDelivery: s.Options.OnDelivery,
	})
	if err != nil {
		return err
	}
	s.closeLater(s.mapping.Stop)
	s.closeLater(runner.Stop) // before the mapping, which would wait for what is in flight
	s.schedule = schedule.New(schedule.Config{Account: s.Cloud.Account(), Region: s.Cloud.Region()})
	s.closeLater(s.schedule.Stop)
	target := delivery.Lambda(context.Background(), clock.System(), runner, function, nil)
	return s.schedule.Create(schedule.Schedule{
		Name: "sweep", Expression: rate(s.Options.SweepEvery), Input: `{"sweep":"<aws.scheduler.scheduled-time>"}`, Target: target,
		Policy: &delivery.Policy{MaxRetries: 1, MaxAge: time.Minute},
	})
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

// FunctionName is what the provision function is deployed as.
func (s *Stack) FunctionName() string { return function }

// Mapping returns the event source that feeds the function.
func (s *Stack) Mapping() *eventsource.Mapping { return s.mapping }
