package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/eventsource"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// settled says what is still open.
func (c *cluster) settled(t *testing.T) func(context.Context) string {
	return func(context.Context) string {
		ledger := c.ledger(t)
		for _, intent := range ledger.Intents {
			return "launch " + intent.ID + " is open"
		}
		for _, claim := range ledger.Claims {
			if claim.State != model.Initialized {
				return "claim " + claim.Name + " is " + string(claim.State)
			}
		}
		return ""
	}
}

// TestTheSameMessageFiveTimesLaunchesOnce delivers every batch twice at once, and the same hint again as five messages.
func TestTheSameMessageFiveTimesLaunchesOnce(t *testing.T) {
	t.Parallel()
	c := start(t, stack.Options{
		Timeout: 10 * time.Second, Visibility: 11 * time.Second, MaxReceives: 20,
		Faults: eventsource.Faults{Seed: 1, ConcurrentPercent: 100},
	})
	c.apply(t, namespace("again"), class("default"), pool("default", "default", general, nil, nil))
	c.awaitReady(t, nodePools, "default")
	c.apply(t, deployment("again", "web", 6, "1"))
	c.awaitRunning(t, "again", 6, 2*time.Minute)
	launched := len(c.EC2.Launches())

	client := sqs.NewFromConfig(c.Cloud.Config())
	manifest := c.ledger(t).Manifest
	for i := range 5 {
		body, err := wire.EncodeHint(wire.Hint{Cluster: c.Options.Cluster, Epoch: manifest.Epoch, Seq: 1, Number: int64(1000 + i), Reason: wire.ReasonBatch})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.SendMessage(t.Context(), &sqs.SendMessageInput{
			QueueUrl: &c.QueueURL, MessageBody: awssdk.String(string(body)), MessageGroupId: &c.Options.Cluster,
			MessageDeduplicationId: awssdk.String(strings.Repeat("x", i+1)),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	runs := len(c.logs.runs())
	await(t, time.Minute, "the late hints were handled", func(context.Context) string {
		if c.Mapping().Stats().Messages > 0 && len(c.logs.runs()) > runs && c.settled(t)(t.Context()) == "" {
			return ""
		}
		return "not yet"
	})
	if again := len(c.EC2.Launches()); again != launched {
		t.Errorf("%d machines, and %d after the repeats", launched, again)
	}
	c.oneEach(t)
}

// TestPoolsWithoutCapacityAreExcludedAndTheNextOfferingServes empties the three cheapest offers: the pods run on the fourth, in the same
// invocation, the three are marked in the ledger, and are offered again after their time.
func TestPoolsWithoutCapacityAreExcludedAndTheNextOfferingServes(t *testing.T) {
	t.Parallel()
	c := start(t, stack.Options{FunctionEnv: map[string]string{"JOINER_OFFER_BACKOFF": "20s"}})
	one := `{key: node.kubernetes.io/instance-type, operator: In, values: [m5.large, m6i.large, m7i.large, m6g.large]}, ` +
		`{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}, {key: topology.kubernetes.io/zone, operator: In, values: [us-west-2a]}, ` +
		`{key: kubernetes.io/arch, operator: In, values: [amd64, arm64]}`
	c.apply(t, namespace("dry"), class("default"), pool("default", "default", one, nil, nil))
	c.awaitReady(t, nodePools, "default")
	dry := cheapest(t, 4, "m5.large", "m6i.large", "m7i.large", "m6g.large")
	for _, name := range dry[:3] {
		c.EC2.SetCapacity(ec2.Pool{Type: name, Zone: "us-west-2a", CapacityType: ec2.OnDemand}, 0)
	}
	c.apply(t, deployment("dry", "web", 1, "1"))
	c.awaitRunning(t, "dry", 1, time.Minute)
	if instances := c.running(); len(instances) != 1 || instances[0].Type != dry[3] {
		t.Fatalf("launched %+v, want one %s", instances, dry[3])
	}
	var launching int
	for _, run := range c.logs.runs() {
		if run.Claims > 0 {
			launching++
		}
	}
	if launching != 1 {
		t.Errorf("it took %d invocations, want one", launching)
	}
	marked := map[string]bool{}
	for _, unavailable := range c.ledger(t).UnavailableOfferings {
		marked[unavailable.InstanceType] = true
	}
	for _, name := range dry[:3] {
		if !marked[name] {
			t.Errorf("%s is not marked: %v", name, marked)
		}
	}

	// After their time they are offered again, and the cheapest wins.
	for _, name := range dry[:3] {
		c.EC2.ClearCapacity(ec2.Pool{Type: name, Zone: "us-west-2a", CapacityType: ec2.OnDemand})
	}
	await(t, time.Minute, "the marks end", func(context.Context) string {
		for _, unavailable := range c.ledger(t).UnavailableOfferings { // it is remembered for longer how often they failed
			if unavailable.UntilUnix > time.Now().Unix() {
				return "some are left"
			}
		}
		return ""
	})
	c.apply(t, deployment("dry", "more", 1, "1500m"))
	c.awaitRunning(t, "dry", 2, time.Minute)
	found := false
	for _, instance := range c.running() {
		found = found || instance.Type == dry[0]
	}
	if !found {
		t.Errorf("the cheapest offer %s is not used again", dry[0])
	}
}

// TestBadObjectsAreReportedOnThemselvesAndStopNobody applies an invalid NodePool, a class without subnets and a pod with a
// selector nothing matches, beside a pool and a pod that are fine.
func TestBadObjectsAreReportedOnThemselvesAndStopNobody(t *testing.T) {
	t.Parallel()
	c := start(t, stack.Options{})
	c.apply(t, namespace("bad"), class("default"), classWith("nowhere", "no-such-tag"),
		pool("good", "default", general, nil, nil),
		pool("no-subnets", "nowhere", general, nil, []string{"weight: 90"}),
		pool("twice-tainted", "default", general, []string{
			"taints: [{key: team, value: a, effect: NoSchedule}]", "startupTaints: [{key: team, value: b, effect: NoSchedule}]"}, []string{"weight: 80"}),
	)
	c.awaitReady(t, nodePools, "good")
	c.apply(t,
		deployment("bad", "fine", 3, "1"),
		deployment("bad", "lost", 1, "1", "nodeSelector: {example.com/colour: blue}"))
	await(t, 2*time.Minute, "the good pods run", func(ctx context.Context) string { return c.appRuns(ctx, "bad", "fine", 3) })
	says := func(what string, want []string, read func(context.Context) string) {
		t.Helper()
		await(t, time.Minute, what, func(ctx context.Context) string {
			got := read(ctx)
			for _, w := range want {
				if !strings.Contains(got, w) {
					return "no word of " + w + " in: " + got
				}
			}
			return ""
		})
	}
	says("the class names selector and remedy", []string{"False", "SubnetsNotFound", "spec.subnetSelectorTerms", "no-such-tag", "tag"}, func(ctx context.Context) string {
		status, reason, message := c.condition(ctx, classes, "nowhere", "SubnetsReady")
		return status + " " + reason + " " + message
	})
	says("its pool is not ready", []string{"False"}, func(ctx context.Context) string {
		status, _, _ := c.condition(ctx, nodePools, "no-subnets", "Ready")
		return status
	})
	says("the pool names field and value", []string{"False", "NodePoolValidationFailed", "team"}, func(ctx context.Context) string {
		status, reason, message := c.condition(ctx, nodePools, "twice-tainted", "ValidationSucceeded")
		return status + " " + reason + " " + message
	})
	says("the pod's event names label and pool", []string{"FailedScheduling", "example.com/colour", "good"}, func(ctx context.Context) string {
		return c.events(ctx, "Pod", c.podOf(ctx, "bad", "lost"))
	})
	c.oneEach(t)
}

// M58, M115: TestClusterWithoutNodeOrWatcherGetsItsFirstNode lets only the schedule run: the watcher is itself a pod
// that waits.
func TestClusterWithoutNodeOrWatcherGetsItsFirstNode(t *testing.T) {
	t.Parallel()
	c := start(t, stack.Options{Watchers: -1})
	c.apply(t, class("default"), pool("default", "default", general, nil, nil), deployment("joiner", "watcher", 2, "100m"))
	began := time.Now()
	await(t, 5*time.Minute, "the first node is launched", func(context.Context) string {
		if len(c.running()) == 0 {
			return "no machine yet"
		}
		return ""
	})
	t.Logf("first launch after %s", time.Since(began).Round(time.Second))
	// Without a watcher nobody says that the node has joined: resyncs see it in. Their minutes are shortened here.
	await(t, 3*time.Minute, "its claim is initialised by sweeps alone", func(ctx context.Context) string {
		if _, err := c.Resync(ctx); err != nil {
			return err.Error()
		}
		time.Sleep(time.Second)
		return c.settled(t)(ctx)
	})
	c.awaitRunning(t, "joiner", 2, time.Minute)
	c.oneEach(t)
}
