package deploy

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/joiner-sh/joiner/testenv/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/cloud/policy"
	"github.com/joiner-sh/joiner/testenv/cloud/wire"
	"github.com/joiner-sh/joiner/testenv/runtime/delivery"
	"github.com/joiner-sh/joiner/testenv/runtime/events"
	"github.com/joiner-sh/joiner/testenv/runtime/schedule"
)

// retryPolicy of a rule's target or a schedule; absent: delivery.Default.
type retryPolicy struct {
	MaximumEventAgeInSeconds *int
	MaximumRetryAttempts     *int
}

func (p *retryPolicy) policy() *delivery.Policy {
	out := delivery.Default
	if p != nil && p.MaximumEventAgeInSeconds != nil {
		out.MaxAge = time.Duration(*p.MaximumEventAgeInSeconds) * time.Second
	}
	if p != nil && p.MaximumRetryAttempts != nil {
		out.MaxRetries = *p.MaximumRetryAttempts
	}
	return &out
}

type ruleProperties struct {
	Name, State  string
	EventPattern json.RawMessage
	Targets      []struct {
		Arn              string
		ID               string `json:"Id"`
		DeadLetterConfig *struct{ Arn string }
		RetryPolicy      *retryPolicy
	}
}

// makeRule has a rule of the bus send to queues, as far as their policies let the rule.
func makeRule(ctx context.Context, r resource) error {
	var p ruleProperties
	if err := r.decode(&p); err != nil {
		return err
	}
	if p.State != "" && p.State != "ENABLED" {
		return fmt.Errorf("property State is %q; only rules that are ENABLED are modelled", p.State)
	}
	name, err := r.name()
	if err != nil {
		return err
	}
	arn, err := r.arn()
	if err != nil {
		return err
	}
	pattern, err := events.ParsePattern(p.EventPattern)
	if err != nil {
		return fmt.Errorf("EventPattern: %w", err)
	}
	rule := events.Rule{Name: name, Pattern: pattern}
	for _, t := range p.Targets {
		target := events.Target{Policy: t.RetryPolicy.policy()}
		if target.Send, err = r.account.toQueue(arn, t.Arn); err != nil {
			return fmt.Errorf("target %s: %w", t.ID, err)
		}
		if t.DeadLetterConfig != nil {
			if target.DeadLetter, err = r.account.toQueue(arn, t.DeadLetterConfig.Arn); err != nil {
				return fmt.Errorf("target %s: DeadLetterConfig: %w", t.ID, err)
			}
		}
		rule.Targets = append(rule.Targets, target)
	}
	r.account.rules = append(r.account.rules, rule)
	return r.account.Bus.PutRule(rule)
}

// toQueue sends to a queue for a rule. The queue may be made later than the rule.
func (a *Account) toQueue(rule, queue string) (delivery.Target, error) {
	if !strings.HasPrefix(queue, "arn:aws:sqs:") {
		return nil, fmt.Errorf("property Arn is %s; only queues are modelled as targets", queue)
	}
	if strings.HasSuffix(queue, ".fifo") {
		return nil, fmt.Errorf("property Arn is %s; a FIFO queue needs SqsParameters, which are not modelled", queue)
	}
	client := sqs.NewFromConfig(a.Cloud.ConfigForService("events.amazonaws.com", rule))
	url := "https://sqs." + a.Cloud.Region() + ".amazonaws.com/" + a.Cloud.Account() + "/" + lastPart(queue)
	send := delivery.SQS(client, url, "")
	return func(_ context.Context, payload []byte) error {
		if a.running.Err() != nil {
			return nil // nobody is left to take it
		}
		return send(a.running, payload)
	}, nil
}

type scheduleProperties struct {
	Name, ScheduleExpression, ScheduleExpressionTimezone, State string
	FlexibleTimeWindow                                          struct{ Mode string }
	Target                                                      struct {
		Arn, Input, RoleArn string
		RetryPolicy         *retryPolicy
	}
}

// makeSchedule has a schedule invoke a function, with the rights of the schedule's role, once the account has begun.
func makeSchedule(_ context.Context, r resource) error {
	var p scheduleProperties
	group, _ := r.stack.Resources[r.id].Properties["GroupName"].(string)
	if err := r.decode(&p); err != nil {
		return err
	}
	if p.State != "ENABLED" || p.FlexibleTimeWindow.Mode != "OFF" {
		return fmt.Errorf("property State is %q and the mode of FlexibleTimeWindow %q; ENABLED and OFF are modelled", p.State, p.FlexibleTimeWindow.Mode)
	}
	if !strings.HasPrefix(p.Target.Arn, "arn:aws:lambda:") {
		return fmt.Errorf("property Target: Arn is %s; only functions are modelled as targets", p.Target.Arn)
	}
	name, err := r.name()
	if err != nil {
		return err
	}
	// What Scheduler says of itself is the group of the schedule.
	source := "arn:aws:scheduler:" + r.account.Cloud.Region() + ":" + r.account.Cloud.Account() + ":schedule-group/" + group
	if err := r.account.takeOn("scheduler.amazonaws.com", p.Target.RoleArn, source); err != nil {
		return fmt.Errorf("property Target: %w", err)
	}
	s := schedule.Schedule{
		Name: name, Group: group, Expression: p.ScheduleExpression, Timezone: p.ScheduleExpressionTimezone, Input: p.Target.Input,
		Policy: p.Target.RetryPolicy.policy(), Target: r.account.toFunction(p.Target.RoleArn, p.Target.Arn),
	}
	if change := r.account.Changes.Schedule; change != nil {
		change(r.id, &s)
	}
	if !r.account.begun {
		r.account.waiting = append(r.account.waiting, s)
		return nil
	}
	return r.account.Schedules.Create(s)
}

// toFunction invokes a function asynchronously with the rights of a role.
func (a *Account) toFunction(role, function string) delivery.Target {
	return func(ctx context.Context, payload []byte) error {
		asked := wire.Access{Action: "lambda:InvokeFunction", Resource: function}
		if d := a.Cloud.Policies.Decide(policy.Role(role), asked); !d.Allowed() {
			return fmt.Errorf("invoke %s with role %s: %v", function, role, d)
		}
		name := lastPart(function)
		return delivery.LambdaWith(a.running, clock.System(), a.Runtime, name, a.asyncOf(name), a.OnDropped)(ctx, payload)
	}
}
