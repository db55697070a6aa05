package sqs

import (
	"context"
	"maps"
	"strconv"
	"time"
)

type getAttributesInput struct {
	QueueURL       string `json:"QueueUrl"`
	AttributeNames []string
}

type attributesOutput struct {
	Attributes map[string]string `json:",omitempty"`
}

func (a api) getAttributes(_ context.Context, in *getAttributesInput) (*attributesOutput, error) {
	a.m.mu.Lock()
	defer a.m.mu.Unlock()
	q, err := a.m.byURL(in.QueueURL)
	if err != nil {
		return nil, err
	}
	all := q.attributes(a.m.clock.Now())
	out := &attributesOutput{Attributes: map[string]string{}}
	for _, name := range in.AttributeNames {
		if name == "All" {
			return &attributesOutput{all}, nil
		}
		value, ok := all[name]
		if !ok && !settable(name) {
			return nil, errAttributeName(name)
		}
		if ok {
			out.Attributes[name] = value
		}
	}
	return out, nil
}

func settable(name string) bool {
	_, number := numbers[name]
	_, choice := choices[name]
	return number || choice || kept[name] || name == "RedrivePolicy"
}

// attributes returns all attributes the queue has a value for.
func (q *queue) attributes(now time.Time) map[string]string {
	all := maps.Clone(q.settings.values)
	d := q.depth(now)
	for name, value := range map[string]int64{
		"ApproximateNumberOfMessages":           int64(d.Visible),
		"ApproximateNumberOfMessagesNotVisible": int64(d.InFlight),
		"ApproximateNumberOfMessagesDelayed":    int64(d.Delayed),
		"CreatedTimestamp":                      q.created.Unix(),
		"LastModifiedTimestamp":                 q.modified.Unix(),
	} {
		all[name] = strconv.FormatInt(value, 10)
	}
	all["QueueArn"] = q.arn
	return all
}

type setAttributesInput struct {
	QueueURL   string `json:"QueueUrl"`
	Attributes map[string]string
}

func (a api) setAttributes(_ context.Context, in *setAttributesInput) (*none, error) {
	a.m.mu.Lock()
	defer a.m.mu.Unlock()
	q, err := a.m.byURL(in.QueueURL)
	if err != nil {
		return nil, err
	}
	if _, ok := in.Attributes["FifoQueue"]; ok {
		return nil, errAttributeName("FifoQueue")
	}
	next, err := q.settings.with(a.m, in.Attributes)
	if err != nil {
		return nil, err
	}
	q.settings = next
	q.modified = a.m.clock.Now()
	q.nextExpiry = q.modified // retention may be shorter now
	q.notify()
	return nil, nil
}

type tagsInput struct {
	QueueURL string `json:"QueueUrl"`
	Tags     map[string]string
	TagKeys  []string
}

type tagsOutput struct {
	Tags map[string]string `json:",omitempty"`
}

func (a api) listTags(_ context.Context, in *tagsInput) (*tagsOutput, error) {
	out := &tagsOutput{}
	err := a.withQueue(in.QueueURL, func(q *queue) error {
		out.Tags = maps.Clone(q.tags)
		return nil
	})
	return out, err
}

func (a api) tagQueue(_ context.Context, in *tagsInput) (*none, error) {
	return nil, a.withQueue(in.QueueURL, func(q *queue) error {
		tags := map[string]string{}
		maps.Copy(tags, q.tags)
		maps.Copy(tags, in.Tags)
		if len(tags) > 50 {
			return invalid("Too many tags added for queue %s.", q.name)
		}
		q.tags = tags
		return nil
	})
}

func (a api) untagQueue(_ context.Context, in *tagsInput) (*none, error) {
	return nil, a.withQueue(in.QueueURL, func(q *queue) error {
		for _, key := range in.TagKeys {
			delete(q.tags, key)
		}
		return nil
	})
}

// withQueue calls f with the queue of a URL, under the model's lock.
func (a api) withQueue(url string, f func(*queue) error) error {
	a.m.mu.Lock()
	defer a.m.mu.Unlock()
	q, err := a.m.byURL(url)
	if err != nil {
		return err
	}
	return f(q)
}
