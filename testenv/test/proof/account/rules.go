package account

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/delivery"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/events"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/schedule"
)

func body(text string) io.ReadCloser { return io.NopCloser(strings.NewReader(text)) }

// rules has rules made and removed over the wire of EventBridge, which package schedule only shows.
type rules struct {
	account *Account
	mu      sync.Mutex
	made    map[string]*rule
}

type rule struct {
	name, pattern string
	tags          map[string]string
	targets       map[string]string // ARNs by id
}

func newRules(a *Account) *rules { return &rules{account: a, made: map[string]*rule{}} }

func (r *rules) arn(name string) string {
	return fmt.Sprintf("arn:aws:events:%s:%s:rule/%s", r.account.Cloud.Region(), r.account.Cloud.Account(), name)
}

func (r *rules) handler() http.Handler {
	j := wire.JSON{Version: "1.1", TargetPrefix: "AWSEvents", Actions: map[string]wire.JSONAction{
		"PutRule": wire.JSONFunc(r.put), "DeleteRule": wire.JSONFunc(r.remove), "ListRules": wire.JSONFunc(r.list),
		"PutTargets": wire.JSONFunc(r.putTargets), "RemoveTargets": wire.JSONFunc(r.removeTargets), "ListTargetsByRule": wire.JSONFunc(r.listTargets),
		"ListTagsForResource": wire.JSONFunc(r.listTags),
	}}
	next := schedule.NewHandler(schedule.New(schedule.Config{Account: r.account.Cloud.Account(), Region: r.account.Cloud.Region()}), r.account.Bus, nil)
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if _, action, _ := strings.Cut(q.Header.Get("X-Amz-Target"), "."); j.Actions[action] != nil {
			j.ServeHTTP(w, q)
			return
		}
		next.ServeHTTP(w, q)
	})
}

type putInput struct {
	Name, EventPattern string
	Tags               []tag
}

type putOutput struct{ RuleArn string }

func (r *rules) put(_ context.Context, in *putInput) (*putOutput, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	made := &rule{name: in.Name, pattern: in.EventPattern, tags: map[string]string{}, targets: map[string]string{}}
	for _, t := range in.Tags {
		made.tags[t.Key] = t.Value
	}
	r.made[in.Name] = made
	return &putOutput{r.arn(in.Name)}, r.report(made)
}

// report has the bus know the rule. The lock is held.
func (r *rules) report(of *rule) error {
	pattern, err := events.ParsePattern([]byte(of.pattern))
	if err != nil {
		return wire.Errorf("InvalidEventPatternException", "%v", err)
	}
	out := events.Rule{Name: of.name, Pattern: pattern}
	for _, id := range slices.Sorted(maps.Keys(of.targets)) {
		queue := of.targets[id]
		config := r.account.Cloud.ConfigForService("events.amazonaws.com", r.arn(of.name))
		config.BaseEndpoint, config.HTTPClient = aws.String("http://localhost"), doer(r.account.send)
		url := "https://sqs." + r.account.Cloud.Region() + ".amazonaws.com/" + r.account.Cloud.Account() + "/" + queue[strings.LastIndexByte(queue, ':')+1:]
		out.Targets = append(out.Targets, events.Target{ID: id, ARN: queue, Send: delivery.SQS(sqs.NewFromConfig(config), url, "")})
	}
	return r.account.Bus.PutRule(out)
}

// doer is a function that sends requests.
type doer func(*http.Request) (*http.Response, error)

// Do implements aws.HTTPClient.
func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

type ruleInput struct {
	Name, Rule, NamePrefix, ResourceARN string
	Ids                                 []string
	Targets                             []target
}

type target struct{ Id, Arn string }

func (r *rules) named(name string) (*rule, error) {
	if of := r.made[name]; of != nil {
		return of, nil
	}
	return nil, wire.Errorf("ResourceNotFoundException", "Rule %s does not exist on EventBus default.", name)
}

func (r *rules) remove(_ context.Context, in *ruleInput) (*struct{}, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if of := r.made[in.Name]; of != nil && len(of.targets) > 0 {
		return nil, wire.Errorf("ValidationException", "Rule can't be deleted since it has targets.")
	}
	delete(r.made, in.Name)
	r.account.Bus.DeleteRule(in.Name)
	return nil, nil
}

type listedRule struct{ Name, Arn, State string }

type rulesOutput struct{ Rules []listedRule }

func (r *rules) list(_ context.Context, in *ruleInput) (*rulesOutput, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := &rulesOutput{Rules: []listedRule{}}
	for _, name := range slices.Sorted(maps.Keys(r.made)) {
		if strings.HasPrefix(name, in.NamePrefix) {
			out.Rules = append(out.Rules, listedRule{name, r.arn(name), "ENABLED"})
		}
	}
	return out, nil
}

type failedOutput struct{ FailedEntryCount int }

func (r *rules) putTargets(_ context.Context, in *ruleInput) (*failedOutput, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of, err := r.named(in.Rule)
	if err != nil {
		return nil, err
	}
	for _, t := range in.Targets {
		of.targets[t.Id] = t.Arn
	}
	return &failedOutput{}, r.report(of)
}

func (r *rules) removeTargets(_ context.Context, in *ruleInput) (*failedOutput, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of, err := r.named(in.Rule)
	if err != nil {
		return nil, err
	}
	for _, id := range in.Ids {
		delete(of.targets, id)
	}
	return &failedOutput{}, r.report(of)
}

type targetsOutput struct{ Targets []target }

func (r *rules) listTargets(_ context.Context, in *ruleInput) (*targetsOutput, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of, err := r.named(in.Rule)
	if err != nil {
		return nil, err
	}
	out := &targetsOutput{Targets: []target{}}
	for _, id := range slices.Sorted(maps.Keys(of.targets)) {
		out.Targets = append(out.Targets, target{id, of.targets[id]})
	}
	return out, nil
}

type ruleTags struct{ Tags []tag }

func (r *rules) listTags(_ context.Context, in *ruleInput) (*ruleTags, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of, err := r.named(in.ResourceARN[strings.LastIndexByte(in.ResourceARN, '/')+1:])
	if err != nil {
		return nil, err
	}
	out := &ruleTags{Tags: []tag{}}
	for _, key := range slices.Sorted(maps.Keys(of.tags)) {
		out.Tags = append(out.Tags, tag{key, of.tags[key]})
	}
	return out, nil
}
