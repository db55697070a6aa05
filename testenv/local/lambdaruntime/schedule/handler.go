package schedule

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/events"
)

// The states of a rule.
const (
	Enabled  = "ENABLED"
	Disabled = "DISABLED"
)

// SetDisabled has the schedules of a group fire no more, or again, as people do to a rule in the console. One that is not there is left alone.
func (s *Scheduler) SetDisabled(group string, disabled bool) {
	for _, e := range s.group(group) {
		s.mu.Lock()
		e.disabled = disabled
		s.mu.Unlock()
	}
}

// group returns the schedules of a group, by name.
func (s *Scheduler) group(name string) []*entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*entry
	for _, e := range s.running {
		if e.schedule.group() == name {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b *entry) int { return strings.Compare(a.schedule.Name, b.schedule.Name) })
	return out
}

// NewHandler serves on the wire protocol of EventBridge the rules there are: those of a bus, and by the clock what is made of schedules, of
// which each group is a rule and each schedule one of its targets. It knows DescribeRule and ListTargetsByRule, in one page, and PutEvents,
// in the name of the caller's account: on that bus, or on one of the others, by ARN, where an entry names it.
func NewHandler(s *Scheduler, bus *events.Bus, others map[string]*events.Bus) http.Handler {
	r := rules{s, bus, others}
	return wire.JSON{Version: "1.1", TargetPrefix: "AWSEvents", Actions: map[string]wire.JSONAction{
		"DescribeRule": wire.JSONFunc(r.describe), "ListTargetsByRule": wire.JSONFunc(r.targets),
		"PutEvents": wire.JSONFunc(r.put),
	}}
}

type rules struct {
	clock *Scheduler
	bus   *events.Bus
	buses map[string]*events.Bus
}

type (
	ruleInput  struct{ Name, Rule string }
	ruleOutput struct{ Name, State, ScheduleExpression string }
	ruleTarget struct {
		ID  string `json:"Id"`
		ARN string `json:"Arn"`
	}
	targetOutput struct{ Targets []ruleTarget }
)

func noRule(name string) error {
	return wire.Errorf("ResourceNotFoundException", "Rule %s does not exist on EventBus default.", name)
}

func (r rules) describe(_ context.Context, in *ruleInput) (*ruleOutput, error) {
	if rule, there := r.bus.Rule(in.Name); there {
		return &ruleOutput{Name: in.Name, State: stateOf(rule.Disabled)}, nil
	}
	s, entries := r.clock, r.clock.group(in.Name)
	if len(entries) == 0 {
		return nil, noRule(in.Name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return &ruleOutput{Name: in.Name, State: stateOf(entries[0].disabled), ScheduleExpression: entries[0].schedule.Expression}, nil
}

func stateOf(disabled bool) string {
	if disabled {
		return Disabled
	}
	return Enabled
}

func (r rules) targets(_ context.Context, in *ruleInput) (*targetOutput, error) {
	if rule, there := r.bus.Rule(in.Rule); there {
		out := &targetOutput{}
		for _, t := range rule.Targets {
			out.Targets = append(out.Targets, ruleTarget{t.ID, t.ARN})
		}
		return out, nil
	}
	entries := r.clock.group(in.Rule)
	if len(entries) == 0 {
		return nil, noRule(in.Rule)
	}
	out := &targetOutput{}
	for _, e := range entries {
		out.Targets = append(out.Targets, ruleTarget{e.schedule.Name, e.schedule.TargetARN})
	}
	return out, nil
}

type (
	putInput struct {
		Entries []struct {
			EventBusName, Source, DetailType, Detail string
			Resources                                []string
		}
	}
	putResult struct {
		EventID      string `json:"EventId,omitempty"`
		ErrorCode    string `json:",omitempty"`
		ErrorMessage string `json:",omitempty"`
	}
	putOutput struct {
		FailedEntryCount int
		Entries          []putResult
	}
)

// put refuses sources of AWS, which nobody else may name. Source: Amazon EventBridge API reference, PutEventsRequestEntry and
// PutEventsResultEntry.
func (r rules) put(ctx context.Context, in *putInput) (*putOutput, error) {
	out := &putOutput{}
	for _, e := range in.Entries {
		if strings.HasPrefix(e.Source, "aws.") {
			out.FailedEntryCount++
			out.Entries = append(out.Entries, putResult{ErrorCode: "NotAuthorizedForSourceException", ErrorMessage: "Not authorized for the source."})
			continue
		}
		bus := r.bus
		if other := r.buses[e.EventBusName]; other != nil {
			bus = other
		}
		id, err := bus.PutFor(ctx, wire.Caller(ctx).Account, events.Entry{Source: e.Source, DetailType: e.DetailType, Detail: []byte(e.Detail), Resources: e.Resources})
		if err != nil {
			return nil, wire.Errorf("ValidationException", "%v", err)
		}
		out.Entries = append(out.Entries, putResult{EventID: id})
	}
	return out, nil
}
