package wire

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/bounds"
)

// envelope is an event as EventBridge wraps it. 2026-03-01T12:00:00Z is 1772366400.
func envelope(source, detailType, detail string) string {
	return fmt.Sprintf(`{"version":"0","id":"7bf73129-1428-4cd3-a780-95db273d1602","detail-type":%q,"source":%q,"account":"123456789012",
		"time":"2026-03-01T12:00:00Z","region":"eu-central-1","resources":["arn:aws:ec2:eu-central-1:123456789012:instance/i-0abc"],"detail":%s}`,
		detailType, source, detail)
}

// The rows of the table of events: which are read as what.
func TestIN01EventsAreReadAsTheirKinds(t *testing.T) {
	one := []string{"i-0abc"}
	health := func(detail string) string { return envelope("aws.health", "AWS Health Event", detail) }
	state := func(state string) string {
		return envelope("aws.ec2", "EC2 Instance State-change Notification", `{"instance-id":"i-0abc","state":"`+state+`"}`)
	}
	base := model.Notice{ID: "7bf73129-1428-4cd3-a780-95db273d1602", Account: "123456789012", Region: "eu-central-1", AtUnix: 1772366400}
	notice := func(kind model.NoticeKind, ids []string, detail string) model.Notice {
		n := base
		n.Kind, n.Instances, n.Detail = kind, ids, detail
		return n
	}
	reservation := notice(model.NoticeReservationInterrupted, one, "terminate")
	reservation.EndUnix = 1772366520
	elsewhere := notice(model.NoticeScheduledChange, one, "AWS_EC2_INSTANCE_STOP_SCHEDULED")
	elsewhere.Account, elsewhere.Region = "210987654321", "us-west-2"
	for _, c := range []struct {
		name, body string
		want       model.Notice
	}{
		{"spot warning", envelope("aws.ec2", "EC2 Spot Instance Interruption Warning", `{"instance-id":"i-0abc","instance-action":"terminate"}`),
			notice(model.NoticeSpotInterrupted, one, "terminate")},
		{"spot warning of hibernation", envelope("aws.ec2", "EC2 Spot Instance Interruption Warning", `{"instance-id":"i-0abc","instance-action":"hibernate"}`),
			notice(model.NoticeSpotInterrupted, one, "hibernate")},
		{"rebalance recommendation", envelope("aws.ec2", "EC2 Instance Rebalance Recommendation", `{"instance-id":"i-0abc"}`),
			notice(model.NoticeRebalance, one, "")},
		{"reservation", strings.Replace(envelope("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning",
			`{"instance-id":"i-0abc","instance-action":"terminate","instance-termination-time":"2026-03-01T12:02:00Z","azId":"euc1-az1"}`),
			`["arn:aws:ec2:eu-central-1:123456789012:instance/i-0abc"]`, `"arn:aws:ec2:eu-central-1:123456789012:instance/i-0abc"`, 1), reservation},
		{"stopping", state("stopping"), notice(model.NoticeStopped, one, "stopping")},
		{"stopped", state("stopped"), notice(model.NoticeStopped, one, "stopped")},
		{"shutting down", state("shutting-down"), notice(model.NoticeTerminated, one, "shutting-down")},
		{"terminated", state("terminated"), notice(model.NoticeTerminated, one, "terminated")},
		{"pending", state("pending"), notice(model.NoticeNothing, nil, "")},
		{"running", state("running"), notice(model.NoticeNothing, nil, "")},
		{"a state nobody knows yet", state("dreaming"), notice(model.NoticeNothing, nil, "")},
		{"scheduled change of many", health(`{"service":"EC2","eventTypeCode":"AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED","eventTypeCategory":"scheduledChange",
			"statusCode":"upcoming","page":"1","totalPages":"2","affectedEntities":[{"entityValue":"i-0def"},{"entityValue":"arn:aws:ec2:eu-central-1:123456789012:instance/i-0abc","status":"PENDING"},
			{"entityValue":"i-0def"},{"entityValue":"vol-1"},{"entityValue":"i-0123","status":"RESOLVED"}]}`),
			notice(model.NoticeScheduledChange, []string{"i-0abc", "i-0def"}, "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED")},
		{"scheduled change that was delivered elsewhere", health(`{"service":"EC2","eventTypeCode":"AWS_EC2_INSTANCE_STOP_SCHEDULED","eventTypeCategory":"scheduledChange",
			"eventRegion":"us-west-2","affectedAccount":"210987654321","affectedEntities":[{"entityValue":"i-0abc"}]}`), elsewhere},
		{"scheduled change that is over", health(`{"service":"EC2","eventTypeCategory":"scheduledChange","statusCode":"closed","affectedEntities":[{"entityValue":"i-0abc"}]}`),
			notice(model.NoticeNothing, nil, "")},
		{"scheduled change of volumes", health(`{"service":"EC2","eventTypeCategory":"scheduledChange","affectedEntities":[{"entityValue":"vol-0abc"}]}`),
			notice(model.NoticeNothing, nil, "")},
		{"health issue", health(`{"service":"EC2","eventTypeCategory":"issue","affectedEntities":[{"entityValue":"i-0abc"}]}`), notice(model.NoticeNothing, nil, "")},
		{"a zonal shift of clusters", `{"version":"0","id":"1","source":"aws.arc-zonal-shift",
			"detail-type":"Autoshift In Progress","account":"123456789012","region":"eu-central-1",
			"time":"2026-03-01T12:00:00Z","resources":["arn:aws:eks:eu-central-1:123456789012:cluster/web",
			"arn:aws:elasticloadbalancing:eu-central-1:123456789012:loadbalancer/app/a/b"],"detail":{}}`,
			model.Notice{ID: "1", Kind: model.NoticeZonalShift, Account: "123456789012", Region: "eu-central-1",
				AtUnix: 1772366400, Detail: "Autoshift In Progress", Clusters: []string{"web"}}},
		{"health of another service", health(`{"service":"RDS","eventTypeCategory":"scheduledChange","affectedEntities":[{"entityValue":"i-0abc"}]}`),
			notice(model.NoticeNothing, nil, "")},
		{"another source", envelope("aws.rds", "EC2 Spot Instance Interruption Warning", `{"instance-id":"i-0abc"}`), notice(model.NoticeNothing, nil, "")},
		{"another detail type", envelope("aws.ec2", "EBS Volume Notification", `{"event":"createVolume"}`), notice(model.NoticeNothing, nil, "")},
		{"another version", strings.Replace(envelope("aws.ec2", "EC2 Spot Instance Interruption Warning", `{"instance-id":"i-0abc"}`), `"0"`, `"1"`, 1),
			notice(model.NoticeNothing, nil, "")},
		{"empty body", " \n", model.Notice{Kind: model.NoticeNothing}},
		{"nothing at all", "{}", model.Notice{Kind: model.NoticeNothing}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := DecodeEvent([]byte(c.body))
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, %v\nwant %+v", got, err, c.want)
			}
		})
	}
}

func TestWarningIsReadWhateverItsTimeIs(t *testing.T) {
	body := envelope("aws.ec2", "EC2 Spot Instance Interruption Warning", `{"instance-id":"i-0abc"}`)
	for _, odd := range []string{`""`, `"yesterday"`, `17`, `null`, `"0001-01-01T00:00:00Z"`} {
		got, err := DecodeEvent([]byte(strings.Replace(body, `"2026-03-01T12:00:00Z"`, odd, 1)))
		if err != nil || got.Kind != model.NoticeSpotInterrupted || got.AtUnix != 0 {
			t.Errorf("time %s: %+v %v", odd, got, err)
		}
	}
}

func TestIN03DecodeEventRefuses(t *testing.T) {
	spot := func(detail string) string {
		return envelope("aws.ec2", "EC2 Spot Instance Interruption Warning", detail)
	}
	for name, body := range map[string]string{
		"no JSON":                "hello",
		"no object":              "[]",
		"two values":             "{}{}",
		"a number as account":    `{"version":"0","account":1}`,
		"a long id":              `{"version":"0","id":"` + strings.Repeat("x", 200) + `"}`,
		"no instance":            spot(`{}`),
		"no detail":              spot(`null`),
		"detail of other kind":   spot(`["i-0abc"]`),
		"a volume as instance":   spot(`{"instance-id":"vol-0abc"}`),
		"an instance of spaces":  spot(`{"instance-id":"i-0 abc"}`),
		"a bare prefix":          spot(`{"instance-id":"i-"}`),
		"a long instance":        spot(`{"instance-id":"i-` + strings.Repeat("a", 63) + `"}`),
		"no instance that ended": envelope("aws.ec2", "EC2 Instance State-change Notification", `{"state":"terminated"}`),
		"health without shape":   envelope("aws.health", "AWS Health Event", `{"affectedEntities":7}`),
		"too long":               spot(`{"instance-id":"i-0abc"}`) + strings.Repeat(" ", MaxEventBytes),
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := DecodeEvent([]byte(body)); !fault.Is(err, fault.Invalid) {
				t.Errorf("got %+v, %v, want Invalid", got, err)
			}
		})
	}
}

func TestHealthEventMayNameThousandsOfInstances(t *testing.T) {
	notice := model.Notice{ID: "1", Kind: model.NoticeScheduledChange, Account: "123456789012", Region: "eu-central-1", AtUnix: 1772366400}
	for i := range 10_000 {
		notice.Instances = append(notice.Instances, fmt.Sprintf("i-%017x", i))
	}
	body, err := EncodeEvent(notice)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := DecodeEvent(body); err != nil || !reflect.DeepEqual(got, notice) {
		t.Errorf("%d instances read, %v", len(got.Instances), err)
	}
}

func TestEncodeEventRefuses(t *testing.T) {
	for name, notice := range map[string]model.Notice{
		"unknown kind":  {Kind: "sneezed", Instances: []string{"i-1"}},
		"no instance":   {Kind: model.NoticeSpotInterrupted},
		"two instances": {Kind: model.NoticeRebalance, Instances: []string{"i-1", "i-2"}},
		"another state": {Kind: model.NoticeStopped, Instances: []string{"i-1"}, Detail: "terminated"},
	} {
		if _, err := EncodeEvent(notice); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v, want Invalid", name, err)
		}
	}
}

func FuzzDecodeEvent(f *testing.F) {
	f.Add([]byte(envelope("aws.ec2", "EC2 Spot Instance Interruption Warning", `{"instance-id":"i-0abc","instance-action":"terminate"}`)))
	f.Add([]byte(envelope("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning", `{"instance-id":"i-0abc","instance-termination-time":"2026-03-01T12:02:00Z"}`)))
	f.Add([]byte(envelope("aws.ec2", "EC2 Instance State-change Notification", `{"instance-id":"i-0abc","state":"stopped"}`)))
	f.Add([]byte(envelope("aws.health", "AWS Health Event", `{"service":"EC2","eventTypeCategory":"scheduledChange","affectedEntities":[{"entityValue":"i-0abc"}]}`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		bounds.Check(t, len(data), func() {
			notice, err := DecodeEvent(data)
			if err != nil {
				invalid(t, err)
				return
			}
			if (notice.Kind == model.NoticeNothing) != (len(notice.Instances) == 0) {
				t.Fatalf("kind %s names %d instances", notice.Kind, len(notice.Instances))
			}
			body, err := EncodeEvent(notice)
			if err != nil {
				t.Fatalf("what was decoded cannot be encoded: %v", err)
			}
			again, err := DecodeEvent(body)
			if err != nil || notice.Kind != model.NoticeNothing && text(again) != text(notice) {
				t.Fatalf("%v: read again it is\n%s\nand was\n%s", err, text(again), text(notice))
			}
		})
	})
}
