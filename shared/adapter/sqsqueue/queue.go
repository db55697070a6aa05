package sqsqueue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/joiner-sh/joiner/shared/adapter/sdkerr"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/wire"
)

// Queue is the plan queue of one cluster, which is FIFO. It may be used from many goroutines.
type Queue struct {
	client *sqs.Client
	url    string
}

// New returns the queue at a URL; its name must end in .fifo.
func New(client *sqs.Client, url string) *Queue { return &Queue{client: client, url: url} }

// PlanQueues are the plan queues of all clusters. It may be used from many goroutines.
type PlanQueues struct {
	client *sqs.Client
	like   string // URL of any queue of the same account and region
}

// NewPlanQueues returns the plan queues beside any other queue of their account and region.
func NewPlanQueues(client *sqs.Client, like string) *PlanQueues {
	return &PlanQueues{client: client, like: like}
}

// Send puts the hint into its cluster's plan queue. Errors as of Queue.Send.
func (p *PlanQueues) Send(ctx context.Context, hint wire.Hint) error {
	return New(p.client, wire.PlanQueueURL(p.like, hint.Cluster)).Send(ctx, hint)
}

// Send puts the hint into the queue. Sending the same hint again within five minutes adds nothing. Invalid for a hint
// that cannot be encoded; Throttled, Denied, NotFound (no such queue) or Internal otherwise.
func (q *Queue) Send(ctx context.Context, hint wire.Hint) error {
	return q.send(ctx, hint, hint.Cluster)
}

// Forward puts the hint into the queue to be passed on to another function, in the group of those that wait behind no
// planning run. Errors as of Send.
func (q *Queue) Forward(ctx context.Context, hint wire.Hint) error {
	return q.send(ctx, hint, wire.ForwardGroup(hint.Cluster))
}

func (q *Queue) send(ctx context.Context, hint wire.Hint, group string) error {
	body, err := wire.EncodeHint(hint)
	if err != nil {
		return err
	}
	_, err = q.client.SendMessage(ctx, &sqs.SendMessageInput{
		QueueUrl: &q.url, MessageBody: aws.String(string(body)),
		MessageGroupId: &group, MessageDeduplicationId: aws.String(dedupID(&hint, group)),
	})
	return translate(err, "send a hint of cluster %s to %s", hint.Cluster, q.url)
}

// DelayQueue is one standard queue, whose messages may be set to show up later. It may be used from many goroutines.
type DelayQueue struct {
	client   *sqs.Client
	url      string
	ungroups atomic.Bool // the queue takes no message groups
}

// NewDelayQueue returns the standard queue at a URL.
func NewDelayQueue(client *sqs.Client, url string) *DelayQueue {
	return &DelayQueue{client: client, url: url}
}

// MaxDelay is the longest a message can be held back. Source: SQS API reference, SendMessage.
const MaxDelay = 15 * time.Minute

// Send puts the hint into the queue, in the cluster's group, by which SQS keeps a cluster that sends very many from
// making the others wait (SQS developer guide, fair queues), to be received once after has passed, in whole seconds and
// MaxDelay at most. A queue that takes no groups, as where SQS does not know fair queues yet, gets it without. Errors
// as of Queue.Send.
func (q *DelayQueue) Send(ctx context.Context, hint wire.Hint, after time.Duration) error {
	body, err := wire.EncodeHint(hint)
	if err != nil {
		return err
	}
	seconds := (min(max(after, 0), MaxDelay) + time.Second - 1) / time.Second
	input := &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: aws.String(string(body)),
		DelaySeconds: int32(seconds)}
	if !q.ungroups.Load() {
		input.MessageGroupId = &hint.Cluster
	}
	_, err = q.client.SendMessage(ctx, input)
	code := sdkerr.Code(err)
	if input.MessageGroupId != nil && (code == "InvalidParameterValue" || code == "UnsupportedOperation") {
		input.MessageGroupId = nil
		if _, err = q.client.SendMessage(ctx, input); err == nil {
			q.ungroups.Store(true) // it was the group
		}
	}
	return translate(err, "send a hint of cluster %s to %s", hint.Cluster, q.url)
}

// dedupID digests group and hint, since an id counts for the whole queue and has at most 128 characters.
func dedupID(hint *wire.Hint, group string) string {
	sum := sha256.Sum256([]byte(group + "\n" + hint.DedupID()))
	return hex.EncodeToString(sum[:])
}

// translate turns an SDK error into a kind. Nil stays nil.
func translate(err error, format string, args ...any) error {
	return sdkerr.Wrap(err, kindOf, format, args...)
}

func kindOf(code string) fault.Kind {
	switch {
	case strings.Contains(code, "NonExistentQueue"), strings.Contains(code, "QueueDoesNotExist"):
		return fault.NotFound
	case strings.Contains(code, "Throttl"), code == "RequestThrottled", code == "OverLimit":
		return fault.Throttled
	case strings.Contains(code, "AccessDenied"), code == "InvalidClientTokenId", code == "SignatureDoesNotMatch",
		code == "ExpiredToken":
		return fault.Denied
	case code == "InvalidMessageContents", strings.HasPrefix(code, "InvalidParameter"), code == "MissingParameter":
		return fault.Invalid
	}
	return fault.Internal
}
