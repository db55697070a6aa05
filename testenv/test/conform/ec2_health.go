package conform

import (
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// ec2HealthCases are about what tells that an instance will not last: its spot request, its status checks and what is
// scheduled for it. No API makes any of them fail, so they are about how it is asked.
func ec2HealthCases(c *ec2.Client) []Case {
	return []Case{
		{"a spot instance has a request that is active and fulfilled", func(t T) {
			id, _ := launchSpot(t, c)
			found := awaitRequests(t, c, id)
			if r := found[0]; r.State != types.SpotInstanceStateActive || *r.Status.Code != "fulfilled" || *r.InstanceId != id || r.ProductDescription != types.RIProductDescriptionLinuxUnix ||
				r.LaunchSpecification.InstanceType != "m5.large" || r.InstanceInterruptionBehavior != types.InstanceInterruptionBehaviorTerminate {
				t.Errorf("request %+v", r)
			}
		}},
		{"a spot request of a fleet is one-time", func(t T) {
			id, _ := launchSpot(t, c)
			if r := awaitRequests(t, c, id)[0]; r.Type != types.SpotInstanceTypeOneTime {
				t.Errorf("type %s", r.Type)
			}
		}},
		{"a spot request has the tags its launch template gives it", func(t T) {
			id, tag := launchSpot(t, c)
			awaitRequests(t, c, id)
			out, err := c.DescribeSpotInstanceRequests(t.Context(), &ec2.DescribeSpotInstanceRequestsInput{Filters: []types.Filter{ec2Filter("tag:case", tag)}})
			if err != nil || len(out.SpotInstanceRequests) != 1 || aws.ToString(out.SpotInstanceRequests[0].InstanceId) != id {
				t.Errorf("found %+v, %v", out, err)
			}
		}},
		{"spot requests are found by the status of their instance's end", func(t T) {
			id, _ := launchSpot(t, c)
			awaitRequests(t, c, id)
			if _, err := c.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
				t.Fatalf("terminate: %v", err)
			}
			ids := requestedBy(t, c, ec2Filter("status-code", "instance-terminated-by-user"), ec2Filter("instance-id", id))
			if !slices.Equal(ids, []string{id}) {
				t.Errorf("ended by us: %v", ids)
			}
			ids = requestedBy(t, c, ec2Filter("status-code", "marked-for-termination", "instance-terminated-no-capacity"), ec2Filter("instance-id", id))
			if len(ids) != 0 {
				t.Errorf("interrupted: %v", ids)
			}
		}},
		{"an unknown spot request is refused by its code", func(t T) {
			_, err := c.DescribeSpotInstanceRequests(t.Context(), &ec2.DescribeSpotInstanceRequestsInput{SpotInstanceRequestIds: []string{"sir-00000000"}})
			wantCode(t, err, "InvalidSpotInstanceRequestID.NotFound")
		}},
		{"a running instance passes its status checks", func(t T) {
			id := launchOne(t, c)
			awaitInstances(t, c, 1, ec2Filter("instance-id", id), ec2Filter("instance-state-name", "running"))
			out, err := c.DescribeInstanceStatus(t.Context(), &ec2.DescribeInstanceStatusInput{InstanceIds: []string{id}})
			if err != nil || len(out.InstanceStatuses) != 1 {
				t.Fatalf("statuses %+v, %v", out, err)
			}
			s := out.InstanceStatuses[0]
			for _, summary := range []*types.InstanceStatusSummary{s.InstanceStatus, s.SystemStatus} {
				if summary.Status != types.SummaryStatusOk || len(summary.Details) != 1 || summary.Details[0].Name != types.StatusNameReachability ||
					summary.Details[0].Status != types.StatusTypePassed || summary.Details[0].ImpairedSince != nil {
					t.Errorf("check %+v", summary)
				}
			}
			if s.InstanceState.Name != types.InstanceStateNameRunning || len(s.Events) != 0 {
				t.Errorf("status %+v", s)
			}
		}},
		{"a healthy instance is not among those that are impaired", func(t T) {
			id := launchOne(t, c)
			awaitInstances(t, c, 1, ec2Filter("instance-id", id), ec2Filter("instance-state-name", "running"))
			for name, values := range map[string][]string{
				"instance-status.status": {"impaired"}, "system-status.status": {"impaired"},
				"event.code": {"instance-reboot", "system-reboot", "system-maintenance", "instance-retirement", "instance-stop"},
			} {
				out, err := c.DescribeInstanceStatus(t.Context(), &ec2.DescribeInstanceStatusInput{MaxResults: aws.Int32(1000), Filters: []types.Filter{ec2Filter(name, values...)}})
				if err != nil || slices.ContainsFunc(out.InstanceStatuses, func(s types.InstanceStatus) bool { return *s.InstanceId == id }) {
					t.Errorf("by %s: %+v, %v", name, out, err)
				}
			}
			out, err := c.DescribeInstanceStatus(t.Context(), &ec2.DescribeInstanceStatusInput{MaxResults: aws.Int32(1000), Filters: []types.Filter{ec2Filter("instance-status.status", "ok")}})
			if err != nil || !slices.ContainsFunc(out.InstanceStatuses, func(s types.InstanceStatus) bool { return *s.InstanceId == id }) {
				t.Errorf("it is not among those that are well either: %v", err)
			}
		}},
		{"status is that of running instances unless all are asked for", func(t T) {
			id := launchOne(t, c)
			awaitInstances(t, c, 1, ec2Filter("instance-id", id), ec2Filter("instance-state-name", "running"))
			if _, err := c.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
				t.Fatalf("terminate: %v", err)
			}
			awaitInstances(t, c, 1, ec2Filter("instance-id", id), ec2Filter("instance-state-name", "terminated"))
			for all, want := range map[bool]int{false: 0, true: 1} {
				out, err := c.DescribeInstanceStatus(t.Context(), &ec2.DescribeInstanceStatusInput{InstanceIds: []string{id}, IncludeAllInstances: &all})
				if err != nil || len(out.InstanceStatuses) != want {
					t.Errorf("all %v: %+v, %v; want %d", all, out, err, want)
				}
			}
		}},
	}
}

// launchSpot launches a spot instance from a template that tags its request, and returns its id and the value of that tag.
func launchSpot(t T, c *ec2.Client) (id, tag string) {
	t.Helper()
	tag = Unique("spot")
	template := linuxTemplate(t, c, func(d *types.RequestLaunchTemplateData) {
		d.TagSpecifications = []types.LaunchTemplateTagSpecificationRequest{{ResourceType: types.ResourceTypeSpotInstancesRequest, Tags: []types.Tag{{Key: aws.String("case"), Value: &tag}}}}
	})
	ids := fleetIDs(createFleet(t, c, newFleet(template, 1, types.DefaultTargetCapacityTypeSpot, ec2Override(t, c, "m5.large", 0))))
	if len(ids) != 1 {
		t.Fatalf("launched %v", ids)
	}
	awaitInstances(t, c, 1, ec2Filter("instance-id", ids[0]))
	return ids[0], tag
}

// awaitRequests returns the spot requests of an instance once there is one. It looks through all, since not every target
// finds them by instance.
func awaitRequests(t T, c *ec2.Client, id string) []types.SpotInstanceRequest {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		out, err := c.DescribeSpotInstanceRequests(t.Context(), &ec2.DescribeSpotInstanceRequestsInput{})
		if err != nil {
			t.Fatalf("describe spot requests: %v", err)
		}
		found := slices.DeleteFunc(out.SpotInstanceRequests, func(r types.SpotInstanceRequest) bool { return aws.ToString(r.InstanceId) != id })
		if len(found) > 0 {
			return found
		}
	}
	t.Fatalf("instance %s has no spot request", id)
	return nil
}

// requestedBy returns the instances of the requests that pass the filters.
func requestedBy(t T, c *ec2.Client, filters ...types.Filter) []string {
	t.Helper()
	out, err := c.DescribeSpotInstanceRequests(t.Context(), &ec2.DescribeSpotInstanceRequestsInput{Filters: filters})
	if err != nil {
		t.Fatalf("describe spot requests: %v", err)
	}
	var ids []string
	for _, r := range out.SpotInstanceRequests {
		ids = append(ids, aws.ToString(r.InstanceId))
	}
	return ids
}
