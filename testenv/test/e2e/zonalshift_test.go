package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/events"
	"github.com/joiner-sh/joiner/testenv/test/stack"
	"github.com/joiner-sh/joiner/testenv/test/timed"
)

// TestCT07ZonalShiftKeepsLaunchesOutOfTheZone shifts the cluster away from a zone by ARC's API, once with ARC's event
// and once with EventBridge losing it. A minute after the start nothing is launched there, and an event says why a pod
// that needs the zone waits. Pods that do not need it run elsewhere, and an empty node of the zone stays. After the end
// the pod gets its instance.
func TestCT07ZonalShiftKeepsLaunchesOutOfTheZone(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"the event comes": false, "the event is lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var o stack.Options
			if lost {
				o.LoseEvent = func(entry events.Entry) bool { return entry.Source == "aws.arc-zonal-shift" }
			}
			shiftsAway(t, start(t, o))
		})
	}
}

func shiftsAway(t *testing.T, c *cluster) {
	zone := catalog.Zones()[0]
	arn := fmt.Sprintf("arn:aws:eks:%s:%s:cluster/%s", c.Cloud.Region(), c.Cloud.Account(), c.Options.Cluster)
	c.Zones.Manage(arn)
	c.quicken(t)
	one := `{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}, ` +
		`{key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}`
	c.apply(t, namespace("zones"), class("default"),
		pool("default", "default", one, nil, []string{giving(patience, "100%")}))
	c.awaitReady(t, nodePools, "default")
	there := "nodeSelector: {topology.kubernetes.io/zone: " + zone.Name + "}"
	c.apply(t, deployment("zones", "leaves", 1, "1500m", there), deployment("zones", "stays", 1, "1500m"))
	c.awaitRunning(t, "zones", 2, 3*time.Minute)
	await(t, 2*time.Minute, "the claims are initialized", c.settled(t))
	before := c.inZone(zone.Name)

	began := time.Now()
	arc := arczonalshift.NewFromConfig(c.Cloud.Config())
	shift, err := arc.StartZonalShift(t.Context(), &arczonalshift.StartZonalShiftInput{
		ResourceIdentifier: aws.String(arn), AwayFrom: aws.String(zone.ID), ExpiresIn: aws.String("3h"),
		Comment: aws.String("the zone is impaired"),
	})
	if err != nil {
		t.Fatal(err)
	}
	known := await(t, 2*time.Minute, "the NodePool says that the shift has started", func(ctx context.Context) string {
		if reported := c.events(ctx, "NodePool", "default"); !strings.Contains(reported, "ZonalShiftStarted") {
			return "its events are: " + reported
		}
		return ""
	})

	c.scale(t, "zones", "leaves", 0)
	c.apply(t, deployment("zones", "waits", 2, "1500m", there))
	await(t, 2*time.Minute, "one takes the node that was left", func(ctx context.Context) string {
		return c.appRuns(ctx, "zones", "waits", 1)
	})
	c.apply(t, deployment("zones", "elsewhere", 2, "1500m"))
	await(t, 2*time.Minute, "pods that do not need the zone run", func(ctx context.Context) string {
		return c.appRuns(ctx, "zones", "elsewhere", 2)
	})
	c.scale(t, "zones", "waits", 0)
	pause(t, 10*patience) // ten times as long as an empty node is kept otherwise
	c.sameInZone(t, zone.Name, before, began)
	c.scale(t, "zones", "waits", 2)
	await(t, 2*time.Minute, "an event says why the pod waits", func(ctx context.Context) string {
		if missing := c.appRuns(ctx, "zones", "waits", 1); missing != "" {
			return missing
		}
		reported := c.events(ctx, "Pod", c.unboundPod(ctx, "zones", "waits"))
		if !strings.Contains(reported, "a zonal shift of the cluster is in force in "+zone.Name+" ("+zone.ID+")") {
			return "its events are: " + reported
		}
		return ""
	})
	c.sameInZone(t, zone.Name, before, began)

	_, err = arc.CancelZonalShift(t.Context(), &arczonalshift.CancelZonalShiftInput{ZonalShiftId: shift.ZonalShiftId})
	if err != nil {
		t.Fatal(err)
	}
	launched := await(t, 2*time.Minute, "an instance is launched in the zone", func(context.Context) string {
		if now := c.inZone(zone.Name); len(now) != len(before)+1 {
			return fmt.Sprintf("there are %v", now)
		}
		return ""
	})
	await(t, 2*time.Minute, "both run", func(ctx context.Context) string {
		return c.appRuns(ctx, "zones", "waits", 2)
	})
	timed.Within(t, "from the start of the shift until nothing is launched in its zone", known, time.Minute)
	timed.Within(t, "from the end of the shift until an instance is launched in its zone", launched, time.Minute)
	c.oneEach(t)
}

// sameInZone fails the test unless the same instances run in a zone as at a time before.
func (c *cluster) sameInZone(t *testing.T, zone string, before []string, at time.Time) {
	t.Helper()
	now := c.inZone(zone)
	if slices.Equal(now, before) {
		return
	}
	t.Errorf("instances %v run in zone %s, and %v did at %s", now, zone, before, at.Format(time.TimeOnly))
	for _, instance := range c.EC2.Instances() {
		t.Logf("%s in %s: %s, launched %s", instance.ID, instance.Zone, instance.State,
			instance.LaunchTime.Format(time.TimeOnly))
	}
}

// unboundPod returns the name of a pod of the app that has no node, "" where there is none.
func (c *cluster) unboundPod(ctx context.Context, namespace, app string) string {
	list, err := c.kube.CoreV1().Pods(namespace).List(ctx,
		metav1.ListOptions{LabelSelector: "app=" + app, FieldSelector: "spec.nodeName="})
	if err != nil || len(list.Items) == 0 {
		return ""
	}
	return list.Items[0].Name
}

// inZone returns the ids of the instances of a zone that run, in EC2's order.
func (c *cluster) inZone(zone string) []string {
	var ids []string
	for _, instance := range c.running() {
		if instance.Zone == zone {
			ids = append(ids, instance.ID)
		}
	}
	return ids
}
