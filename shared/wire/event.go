package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// MaxEventBytes is the longest event that is read: as much as a message of the queue holds.
const MaxEventBytes = 1 << 20

// Limits of what an event names.
const (
	maxInstanceIDBytes  = 64
	maxEventIDBytes     = 128 // of the event, its account, its region
	maxEventDetailBytes = 300 // cut to it, since it is only for people
)

// event is what EventBridge delivers. Source: EventBridge user guide, structure of AWS service events. Fields that
// nothing is decided by are left as they are: a time or a list of resources of another shape must not hide a warning.
type event struct {
	Version    string          `json:"version"`
	ID         string          `json:"id"`
	DetailType string          `json:"detail-type"`
	Source     string          `json:"source"`
	Account    string          `json:"account"`
	Time       json.RawMessage `json:"time,omitempty"`
	Region     string          `json:"region"`
	Resources  json.RawMessage `json:"resources,omitempty"`
	Detail     json.RawMessage `json:"detail"`
}

// instanceDetail is what EC2 says of one instance. Source: EC2 user guide, spot interruption notices, rebalance
// recommendations, state changes, and interruptible capacity reservations.
type instanceDetail struct {
	InstanceID string `json:"instance-id"`
	State      string `json:"state,omitempty"`
	Action     string `json:"instance-action,omitempty"`
	EndTime    string `json:"instance-termination-time,omitempty"`
}

// healthDetail is what AWS Health says. Source: AWS Health user guide, schema of events for EventBridge. An event with
// many entities comes in pages, each an event of its own.
type healthDetail struct {
	Service         string         `json:"service"`
	TypeCode        string         `json:"eventTypeCode,omitempty"`
	Category        string         `json:"eventTypeCategory"`
	Status          string         `json:"statusCode,omitempty"`
	Region          string         `json:"eventRegion,omitempty"`
	AffectedAccount string         `json:"affectedAccount,omitempty"`
	Entities        []healthEntity `json:"affectedEntities,omitempty"`
}

type healthEntity struct {
	Value  string `json:"entityValue"`
	Status string `json:"status,omitempty"`
}

// What tells events apart.
const (
	eventVersion = "0"
	sourceEC2    = "aws.ec2"
	sourceHealth = "aws.health"
	sourceShift  = "aws.arc-zonal-shift"

	detailSpot        = "EC2 Spot Instance Interruption Warning"
	detailRebalance   = "EC2 Instance Rebalance Recommendation"
	detailState       = "EC2 Instance State-change Notification"
	detailReservation = "EC2 Capacity Reservation Instance Interruption Warning"
	detailHealth      = "AWS Health Event"
	detailShift       = "Autoshift In Progress"
)

// states by what EC2 calls them: those that mean something to us.
var states = map[string]model.NoticeKind{
	"stopping":      model.NoticeStopped,
	"stopped":       model.NoticeStopped,
	"shutting-down": model.NoticeTerminated,
	"terminated":    model.NoticeTerminated,
}

// DecodeEvent reads an event of EventBridge as it lies in the queue. Whatever it says that asks for nothing, an empty
// body and events of other sources and versions among it, is of kind NoticeNothing. Invalid for what is no event, is
// longer than MaxEventBytes, or is of a known kind and names no instance where it must.
func DecodeEvent(body []byte) (model.Notice, error) {
	if len(body) > MaxEventBytes {
		return model.Notice{}, fault.New(fault.Invalid, "TooLarge",
			"event has %d bytes, at most %d are read", len(body), MaxEventBytes)
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return model.Notice{Kind: model.NoticeNothing}, nil
	}
	var e event
	if err := json.Unmarshal(body, &e); err != nil {
		return model.Notice{}, fault.Wrap(fault.Invalid, "Malformed", err, "decode event")
	}
	for field, value := range map[string]string{"id": e.ID, "account": e.Account, "region": e.Region} {
		if !fits(value, maxEventIDBytes) {
			return model.Notice{}, fault.New(fault.Invalid, "Malformed",
				"event: %s has %d bytes, at most %d are read", field, len(value), maxEventIDBytes)
		}
	}
	notice := model.Notice{ID: e.ID, Account: e.Account, Region: e.Region, Kind: model.NoticeNothing,
		AtUnix: unix(e.Time)}
	if e.Version != eventVersion {
		return notice, nil
	}
	if e.Source == sourceShift { // whatever it says: ARC is asked what is in force
		notice.Kind, notice.Clusters, notice.Detail = model.NoticeZonalShift, e.clusters(), cut(e.DetailType)
		return notice, nil
	}
	switch [2]string{e.Source, e.DetailType} {
	case [2]string{sourceEC2, detailSpot}:
		return e.instance(notice, model.NoticeSpotInterrupted)
	case [2]string{sourceEC2, detailRebalance}:
		return e.instance(notice, model.NoticeRebalance)
	case [2]string{sourceEC2, detailReservation}:
		return e.instance(notice, model.NoticeReservationInterrupted)
	case [2]string{sourceEC2, detailState}:
		return e.instance(notice, model.NoticeNothing)
	case [2]string{sourceHealth, detailHealth}:
		return e.health(notice)
	}
	return notice, nil
}

// instance fills in a notice about one instance. A change of state says of which kind it is.
func (e *event) instance(notice model.Notice, kind model.NoticeKind) (model.Notice, error) {
	var detail instanceDetail
	if err := json.Unmarshal(e.Detail, &detail); err != nil {
		return model.Notice{}, fault.Wrap(fault.Invalid, "Malformed", err,
			"decode detail of event %q (%s)", e.ID, e.DetailType)
	}
	if e.DetailType == detailState {
		if kind = states[detail.State]; kind == "" {
			return notice, nil
		}
	}
	if !instanceID(detail.InstanceID) {
		return model.Notice{}, fault.New(fault.Invalid, "Malformed",
			"event %q (%s): detail.instance-id %.80q is no instance id", e.ID, e.DetailType, detail.InstanceID)
	}
	notice.Kind, notice.Instances = kind, []string{detail.InstanceID}
	notice.Detail = cut(detail.State + detail.Action)
	if at, err := time.Parse(time.RFC3339, detail.EndTime); err == nil && at.Unix() > 0 {
		notice.EndUnix = at.Unix()
	}
	return notice, nil
}

// clusters returns the names of the EKS clusters among the event's resources, each once. Where they are of another
// shape it is none.
func (e *event) clusters() []string {
	var resources []string
	if json.Unmarshal(e.Resources, &resources) != nil {
		return nil
	}
	var names []string
	for _, arn := range resources {
		parts := strings.SplitN(arn, ":", 6) // arn:aws:eks:eu-west-1:123456789012:cluster/prod
		if len(parts) != 6 || parts[2] != "eks" {
			continue
		}
		if name, is := strings.CutPrefix(parts[5], "cluster/"); is && name != "" && fits(name, maxClusterBytes) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// health fills in a notice of AWS Health: of a change that is scheduled for instances of EC2 and not over yet. It is of
// the account and region it happens in, which are not always those it was delivered to.
func (e *event) health(notice model.Notice) (model.Notice, error) {
	var detail healthDetail
	if err := json.Unmarshal(e.Detail, &detail); err != nil {
		return model.Notice{}, fault.Wrap(fault.Invalid, "Malformed", err,
			"decode detail of event %q (%s)", e.ID, e.DetailType)
	}
	if detail.Service != "EC2" || detail.Category != "scheduledChange" || detail.Status == "closed" {
		return notice, nil
	}
	for _, entity := range detail.Entities {
		id := entity.Value[strings.LastIndexByte(entity.Value, '/')+1:] // an id, or an ARN that ends with it
		if instanceID(id) && entity.Status != "RESOLVED" {
			notice.Instances = append(notice.Instances, id)
		}
	}
	slices.Sort(notice.Instances)
	if notice.Instances = slices.Compact(notice.Instances); len(notice.Instances) == 0 {
		return notice, nil
	}
	notice.Kind, notice.Detail = model.NoticeScheduledChange, cut(detail.TypeCode)
	if detail.Region != "" && len(detail.Region) <= maxEventIDBytes {
		notice.Region = detail.Region
	}
	if detail.AffectedAccount != "" && len(detail.AffectedAccount) <= maxEventIDBytes {
		notice.Account = detail.AffectedAccount
	}
	return notice, nil
}

// EncodeEvent returns the event DecodeEvent reads a notice from, for whoever plays AWS. Invalid for a notice without
// the instances its kind needs; one of NoticeNothing becomes an event of a running instance.
func EncodeEvent(notice model.Notice) ([]byte, error) {
	e := event{Version: eventVersion, ID: notice.ID, Source: sourceEC2, Account: notice.Account, Region: notice.Region}
	if notice.AtUnix > 0 {
		e.Time, _ = json.Marshal(stamp(notice.AtUnix))
	}
	detail := any(instanceDetail{State: "running", InstanceID: "i-0"})
	switch notice.Kind {
	case model.NoticeNothing:
		e.DetailType = detailState
	case model.NoticeSpotInterrupted:
		e.DetailType, detail = detailSpot, instanceDetail{Action: notice.Detail}
	case model.NoticeRebalance:
		e.DetailType, detail = detailRebalance, instanceDetail{}
	case model.NoticeReservationInterrupted:
		e.DetailType, detail = detailReservation, instanceDetail{Action: notice.Detail}
	case model.NoticeStopped, model.NoticeTerminated:
		e.DetailType, detail = detailState, instanceDetail{State: notice.Detail}
		if states[notice.Detail] != notice.Kind {
			return nil, fault.New(fault.Invalid, "",
				"notice %q: detail %q is no state of kind %s", notice.ID, notice.Detail, notice.Kind)
		}
	case model.NoticeScheduledChange:
		health := healthDetail{Service: "EC2", Category: "scheduledChange", TypeCode: notice.Detail}
		for _, id := range notice.Instances {
			health.Entities = append(health.Entities, healthEntity{Value: id})
		}
		e.Source, e.DetailType, detail = sourceHealth, detailHealth, health
	case model.NoticeZonalShift:
		var arns []string
		for _, name := range notice.Clusters {
			arns = append(arns, "arn:aws:eks:"+notice.Region+":"+notice.Account+":cluster/"+name)
		}
		e.Source, e.DetailType, detail = sourceShift, cmp.Or(notice.Detail, detailShift), struct{}{}
		if len(arns) > 0 {
			e.Resources, _ = json.Marshal(arns)
		}
	default:
		return nil, fault.New(fault.Invalid, "", "notice %q: kind %q is unknown", notice.ID, notice.Kind)
	}
	if of, one := detail.(instanceDetail); one && notice.Kind != model.NoticeNothing {
		if len(notice.Instances) != 1 {
			return nil, fault.New(fault.Invalid, "",
				"notice %q of kind %s is about %d instances, want one", notice.ID, notice.Kind, len(notice.Instances))
		}
		of.InstanceID = notice.Instances[0]
		if notice.EndUnix > 0 {
			of.EndTime = stamp(notice.EndUnix)
		}
		detail = of
	}
	var err error
	if e.Detail, err = json.Marshal(detail); err != nil {
		return nil, fault.Wrap(fault.Invalid, "", err, "encode notice %q", notice.ID)
	}
	return json.Marshal(e)
}

// instanceID reports whether a text may be the id of an instance.
func instanceID(text string) bool {
	rest, ok := strings.CutPrefix(text, "i-")
	if !ok || rest == "" || len(text) > maxInstanceIDBytes {
		return false
	}
	for i := range len(rest) {
		if c := rest[i]; (c < '0' || c > '9') && (c < 'a' || c > 'z') && c != '-' {
			return false
		}
	}
	return true
}

// unix returns an event's time, 0 where it says none that can be read.
func unix(raw json.RawMessage) int64 {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return 0
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0
	}
	return max(0, at.Unix())
}

func stamp(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }

func cut(text string) string {
	if len(text) > maxEventDetailBytes {
		text = text[:maxEventDetailBytes]
	}
	return strings.ToValidUTF8(text, "")
}
