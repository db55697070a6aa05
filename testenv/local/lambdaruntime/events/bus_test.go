package events_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/delivery"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/events"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// inbox is a target that keeps what it gets.
type inbox struct{ payloads []string }

func (i *inbox) send(_ context.Context, payload []byte) error {
	i.payloads = append(i.payloads, string(payload))
	return nil
}

func putRule(t *testing.T, bus *events.Bus, name, pattern string, targets ...events.Target) {
	t.Helper()
	if err := bus.PutRule(events.Rule{Name: name, Pattern: parse(t, pattern), Targets: targets}); err != nil {
		t.Fatal(err)
	}
}

func spotNotice() events.Entry {
	return events.Entry{
		Source: "aws.ec2", DetailType: "EC2 Spot Instance Interruption Warning",
		Detail: json.RawMessage(`{"instance-id":"i-1"}`), Resources: []string{"arn:aws:ec2:eu-west-1a:instance/i-1"},
	}
}

func TestTargetsOfMatchingRulesReceiveTheWholeEvent(t *testing.T) {
	bus := events.NewBus(events.Config{Region: "eu-west-1", Clock: clock.NewFake(start)})
	var spot, health inbox
	putRule(t, bus, "spot", `{"source":["aws.ec2"],"detail-type":[{"prefix":"EC2 Spot"}]}`, events.Target{Send: spot.send})
	putRule(t, bus, "health", `{"source":["aws.health"]}`, events.Target{Send: health.send})
	ids, err := bus.PutEvents(t.Context(), spotNotice())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"version":"0","id":"` + ids[0] + `","detail-type":"EC2 Spot Instance Interruption Warning","source":"aws.ec2",` +
		`"account":"123456789012","time":"2026-01-01T00:00:00Z","region":"eu-west-1",` +
		`"resources":["arn:aws:ec2:eu-west-1a:instance/i-1"],"detail":{"instance-id":"i-1"}}`
	if len(spot.payloads) != 1 || spot.payloads[0] != want {
		t.Errorf("got %q, want %s", spot.payloads, want)
	}
	if len(health.payloads) != 0 {
		t.Errorf("the other rule's target got %q", health.payloads)
	}
}

func TestReplacedAndDeletedRulesNoLongerRoute(t *testing.T) {
	bus := events.NewBus(events.Config{})
	var first, second inbox
	putRule(t, bus, "rule", `{"source":["aws.ec2"]}`, events.Target{Send: first.send})
	putRule(t, bus, "rule", `{"source":["aws.ec2"]}`, events.Target{Send: second.send})
	if _, err := bus.PutEvents(t.Context(), spotNotice()); err != nil {
		t.Fatal(err)
	}
	bus.DeleteRule("rule")
	bus.DeleteRule("rule")
	if _, err := bus.PutEvents(t.Context(), spotNotice()); err != nil {
		t.Fatal(err)
	}
	if len(first.payloads) != 0 || len(second.payloads) != 1 {
		t.Errorf("replaced rule got %d events, its replacement %d, want 0 and 1", len(first.payloads), len(second.payloads))
	}
}

func TestFailedTargetIsTriedAgainAndDoesNotStopOthers(t *testing.T) {
	fake := clock.NewFake(start)
	dropped := ""
	bus := events.NewBus(events.Config{Clock: fake, OnDropped: func(rule string, err error) { dropped = rule + ": " + err.Error() }})
	attempts := 0
	failing := func(context.Context, []byte) error {
		attempts++
		return errors.New("queue is gone")
	}
	var healthy inbox
	putRule(t, bus, "rule", `{"source":["aws.ec2"]}`,
		events.Target{Send: failing, Policy: &delivery.Policy{MaxRetries: 2}}, events.Target{Send: healthy.send})
	if _, err := bus.PutEvents(t.Context(), spotNotice()); err != nil {
		t.Fatal(err)
	}
	if attempts != 1 || len(healthy.payloads) != 1 {
		t.Fatalf("%d attempts, %d at the other target, want 1 and 1", attempts, len(healthy.payloads))
	}
	fake.Advance(time.Hour)
	if want := "rule: deliver, attempt 3: queue is gone"; attempts != 3 || dropped != want {
		t.Errorf("%d attempts, dropped %q, want 3 and %q", attempts, dropped, want)
	}
}

func TestPutEventsRefusesBadEntries(t *testing.T) {
	good := spotNotice()
	big := spotNotice()
	big.Detail = json.RawMessage(`{"x":"` + strings.Repeat("y", events.MaxEntryBytes) + `"}`)
	cases := []struct {
		name, want string
		entries    []events.Entry
	}{
		{"none", "0 entries", nil},
		{"too many", "11 entries", make([]events.Entry, 11)},
		{"no source", "entry 1: source", []events.Entry{good, {DetailType: "x", Detail: json.RawMessage(`{}`)}}},
		{"detail no object", "entry 0: detail", []events.Entry{{Source: "a", DetailType: "b", Detail: json.RawMessage(`[]`)}}},
		{"too big", "the limit is 262144", []events.Entry{big}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			bus := events.NewBus(events.Config{})
			var got inbox
			putRule(t, bus, "all", `{"source":[{"exists":true}]}`, events.Target{Send: got.send})
			_, err := bus.PutEvents(t.Context(), c.entries...)
			if err == nil || !strings.Contains(err.Error(), c.want) || len(got.payloads) != 0 {
				t.Errorf("got %v and %d deliveries, want an error with %q and none", err, len(got.payloads), c.want)
			}
		})
	}
}

func TestRuleHasFiveTargetsAtMost(t *testing.T) {
	bus := events.NewBus(events.Config{})
	var got inbox
	rule := events.Rule{Name: "rule"}
	for range 6 {
		rule.Targets = append(rule.Targets, events.Target{Send: got.send})
	}
	if err := bus.PutRule(rule); err == nil || !strings.Contains(err.Error(), "6 targets") {
		t.Errorf("got %v, want a refusal", err)
	}
}

func TestARuleThatIsDisabledSendsNothing(t *testing.T) {
	bus := events.NewBus(events.Config{Clock: clock.NewFake(start)})
	var got inbox
	putRule(t, bus, "spot", `{"source":["aws.ec2"]}`, events.Target{ID: "notices", ARN: "arn:q", Send: got.send})
	rule, there := bus.Rule("spot")
	if !there || rule.Disabled || rule.Targets[0].ARN != "arn:q" {
		t.Fatalf("rule %+v, there %v", rule, there)
	}
	for _, want := range []int{0, 1} {
		rule.Disabled = want == 0
		if err := bus.PutRule(rule); err != nil {
			t.Fatal(err)
		}
		if _, err := bus.PutEvents(t.Context(), spotNotice()); err != nil {
			t.Fatal(err)
		}
		if len(got.payloads) != want {
			t.Errorf("disabled %v: %d events came", rule.Disabled, len(got.payloads))
		}
	}
	if _, there := bus.Rule("other"); there {
		t.Error("a rule nobody put is there")
	}
}
