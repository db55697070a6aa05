package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/kube"
	"github.com/joiner-sh/joiner/testenv/local/machine"
	"github.com/joiner-sh/joiner/testenv/test/stack"
	"github.com/joiner-sh/joiner/testenv/test/timed"
)

// M58: TestF113_F116_DeadlinesAndVolumes deletes NodeClaims with a terminationGracePeriod whose nodes hold a pod that
// its budget keeps, one with do-not-disrupt, and one whose kubelet is silent for ever; and one without, of whose node
// a volume does not come off. The first two pods are deleted when no more than their own grace is left, the third is
// never gone, and the three instances end soon after the deadline. The last instance stays for as long as its volume
// does.
func TestF113_F116_DeadlinesAndVolumes(t *testing.T) {
	t.Parallel()
	const grace, own = 30, 8 // seconds: of the NodeClaims, and of the pods
	c := start(t, stack.Options{KubeOptions: kube.Options{AuditPolicy: kube.AuditEnds}})
	attacher, err := machine.StartAttacher(t.Context(), machine.AttacherOptions{Config: c.Kube.Config(), Detach: machine.Never})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(attacher.Stop)
	c.apply(t, namespace("late"), class("default"),
		pool("brief", "default", general, []string{fmt.Sprintf("terminationGracePeriod: %ds", grace)}, nil), pool("patient", "default", general, nil, nil),
		volume("late", "data"))
	c.awaitReady(t, nodePools, "brief")
	c.awaitReady(t, nodePools, "patient")
	alone := func(name, pool string) []string {
		return []string{"nodeSelector: {karpenter.sh/nodepool: " + pool + "}", strings.Replace(apart("x"), "matchLabels: {app: x}", "matchExpressions: [{key: app, operator: Exists}]", 1)}
	}
	with := func(text, old, new string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("%q is not in %s", old, text)
		}
		return strings.Replace(text, old, new, 1)
	}
	ownGrace := func(text string) string { // of guarded's pods
		return with(text, "terminationGracePeriodSeconds: 20", fmt.Sprintf("terminationGracePeriodSeconds: %d", own))
	}
	house := watchPods(t, c.kube, "late")
	c.apply(t,
		ownGrace(guarded("late", "blocked", 1, 1, "1", alone("blocked", "brief")...)),
		ownGrace(with(guarded("late", "shielded", 1, 0, "1", alone("shielded", "brief")...), "labels: {app: shielded}}", "labels: {app: shielded}, annotations: {karpenter.sh/do-not-disrupt: \"true\"}}")),
		ownGrace(guarded("late", "silent", 1, 0, "1", alone("silent", "brief")...)),
		guarded("late", "stored", 1, 0, "1", append(alone("stored", "patient"), "volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]")...))
	c.awaitRunning(t, "late", 4, 2*time.Minute)
	await(t, time.Minute, "the claims are initialised", c.settled(t))
	await(t, time.Minute, "the volume is attached", func(ctx context.Context) string {
		all, err := c.kube.StorageV1().VolumeAttachments().List(ctx, metav1.ListOptions{})
		if err != nil || len(all.Items) != 1 || !all.Items[0].Status.Attached {
			return fmt.Sprintf("%v %+v", err, all)
		}
		return ""
	})

	claims, names := map[string]model.Claim{}, map[string]string{}
	for _, app := range []string{"blocked", "shielded", "silent", "stored"} {
		names[app] = c.podOf(t.Context(), "late", app)
		for _, claim := range c.ledger(t).Claims {
			if claim.NodeName == house.home(names[app]) {
				claims[app] = claim
			}
		}
	}
	if len(claims) != 4 {
		t.Fatalf("claims %+v of pods %v", claims, names)
	}
	c.Instances.Hang(claims["silent"].InstanceID)
	began := time.Now()
	for _, claim := range claims {
		c.deleteClaim(t, claim)
	}
	deadline := began.Truncate(time.Second).Add(grace * time.Second)
	await(t, 2*time.Minute, "machines end at their deadline", func(ctx context.Context) string {
		for _, app := range []string{"blocked", "shielded", "silent"} {
			claim := claims[app]
			i, _ := c.EC2.Lookup(claim.InstanceID)
			ends := i.State == "shutting-down" || i.State == "terminated"
			if ends && app == "silent" && time.Now().Before(deadline) {
				t.Fatalf("the machine whose kubelet is silent ends %s before the deadline", time.Until(deadline))
			}
			if left := c.isGone(ctx, t, claim.Name, claim.NodeName, claim.InstanceID); left != "" {
				return app + ": " + left
			}
		}
		return ""
	})
	took := time.Since(began)
	timed.Within(t, "their machines end", took, (grace+25)*time.Second)
	stored := claims["stored"]
	if i, _ := c.EC2.Lookup(stored.InstanceID); i.State != "running" || len(house.on(stored.NodeName)) != 0 {
		t.Errorf("the machine of the volume is %s with %d pods", i.State, len(house.on(stored.NodeName)))
	}
	log := audit(t, c.Kube, began)
	for _, app := range []string{"blocked", "shielded"} { // the silent one's pod was evicted, and nobody ends it
		force := c.forced(t, log, names[app], deadline.Add(-own*time.Second))
		t.Logf("%s: deleted %s after the end was asked for", app, force.Sub(began).Round(100*time.Millisecond))
	}

	detach := time.Now()
	attacher.SetDelays(0, 0)
	await(t, 2*time.Minute, "the last machine ends", func(ctx context.Context) string {
		return c.isGone(ctx, t, stored.Name, stored.NodeName, stored.InstanceID)
	})
	t.Logf("three nodes gone %s after the end was asked for, with a grace of %d s; the fourth %s after its volume came off", took.Round(100*time.Millisecond), grace, time.Since(detach).Round(100*time.Millisecond))
	c.awaitRunning(t, "late", 4, 2*time.Minute)
	await(t, time.Minute, "the claims are initialised", c.settled(t))
	c.oneEach(t)
	c.usageIsOf(t)
	audit(t, c.Kube, began)
}

// forced returns when the interruption function deleted a pod, and fails the test where it did so too early, with no UID or
// with no grace, or somebody's eviction was granted.
func (c *cluster) forced(t *testing.T, log kube.Audit, pod string, from time.Time) time.Time {
	t.Helper()
	for _, entry := range log.Evictions() {
		if entry.Name == pod && entry.Done() {
			t.Errorf("it was evicted: %s", entry.String())
		}
	}
	for _, entry := range log.By("joiner:interruption").PodDeletions() {
		if entry.Name != pod {
			continue
		}
		if entry.Received.Before(from) || entry.UID() == "" || entry.GraceSeconds() == nil || *entry.GraceSeconds() < 1 {
			t.Errorf("deleted before %s, or without UID or grace: %s", from.Format("15:04:05.000"), entry.String())
		}
		return entry.Received
	}
	t.Errorf("pod %s was not deleted", pod)
	return time.Time{}
}

// volume is a PersistentVolume of EBS and the claim it is bound to.
func volume(namespace, name string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: PersistentVolume
metadata: {name: %[2]s}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  claimRef: {namespace: %[1]s, name: %[2]s}
  csi: {driver: ebs.csi.aws.com, volumeHandle: vol-0123456789abcdef0}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %[2]s, namespace: %[1]s}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", volumeName: %[2]s, resources: {requests: {storage: 1Gi}}}
`, namespace, name)
}
