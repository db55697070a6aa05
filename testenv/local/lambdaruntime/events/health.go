package events

import (
	"encoding/json"
	"net/http"
	"time"
)

// HealthEvent is what AWS Health says about resources of one account and region.
type HealthEvent struct {
	Code     string    // of its type, e.g. AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED
	Service  string    // "" means EC2
	Category string    // "" means scheduledChange
	Status   string    // "" means upcoming
	Entities []string  // ids of the resources it is about
	Account  string    // that is affected; "" leaves it out
	Region   string    // that is affected
	Start    time.Time // when it begins
	End      time.Time // zero leaves it out
}

// healthDetail is the detail of an event of AWS Health. Source: AWS Health user guide, "AWS Health events Amazon EventBridge
// schema". Its times are written as HTTP has them.
type healthDetail struct {
	EventARN        string              `json:"eventArn"`
	Service         string              `json:"service"`
	TypeCode        string              `json:"eventTypeCode"`
	Category        string              `json:"eventTypeCategory"`
	Scope           string              `json:"eventScopeCode"`
	CommunicationID string              `json:"communicationId"`
	Start           string              `json:"startTime"`
	End             string              `json:"endTime,omitempty"`
	LastUpdated     string              `json:"lastUpdatedTime"`
	Status          string              `json:"statusCode"`
	Region          string              `json:"eventRegion"`
	Description     []healthDescription `json:"eventDescription"`
	Entities        []healthEntity      `json:"affectedEntities"`
	Page            string              `json:"page"`
	Pages           string              `json:"totalPages"`
	Account         string              `json:"affectedAccount,omitempty"`
}

type healthDescription struct {
	Language string `json:"language"`
	Latest   string `json:"latestDescription"`
}

type healthEntity struct {
	Value       string `json:"entityValue"`
	Status      string `json:"status"`
	LastUpdated string `json:"lastUpdatedTime"`
}

// Entry returns the event as AWS Health would put it on a bus at a time.
func (h HealthEvent) Entry(at time.Time) Entry {
	or := func(value, otherwise string) string {
		if value == "" {
			return otherwise
		}
		return value
	}
	when := func(t time.Time) string { return t.UTC().Format(http.TimeFormat) }
	service := or(h.Service, "EC2")
	id := h.Code + "_" + at.UTC().Format("20060102150405")
	detail := healthDetail{
		EventARN: "arn:aws:health:" + h.Region + "::event/" + service + "/" + h.Code + "/" + id, Service: service, TypeCode: h.Code,
		Category: or(h.Category, "scheduledChange"), Scope: "ACCOUNT_SPECIFIC", CommunicationID: id + "-1", Start: when(h.Start),
		LastUpdated: when(at), Status: or(h.Status, "upcoming"), Region: h.Region, Account: h.Account, Page: "1", Pages: "1",
		Description: []healthDescription{{"en_US", "A change is scheduled for your resources."}}, Entities: []healthEntity{},
	}
	if !h.End.IsZero() {
		detail.End = when(h.End)
	}
	for _, value := range h.Entities {
		detail.Entities = append(detail.Entities, healthEntity{value, "PENDING", when(at)})
	}
	text, _ := json.Marshal(detail) // strings marshal always
	return Entry{Source: "aws.health", DetailType: "AWS Health Event", Detail: text, Resources: h.Entities, Time: at}
}
