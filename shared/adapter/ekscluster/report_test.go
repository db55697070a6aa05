package ekscluster

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/api/awsv1"
	"github.com/joiner-sh/joiner/shared/api/condition"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/model"
)

const pool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: %s}
spec: {template: {spec: {requirements: [], nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}}}
`

const class = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: %s}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: prod}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: prod}}]
`

func readPool(t *testing.T, c *Client, name string) *apiv1.NodePool {
	t.Helper()
	untyped, err := c.custom.Resource(apiv1.NodePoolResource).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := toTyped[apiv1.NodePool](untyped)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func readClass(t *testing.T, c *Client, name string) *awsv1.EC2NodeClass {
	t.Helper()
	untyped, err := c.custom.Resource(awsv1.EC2NodeClassResource).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := toTyped[awsv1.EC2NodeClass](untyped)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func report(t *testing.T, c *Client, r model.Report) {
	t.Helper()
	if err := c.Report(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func TestReportWritesPoolConditionsAndStatusInOne(t *testing.T) {
	c, name := connect(t), unique("reported")
	apply(t, pool, name)
	uid := string(readPool(t, c, name).UID)
	r := model.Report{
		Pools: []model.Condition{
			{Object: name, UID: uid, Type: "ValidationSucceeded", Status: "True", Reason: "ValidationSucceeded"},
			{Object: name, UID: uid, Type: "NodeClassReady", Status: "False", Reason: "NodeClassNotFound", Message: "create it"},
		},
		PoolStatus: []model.PoolStatus{{Pool: name, UID: uid, Nodes: 2, Resources: model.Resources{"cpu": 4000, "memory": 16 << 30, "nodes": 2}}},
	}
	report(t, c, r)
	got := readPool(t, c, name)
	set := apiv1.NodePoolConditions.For(got, time.Now())
	if root := set.Get(condition.Ready); root.Status != metav1.ConditionFalse || !strings.Contains(root.Message, "create it") {
		t.Errorf("Ready: %+v", root)
	}
	if got.Status.Nodes != 2 || got.Status.Resources.Cpu().String() != "4" || got.Status.Resources.Memory().String() != "16Gi" {
		t.Errorf("status: %+v", got.Status)
	}
	report(t, c, r)
	if again := readPool(t, c, name); again.ResourceVersion != got.ResourceVersion {
		t.Error("the same report was written again")
	}
	r.Pools[1].Status, r.Pools[1].Reason, r.Pools[1].Message = "True", "NodeClassReady", ""
	r.PoolStatus[0].Resources = model.Resources{"cpu": 0}
	report(t, c, r)
	got = readPool(t, c, name)
	if !apiv1.NodePoolConditions.For(got, time.Now()).IsTrue(condition.Ready) {
		t.Errorf("conditions: %+v", got.Status.Conditions)
	}
	if _, ok := got.Status.Resources["memory"]; ok {
		t.Errorf("what is gone from the report is still there: %v", got.Status.Resources)
	}
}

// TestU43APoolTellsWhenItBecomesReadyAndWhenItStops: once each, with what stops it.
func TestU43APoolTellsWhenItBecomesReadyAndWhenItStops(t *testing.T) {
	c, name := connect(t), unique("turning")
	apply(t, pool, name)
	uid := string(readPool(t, c, name).UID)
	r := model.Report{Pools: []model.Condition{
		{Object: name, UID: uid, Type: "ValidationSucceeded", Status: "True", Reason: "ValidationSucceeded"},
		{Object: name, UID: uid, Type: "NodeClassReady", Status: "True", Reason: "NodeClassReady"},
		{Object: name, UID: uid, Type: "NodeRegistrationHealthy", Status: "True", Reason: "NodeRegistrationHealthy"},
	}}
	hasEvents := func(want ...string) {
		t.Helper()
		var got []string
		for _, e := range events(t, "default", name) {
			if e.InvolvedObject.Kind != apiv1.KindNodePool || string(e.InvolvedObject.UID) != uid || e.Count != 1 {
				t.Errorf("%+v", e)
			}
			got = append(got, e.Type+" "+e.Reason+": "+e.Message)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("told are %q, not %q", got, want)
		}
	}
	report(t, c, r)
	report(t, c, r)
	const ready = "Normal Ready: nodes may be launched from this NodePool"
	hasEvents(ready)
	r.Pools[1].Status, r.Pools[1].Reason = "Unknown", "NodeClassReadinessUnknown"
	report(t, c, r)
	hasEvents(ready)
	r.Pools[1].Status, r.Pools[1].Reason, r.Pools[1].Message = "False", "NodeClassNotFound", "create it"
	report(t, c, r)
	set := apiv1.NodePoolConditions.For(readPool(t, c, name), time.Now())
	hasEvents(ready, "Warning NotReady: "+set.Get(condition.Ready).Message)
}

// M9, M84: a NodePool shows the generation of its class and how many nodes are current, by the generation they were
// counted by; counts of another generation than its own are not shown.
func TestM84ReportShowsTheRollout(t *testing.T) {
	c, name := connect(t), unique("rollout")
	apply(t, pool, name)
	object := readPool(t, c, name)
	status := model.PoolStatus{Pool: name, UID: string(object.UID), Nodes: 3, ClassGeneration: 4,
		Rollout: model.PoolRollout{Generation: object.Generation, Current: 1, Drifted: 1, Replacing: 1}}
	report(t, c, model.Report{PoolStatus: []model.PoolStatus{status}})
	got := readPool(t, c, name)
	want := apiv1.NodePoolRollout{ObservedGeneration: object.Generation, Current: 1, Drifted: 1, Replacing: 1}
	if got.Status.NodeClassObservedGeneration != 4 || got.Status.Rollout == nil || *got.Status.Rollout != want {
		t.Errorf("status: %+v", got.Status)
	}
	set := apiv1.NodePoolConditions.For(got, time.Now())
	if said := set.Get(model.ConditionRolledOut); said.Status != metav1.ConditionFalse ||
		said.ObservedGeneration != object.Generation {
		t.Errorf("%+v", said)
	}
	status.ClassGeneration, status.Rollout = 0, model.PoolRollout{Generation: object.Generation - 1, Current: 3}
	report(t, c, model.Report{PoolStatus: []model.PoolStatus{status}})
	if got = readPool(t, c, name); got.Status.NodeClassObservedGeneration != 4 || *got.Status.Rollout != want {
		t.Errorf("counts of another generation are shown: %+v", got.Status)
	}
	status.Rollout.Generation = object.Generation
	report(t, c, model.Report{PoolStatus: []model.PoolStatus{status}})
	got = readPool(t, c, name)
	if set = apiv1.NodePoolConditions.For(got, time.Now()); !set.IsTrue(model.ConditionRolledOut) ||
		got.Status.Rollout.Current != 3 {
		t.Errorf("status: %+v", got.Status)
	}
}

func TestReportShowsWhatAClassResolvesTo(t *testing.T) {
	c, name := connect(t), unique("resolved")
	apply(t, class, name)
	object := readClass(t, c, name)
	resolved := model.ClassStatus{
		ObservedGeneration: object.Generation, InstanceProfile: "nodes",
		Subnets: []model.Subnet{{ID: "subnet-1", Zone: "us-west-2a", ZoneID: "usw2-az1"}}, SecurityGroups: []model.SecurityGroup{{ID: "sg-1"}},
		Images: []model.Image{{ID: "ami-1", Requirements: []model.Requirement{{Key: "kubernetes.io/arch", Operator: model.In, Values: []string{"arm64"}}}}, {ID: "ami-2"}},
	}
	r := model.Report{Classes: []model.ClassReport{{Class: name, UID: string(object.UID), Status: resolved}}}
	report(t, c, r)
	got := readClass(t, c, name)
	if !awsv1.Conditions(true).For(got, time.Now()).IsTrue(condition.Ready) || got.Status.Subnets[0].Zone != "us-west-2a" || got.Status.AMIs[0].ID != "ami-1" || got.Status.InstanceProfile != "nodes" {
		t.Errorf("got %+v", got.Status)
	}

	r.Classes[0].Status.Subnets = nil
	r.Classes[0].Status.Problems = []model.ClassProblem{
		{Condition: "SubnetsReady", Reason: "SubnetsNotFound", Message: "tag one"}, {Condition: "SubnetsReady", Reason: "Second", Message: "not told"},
		{Condition: "AMIsReady", Reason: "AMINotFound", Message: "try again", Unknown: true},
	}
	report(t, c, r)
	got = readClass(t, c, name)
	set := awsv1.Conditions(true).For(got, time.Now())
	if s := set.Get("SubnetsReady"); s.Status != metav1.ConditionFalse || s.Reason != "SubnetsNotFound" || len(got.Status.Subnets) != 0 {
		t.Errorf("got %+v, subnets %v", s, got.Status.Subnets)
	}
	if set.Get("AMIsReady").Status != metav1.ConditionUnknown || set.Get(condition.Ready).Status != metav1.ConditionFalse {
		t.Errorf("got %+v", got.Status.Conditions)
	}

	r.Classes[0].Status = model.ClassStatus{ObservedGeneration: object.Generation + 1}
	report(t, c, r)
	if again := readClass(t, c, name); again.ResourceVersion != got.ResourceVersion {
		t.Error("a status resolved from another generation was written")
	}
}

func TestReportOfAnObjectThatIsGoneIsNoError(t *testing.T) {
	c, name := connect(t), unique("replaced")
	apply(t, pool, name)
	report(t, c, model.Report{
		Pools:   []model.Condition{{Object: name, UID: "another", Type: "NodeClassReady", Status: "True"}, {Object: "never", UID: "x", Type: "NodeClassReady", Status: "True"}},
		Classes: []model.ClassReport{{Class: "never", UID: "x"}},
	})
	if got := readPool(t, c, name); len(got.Status.Conditions) != 0 {
		t.Errorf("the pool that took its name was written to: %+v", got.Status)
	}
}

func TestOneBadConditionStopsNoOther(t *testing.T) {
	c, name := connect(t), unique("good")
	apply(t, pool, name)
	err := c.Report(t.Context(), model.Report{Pools: []model.Condition{
		{Object: "bad", Type: "NodeClassReady", Status: "Perhaps"}, {Object: name, Type: "NodeClassReady", Status: "True"},
	}})
	if err != nil {
		t.Logf("the bad one: %v", err)
	}
	if !apiv1.NodePoolConditions.For(readPool(t, c, name), time.Now()).IsTrue("NodeClassReady") {
		t.Error("the good one was not written")
	}
}

func events(t *testing.T, namespace, object string) []corev1.Event {
	t.Helper()
	list, err := admin(t).CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + object})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// F152: the same event is not told again within some minutes, whichever process tells it; after that it is counted.
func TestF152EventsAreDeduplicatedAndCounted(t *testing.T) {
	c, name := connect(t), unique("counted")
	now := time.Now()
	c.now = func() time.Time { return now }
	r := model.Report{Events: []model.Event{{Kind: "Pod", Namespace: "default", Name: name, UID: "u", Warning: true, Reason: "FailedScheduling", Message: "too big"}}}
	report(t, c, r)
	report(t, c, r)
	got := events(t, "default", name)
	if len(got) != 1 || got[0].Count != 1 || got[0].Type != "Warning" || got[0].Message != "too big" || got[0].InvolvedObject.UID != "u" {
		t.Fatalf("got %+v", got)
	}
	now = now.Add(quietWarning)
	report(t, c, r)
	if got := events(t, "default", name); len(got) != 1 || got[0].Count != 2 || !got[0].LastTimestamp.After(got[0].FirstTimestamp.Time) {
		t.Fatalf("after the quiet time: got %+v", got)
	}
	// Another process remembers nothing, and finds the event by its name: it was reported just now, and nothing is written.
	version := events(t, "default", name)[0].ResourceVersion
	c.recent, now = newRecentEvents(), now.Add(quietWarning-10*time.Second)
	report(t, c, r)
	if got := events(t, "default", name); len(got) != 1 || got[0].Count != 2 || got[0].ResourceVersion != version {
		t.Fatalf("by another process: got %+v", got)
	}
	now = now.Add(10 * time.Second) // it waits no longer for having asked
	report(t, c, r)
	if got := events(t, "default", name); len(got) != 1 || got[0].Count != 3 {
		t.Fatalf("by another process after the quiet time: got %+v", got)
	}
	r.Events[0].Message = "too big still"
	report(t, c, r)
	if got := events(t, "default", name); len(got) != 2 {
		t.Fatalf("another message: got %d events", len(got))
	}
}

func TestEventsOfObjectsWithoutNamespaceGoToDefault(t *testing.T) {
	c := connect(t)
	name := unique(strings.Repeat("long-", 49) + "x")
	report(t, c, model.Report{Events: []model.Event{{Kind: "NodePool", Name: name, UID: "u", Reason: "Odd", Message: strings.Repeat("é", 1000)}}})
	got := events(t, "default", name)
	if len(got) != 1 || got[0].InvolvedObject.APIVersion != "karpenter.sh/v1" || len(got[0].Message) > 1024 || !strings.HasSuffix(got[0].Message, "é…") {
		t.Fatalf("got %+v", got)
	}
}

func TestTooManyEventsAreForgottenNotKept(t *testing.T) {
	reported, now := newRecentEvents(), time.Now()
	for i := range maxRecent + 10 {
		reported.note(strings.Repeat("x", i%7)+time.Duration(i).String(), now)
	}
	if n := len(reported.last); n > maxRecent {
		t.Errorf("%d are remembered, at most %d should be", n, maxRecent)
	}
}
