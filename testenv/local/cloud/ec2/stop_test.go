package ec2_test

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
)

func TestAnInstanceStopsAndCanBeTerminatedThen(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes")
	sent := b.listen()
	id := b.launchOne(t)
	stop := func() (*sdk.StopInstancesOutput, error) {
		return b.sdk.StopInstances(t.Context(), &sdk.StopInstancesInput{InstanceIds: []string{id}, Force: aws.Bool(true)})
	}
	b.clock.Advance(10 * time.Second)
	_, err := stop()
	wantCode(t, "one that is pending", err, "IncorrectInstanceState")
	b.clock.Advance(50 * time.Second)
	out, err := stop()
	if err != nil || out.StoppingInstances[0].PreviousState.Name != "running" || out.StoppingInstances[0].CurrentState.Name != "stopping" || *out.StoppingInstances[0].CurrentState.Code != 64 {
		t.Fatalf("%+v %v", out, err)
	}
	b.clock.Advance(time.Minute)
	if out, err = stop(); err != nil || out.StoppingInstances[0].PreviousState.Name != "stopped" || *out.StoppingInstances[0].CurrentState.Code != 80 {
		t.Errorf("stopped again: %+v %v", out, err)
	}
	i := b.describe(t, by("instance-state-name", "stopped"))[0]
	if *i.StateReason.Code != "Client.UserInitiatedShutdown" || i.PrivateIpAddress == nil || i.PublicIpAddress != nil {
		t.Errorf("instance %+v", i)
	}
	if b.PricePerHour() != 0 {
		t.Errorf("it costs %d", b.PricePerHour())
	}
	if status, err := b.sdk.DescribeInstanceStatus(t.Context(), &sdk.DescribeInstanceStatusInput{InstanceIds: []string{id}}); err != nil || len(status.InstanceStatuses) != 0 {
		t.Errorf("status %+v %v", status, err)
	}
	if _, err := b.sdk.TerminateInstances(t.Context(), &sdk.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(time.Minute)
	want := []string{"0s pending " + id, "30s running " + id, "1m0s stopping " + id, "1m10s stopped " + id, "2m0s shutting-down " + id, "2m10s terminated " + id}
	if !slices.Equal(*sent, want) {
		t.Errorf("sent %q, want %q", *sent, want)
	}
	_, err = stop()
	wantCode(t, "one that has ended", err, "IncorrectInstanceState")
}

func TestAnInstanceTerminatedWhileItStopsDoesNotStop(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes")
	id := b.launchOne(t)
	b.clock.Advance(time.Minute)
	if _, err := b.sdk.StopInstances(t.Context(), &sdk.StopInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(5 * time.Second)
	if _, err := b.sdk.TerminateInstances(t.Context(), &sdk.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(time.Minute)
	if i, _ := b.Lookup(id); i.State != ec2.Terminated {
		t.Errorf("it is %s", i.State)
	}
}

func TestWhatMayNotBeStoppedRunsOn(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes", func(d *types.RequestLaunchTemplateData) { d.DisableApiStop = aws.Bool(true) })
	kept, lent := b.launchOne(t), b.spotNode(t, "shop")
	b.template(t, "plain")
	in := fleetOf(1, od, b.over("m5.large", "b"))
	in.LaunchTemplateConfigs[0].LaunchTemplateSpecification.LaunchTemplateName = aws.String("plain")
	plain := launchedIDs(b.fleet(t, in))[0]
	b.clock.Advance(time.Minute)
	for _, c := range []struct {
		what, code string
		in         sdk.StopInstancesInput
	}{
		{"one that is protected, and another", "OperationNotPermitted", sdk.StopInstancesInput{InstanceIds: []string{plain, kept}}},
		{"spot", "UnsupportedOperation", sdk.StopInstancesInput{InstanceIds: []string{lent}}},
		{"hibernation", "UnsupportedHibernationConfiguration", sdk.StopInstancesInput{InstanceIds: []string{plain}, Hibernate: aws.Bool(true)}},
		{"none", "InvalidInstanceID.NotFound", sdk.StopInstancesInput{InstanceIds: []string{"i-0123456789abcdef0"}}},
	} {
		_, err := b.sdk.StopInstances(t.Context(), &c.in)
		wantCode(t, c.what, err, c.code)
	}
	for _, id := range []string{kept, lent, plain} {
		if i, _ := b.Lookup(id); i.State != ec2.Running {
			t.Errorf("%s is %s", id, i.State)
		}
	}
}
