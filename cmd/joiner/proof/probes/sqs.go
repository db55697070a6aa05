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

var queueRights = []string{"sqs:CreateQueue", "sqs:TagQueue", "sqs:SendMessage", "sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes"}

// queueCost is a bound of what a probe of some dozen requests costs.
const queueCost = 0.0001

// queue is a probe about SQS with one reading.
func queue(id, assumption, about string, want proof.Seen, run func(context.Context, *proof.Env) (proof.Seen, error)) proof.Probe {
	return proof.Probe{
		ID: id, Service: "sqs", Assumption: assumption, About: about, Kind: proof.KindSmall, Cost: queueCost, Lasts: 5 * time.Second,
		Rights: queueRights, Readings: one(assumption, want), Run: run,
	}
}

func queues() []proof.Probe {
	group := queue("sqs-group-on-standard", "whether a standard queue takes a message group (fair queues)", "SendMessage with MessageGroupId to a standard queue, ReceiveMessage",
		nil, standardGroup)
	group.Readings = []proof.Reading{
		{Name: "refused", Says: "a standard queue refuses MessageGroupId", Want: proof.Seen{"send": "InvalidParameterValue"}},
		{Name: "taken", Says: "it takes it, and shows it at the receive", Want: proof.Seen{"send": "ok", "group": "g1"}},
	}
	list := []proof.Probe{
		queue("sqs-error-codes", "an error has the JSON shape, and the older code of the Query protocol in x-amzn-query-error",
			"GetQueueUrl of a queue that is not there",
			proof.Seen{"code": "QueueDoesNotExist | AWS.SimpleQueueService.NonExistentQueue", "header": "AWS.SimpleQueueService.NonExistentQueue;Sender"}, queueErrors),
		group,
		queue("sqs-standard-delete-late", "of a standard queue a message is deleted by its last handle after its visibility has ended",
			"receive for a second, wait, DeleteMessage, receive again", proof.Seen{"delete": "ok", "left": "0"}, standardLate),
		queue("sqs-standard-delete-earlier", "of a standard queue a delete by the handle of an earlier receive is ignored",
			"receive twice, DeleteMessage by the first handle, receive again", proof.Seen{"delete": "ok", "left": "1"}, standardEarlier),
		queue("sqs-visibility-twelve-hours", "visibility ends at most twelve hours after the receive",
			"ChangeMessageVisibility to 43201 s, and to 43200 s some seconds after the receive",
			proof.Seen{"longer": "InvalidParameterValue", "late": "InvalidParameterValue"}, visibilityBound),
		queue("sqs-redrive", "a message that would be received once too often moves to the dead-letter queue and keeps its id and its count",
			"receive twice from a queue with maxReceiveCount 1, receive from its dead-letter queue", proof.Seen{"second receive": "0", "same id": "yes", "count": "2"}, redrive),
		queue("sqs-size-mebibyte", "a message may have 1 MiB, and no more",
			"SendMessage of 1 MiB and of 1 MiB and a byte", proof.Seen{"a mebibyte": "ok", "a byte more": "InvalidParameterValue | InvalidMessageContents"}, messageSize),
		queue("sqs-batch-ten", "a batch has at most ten entries", "SendMessageBatch of eleven",
			proof.Seen{"eleven": "TooManyEntriesInBatchRequest | AWS.SimpleQueueService.TooManyEntriesInBatchRequest"}, batchOfEleven),
		queue("sqs-name-pause", "the name of a deleted queue is free after 60 seconds only", "CreateQueue, DeleteQueue, CreateQueue at once",
			proof.Seen{"again": "QueueDeletedRecently | AWS.SimpleQueueService.QueueDeletedRecently"}, namePause),
		queue("sqs-purge-pause", "a queue is purged every 60 seconds at most", "PurgeQueue twice",
			proof.Seen{"first": "ok", "second": "PurgeQueueInProgress | AWS.SimpleQueueService.PurgeQueueInProgress"}, purgePause),
		queue("sqs-create-again", "a queue is made again only with the same attributes", "CreateQueue three times",
			proof.Seen{"same": "ok", "others": "QueueNameExists | QueueAlreadyExists"}, createAgain),
		queue("sqs-approximate-counts", "a queue counts what is visible and what is in flight within a minute", "send two, receive one, GetQueueAttributes",
			proof.Seen{"visible": "1", "in flight": "1"}, queueCounts),
	}
	list[0].Kind, list[0].Rights = proof.KindDryRuns, []string{"sqs:GetQueueUrl"}
	for i := range list {
		switch list[i].ID {
		case "sqs-name-pause":
			list[i].Rights = append([]string{"sqs:DeleteQueue"}, queueRights...)
		case "sqs-purge-pause":
			list[i].Rights = append([]string{"sqs:PurgeQueue"}, queueRights...)
		}
	}
	return list
}

// receive takes up to max messages for some seconds; it waits for the first.
func receive(ctx context.Context, e *proof.Env, url string, max int32, visible int32) ([]types.Message, error) {
	out, err := e.SQS.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &url, MaxNumberOfMessages: max, VisibilityTimeout: visible, WaitTimeSeconds: 3,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	if err != nil {
		return nil, err
	}
	return out.Messages, nil
}

// received is the first message of a queue. The error says that there was none.
func received(ctx context.Context, e *proof.Env, url string, visible int32) (types.Message, error) {
	for range 4 {
		got, err := receive(ctx, e, url, 1, visible)
		if err != nil {
			return types.Message{}, err
		}
		if len(got) > 0 {
			return got[0], nil
		}
	}
	return types.Message{}, errorf("no message came from %s", url)
}

func send(ctx context.Context, e *proof.Env, url, body string) error {
	_, err := e.SQS.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &url, MessageBody: &body})
	return err
}

func remove(ctx context.Context, e *proof.Env, url string, handle *string) error {
	_, err := e.SQS.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: handle})
	return err
}

func queueErrors(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	_, err := e.SQS.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(e.Name("nothing"))})
	return proof.Seen{"code": proof.Code(err), "header": header(err, "x-amzn-query-error")}, proof.Answered(err)
}

func standardGroup(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	url, err := proof.MakeQueue(ctx, e, "group", nil)
	if err != nil {
		return nil, err
	}
	_, err = e.SQS.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("a"), MessageGroupId: aws.String("g1")})
	seen := proof.Seen{"send": proof.Code(err)}
	if err != nil {
		return seen, proof.Answered(err)
	}
	m, err := received(ctx, e, url, 30)
	seen["group"] = m.Attributes["MessageGroupId"]
	return seen, err
}

func standardLate(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	url, err := proof.MakeQueue(ctx, e, "late", nil)
	if err != nil {
		return nil, err
	}
	if err := send(ctx, e, url, "a"); err != nil {
		return nil, err
	}
	m, err := timedOut(ctx, e, url)
	if err != nil {
		return nil, err
	}
	deleted := remove(ctx, e, url, m.ReceiptHandle)
	got, err := receive(ctx, e, url, 1, 1)
	return proof.Seen{"delete": proof.Code(deleted), "left": count(len(got))}, proof.Answered(deleted, err)
}

// timedOut receives a queue's message for a second and waits until it is visible again.
func timedOut(ctx context.Context, e *proof.Env, url string) (types.Message, error) {
	m, err := received(ctx, e, url, 1)
	if err != nil {
		return m, err
	}
	return m, e.Sleep(ctx, 3*time.Second)
}

func standardEarlier(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	url, err := proof.MakeQueue(ctx, e, "earlier", nil)
	if err != nil {
		return nil, err
	}
	if err := send(ctx, e, url, "a"); err != nil {
		return nil, err
	}
	return deletedByEarlier(ctx, e, url, 5)
}

// deletedByEarlier receives a queue's message twice, the second time for some seconds, deletes it by the handle of the first, and sees whether it
// comes a third time.
func deletedByEarlier(ctx context.Context, e *proof.Env, url string, second int32) (proof.Seen, error) {
	first, err := timedOut(ctx, e, url)
	if err != nil {
		return nil, err
	}
	if _, err := received(ctx, e, url, second); err != nil {
		return nil, err
	}
	deleted := remove(ctx, e, url, first.ReceiptHandle)
	if err := e.Sleep(ctx, 6*time.Second); err != nil {
		return nil, err
	}
	got, err := receive(ctx, e, url, 1, 1)
	return proof.Seen{"delete": proof.Code(deleted), "left": count(len(got))}, proof.Answered(deleted, err)
}

func visibilityBound(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	url, err := proof.MakeQueue(ctx, e, "visibility", nil)
	if err != nil {
		return nil, err
	}
	if err := send(ctx, e, url, "a"); err != nil {
		return nil, err
	}
	m, err := received(ctx, e, url, 60)
	if err != nil {
		return nil, err
	}
	change := func(seconds int32) error {
		_, err := e.SQS.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: seconds})
		return err
	}
	longer := change(43201)
	if err := e.Sleep(ctx, 3*time.Second); err != nil {
		return nil, err
	}
	late := change(43200)
	return proof.Seen{"longer": proof.Code(longer), "late": proof.Code(late)}, proof.Answered(longer, late)
}

func redrive(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	dead, err := proof.MakeQueue(ctx, e, "dead", nil)
	if err != nil {
		return nil, err
	}
	url, err := proof.MakeQueue(ctx, e, "redrive", map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"` + proof.QueueARN(e, "dead") + `","maxReceiveCount":"1"}`})
	if err != nil {
		return nil, err
	}
	if err := send(ctx, e, url, "a"); err != nil {
		return nil, err
	}
	m, err := timedOut(ctx, e, url)
	if err != nil {
		return nil, err
	}
	again, err := receive(ctx, e, url, 1, 1)
	if err != nil {
		return nil, err
	}
	moved, err := received(ctx, e, dead, 30)
	return proof.Seen{
		"second receive": count(len(again)), "same id": yes(aws.ToString(moved.MessageId) == aws.ToString(m.MessageId)), "count": moved.Attributes["ApproximateReceiveCount"],
	}, err
}

func messageSize(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	url, err := proof.MakeQueue(ctx, e, "size", nil)
	if err != nil {
		return nil, err
	}
	whole := send(ctx, e, url, strings.Repeat("a", 1<<20))
	more := send(ctx, e, url, strings.Repeat("a", 1<<20+1))
	return proof.Seen{"a mebibyte": proof.Code(whole), "a byte more": proof.Code(more)}, proof.Answered(whole, more)
}

func batchOfEleven(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	url, err := proof.MakeQueue(ctx, e, "batch", nil)
	if err != nil {
		return nil, err
	}
	var entries []types.SendMessageBatchRequestEntry
	for i := range 11 {
		entries = append(entries, types.SendMessageBatchRequestEntry{Id: aws.String(count(i)), MessageBody: aws.String("a")})
	}
	_, err = e.SQS.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &url, Entries: entries})
	return proof.Seen{"eleven": proof.Code(err)}, proof.Answered(err)
}

func namePause(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	url, err := proof.MakeQueue(ctx, e, "pause", nil)
	if err != nil {
		return nil, err
	}
	if _, err := e.SQS.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &url}); err != nil {
		return nil, err
	}
	_, err = proof.MakeQueue(ctx, e, "pause", nil)
	return proof.Seen{"again": proof.Code(err)}, proof.Answered(err)
}

func purgePause(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	url, err := proof.MakeQueue(ctx, e, "purge", nil)
	if err != nil {
		return nil, err
	}
	_, first := e.SQS.PurgeQueue(ctx, &sqs.PurgeQueueInput{QueueUrl: &url})
	_, second := e.SQS.PurgeQueue(ctx, &sqs.PurgeQueueInput{QueueUrl: &url})
	return proof.Seen{"first": proof.Code(first), "second": proof.Code(second)}, proof.Answered(first, second)
}

func createAgain(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	if _, err := proof.MakeQueue(ctx, e, "again", map[string]string{"VisibilityTimeout": "40"}); err != nil {
		return nil, err
	}
	_, same := proof.MakeQueue(ctx, e, "again", map[string]string{"VisibilityTimeout": "40"})
	_, others := proof.MakeQueue(ctx, e, "again", map[string]string{"VisibilityTimeout": "41"})
	return proof.Seen{"same": proof.Code(same), "others": proof.Code(others)}, proof.Answered(same, others)
}

func queueCounts(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	url, err := proof.MakeQueue(ctx, e, "counts", nil)
	if err != nil {
		return nil, err
	}
	for _, body := range []string{"a", "b"} {
		if err := send(ctx, e, url, body); err != nil {
			return nil, err
		}
	}
	if _, err := received(ctx, e, url, 300); err != nil {
		return nil, err
	}
	seen := proof.Seen{}
	_, _, err = e.Until(ctx, time.Minute, 5*time.Second, func() (bool, error) {
		got, err := proof.QueueAttributes(ctx, e, url, types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible)
		seen["visible"], seen["in flight"] = got["ApproximateNumberOfMessages"], got["ApproximateNumberOfMessagesNotVisible"]
		return seen["visible"] == "1" && seen["in flight"] == "1", err
	})
	return seen, err
}
