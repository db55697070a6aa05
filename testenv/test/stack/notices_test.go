package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloudformation"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/delivery"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/events"
)

// IN-01: every kind of event that EC2 and AWS Health send passes the rules and is read as what it is; the rest stays out.
func TestIN01RulesLetThroughWhatAnnouncesAnEnd(t *testing.T) {
	var got []string
	bus, err := busOfTheTemplate(func(_ context.Context, payload []byte) error {
		notice, err := wire.DecodeEvent(payload)
		if err != nil {
			return err
		}
		got = append(got, fmt.Sprintf("%s %v", notice.Kind, notice.Instances))
		if notice.Account != "123456789012" || notice.Region != "us-west-2" || notice.AtUnix == 0 || notice.ID == "" {
			t.Errorf("%+v", notice)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ec2 := func(detailType, detail string) events.Entry {
		return events.Entry{Source: "aws.ec2", DetailType: detailType, Detail: json.RawMessage(detail)}
	}
	state := func(state string) events.Entry {
		return ec2("EC2 Instance State-change Notification", `{"instance-id":"i-0123456789abcdef0","state":"`+state+`"}`)
	}
	health := func(service, category string) events.Entry {
		return events.HealthEvent{Code: "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED", Service: service, Category: category, Account: "123456789012", Region: "us-west-2",
			Entities: []string{"i-0123456789abcdef0", "i-0123456789abcdef1"}, Start: time.Now()}.Entry(time.Now())
	}
	for _, c := range []struct {
		entry events.Entry
		want  model.NoticeKind // "" = it stays out
	}{
		{ec2("EC2 Spot Instance Interruption Warning", `{"instance-id":"i-0123456789abcdef0","instance-action":"terminate"}`), model.NoticeSpotInterrupted},
		{ec2("EC2 Instance Rebalance Recommendation", `{"instance-id":"i-0123456789abcdef0"}`), model.NoticeRebalance},
		{ec2("EC2 Capacity Reservation Instance Interruption Warning", `{"instance-id":"i-0123456789abcdef0","instance-action":"terminate"}`), model.NoticeReservationInterrupted},
		{ec2("EC2 Spot Instance Request Fulfillment", `{"instance-id":"i-0123456789abcdef0"}`), ""},
		{state("pending"), ""}, {state("running"), ""}, {state("stopping"), model.NoticeStopped}, {state("stopped"), model.NoticeStopped},
		{state("shutting-down"), model.NoticeTerminated}, {state("terminated"), model.NoticeTerminated},
		{health("EC2", "scheduledChange"), model.NoticeScheduledChange}, {health("EC2", "issue"), ""}, {health("RDS", "scheduledChange"), ""},
	} {
		got = nil
		if _, err := bus.PutEvents(t.Context(), c.entry); err != nil {
			t.Fatal(err)
		}
		var want []string
		switch {
		case c.want == model.NoticeScheduledChange:
			want = []string{string(c.want) + " [i-0123456789abcdef0 i-0123456789abcdef1]"}
		case c.want != "":
			want = []string{string(c.want) + " [i-0123456789abcdef0]"}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s %s: %q, want %q", c.entry.DetailType, c.entry.Detail, got, want)
		}
	}
}

// busOfTheTemplate has the rules of the region's template, all of which send to one target.
func busOfTheTemplate(target delivery.Target) (*events.Bus, error) {
	bus := events.NewBus(events.Config{Account: "123456789012", Region: "us-west-2"})
	t, err := regionTemplate(Options{})
	if err != nil {
		return nil, err
	}
	region, err := t.With(cloudformation.Environment{Account: "123456789012", Region: "us-west-2", StackName: regionStack}, nil)
	if err != nil {
		return nil, err
	}
	for id, r := range region.Resources {
		if r.Type != "AWS::Events::Rule" {
			continue
		}
		properties, err := region.Properties(id)
		if err != nil {
			return nil, err
		}
		if properties["ScheduleExpression"] != nil {
			continue // it goes by the clock
		}
		text, err := json.Marshal(properties["EventPattern"])
		if err != nil {
			return nil, err
		}
		pattern, err := events.ParsePattern(text)
		if err != nil {
			return nil, err
		}
		if err := bus.PutRule(events.Rule{Name: id, Pattern: pattern, Targets: []events.Target{{Send: target}}}); err != nil {
			return nil, err
		}
	}
	return bus, nil
}
