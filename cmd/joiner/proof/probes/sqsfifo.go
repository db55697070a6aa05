package probes

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/joiner-sh/joiner/cmd/joiner/proof"
)

func fifo() []proof.Probe {
	return []proof.Probe{
		queue("sqs-fifo-group-held", "of a FIFO group what is in flight holds back all behind it, and other groups nothing",
			"send a1 and a2 of one group and b1 of another, receive one at a time", proof.Seen{"first": "a1", "then": "b1", "after the delete": "a2"}, fifoHeld),
		queue("sqs-fifo-fills-one-group", "a receive takes as much as it may of one group before the next",
			"send four messages of two groups by turns, receive ten", proof.Seen{"in order": "yes", "together": "a1 a2 b1 b2"}, fifoFills),
		queue("sqs-fifo-deduplication", "a duplicate within five minutes is answered with the first one's id and number, also after that was deleted",
			"send the same deduplication id twice, receive and delete, send it again",
			proof.Seen{"same id": "yes", "same number": "yes", "after the delete": "same id", "left": "0"}, fifoDuplicates),
		queue("sqs-fifo-delete-late-refused", "a FIFO queue refuses a delete after the visibility has ended",
			"receive for a second, wait, DeleteMessage", proof.Seen{"delete": "InvalidParameterValue | ReceiptHandleIsInvalid"}, fifoLate),
		queue("sqs-fifo-delete-earlier-refused", "a FIFO queue refuses the handle of an earlier receive",
			"receive twice, DeleteMessage by the first handle", proof.Seen{"delete": "InvalidParameterValue | ReceiptHandleIsInvalid", "left": "1"}, fifoEarlier),
		queue("sqs-fifo-no-delay-per-message", "a FIFO queue takes no delay per message; zero is none",
			"SendMessage with DelaySeconds 1 and 0", proof.Seen{"one second": "InvalidParameterValue", "zero": "ok"}, fifoDelay),
		queue("sqs-fifo-needs-group", "a FIFO queue needs a group for each message", "SendMessage without MessageGroupId", proof.Seen{"send": "MissingParameter"}, fifoGroup),
		queue("sqs-fifo-redrive-keeps-group", "a message redriven from a FIFO queue keeps its group",
			"receive twice from a FIFO queue with maxReceiveCount 1, receive from its dead-letter queue", proof.Seen{"group": "a"}, fifoRedrive),
	}
}

func sendFIFO(ctx context.Context, e *proof.Env, url, group, body, id string) (*sqs.SendMessageOutput, error) {
	return e.SQS.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &url, MessageBody: &body, MessageGroupId: &group, MessageDeduplicationId: &id})
}

// fifoOf makes a FIFO queue with messages, each named by its group's letter and a number.
func fifoOf(ctx context.Context, e *proof.Env, what string, attributes map[string]string, bodies ...string) (string, error) {
	url, err := proof.MakeQueue(ctx, e, what+".fifo", attributes)
	for _, body := range bodies {
		if err == nil {
			_, err = sendFIFO(ctx, e, url, body[:1], body, body)
		}
	}
	return url, err
}

func fifoHeld(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	url, err := fifoOf(ctx, e, "held", nil, "a1", "a2", "b1")
	if err != nil {
		return nil, err
	}
	first, err := received(ctx, e, url, 120)
	if err != nil {
		return nil, err
	}
	then, err := received(ctx, e, url, 120)
	if err != nil {
		return nil, err
	}
	if err := remove(ctx, e, url, first.ReceiptHandle); err != nil {
		return nil, err
	}
	after, err := received(ctx, e, url, 120)
	return proof.Seen{"first": aws.ToString(first.Body), "then": aws.ToString(then.Body), "after the delete": aws.ToString(after.Body)}, err
}

func fifoFills(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	url, err := fifoOf(ctx, e, "fills", nil, "a1", "b1", "a2", "b2")
	if err != nil {
		return nil, err
	}
	got, err := receive(ctx, e, url, 10, 120)
	if err != nil {
		return nil, err
	}
	var bodies []string
	last, ordered := map[string]string{}, true
	for _, m := range got {
		body := aws.ToString(m.Body)
		ordered = ordered && last[body[:1]] < body
		last[body[:1]] = body
		bodies = append(bodies, body)
	}
	return proof.Seen{"in order": yes(ordered), "together": strings.Join(bodies, " ")}, nil
}

func fifoDuplicates(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	url, err := proof.MakeQueue(ctx, e, "duplicates.fifo", nil)
	if err != nil {
		return nil, err
	}
	first, err := sendFIFO(ctx, e, url, "a", "a1", "one")
	if err != nil {
		return nil, err
	}
	second, err := sendFIFO(ctx, e, url, "a", "a1", "one")
	if err != nil {
		return nil, err
	}
	m, err := received(ctx, e, url, 30)
	if err != nil {
		return nil, err
	}
	if err := remove(ctx, e, url, m.ReceiptHandle); err != nil {
		return nil, err
	}
	third, err := sendFIFO(ctx, e, url, "a", "a1", "one")
	if err != nil {
		return nil, err
	}
	left, err := receive(ctx, e, url, 1, 30)
	after := "another id"
	if aws.ToString(third.MessageId) == aws.ToString(first.MessageId) {
		after = "same id"
	}
	return proof.Seen{
		"same id": yes(aws.ToString(first.MessageId) == aws.ToString(second.MessageId)), "same number": yes(aws.ToString(first.SequenceNumber) == aws.ToString(second.SequenceNumber)),
		"after the delete": after, "left": count(len(left)),
	}, err
}

func fifoLate(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	url, err := fifoOf(ctx, e, "late", nil, "a1")
	if err != nil {
		return nil, err
	}
	m, err := timedOut(ctx, e, url)
	if err != nil {
		return nil, err
	}
	deleted := remove(ctx, e, url, m.ReceiptHandle)
	return proof.Seen{"delete": proof.Code(deleted)}, proof.Answered(deleted)
}

func fifoEarlier(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	url, err := fifoOf(ctx, e, "earlier", nil, "a1")
	if err != nil {
		return nil, err
	}
	return deletedByEarlier(ctx, e, url, 4)
}

func fifoDelay(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	url, err := proof.MakeQueue(ctx, e, "delay.fifo", nil)
	if err != nil {
		return nil, err
	}
	try := func(seconds int32, id string) error {
		_, err := e.SQS.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &url, MessageBody: &id, MessageGroupId: aws.String("a"), MessageDeduplicationId: &id, DelaySeconds: seconds})
		return err
	}
	delayed, zero := try(1, "one"), try(0, "zero")
	return proof.Seen{"one second": proof.Code(delayed), "zero": proof.Code(zero)}, proof.Answered(delayed, zero)
}

func fifoGroup(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	url, err := proof.MakeQueue(ctx, e, "nogroup.fifo", nil)
	if err != nil {
		return nil, err
	}
	_, err = e.SQS.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("a"), MessageDeduplicationId: aws.String("a")})
	return proof.Seen{"send": proof.Code(err)}, proof.Answered(err)
}

func fifoRedrive(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	dead, err := proof.MakeQueue(ctx, e, "deadletters.fifo", nil)
	if err != nil {
		return nil, err
	}
	url, err := fifoOf(ctx, e, "redrive", map[string]string{
		"RedrivePolicy": `{"deadLetterTargetArn":"` + proof.QueueARN(e, "deadletters.fifo") + `","maxReceiveCount":"1"}`,
	}, "a1")
	if err != nil {
		return nil, err
	}
	if _, err := received(ctx, e, url, 1); err != nil {
		return nil, err
	}
	if err := e.Sleep(ctx, 3*time.Second); err != nil {
		return nil, err
	}
	if _, err := receive(ctx, e, url, 1, 1); err != nil {
		return nil, err
	}
	moved, err := received(ctx, e, dead, 30)
	return proof.Seen{"group": moved.Attributes[string(types.MessageSystemAttributeNameMessageGroupId)]}, err
}
