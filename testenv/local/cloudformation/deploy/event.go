package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/policy"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/delivery"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/events"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/schedule"
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
	Name, State        string
	EventPattern       json.RawMessage
	ScheduleExpression string
	Targets            []ruleTarget
}

type ruleTarget struct {
	Arn              string
	ID               string `json:"Id"`
	RoleArn          string // by which the rule sends to a bus
	DeadLetterConfig *struct{ Arn string }
	InputTransformer *struct {
		InputPathsMap map[string]string
		InputTemplate string
	}
	RetryPolicy *retryPolicy
}

// makeRule has a rule of the bus send to queues, as far as their policies let the rule, or one by the clock invoke functions.
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
	if p.ScheduleExpression != "" {
		r.account.clocks = append(r.account.clocks, name)
		return r.account.makeClock(r.id, name, arn, p)
	}
	pattern, err := events.ParsePattern(p.EventPattern)
	if err != nil {
		return fmt.Errorf("EventPattern: %w", err)
	}
	rule := events.Rule{Name: name, Pattern: pattern}
	for _, t := range p.Targets {
		if t.InputTransformer != nil {
			return fmt.Errorf("target %s: InputTransformer is modelled of rules by the clock alone", t.ID)
		}
		target := events.Target{ID: t.ID, ARN: t.Arn, Policy: t.RetryPolicy.policy()}
		switch {
		case strings.HasPrefix(t.Arn, "arn:aws:events:"):
			target.Send, err = r.account.toBus(arn, t.Arn, t.RoleArn)
		case t.RoleArn != "":
			err = fmt.Errorf("RoleArn is modelled of targets that are buses alone")
		default:
			target.Send, err = r.account.toQueue(arn, t.Arn)
		}
		if err != nil {
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

// ruleExists looks at rules by pattern and by the clock.
func ruleExists(_ context.Context, r resource) (bool, error) {
	name, err := r.name()
	a := r.account
	return slices.Contains(a.clocks, name) || slices.ContainsFunc(a.rules, func(rule events.Rule) bool { return rule.Name == name }), err
}

// changeRule makes the rule anew: what it sends meanwhile is lost for a moment, as a rule that is put replaces the one before.
func changeRule(ctx context.Context, r resource, old properties) error {
	before := resource{r.account, r.stack, r.id, old}
	if err := removeRule(ctx, before); err != nil {
		return err
	}
	if err := makeRule(ctx, r); err != nil {
		return errors.Join(err, makeRule(ctx, before))
	}
	return nil
}

// removeRule ends a rule with its targets.
func removeRule(_ context.Context, r resource) error {
	var p ruleProperties
	if err := r.decode(&p); err != nil {
		return err
	}
	name, err := r.name()
	if err != nil {
		return err
	}
	a := r.account
	a.rules = slices.DeleteFunc(a.rules, func(rule events.Rule) bool { return rule.Name == name })
	a.clocks = slices.DeleteFunc(a.clocks, func(clock string) bool { return clock == name })
	a.waiting = slices.DeleteFunc(a.waiting, func(s schedule.Schedule) bool { return s.Group == name })
	a.Bus.DeleteRule(name)
	for _, t := range p.Targets {
		if p.ScheduleExpression != "" {
			a.Schedules.Delete(name + "/" + t.ID)
		}
	}
	return nil
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
		if err := a.eventsWithKey(a.Cloud.SQS.KeyOf(lastPart(queue))); err != nil {
			return fmt.Errorf("%s sends to %s: %w", rule, queue, err)
		}
		return send(a.running, payload)
	}, nil
}

// toBus sends to a bus of another account for a rule, by the role of the target, as far as that bus's policy lets it. The event stays what it
// was, its account included. Source: Amazon EventBridge user guide, "Sending and receiving events between AWS accounts".
func (a *Account) toBus(rule, bus, role string) (delivery.Target, error) {
	to := a.Buses[bus]
	if to == nil {
		return nil, fmt.Errorf("property Arn is %s, and there is no such bus", bus)
	}
	if err := a.takeOn("events.amazonaws.com", role, rule); err != nil {
		return nil, err
	}
	return func(ctx context.Context, event []byte) error {
		var e struct {
			Source     string `json:"source"`
			DetailType string `json:"detail-type"`
		}
		if err := json.Unmarshal(event, &e); err != nil {
			return err
		}
		asked := wire.Access{Action: "events:PutEvents", Resource: bus, Context: map[string][]string{"events:source": {e.Source}, "events:detail-type": {e.DetailType}}}
		if d := a.Cloud.Policies.Decide(policy.Role(role), asked); !d.Allowed() {
			return fmt.Errorf("%s puts an event of %s on %s: %v", rule, e.Source, bus, d)
		}
		to.Forward(ctx, event)
		return nil
	}, nil
}

// scheduledTime is the only thing of the event that targets of rules by the clock may ask for here, and what package schedule calls it.
const scheduledTime, scheduledTimeOf = "$.time", `"<aws.scheduler.scheduled-time>"`

// makeClock has a rule by the clock invoke functions once the account has begun, as far as their policies let the rule.
func (a *Account) makeClock(id, name, arn string, p ruleProperties) error {
	if len(p.EventPattern) > 0 {
		return fmt.Errorf("a rule with both EventPattern and ScheduleExpression is not modelled")
	}
	if len(p.Targets) > events.MaxTargets {
		return fmt.Errorf("it has %d targets, the limit is %d", len(p.Targets), events.MaxTargets)
	}
	for _, t := range p.Targets {
		if !strings.HasPrefix(t.Arn, "arn:aws:lambda:") {
			return fmt.Errorf("target %s: Arn is %s; only functions are modelled as targets of rules by the clock", t.ID, t.Arn)
		}
		if t.InputTransformer == nil || t.DeadLetterConfig != nil {
			return fmt.Errorf("target %s: modelled are targets with an InputTransformer and without a DeadLetterConfig", t.ID)
		}
		input := t.InputTransformer.InputTemplate
		for key, path := range t.InputTransformer.InputPathsMap {
			if path != scheduledTime {
				return fmt.Errorf("target %s: InputPathsMap has %s; only %s is modelled", t.ID, path, scheduledTime)
			}
			input = strings.ReplaceAll(input, "<"+key+">", scheduledTimeOf)
		}
		s := schedule.Schedule{
			Name: name + "/" + t.ID, Group: name, TargetARN: t.Arn, Expression: p.ScheduleExpression, Input: input,
			Policy: t.RetryPolicy.policy(), Target: a.toFunction(arn, t.Arn),
		}
		if change := a.Changes.Schedule; change != nil {
			change(id, &s)
		}
		if !a.begun {
			a.waiting = append(a.waiting, s)
			continue
		}
		if err := a.Schedules.Create(s); err != nil {
			return err
		}
	}
	return nil
}

// toFunction invokes a function asynchronously for a rule.
func (a *Account) toFunction(rule, function string) delivery.Target {
	asked := wire.Access{Action: "lambda:InvokeFunction", Resource: function, Context: map[string][]string{
		"aws:sourcearn": {rule}, "aws:sourceaccount": {a.Cloud.Account()},
	}}
	return func(ctx context.Context, payload []byte) error {
		if d := a.Cloud.Policies.Decide(policy.Service("events.amazonaws.com"), asked); !d.Allowed() {
			return fmt.Errorf("%s invokes %s: %v", rule, function, d)
		}
		name := lastPart(function)
		return delivery.LambdaWith(a.running, clock.System(), a.Runtime, name, a.asyncOf(name), a.OnDropped)(ctx, payload)
	}
}
