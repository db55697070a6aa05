package events_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/events"
)

func TestIN01HealthEventsHaveTheirShape(t *testing.T) {
	bus := events.NewBus(events.Config{Region: "eu-west-1", Clock: clock.NewFake(start)})
	var changes, all inbox
	putRule(t, bus, "changes", `{"source":["aws.health"],"detail-type":["AWS Health Event"],"detail":{"service":["EC2"],"eventTypeCategory":["scheduledChange"]}}`, events.Target{Send: changes.send})
	putRule(t, bus, "all", `{"source":["aws.health"]}`, events.Target{Send: all.send})
	retirement := events.HealthEvent{
		Code: "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED", Entities: []string{"i-1", "i-2"}, Account: "123456789012", Region: "eu-west-1",
		Start: start.Add(72 * time.Hour), End: start.Add(73 * time.Hour),
	}
	issue := events.HealthEvent{Code: "AWS_RDS_OPERATIONAL_ISSUE", Service: "RDS", Category: "issue", Status: "open", Region: "eu-west-1", Start: start}
	if _, err := bus.PutEvents(t.Context(), retirement.Entry(start), issue.Entry(start)); err != nil {
		t.Fatal(err)
	}
	if len(changes.payloads) != 1 || len(all.payloads) != 2 {
		t.Fatalf("%d changes, %d in all", len(changes.payloads), len(all.payloads))
	}
	var got struct {
		Source     string   `json:"source"`
		DetailType string   `json:"detail-type"`
		Resources  []string `json:"resources"`
		Detail     struct {
			ARN      string `json:"eventArn"`
			Start    string `json:"startTime"`
			End      string `json:"endTime"`
			Status   string `json:"statusCode"`
			Account  string `json:"affectedAccount"`
			Entities []struct {
				Value string `json:"entityValue"`
			} `json:"affectedEntities"`
		} `json:"detail"`
	}
	if err := json.Unmarshal([]byte(changes.payloads[0]), &got); err != nil {
		t.Fatal(err)
	}
	d := got.Detail
	if got.Source != "aws.health" || got.DetailType != "AWS Health Event" || len(got.Resources) != 2 || d.Status != "upcoming" || d.Account != "123456789012" ||
		d.Start != "Sun, 04 Jan 2026 00:00:00 GMT" || d.End != "Sun, 04 Jan 2026 01:00:00 GMT" || len(d.Entities) != 2 || d.Entities[1].Value != "i-2" ||
		d.ARN != "arn:aws:health:eu-west-1::event/EC2/AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED/AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED_20260101000000" {
		t.Errorf("%+v", got)
	}
}
