package deploy

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// makeQueue makes a queue. Its properties are attributes of the queue, which SQS itself refuses where it does not know them.
func makeQueue(ctx context.Context, r resource) error {
	name, err := r.name()
	if err != nil {
		return err
	}
	attributes := map[string]string{}
	for property, value := range r.properties {
		switch v := value.(type) {
		case string:
			attributes[property] = v
		default: // numbers, booleans, and RedrivePolicy, which is written as JSON
			text, err := json.Marshal(v)
			if err != nil {
				return fmt.Errorf("%s: %w", property, err)
			}
			attributes[property] = string(text)
		}
	}
	delete(attributes, "QueueName")
	if change := r.account.Changes.Queue; change != nil {
		change(r.id, attributes)
	}
	_, err = sqs.NewFromConfig(r.account.Cloud.Config()).CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	return err
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
