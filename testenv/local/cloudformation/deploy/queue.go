package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func queueExists(ctx context.Context, r resource) (bool, error) {
	name, err := r.name()
	if err != nil {
		return false, err
	}
	_, err = sqs.NewFromConfig(r.account.Cloud.Config()).GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	if absent := (*types.QueueDoesNotExist)(nil); errors.As(err, &absent) {
		return false, nil
	}
	return err == nil, err
}

// makeQueue makes a queue. Its properties are attributes of the queue, which SQS itself refuses where it does not know them.
func makeQueue(ctx context.Context, r resource) error {
	name, attributes, err := queueAttributes(r)
	if err != nil {
		return err
	}
	client := sqs.NewFromConfig(r.account.Cloud.Config())
	for {
		_, err = client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
		// One of that name may have been deleted less than a minute ago; CloudFormation goes on asking.
		if recently := (*types.QueueDeletedRecently)(nil); !errors.As(err, &recently) {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// changeQueue sets the attributes of a queue; one that is not said any more is what it is for a new queue.
func changeQueue(ctx context.Context, r resource, old properties) error {
	name, attributes, err := queueAttributes(r)
	if err != nil {
		return err
	}
	delete(attributes, "FifoQueue")
	for property := range old {
		if _, kept := r.properties[property]; !kept {
			return fmt.Errorf("%s: taking property %s from a queue is not modelled", name, property)
		}
	}
	client := sqs.NewFromConfig(r.account.Cloud.Config())
	out, err := client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		return err
	}
	_, err = client.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: out.QueueUrl, Attributes: attributes})
	return err
}

// removeQueue deletes a queue with what is in it. One that is gone is as good.
func removeQueue(ctx context.Context, r resource) error {
	name, err := r.name()
	if err != nil {
		return err
	}
	arn, err := r.arn()
	if err != nil {
		return err
	}
	client := sqs.NewFromConfig(r.account.Cloud.Config())
	out, err := client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	if gone := (*types.QueueDoesNotExist)(nil); errors.As(err, &gone) {
		return nil
	} else if err != nil {
		return err
	}
	r.account.Cloud.Policies.RemoveResource(arn)
	_, err = client.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: out.QueueUrl})
	return err
}

// queueAttributes returns the name of a queue and its attributes.
func queueAttributes(r resource) (name string, attributes map[string]string, err error) {
	if name, err = r.name(); err != nil {
		return "", nil, err
	}
	attributes = map[string]string{}
	for property, value := range r.properties {
		switch v := value.(type) {
		case string:
			attributes[property] = v
		default: // numbers, booleans, and RedrivePolicy, which is written as JSON
			text, err := json.Marshal(v)
			if err != nil {
				return "", nil, fmt.Errorf("%s: %w", property, err)
			}
			attributes[property] = string(text)
		}
	}
	delete(attributes, "QueueName")
	if change := r.account.Changes.Queue; change != nil {
		change(r.id, attributes)
	}
	return name, attributes, nil
}

// queueURL is the URL of a queue by its ARN.
func (a *Account) queueURL(ctx context.Context, arn string) (string, error) {
	name := lastPart(arn)
	out, err := sqs.NewFromConfig(a.Cloud.Config()).GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		return "", fmt.Errorf("queue %s: %w", arn, err)
	}
	return *out.QueueUrl, nil
}
