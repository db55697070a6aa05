package ec2_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
)

func (b bench) health(t *testing.T, filters ...types.Filter) []types.InstanceStatus {
	t.Helper()
	out, err := b.sdk.DescribeInstanceStatus(t.Context(), &sdk.DescribeInstanceStatusInput{Filters: filters})
	if err != nil {
		t.Fatal(err)
	}
	return out.InstanceStatuses
}

func healthIDs(found []types.InstanceStatus) []string {
	var ids []string
	for _, s := range found {
		ids = append(ids, *s.InstanceId)
	}
	return ids
}

// summary is a check's status, that of its detail, and since when it fails.
func summary(status types.SummaryStatus, detail types.StatusType, since *time.Time) string {
	text := fmt.Sprintf("%s %s", status, detail)
	if since != nil {
		text += " " + since.Sub(start).String()
	}
	return text
}

func TestIN05StatusChecksFailAndRecoverOneByOne(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes")
	ids := launchedIDs(b.fleet(t, fleetOf(4, onDemand, b.over("m5.large", "a"))))
	b.clock.Advance(time.Minute)
	b.Impair(ids[0], ec2.InstanceCheck, time.Time{})
	b.Impair(ids[1], ec2.SystemCheck, start.Add(45*time.Second))
	b.Impair(ids[2], ec2.EBSCheck, time.Time{})
	for filter, want := range map[string][]string{"instance-status.status": ids[:1], "system-status.status": ids[1:2], "attached-ebs-status.status": ids[2:3]} {
		if got := healthIDs(b.health(t, by(filter, "impaired"))); !slices.Equal(got, want) {
			t.Errorf("%s impaired: %v, want %v", filter, got, want)
		}
	}
	if got := healthIDs(b.health(t, by("system-status.reachability", "failed"))); !slices.Equal(got, ids[1:2]) {
		t.Errorf("not reached: %v", got)
	}
	all := b.health(t)
	var got []string
	for _, s := range all {
		i, y, e := s.InstanceStatus, s.SystemStatus, s.AttachedEbsStatus
		got = append(got, summary(i.Status, i.Details[0].Status, i.Details[0].ImpairedSince), summary(y.Status, y.Details[0].Status, y.Details[0].ImpairedSince),
			summary(e.Status, e.Details[0].Status, e.Details[0].ImpairedSince))
	}
	want := []string{
		"impaired failed 1m0s", "ok passed", "ok passed", "ok passed", "impaired failed 45s", "ok passed", "ok passed", "ok passed", "impaired failed 1m0s", "ok passed", "ok passed", "ok passed",
	}
	if !slices.Equal(got, want) {
		t.Errorf("checks are %q\nwant %q", got, want)
	}
	if !b.Recover(ids[0], ec2.InstanceCheck) || b.Recover(ids[0], ec2.InstanceCheck) || b.Recover(ids[3], ec2.SystemCheck) || b.Impair("i-0123456789abcdef0", ec2.SystemCheck, time.Time{}) {
		t.Error("want what failed alone to recover")
	}
	if left := b.health(t, by("instance-status.status", "impaired")); len(left) != 0 {
		t.Errorf("%v are impaired still", healthIDs(left))
	}
	b.terminate(t, ids[1])
	if left := b.health(t, by("system-status.status", "impaired")); len(left) != 0 {
		t.Errorf("%v are shown although they end", healthIDs(left))
	}
}

func TestIN05ScheduledEventsAreDescribedForAWeekAfterTheyEnded(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes")
	ids := launchedIDs(b.fleet(t, fleetOf(3, onDemand, b.over("m5.large", "a"))))
	b.clock.Advance(time.Minute)
	at := start.Add(72 * time.Hour)
	retire := b.Schedule(ids[0], ec2.ScheduledEvent{Code: ec2.InstanceRetirement, NotBefore: at})
	reboot := b.Schedule(ids[1], ec2.ScheduledEvent{Code: ec2.SystemReboot, NotBefore: at, NotAfter: at.Add(time.Hour), Deadline: at.Add(2 * time.Hour)})
	if retire == "" || reboot == "" || b.Schedule("i-0123456789abcdef0", ec2.ScheduledEvent{Code: ec2.SystemReboot}) != "" {
		t.Fatalf("%q %q", retire, reboot)
	}
	codes := []string{"instance-reboot", "system-reboot", "system-maintenance", "instance-retirement", "instance-stop"}
	said := func() (out []string) {
		for _, s := range b.health(t, by("event.code", codes...)) {
			for _, e := range s.Events {
				out = append(out, fmt.Sprintf("%s %s %s", *s.InstanceId, e.Code, *e.Description))
			}
		}
		return out
	}
	retirement, maintenance := ids[0]+" instance-retirement ", ids[1]+" system-reboot "
	want := []string{retirement + "The instance is running on degraded hardware", maintenance + "The instance is scheduled for maintenance"}
	if got := said(); !slices.Equal(got, want) {
		t.Errorf("said %q, want %q", got, want)
	}
	if e := b.health(t, by("event.instance-event-id", reboot))[0].Events[0]; !e.NotBefore.Equal(at) || !e.NotAfter.Equal(at.Add(time.Hour)) || !e.NotBeforeDeadline.Equal(at.Add(2*time.Hour)) {
		t.Errorf("%+v", e)
	}
	if e := b.health(t, by("event.not-before", "2026-01-04T00:00:00.000Z"), by("event.code", "instance-retirement"))[0].Events[0]; e.NotAfter != nil || *e.InstanceEventId != retire {
		t.Errorf("%+v", e)
	}
	if !b.Complete(ids[0], retire) || b.Complete(ids[0], retire) || !b.Cancel(ids[1], reboot) || b.Cancel(ids[2], reboot) {
		t.Error("want each event to end once")
	}
	want = []string{retirement + "[Completed] The instance is running on degraded hardware", maintenance + "[Canceled] The instance is scheduled for maintenance"}
	if got := said(); !slices.Equal(got, want) {
		t.Errorf("said %q, want %q", got, want)
	}
	b.clock.Advance(7 * 24 * time.Hour)
	if got := said(); len(got) != 0 {
		t.Errorf("a week later %q", got)
	}
}

func TestStatusesComeInPagesAndAreRefused(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes")
	ids := launchedIDs(b.fleet(t, fleetOf(12, onDemand, b.over("m5.large", "a"))))
	b.clock.Advance(time.Minute)
	for _, id := range ids {
		b.Impair(id, ec2.SystemCheck, time.Time{})
	}
	pages := sdk.NewDescribeInstanceStatusPaginator(b.sdk, &sdk.DescribeInstanceStatusInput{MaxResults: aws.Int32(5), Filters: []types.Filter{by("system-status.status", "impaired")}})
	var got []string
	n := 0
	for ; pages.HasMorePages(); n++ {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, healthIDs(page.InstanceStatuses)...)
	}
	if n != 3 || !slices.Equal(got, ids) {
		t.Errorf("%d pages with %v, want three with %v", n, got, ids)
	}
	_, err := b.sdk.DescribeInstanceStatus(t.Context(), &sdk.DescribeInstanceStatusInput{MaxResults: aws.Int32(5), InstanceIds: ids[:1]})
	wantCode(t, "ids and a page size", err, "InvalidParameterCombination")
	_, err = b.sdk.DescribeInstanceStatus(t.Context(), &sdk.DescribeInstanceStatusInput{InstanceIds: slices.Repeat(ids[:1], 101)})
	wantCode(t, "too many ids", err, "InvalidParameterValue")
	_, err = b.sdk.DescribeInstanceStatus(t.Context(), &sdk.DescribeInstanceStatusInput{Filters: []types.Filter{by("tag:team", "a")}})
	wantCode(t, "a filter that is none", err, "InvalidParameterValue")
	_, err = b.sdk.DescribeInstanceStatus(t.Context(), &sdk.DescribeInstanceStatusInput{DryRun: aws.Bool(true)})
	wantCode(t, "dry run", err, "DryRunOperation")
	b.Deny(ec2.Denial{Action: "DescribeInstanceStatus"})
	_, err = b.sdk.DescribeInstanceStatus(t.Context(), &sdk.DescribeInstanceStatusInput{})
	wantCode(t, "denied", err, "UnauthorizedOperation")
}
