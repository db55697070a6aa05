package ekscluster

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// objectNamed returns the NodeClaim of a name as lists show it.
func objectNamed(t *testing.T, c *Client, name string) model.Object {
	t.Helper()
	snapshot, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(snapshot.Claims, func(o model.Object) bool { return o.Name == name })
	if at < 0 {
		t.Fatalf("no NodeClaim %s is listed", name)
	}
	return snapshot.Claims[at]
}

// F107: a NodeClaim that people make is read as it says, completed with what became of it under its own UID, and held by our
// finalizer; nothing is asked for by it any more.
func TestF107ClaimMadeByHandIsReadShownAndHeld(t *testing.T) {
	c, name := connect(t), unique("hand")
	apply(t, `apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata:
  name: %s
  labels: {team: blue}
  annotations: {example.com/note: hello, karpenter.k8s.aws/tagged: "true", karpenter.sh/do-not-disrupt: "true"}
spec:
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
  requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]
  resources: {requests: {cpu: 1500m, memory: 2Gi}}
  taints: [{key: dedicated, value: blue, effect: NoSchedule}]
  startupTaints: [{key: starting, effect: NoExecute}]
  terminationGracePeriod: 10m
`, name)
	object := objectNamed(t, c, name)
	if !object.Manual || !object.Bare {
		t.Errorf("listed as %+v", object)
	}
	standalone, err := c.StandaloneClaim(t.Context(), object)
	if err != nil {
		t.Fatal(err)
	}
	if standalone.CreatedUnix == 0 {
		t.Error("nobody knows when it was made")
	}
	standalone.CreatedUnix = 0
	want := model.StandaloneClaim{Name: name, UID: object.UID, Requests: model.Resources{"cpu": 1500, "memory": 2 << 30}, Template: model.Template{
		Labels: map[string]string{"team": "blue"}, Annotations: map[string]string{"example.com/note": "hello", "karpenter.sh/do-not-disrupt": "true"},
		Requirements: []model.Requirement{{Key: "kubernetes.io/arch", Operator: model.In, Values: []string{"amd64"}}},
		Taints:       []model.Taint{{Key: "dedicated", Value: "blue", Effect: model.NoSchedule}}, StartupTaints: []model.Taint{{Key: "starting", Effect: model.NoExecute}},
		ClassGroup: "karpenter.k8s.aws", ClassKind: "EC2NodeClass", ClassName: "default", GraceSeconds: ptr(int64(600)), ExpireAfterSeconds: ptr(int64(720 * 3600)),
	}}
	if !reflect.DeepEqual(standalone, want) {
		t.Errorf("read  %+v\nwant %+v", standalone, want)
	}

	said := model.Condition{Object: name, UID: object.UID, Type: apiv1.ConditionLaunched, Status: "Unknown", Reason: "InsufficientCapacity", Message: "none"}
	if err := c.Report(t.Context(), model.Report{Claims: []model.Condition{said}}); err != nil {
		t.Fatal(err)
	}
	if got := conditionOf(readClaim(t, c, name), apiv1.ConditionLaunched); got.Status != "Unknown" || got.Reason != said.Reason || got.Message != said.Message {
		t.Errorf("condition %+v", got)
	}

	claim := launched(name)
	claim.Pool, claim.ObjectUID, claim.Labels, claim.Requirements = "", object.UID, map[string]string{"team": "blue"}, standalone.Template.Requirements
	for range 2 {
		if uid := put(t, c, claim); uid != object.UID {
			t.Fatalf("UID %s, want %s", uid, object.UID)
		}
	}
	shown := readClaim(t, c, name)
	if shown.Status.ProviderID != claim.ProviderID || conditionOf(shown, apiv1.ConditionLaunched).Status != metav1.ConditionTrue || !slices.Contains(shown.Finalizers, model.Finalizer) {
		t.Errorf("%+v %+v", shown.ObjectMeta, shown.Status)
	}
	labels := map[string]string{
		"team": "blue", model.LabelInstanceType: "m7g.large", model.LabelZone: "us-west-2a", model.LabelCapacityType: "spot", model.LabelNodeClass: "default",
	}
	for key, value := range labels {
		if shown.Labels[key] != value {
			t.Errorf("label %s is %q, want %q", key, shown.Labels[key], value)
		}
	}
	if pool, labeled := shown.Labels[model.LabelNodePool]; labeled {
		t.Errorf("it is of NodePool %q", pool)
	}
	if _, err := c.StandaloneClaim(t.Context(), object); !fault.Is(err, fault.NotFound) {
		t.Errorf("one with a machine asks for another: %v", err)
	}
	if err := c.Report(t.Context(), model.Report{Claims: []model.Condition{said}}); err != nil || conditionOf(readClaim(t, c, name), apiv1.ConditionLaunched).Status != metav1.ConditionTrue {
		t.Errorf("what was said late is believed (%v)", err)
	}
	reason := model.Condition{Object: name, UID: object.UID, Type: apiv1.ConditionDisruptionReason, Status: "True", Reason: model.ReasonEmpty, Message: "nothing runs there"}
	if err := c.Report(t.Context(), model.Report{Claims: []model.Condition{reason}}); err != nil || conditionOf(readClaim(t, c, name), reason.Type).Reason != reason.Reason {
		t.Errorf("why it is given back is not said (%v)", err)
	}
	reason.Status = ""
	for range 2 {
		if err := c.Report(t.Context(), model.Report{Claims: []model.Condition{reason}}); err != nil || conditionOf(readClaim(t, c, name), reason.Type).Type != "" {
			t.Errorf("why it was given back is still said (%v)", err)
		}
	}
	if object = objectNamed(t, c, name); object.Manual || object.Bare || object.Quiet {
		t.Errorf("listed as %+v", object)
	}
	for _, status := range []string{"True", ""} {
		quiet := model.Condition{Object: name, UID: object.UID, Type: model.ConditionConsolidatable, Status: status, Reason: model.ConditionConsolidatable}
		if err := c.Report(t.Context(), model.Report{Claims: []model.Condition{quiet}}); err != nil {
			t.Fatal(err)
		}
		if got := conditionOf(readClaim(t, c, name), quiet.Type); string(got.Status) != status || objectNamed(t, c, name).Quiet != (status == "True") {
			t.Errorf("whether its node is quiet is %q, want %q, and listed as %+v", got.Status, status, objectNamed(t, c, name))
		}
	}
	// M9: the time of the last pod event is written together with conditions, and never set back.
	quiet := model.Condition{Object: name, UID: object.UID, Type: model.ConditionConsolidatable, Status: "True",
		Reason: model.ConditionConsolidatable}
	for _, at := range []int64{1767323045, 1767323000} {
		event := model.PodEvent{Claim: name, UID: object.UID, AtUnix: at}
		if err := c.Report(t.Context(), model.Report{Claims: []model.Condition{quiet},
			PodEvents: []model.PodEvent{event}}); err != nil {
			t.Fatal(err)
		}
		if got := objectNamed(t, c, name); got.PodEventUnix != 1767323045 || !got.Quiet || readClaim(t, c,
			name).Status.LastPodEventTime.Unix() != 1767323045 {
			t.Errorf("after an event at %d it is listed as %+v", at, got)
		}
	}
}

// F107: what nothing can be launched for names field, value and remedy.
func TestF107BadClaimMadeByHandNamesFieldValueAndRemedy(t *testing.T) {
	c := connect(t)
	for field, want := range map[string]string{
		`requirements: [{key: karpenter.sh/nodepool, operator: In, values: [general]}]`:            `spec.requirements[0].key: "karpenter.sh/nodepool"`,
		`requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [cheap]}]`:         `spec.requirements[0].values: "cheap"`,
		"requirements: []\n  resources: {requests: {cpu: \"-1\"}}":                                 `spec.resources.requests[cpu]: "-1"`,
		"requirements: []\n  taints: [{key: a, effect: NoSchedule}, {key: a, effect: NoSchedule}]": `spec.taints[1]: "a:NoSchedule"`,
	} {
		name := unique("bad")
		apply(t, `apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: %s}
spec:
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
  %s
`, name, field)
		standalone, err := c.StandaloneClaim(t.Context(), objectNamed(t, c, name))
		if err != nil || len(standalone.Invalid) != 1 || !strings.HasPrefix(standalone.Invalid[0], want) || strings.Contains(standalone.Invalid[0], "this NodePool") {
			t.Errorf("%s: %q, %v", field, standalone.Invalid, err)
		}
	}
}

// F107: one that is gone, being deleted, or another asks for nothing; one that people say is of a pool, for nothing that can be had.
func TestF107NobodyAsksAnyMore(t *testing.T) {
	c, name := connect(t), unique("gone")
	text := `apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: %s%s}
spec:
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
  requirements: []
`
	apply(t, text, name, "")
	object := objectNamed(t, c, name)
	other := object
	other.UID = "another"
	apply(t, text, name+"-pooled", ", labels: {karpenter.sh/nodepool: general}")
	apply(t, text, name+"-held", ", finalizers: [example.com/hold]")
	held := objectNamed(t, c, name+"-held")
	resource := adminOf(t, apiv1.NodeClaimResource)
	for _, gone := range []string{name + "-held"} {
		if err := resource.Delete(t.Context(), gone, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	pooled := objectNamed(t, c, name+"-pooled")
	if standalone, err := c.StandaloneClaim(t.Context(), pooled); err != nil || len(standalone.Invalid) != 1 ||
		!strings.HasPrefix(standalone.Invalid[0], `metadata.labels[karpenter.sh/nodepool]: "karpenter.sh/nodepool": `) || strings.Contains(standalone.Invalid[0], "NodePool's name") {
		t.Errorf("one of a pool: %+v, %v", standalone, err)
	}
	for _, o := range []model.Object{other, held, {Name: name + "-never", UID: "u"}} {
		if standalone, err := c.StandaloneClaim(t.Context(), o); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s asks for %+v (%v)", o.Name, standalone, err)
		}
	}
}
