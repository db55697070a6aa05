package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/access"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/local/kube"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// idle are rights that the main job, an interruption and a consolidation do not take, and what they are for: statement and action,
// behind the role's function and whether it is the function's own ("region") or the one it has in a cluster ("cluster").
var idle = map[string]string{
	"cluster adopt NameIntents ec2:CreateTags":                      takeOver,
	"cluster adopt ReadEC2 ec2:DescribeInstances":                   takeOver,
	"cluster catalog ReadProfiles iam:GetInstanceProfile":           "a profile is there before this function makes it: an earlier try was cut off",
	"cluster catalog ReadEC2 ec2:DescribeCapacityReservations":      named,
	"cluster catalog ReadEC2 ec2:DescribePlacementGroups":           named,
	"cluster catalog ReadEC2 ec2:DescribeInstances":                 "claims whose machines do not show up are compared with EC2",
	"cluster provision ReadEC2 ec2:DescribeAvailabilityZones":       readFirst,
	"cluster provision ReadEC2 ec2:DescribeInstanceTypeOfferings":   readFirst,
	"cluster provision ReadEC2 ec2:DescribeInstanceTypes":           readFirst,
	"cluster provision ReadEC2 ec2:DescribeSpotPriceHistory":        readFirst,
	"cluster provision ReadPrices pricing:GetProducts":              readFirst,
	"region provision KnowWhatIsMissing s3:ListBucket":              readFirst,
	"cluster disrupt ReadStopAlarms cloudwatch:DescribeAlarms":      "NodePools that name alarms: TestM87AnAlarm… does",
	"cluster provision ReadEC2 ec2:DescribeCapacityReservations":    named,
	"cluster provision ReadEC2 ec2:DescribePlacementGroups":         named,
	"cluster provision ReadEC2 ec2:DescribeLaunchTemplates":         oldTemplates,
	"cluster provision DeleteOwnTemplates ec2:DeleteLaunchTemplate": oldTemplates,
	"cluster watcher PublishSnapshots s3:GetObject":                 "a snapshot is there already: an earlier try's answer was lost, and its digest is compared",
	"cluster watcher ReadPrices s3:GetObject":                       "admission says what a pool's types cost",
	"region disrupt KnowWhatIsMissing s3:ListBucket":                "without it S3 does not say that a snapshot is gone",
	"region provision UseLedger dynamodb:DeleteItem":                "a mark on what could not be bought is lifted when it could be",
}

// idleStatements are statements of several roles of which no right is taken, and what they are for.
var idleStatements = map[string]string{
	"WriteOwnLogs":       "Lambda writes what a function prints, with the function's rights; its model hands that to the test",
	"FindRelayedAnswers": relayed,
	"ReadRelayedAnswers": relayed,
}

// idleUnder are statements and actions that nothing asks for where AWS is read the other way, and the doubt that is about.
var idleUnder = map[string]string{
	"AskForImages ec2:CreateFleet":           reading.CreateFleetResources,
	"LaunchFromOwnTemplates ec2:CreateFleet": reading.CreateFleetResources,
	"LaunchInto ec2:CreateFleet":             reading.CreateFleetResources,
	"LaunchWithOwnParts ec2:CreateFleet":     reading.CreateFleetResources,
}

// What several rights are for.
const (
	takeOver     = "people who take a cluster over from Karpenter: TestS31 does"
	readFirst    = "provision reads what EC2 sells where the catalog function, which runs at the same time, has not yet: TestSE01ProgramsNeedWhatShips"
	named        = "node classes that name some"
	relayed      = "clusters in relay mode"
	oldTemplates = "templates nobody has launched from for long are deleted"
)

// TestEveryRightIsUsedAndNoneIsMissing has the functions of the templates do the main job, an interruption and a consolidation, and
// end everything, with exactly the rights of the templates: no call is denied, and no right is there for nothing.
func TestEveryRightIsUsedAndNoneIsMissing(t *testing.T) {
	t.Parallel()
	c := start(t, stack.Options{Adopters: true, KubeOptions: kube.Options{AuditPolicy: kube.AuditEnds}})
	c.quicken(t)

	// 0. A class that provision meets before catalog has looked at it: the test holds catalog's lease until then.
	release := c.holdCatalog(t)
	c.apply(t, namespace("work"), class("default"), pool("default", "default", strings.Replace(twoSizes, "[on-demand]", "[spot]", 1), nil, []string{giving(patience, "50%")}))
	await(t, time.Minute, "provision resolves the class by itself", func(context.Context) string {
		for _, g := range c.Cloud.Policies.Unused() {
			if right(g) == "cluster provision ReadImageParameters ssm:GetParameter" {
				return "provision has not read an image's parameter"
			}
		}
		return ""
	})
	release()
	if _, err := c.Resolve(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.awaitReady(t, nodePools, "default")

	// 1. The main job.
	c.apply(t, guarded("work", "web", 24, 18, fmt.Sprintf("%dm", sixHundred)))
	c.awaitRunning(t, "work", 24, 3*time.Minute)
	await(t, time.Minute, "the claims are initialised", c.settled(t))

	// 2. An interruption, and an instance AWS Health names.
	warned := c.running()[0].ID
	if err := c.Health(t.Context(), "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED", c.running()[1].ID); err != nil {
		t.Fatal(err)
	}
	if !c.EC2.Interrupt(warned) {
		t.Fatalf("%s is no spot instance", warned)
	}
	await(t, 3*time.Minute, "the interrupted machine is gone and its pods run elsewhere", func(ctx context.Context) string {
		if i, _ := c.EC2.Lookup(warned); i.State != ec2.Terminated {
			return fmt.Sprintf("%s is %s", warned, i.State)
		}
		if missing := c.appRuns(ctx, "work", "web", 24); missing != "" {
			return missing
		}
		return c.settled(t)(ctx)
	})

	// 3. A consolidation.
	before := len(c.running())
	c.apply(t, guarded("work", "web", 5, 3, fmt.Sprintf("%dm", sixHundred))) // of which two may leave their nodes at a time
	c.awaitLeft(t, "work", 5)
	await(t, 4*time.Minute, "half of the machines are given back", func(ctx context.Context) string {
		if n := len(c.running()); n > before/2 {
			return fmt.Sprintf("%d machines of %d", n, before)
		}
		return c.settled(t)(ctx)
	})

	// 4. The end of everything: pods, pool and class.
	if err := c.kube.CoreV1().Namespaces().Delete(t.Context(), "work", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, 2*time.Minute, "no machine is left", func(context.Context) string {
		for _, i := range c.running() {
			return i.ID + " runs"
		}
		return ""
	})
	for _, object := range []struct{ resource, name string }{{"nodepools", "default"}, {"ec2nodeclasses", "default"}} {
		resource := nodePools
		if object.resource == "ec2nodeclasses" {
			resource = classes
		}
		if err := c.dynamic.Resource(resource).Delete(t.Context(), object.name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		await(t, time.Minute, object.resource+" are gone", func(ctx context.Context) string {
			list, err := c.dynamic.Resource(resource).List(ctx, metav1.ListOptions{})
			if err != nil {
				return err.Error()
			}
			if len(list.Items) > 0 {
				return "there is " + list.Items[0].GetName()
			}
			return ""
		})
	}
	c.noRightIsIdle(t)
}

// holdCatalog takes the lease of catalog, so that it does not look at the cluster's classes, and returns how to give it back.
func (c *cluster) holdCatalog(t *testing.T) (release func()) {
	t.Helper()
	var fence model.Fence
	await(t, time.Minute, "the lease of catalog is free", func(ctx context.Context) string {
		now := time.Now().Unix()
		var err error
		if fence, err = c.Ledger.AcquireLease(ctx, c.Cluster.Name, model.LeaseCatalog, "test", now, now+600); err != nil {
			return err.Error()
		}
		return ""
	})
	return func() {
		if err := c.Ledger.Release(t.Context(), fence); err != nil {
			t.Fatal(err)
		}
	}
}

// noRightIsIdle fails the test for every right that nobody has used and that is not in the list, and for what is in the list and is
// used, or no right at all.
func (c *cluster) noRightIsIdle(t *testing.T) {
	t.Helper()
	all, unused := map[string]bool{}, map[string]bool{}
	for _, g := range c.Cloud.Policies.Grants() {
		all[right(g)] = true
	}
	for _, g := range c.Cloud.Policies.Unused() {
		unused[right(g)] = true
	}
	for _, r := range slices.Sorted(maps.Keys(unused)) {
		statement := strings.Fields(r)[2:]
		if doubt := idleUnder[strings.Join(statement, " ")]; doubt != "" && c.Options.Readings.Takes(doubt) {
			continue
		}
		if idle[r] == "" && idleStatements[statement[0]] == "" {
			t.Errorf("nobody uses %s; take it away in infra/cdk, or say here what it is for", r)
		}
	}
	for _, r := range slices.Sorted(maps.Keys(idle)) {
		switch {
		case !all[r]:
			t.Errorf("%s is no right any more; take it from the list", r)
		case !unused[r]:
			t.Logf("%s is used after all", r)
		}
	}
}

// right is a grant as the list writes it, e.g. "region catalog SendHints sqs:SendMessage".
func right(g access.Grant) string {
	name, level := g.Role[strings.LastIndexByte(g.Role, '/')+1:], "region"
	name = strings.TrimPrefix(name, "joiner-")
	if rest, ok := strings.CutPrefix(name, "joiner-demo-"); ok {
		name, level = rest, "cluster"
	}
	for _, part := range []string{"us-west-2-", "-us-west-2"} {
		name = strings.Replace(name, part, "", 1)
	}
	return level + " " + name + " " + g.Sid + " " + g.Action
}
