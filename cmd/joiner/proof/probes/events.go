package probes

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/joiner-sh/joiner/cmd/joiner/proof"
)

var ruleRights = append([]string{"events:PutRule", "events:TagResource", "events:PutTargets", "events:PutEvents"}, queueRights...)

func events() []proof.Probe {
	refused := proof.Probe{
		ID: "events-source-of-aws", Service: "events", Assumption: "an event whose source begins with aws. is refused to everybody", About: "PutEvents with the source aws.ec2",
		Kind: proof.KindDryRuns, Lasts: time.Second, Rights: []string{"events:PutEvents"}, Run: sourceOfAWS,
		Readings: one("the entry fails with NotAuthorizedForSourceException", proof.Seen{"code": "NotAuthorizedForSourceException", "failed": "1"}),
	}
	reaches := proof.Probe{
		ID: "events-rule-to-queue", Service: "events", Assumption: "an event that fits a rule reaches the rule's queue as it was put, with account and region", About: "PutEvents of an own source, ReceiveMessage",
		Kind: proof.KindSmall, Cost: queueCost, Lasts: 10 * time.Second, Rights: ruleRights, Run: ruleToQueue,
		Readings: one("within a minute", proof.Seen{"source": "joiner.proof", "detail": "one", "account": "own", "region": "own"}),
	}
	states := proof.Probe{
		ID: "events-state-changes", Service: "events", Assumption: "every change of an instance's state is an event, pending included, whose resource names region and account",
		About: "an instance's life, by a rule into a queue", Kind: proof.KindInstances, Cost: proof.InstanceCost, Lasts: 3 * time.Minute, Run: stateChanges,
		Rights:   append(append([]string{"ec2:TerminateInstances"}, instanceRights...), ruleRights...),
		Readings: one("pending, running, shutting-down and terminated", proof.Seen{"pending": "yes", "running": "yes", "shutting-down": "yes", "terminated": "yes", "resource": "by region and account"}),
	}
	return []proof.Probe{refused, reaches, states}
}

func sourceOfAWS(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	out, err := e.Events.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: []types.PutEventsRequestEntry{{
		Source: aws.String("aws.ec2"), DetailType: aws.String("joiner proof"), Detail: aws.String("{}"),
	}}})
	if err != nil {
		return nil, err
	}
	return proof.Seen{"code": aws.ToString(out.Entries[0].ErrorCode), "failed": count(int(out.FailedEntryCount))}, nil
}

// listen makes a rule of the run's that sends what fits a pattern to a queue of the run's, whose URL it returns.
func listen(ctx context.Context, e *proof.Env, what, pattern string) (string, error) {
	policy, err := json.Marshal(map[string]any{"Version": "2012-10-17", "Statement": []any{map[string]any{
		"Effect": "Allow", "Principal": map[string]any{"Service": "events.amazonaws.com"}, "Action": "sqs:SendMessage", "Resource": proof.QueueARN(e, what),
		"Condition": map[string]any{"ArnEquals": map[string]any{"aws:SourceArn": e.ARN("events", "rule/"+e.Name(what))}},
	}}})
	if err != nil {
		return "", err
	}
	url, err := proof.MakeQueue(ctx, e, what, map[string]string{"Policy": string(policy)})
	if err != nil {
		return "", err
	}
	var tags []types.Tag
	own := e.Tags()
	for _, key := range sorted(own) {
		tags = append(tags, types.Tag{Key: aws.String(key), Value: aws.String(own[key])})
	}
	name := e.Name(what)
	if _, err := e.Events.PutRule(ctx, &eventbridge.PutRuleInput{Name: &name, EventPattern: &pattern, Tags: tags}); err != nil {
		return "", err
	}
	out, err := e.Events.PutTargets(ctx, &eventbridge.PutTargetsInput{Rule: &name, Targets: []types.Target{{Id: aws.String("queue"), Arn: aws.String(proof.QueueARN(e, what))}}})
	if err == nil && out.FailedEntryCount > 0 {
		err = errorf("rule %s took no target: %s", name, aws.ToString(out.FailedEntries[0].ErrorCode))
	}
	return url, err
}

// event is what a rule sends.
type event struct {
	Source, Account, Region string
	DetailType              string `json:"detail-type"`
	Resources               []string
	Detail                  struct {
		What       string
		InstanceID string `json:"instance-id"`
		State      string
	}
}

// receiveFrom takes events from a queue until enough says so, or a limit has passed.
func receiveFrom(ctx context.Context, e *proof.Env, url string, limit time.Duration, enough func(event) bool) error {
	_, _, err := e.Until(ctx, limit, time.Second, func() (bool, error) {
		got, err := receive(ctx, e, url, 10, 60)
		done := false
		for _, m := range got {
			var x event
			if err := json.Unmarshal([]byte(aws.ToString(m.Body)), &x); err != nil {
				return false, errorf("an event in %s: %w", url, err)
			}
			done = enough(x) || done
			if err := remove(ctx, e, url, m.ReceiptHandle); err != nil {
				return false, err
			}
		}
		return done, err
	})
	return err
}

func ruleToQueue(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	url, err := listen(ctx, e, "events", `{"source":["joiner.proof"]}`)
	if err != nil {
		return nil, err
	}
	seen := proof.Seen{}
	own := map[bool]string{true: "own", false: "another"}
	// A new rule takes EventBridge a while to heed: the event is put again.
	_, _, err = e.Until(ctx, time.Minute, 5*time.Second, func() (bool, error) {
		if _, err := e.Events.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: []types.PutEventsRequestEntry{{
			Source: aws.String("joiner.proof"), DetailType: aws.String("joiner proof"), Detail: aws.String(`{"what":"one"}`),
		}}}); err != nil {
			return false, err
		}
		err := receiveFrom(ctx, e, url, 5*time.Second, func(x event) bool {
			seen["source"], seen["detail"], seen["account"], seen["region"] = x.Source, x.Detail.What, own[x.Account == e.Account], own[x.Region == e.Region]
			return true
		})
		return len(seen) > 0, err
	})
	return seen, err
}

func stateChanges(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	m, err := instance(ctx, e)
	if err != nil {
		return nil, err
	}
	seen := proof.Seen{"pending": "no", "running": "no", "shutting-down": "no", "terminated": "no", "resource": "otherwise"}
	note := func(x event) string {
		if x.Detail.InstanceID != m.id {
			return ""
		}
		seen[x.Detail.State] = "yes"
		if len(x.Resources) == 1 && x.Resources[0] == e.ARN("ec2", "instance/"+m.id) {
			seen["resource"] = "by region and account"
		}
		return x.Detail.State
	}
	if err := receiveFrom(ctx, e, m.notices, 3*time.Minute, func(x event) bool { return note(x) == "running" }); err != nil {
		return nil, err
	}
	if err := proof.End(ctx, e, m.id); err != nil || seen["running"] == "no" {
		return seen, err
	}
	if err := receiveFrom(ctx, e, m.notices, 5*time.Minute, func(x event) bool { return strings.HasPrefix(note(x), "terminated") }); err != nil {
		return nil, err
	}
	return seen, nil
}
