package ekscluster

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/api/awsv1"
	"github.com/joiner-sh/joiner/shared/api/condition"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// classObject returns a class as Configuration shows it.
func classObject(t *testing.T, c *Client, name string) (model.ClassObject, bool) {
	t.Helper()
	config, err := c.Configuration(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(config.Classes, func(o model.ClassObject) bool { return o.Class.Name == name })
	if i < 0 {
		return model.ClassObject{}, false
	}
	return config.Classes[i], true
}

func TestConfigurationShowsPoolsAndClassesToTheCatalog(t *testing.T) {
	c, name := connectAs(t, catalogRole), unique("configured")
	apply(t, class, name)
	apply(t, pool, name)
	config, err := c.Configuration(t.Context())
	if err != nil || !slices.ContainsFunc(config.Pools, func(p model.Pool) bool { return p.Name == name && p.Template.ClassName == "default" && p.Hash != "" }) {
		t.Errorf("%+v %v", config.Pools, err)
	}
	object, there := classObject(t, c, name)
	if !there || object.Finalized || object.Class.UID == "" || object.Class.Role != "nodes" || object.Class.Hash == "" {
		t.Errorf("%+v", object)
	}
}

func TestCT04FinalizerKeepsAClassUntilItIsTakenOff(t *testing.T) {
	c, name := connectAs(t, catalogRole), unique("marked")
	apply(t, class, name)
	object, _ := classObject(t, c, name)
	mark := model.ClassPatch{Name: name, UID: object.Class.UID, Finalized: true, Annotations: map[string]string{model.AnnotationClassHash: "7", model.AnnotationClassHashVersion: model.ClassHashVersion}}
	for range 2 {
		if err := c.PatchClass(t.Context(), mark); err != nil {
			t.Fatal(err)
		}
	}
	marked, _ := classObject(t, c, name)
	if !marked.Finalized || marked.Annotations[model.AnnotationClassHash] != "7" || marked.Class.Generation != object.Class.Generation {
		t.Errorf("%+v", marked)
	}
	if version := readClass(t, c, name).ResourceVersion; c.PatchClass(t.Context(), mark) != nil || readClass(t, c, name).ResourceVersion != version {
		t.Error("the same mark is written again")
	}
	if err := c.custom.Resource(awsv1.EC2NodeClassResource).Delete(t.Context(), name, metav1.DeleteOptions{}); err == nil {
		t.Error("the catalogue may delete classes")
	}
	everything, err := New(plane(t).Config(), clusterName, "us-west-2")
	if err != nil {
		t.Fatal(err)
	}
	if err := everything.custom.Resource(awsv1.EC2NodeClassResource).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waiting, there := classObject(t, c, name)
	if !there || waiting.Class.DeletedUnix == 0 {
		t.Fatalf("%+v", waiting)
	}
	report(t, c, model.Report{Classes: []model.ClassReport{{Class: name, UID: object.Class.UID, Waiting: "2 NodeClaims still use it"}}})
	if got := awsv1.Conditions(true).For(readClass(t, c, name), time.Now()).Get(ConditionTerminating); got.Status != metav1.ConditionTrue || got.Reason != ReasonWaiting || !strings.Contains(got.Message, "2 NodeClaims") {
		t.Errorf("%+v", got)
	}
	mark.Finalized = false
	if err := c.PatchClass(t.Context(), mark); err != nil {
		t.Fatal(err)
	}
	if _, there := classObject(t, c, name); there {
		t.Error("the class is there without its finalizer")
	}
	if err := c.PatchClass(t.Context(), mark); !fault.Is(err, fault.NotFound) {
		t.Errorf("a class that is gone: %v", err)
	}
}

// NC-21: one False makes Ready False, one Unknown Unknown, and what is said of an older generation is not True.
func TestNC21ReadyFollowsItsConditionsAtTheCurrentGeneration(t *testing.T) {
	c, name := connectAs(t, catalogRole), unique("derived")
	apply(t, class, name)
	object := readClass(t, c, name)
	ready := func(problems ...model.ClassProblem) metav1.Condition {
		t.Helper()
		report(t, c, model.Report{Classes: []model.ClassReport{{Class: name, UID: string(object.UID), Status: model.ClassStatus{
			ObservedGeneration: object.Generation, InstanceProfile: "p", Problems: problems,
			Subnets: []model.Subnet{{ID: "subnet-1", Zone: "us-west-2a"}}, SecurityGroups: []model.SecurityGroup{{ID: "sg-1"}}, Images: []model.Image{{ID: "ami-1", Deprecated: true}},
			Reservations: []model.Reservation{{ID: "cr-1", InstanceType: "m5.large", Zone: "us-west-2a", Owner: "123456789012", MatchCriteria: "open", EndUnix: 1_900_000_000}},
		}}}})
		return awsv1.Conditions(true).For(readClass(t, c, name), time.Now()).Get(condition.Ready)
	}
	problem := model.ClassProblem{Condition: awsv1.ConditionValidationSucceeded, Reason: "CreateFleetAuthCheckFailed", Message: "no"}
	unknown := model.ClassProblem{Condition: awsv1.ConditionSubnetsReady, Reason: "ResolutionFailed", Message: "down", Unknown: true}
	if got := ready(problem, unknown); got.Status != metav1.ConditionFalse || got.Reason != condition.ReasonUnhealthy {
		t.Errorf("one False: %+v", got)
	}
	if got := ready(unknown); got.Status != metav1.ConditionUnknown || got.Reason != condition.ReasonReconciling {
		t.Errorf("one Unknown: %+v", got)
	}
	if got := ready(); got.Status != metav1.ConditionTrue {
		t.Errorf("none: %+v", got)
	}
	shown := readClass(t, c, name)
	set := awsv1.Conditions(true).For(shown, time.Now())
	for kind, word := range map[string]string{
		awsv1.ConditionSubnetsReady: "1 subnet by spec.subnetSelectorTerms in us-west-2a", awsv1.ConditionAMIsReady: "1 of them deprecated",
		awsv1.ConditionInstanceProfileReady: "p holds spec.role nodes", awsv1.ConditionSecurityGroupsReady: "1 security group by",
	} {
		if got := set.Get(kind).Message; !strings.Contains(got, word) {
			t.Errorf("%s says %q, want %q", kind, got, word)
		}
	}
	if r := shown.Status.CapacityReservations; len(r) != 1 || r[0].ID != "cr-1" || r[0].EndTime == nil || r[0].State != awsv1.ReservationActive {
		t.Errorf("%+v", r)
	}
	apply(t, class+"  tags: {a: b}\n", name)
	if set := awsv1.Conditions(true).For(readClass(t, c, name), time.Now()); set.IsTrue(condition.Ready) || set.Get(condition.Ready).Status == metav1.ConditionTrue {
		t.Error("ready at a generation nobody has looked at")
	}
}

func TestNC27ClaimObjectFollowsDriftHashesAndTheEndOfItsReservation(t *testing.T) {
	maker, c := connect(t), connectAs(t, catalogRole)
	claim := launched(unique("drifted"))
	claim.CapacityType, claim.Reservation = model.Reserved, "cr-1"
	claim.Requirements = nil
	claim.Labels = map[string]string{"team": "a", model.LabelReservationID: "cr-1", model.LabelReservationType: "default", model.LabelInterruptible: "false"}
	claim.ObjectUID = put(t, maker, claim)
	claim.Drift, claim.DriftMessage, claim.DriftUnix = "AMIDrift", "another image", 1_795_176_300
	claim.Annotations = map[string]string{model.AnnotationClassHash: "9", model.AnnotationClassHashVersion: model.ClassHashVersion, model.AnnotationPoolHash: "2"}
	claim.CapacityType, claim.Reservation = model.OnDemand, ""
	claim.Labels = map[string]string{"team": "a"}
	put(t, c, claim)
	shown := readClaim(t, c, claim.Name)
	if got := conditionOf(shown, apiv1.ConditionDrifted); got.Status != metav1.ConditionTrue || got.Reason != "AMIDrift" || got.Message != "another image" || got.LastTransitionTime.Unix() != 1_795_176_300 {
		t.Errorf("%+v", got)
	}
	if shown.Annotations[model.AnnotationClassHash] != "9" || shown.Annotations[model.AnnotationPoolHash] != "2" {
		t.Errorf("%v", shown.Annotations)
	}
	if shown.Labels[model.LabelCapacityType] != model.OnDemand || shown.Labels[model.LabelReservationID] != "" || shown.Labels[model.LabelInterruptible] != "" || shown.Labels["team"] != "a" {
		t.Errorf("%v", shown.Labels)
	}
	claim.Drift, claim.DriftMessage, claim.DriftUnix = "", "", 0
	put(t, c, claim)
	again := readClaim(t, c, claim.Name)
	if got := conditionOf(again, apiv1.ConditionDrifted); got.Type != "" {
		t.Errorf("%+v", got)
	}
	put(t, c, claim)
	if readClaim(t, c, claim.Name).ResourceVersion != again.ResourceVersion {
		t.Error("the same is written again")
	}
}
