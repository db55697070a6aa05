package sqs

import (
	"context"
	"net/http"
	"slices"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// NewHandler serves m over AWS JSON 1.0.
func NewHandler(m *Model) http.Handler {
	a := api{m}
	actions := wire.JSON{
		Version:      "1.0",
		TargetPrefix: "AmazonSQS",
		ErrorPrefix:  "com.amazonaws.sqs#",
		Actions: map[string]wire.JSONAction{
			"CreateQueue":                  wire.JSONFunc(a.createQueue),
			"GetQueueUrl":                  wire.JSONFunc(a.getQueueURL),
			"ListQueues":                   wire.JSONFunc(a.listQueues),
			"ListDeadLetterSourceQueues":   wire.JSONFunc(a.listSources),
			"DeleteQueue":                  wire.JSONFunc(a.deleteQueue),
			"PurgeQueue":                   wire.JSONFunc(a.purgeQueue),
			"GetQueueAttributes":           wire.JSONFunc(a.getAttributes),
			"SetQueueAttributes":           wire.JSONFunc(a.setAttributes),
			"ListQueueTags":                wire.JSONFunc(a.listTags),
			"TagQueue":                     wire.JSONFunc(a.tagQueue),
			"UntagQueue":                   wire.JSONFunc(a.untagQueue),
			"SendMessage":                  wire.JSONFunc(a.send),
			"SendMessageBatch":             wire.JSONFunc(a.sendBatch),
			"ReceiveMessage":               wire.JSONFunc(a.receive),
			"DeleteMessage":                wire.JSONFunc(a.deleteMessage),
			"DeleteMessageBatch":           wire.JSONFunc(a.deleteBatch),
			"ChangeMessageVisibility":      wire.JSONFunc(a.changeVisibility),
			"ChangeMessageVisibilityBatch": wire.JSONFunc(a.changeBatch),
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme := "http://"
		if r.TLS != nil {
			scheme = "https://"
		}
		ctx := context.WithValue(r.Context(), baseKey{}, scheme+r.Host)
		actions.ServeHTTP(w, r.WithContext(ctx))
	})
}

// baseKey is the context key of the base URL the client used; the URLs of
// queues are given out under it.
type baseKey struct{}

type api struct{ m *Model }

type none struct{}

func (a api) url(ctx context.Context, name string) string {
	base, _ := ctx.Value(baseKey{}).(string)
	return base + "/" + a.m.account + "/" + name
}

type queueRef struct {
	QueueURL string `json:"QueueUrl"`
}

type createInput struct {
	QueueName  string
	Attributes map[string]string
	Tags       map[string]string `json:"tags"`
}

func (a api) createQueue(ctx context.Context, in *createInput) (*queueRef, error) {
	if in.QueueName == "" {
		return nil, missing("QueueName")
	}
	if err := a.m.createQueue(in.QueueName, in.Attributes, in.Tags); err != nil {
		return nil, err
	}
	return &queueRef{a.url(ctx, in.QueueName)}, nil
}

type getURLInput struct {
	QueueName              string
	QueueOwnerAWSAccountID string `json:"QueueOwnerAWSAccountId"`
}

func (a api) getQueueURL(ctx context.Context, in *getURLInput) (*queueRef, error) {
	owner := in.QueueOwnerAWSAccountID
	if _, ok := a.m.Depth(in.QueueName); !ok || owner != "" && owner != a.m.account {
		return nil, errNoQueue()
	}
	return &queueRef{a.url(ctx, in.QueueName)}, nil
}

type listInput struct {
	QueueNamePrefix string
	MaxResults      *int
	NextToken       string
}

type listOutput struct {
	QueueURLs []string `json:"QueueUrls,omitempty"`
	NextToken string   `json:",omitempty"`
}

func (a api) listQueues(ctx context.Context, in *listInput) (*listOutput, error) {
	a.m.mu.Lock()
	names := a.m.names(in.QueueNamePrefix)
	a.m.mu.Unlock()
	out := &listOutput{}
	page, next, err := paginate(names, in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	for _, name := range page {
		out.QueueURLs = append(out.QueueURLs, a.url(ctx, name))
	}
	out.NextToken = next
	return out, nil
}

type sourcesInput struct {
	QueueURL   string `json:"QueueUrl"`
	MaxResults *int
	NextToken  string
}

type sourcesOutput struct {
	QueueURLs []string `json:"queueUrls"` // lower case here, and only here
	NextToken string   `json:",omitempty"`
}

func (a api) listSources(ctx context.Context, in *sourcesInput) (*sourcesOutput, error) {
	a.m.mu.Lock()
	defer a.m.mu.Unlock()
	target, err := a.m.byURL(in.QueueURL)
	if err != nil {
		return nil, err
	}
	sources := slices.DeleteFunc(a.m.names(""), func(name string) bool {
		return a.m.queues[name].settings.deadLetterARN != target.arn
	})
	page, next, err := paginate(sources, in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	out := &sourcesOutput{QueueURLs: []string{}, NextToken: next}
	for _, name := range page {
		out.QueueURLs = append(out.QueueURLs, a.url(ctx, name))
	}
	return out, nil
}

// paginate returns the names after token, at most limit of them, and the token
// of the next page. Without a limit a page has a thousand names and no token.
func paginate(names []string, limit *int, token string) (page []string, next string, err error) {
	names = slices.DeleteFunc(names, func(name string) bool { return name <= token })
	if limit == nil {
		return names[:min(len(names), 1000)], "", nil
	}
	if *limit < 1 || *limit > 1000 {
		return nil, "", invalidFor(*limit, "MaxResults", "MaxResults must be an integer between 1 and 1000.")
	}
	if len(names) > *limit {
		return names[:*limit], names[*limit-1], nil
	}
	return names, "", nil
}

func (a api) deleteQueue(_ context.Context, in *queueRef) (*none, error) {
	return nil, a.m.deleteQueue(in.QueueURL)
}

func (a api) purgeQueue(_ context.Context, in *queueRef) (*none, error) {
	return nil, a.m.purgeQueue(in.QueueURL)
}
