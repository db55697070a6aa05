package sqs

import (
	"context"
	"time"
)

type sendInput struct {
	QueueURL string `json:"QueueUrl"`
	outgoing
}

func (a api) send(ctx context.Context, in *sendInput) (out *sent, err error) {
	err = a.withQueue(in.QueueURL, func(q *queue) error {
		out, err = a.m.send(ctx, q, &in.outgoing)
		return err
	})
	return out, err
}

type receiveInput struct {
	QueueURL                    string `json:"QueueUrl"`
	AttributeNames              []string
	MessageSystemAttributeNames []string
	MessageAttributeNames       []string
	MaxNumberOfMessages         *int
	VisibilityTimeout           *int
	WaitTimeSeconds             *int
	ReceiveRequestAttemptID     string `json:"ReceiveRequestAttemptId"`
}

type receiveOutput struct {
	Messages []received `json:",omitempty"`
}

func (a api) receive(ctx context.Context, in *receiveInput) (*receiveOutput, error) {
	request, err := in.validate()
	if err != nil {
		return nil, err
	}
	out := &receiveOutput{}
	systemNames := append(in.AttributeNames, in.MessageSystemAttributeNames...)
	err = a.m.receive(ctx, request, func(_ *queue, msg *message) {
		out.Messages = append(out.Messages, msg.show(systemNames, in.MessageAttributeNames))
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (in *receiveInput) validate() (receiveRequest, error) {
	request := receiveRequest{url: in.QueueURL, max: 1}
	if in.ReceiveRequestAttemptID != "" {
		return request, errUnsupported("ReceiveRequestAttemptId is not modelled here.")
	}
	if n := in.MaxNumberOfMessages; n != nil {
		if *n < 1 || *n > 10 {
			return request, invalidFor(*n, "MaxNumberOfMessages", "Must be between 1 and 10, if provided.")
		}
		request.max = *n
	}
	if n := in.WaitTimeSeconds; n != nil {
		if *n < 0 || *n > 20 {
			return request, invalidFor(*n, "WaitTimeSeconds", "Must be >= 0 and <= 20, if provided.")
		}
		wait := time.Duration(*n) * time.Second
		request.wait = &wait
	}
	if n := in.VisibilityTimeout; n != nil {
		if *n < 0 || *n > 43200 {
			return request, invalidFor(*n, "VisibilityTimeout", "VisibilityTimeout must be an integer between 0 and 43200")
		}
		visibility := time.Duration(*n) * time.Second
		request.visibility = &visibility
	}
	return request, nil
}

type handleInput struct {
	QueueURL          string `json:"QueueUrl"`
	ReceiptHandle     string
	VisibilityTimeout *int
}

func (a api) deleteMessage(_ context.Context, in *handleInput) (*none, error) {
	return nil, a.withQueue(in.QueueURL, func(q *queue) error {
		return q.deleteMessage(in.ReceiptHandle, a.m.clock.Now())
	})
}

func (a api) changeVisibility(_ context.Context, in *handleInput) (*none, error) {
	return nil, a.withQueue(in.QueueURL, func(q *queue) error {
		return a.change(q, in.ReceiptHandle, in.VisibilityTimeout)
	})
}

func (a api) change(q *queue, handle string, seconds *int) error {
	if seconds == nil {
		return missing("VisibilityTimeout")
	}
	return q.changeVisibility(handle, time.Duration(*seconds)*time.Second, a.m.clock.Now())
}
