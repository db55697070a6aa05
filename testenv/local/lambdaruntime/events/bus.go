package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/delivery"
)

// Limits of the service.
const (
	// MaxEntries is how many events one PutEvents takes.
	MaxEntries = 10
	// MaxEntryBytes bounds the events of one PutEvents together; the portable one of the documented values.
	MaxEntryBytes = 256 * 1024
	// MaxTargets is how many targets a rule has.
	MaxTargets = 5
)

// Config is what a bus puts in every event. Absent fields get the defaults named.
type Config struct {
	Account string      // 123456789012
	Region  string      // us-east-1
	Clock   clock.Clock // the machine's
	// OnDropped is called when a delivery has been given up; it may be nil.
	OnDropped func(rule string, err error)
}

// Entry is one event as its sender gives it.
type Entry struct {
	Source     string          // required
	DetailType string          // required
	Detail     json.RawMessage // required, a JSON object
	Resources  []string        // may be empty
	Time       time.Time       // zero means now
}

// Target is one receiver of a rule's events.
type Target struct {
	ID   string // as the rule's targets are listed; it means nothing here
	ARN  string // the same
	Send delivery.Target
	// Policy is the retry policy; nil means delivery.Default.
	Policy *delivery.Policy
	// DeadLetter gets what has been given up, once; nil means it is lost.
	DeadLetter delivery.Target
}

// Rule sends the events that match its pattern to its targets.
type Rule struct {
	Name    string
	Pattern Pattern
	Targets []Target // at most MaxTargets
	// Disabled has it send nothing.
	Disabled bool
}

// envelope is the event as targets receive it.
type envelope struct {
	Version    string          `json:"version"`
	ID         string          `json:"id"`
	DetailType string          `json:"detail-type"`
	Source     string          `json:"source"`
	Account    string          `json:"account"`
	Time       string          `json:"time"`
	Region     string          `json:"region"`
	Resources  []string        `json:"resources"`
	Detail     json.RawMessage `json:"detail"`
}

// Bus is an event bus with its rules. Its methods may be called from any goroutine.
type Bus struct {
	config Config

	mu    sync.Mutex
	rules []Rule // in the order they were first put
}

// NewBus returns a bus without rules.
func NewBus(config Config) *Bus {
	if config.Account == "" {
		config.Account = "123456789012"
	}
	if config.Region == "" {
		config.Region = "us-east-1"
	}
	if config.Clock == nil {
		config.Clock = clock.System()
	}
	return &Bus{config: config}
}

// PutRule adds the rule or replaces the one of its name.
func (b *Bus) PutRule(rule Rule) error {
	if rule.Name == "" {
		return errors.New("put rule: it has no name")
	}
	if len(rule.Targets) > MaxTargets {
		return fmt.Errorf("put rule %s: %d targets, the limit is %d", rule.Name, len(rule.Targets), MaxTargets)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.rules, func(r Rule) bool { return r.Name == rule.Name })
	if i < 0 {
		b.rules = append(b.rules, rule)
	} else {
		b.rules[i] = rule
	}
	return nil
}

// Rule returns the rule of a name, and whether there is one.
func (b *Bus) Rule(name string) (Rule, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.rules, func(r Rule) bool { return r.Name == name })
	if i < 0 {
		return Rule{}, false
	}
	return b.rules[i], true
}

// DeleteRule removes the rule; one that is absent is no error.
func (b *Bus) DeleteRule(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rules = slices.DeleteFunc(b.rules, func(r Rule) bool { return r.Name == name })
}

// PutEvents hands the events to the targets of the rules they match and returns the events' ids, in the order of the
// entries. Each target has been tried once when it returns; what failed is tried again later. The error is about the
// entries: then none was accepted.
func (b *Bus) PutEvents(ctx context.Context, entries ...Entry) ([]string, error) {
	if len(entries) == 0 || len(entries) > MaxEntries {
		return nil, fmt.Errorf("put events: %d entries, want 1 to %d", len(entries), MaxEntries)
	}
	events := make([][]byte, len(entries))
	ids := make([]string, len(entries))
	sizeBytes := 0
	for i, entry := range entries {
		var err error
		if ids[i], events[i], err = b.envelop(b.config.Account, entry); err != nil {
			return nil, fmt.Errorf("put events: entry %d: %w", i, err)
		}
		sizeBytes += len(entry.Source) + len(entry.DetailType) + len(entry.Detail)
	}
	if sizeBytes > MaxEntryBytes {
		return nil, fmt.Errorf("put events: %d bytes, the limit is %d", sizeBytes, MaxEntryBytes)
	}
	for _, event := range events {
		b.route(ctx, event)
	}
	return ids, nil
}

// Forward hands on an event that another account's bus made of an entry: it stays as it is.
func (b *Bus) Forward(ctx context.Context, event []byte) { b.route(ctx, event) }

// PutFor is PutEvents of one event by somebody of an account, which the event names.
func (b *Bus) PutFor(ctx context.Context, account string, entry Entry) (id string, err error) {
	id, event, err := b.envelop(account, entry)
	if err != nil {
		return "", fmt.Errorf("put event: %w", err)
	}
	b.route(ctx, event)
	return id, nil
}

func (b *Bus) envelop(account string, entry Entry) (id string, event []byte, err error) {
	if entry.Source == "" || entry.DetailType == "" {
		return "", nil, errors.New("source and detail type are required")
	}
	var detail map[string]json.RawMessage
	if err := json.Unmarshal(entry.Detail, &detail); err != nil || detail == nil {
		return "", nil, errors.New("detail is not a JSON object")
	}
	if entry.Time.IsZero() {
		entry.Time = b.config.Clock.Now()
	}
	if entry.Resources == nil {
		entry.Resources = []string{}
	}
	id = uuid.NewString()
	event, err = json.Marshal(envelope{
		Version: "0", ID: id, DetailType: entry.DetailType, Source: entry.Source, Account: account,
		Time: entry.Time.UTC().Format(time.RFC3339), Region: b.config.Region, Resources: entry.Resources, Detail: entry.Detail,
	})
	return id, event, err
}

func (b *Bus) route(ctx context.Context, event []byte) {
	b.mu.Lock()
	rules := slices.Clone(b.rules)
	b.mu.Unlock()
	for _, rule := range rules {
		if rule.Disabled || !rule.Pattern.Matches(event) {
			continue
		}
		for _, target := range rule.Targets {
			policy := delivery.Default
			if target.Policy != nil {
				policy = *target.Policy
			}
			// The caller's context ends with its call; the retries go on.
			delivery.Send(context.WithoutCancel(ctx), b.config.Clock, policy, target.Send, event, func(err error) {
				if target.DeadLetter != nil {
					err = errors.Join(err, target.DeadLetter(context.WithoutCancel(ctx), event))
				}
				if b.config.OnDropped != nil {
					b.config.OnDropped(rule.Name, err)
				}
			})
		}
	}
}
