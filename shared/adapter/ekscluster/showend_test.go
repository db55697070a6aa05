package ekscluster

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

func TestShowEndTellsHowFarTheEndHasCome(t *testing.T) {
	c, name := connectAs(t, collectorRole), unique("ending")
	claim := launched(name)
	claim.ObjectUID = put(t, connect(t), claim)
	claim.State, claim.NodeName, claim.RegisteredUnix, claim.InitializedUnix = model.Initialized, "ip-10-0-0-1", claim.LaunchedUnix+30, claim.LaunchedUnix+40
	put(t, connect(t), claim)

	since := claim.LaunchedUnix + 1000
	claim.State, claim.FailureCode, claim.FailureMessage = model.Draining, model.EndedExpired, "it is older than 720h"
	type want struct{ drained, volumes, ending metav1.ConditionStatus }
	for _, step := range []struct {
		what  string
		state model.ClaimState
		drain model.Drain
		want  want
		cause string // of Drained or VolumesDetached where they are not True
		at    int64
	}{
		{"decided", model.Draining, model.Drain{SinceUnix: since, Waits: []string{"pod a waits for budget b"}}, want{"Unknown", "", ""}, "Draining", since},
		{"empty", model.Draining, model.Drain{SinceUnix: since, EmptyUnix: since + 9}, want{"True", "Unknown", ""}, "AwaitingVolumeDetachment", since + 9},
		{"detached", model.Draining, model.Drain{SinceUnix: since, EmptyUnix: since + 9, DetachedUnix: since + 20}, want{"True", "True", ""}, "", since + 20},
		{"terminated", model.Terminating, model.Drain{SinceUnix: since, EmptyUnix: since + 9, DetachedUnix: since + 20, EndUnix: since + 21}, want{"True", "True", "True"}, "", since + 21},
		{"too late", model.Terminating, model.Drain{SinceUnix: since, DeadlineUnix: since + 15, EmptyUnix: since + 9, DetachedUnix: since + 20, EndUnix: since + 21},
			want{"True", "False", "True"}, "TerminationGracePeriodElapsed", since + 20},
	} {
		claim.State, claim.Drain = step.state, &step.drain
		for range 2 {
			if err := c.UpdateTermination(t.Context(), claim); err != nil {
				t.Fatalf("%s: %v", step.what, err)
			}
		}
		got := readClaim(t, c, name)
		drained, volumes, ends := conditionOf(got, apiv1.ConditionDrained), conditionOf(got, apiv1.ConditionVolumesDetached), conditionOf(got, apiv1.ConditionInstanceTerminating)
		if (want{drained.Status, volumes.Status, ends.Status}) != step.want {
			t.Errorf("%s: %+v", step.what, got.Status.Conditions)
		}
		if cause := map[bool]string{true: drained.Reason, false: volumes.Reason}[step.want.drained == "Unknown"]; step.cause != "" && cause != step.cause {
			t.Errorf("%s: reason %s, want %s", step.what, cause, step.cause)
		}
		latest := int64(0)
		for _, condition := range []metav1.Condition{drained, volumes, ends} {
			latest = max(latest, condition.LastTransitionTime.Unix())
		}
		if step.what != "too late" && latest != step.at {
			t.Errorf("%s: since %d, want %d", step.what, latest, step.at)
		}
		why := conditionOf(got, apiv1.ConditionDisruptionReason)
		if why.Status != metav1.ConditionTrue || why.Reason != "Expired" || why.Message != claim.FailureMessage || why.LastTransitionTime.Unix() != since {
			t.Errorf("%s: %+v", step.what, why)
		}
		// How far it came is shown on, and so is what else the object says.
		for _, kind := range []string{"Launched", "Registered", "Initialized", "Ready"} {
			if conditionOf(got, kind).Status != metav1.ConditionTrue {
				t.Errorf("%s: %s is %+v", step.what, kind, conditionOf(got, kind))
			}
		}
		if got.Status.NodeName != "ip-10-0-0-1" || got.Status.Capacity.Cpu().String() != "2" {
			t.Errorf("%s: %+v", step.what, got.Status)
		}
	}

	// Whoever brings the object up to date by the ledger's claim shows the same.
	before := readClaim(t, c, name)
	if _, err := connect(t).PutClaim(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	if after := readClaim(t, c, name); after.ResourceVersion != before.ResourceVersion {
		t.Errorf("PutClaim made of it %+v", after.Status)
	}
}

func TestShowEndOfAnInstanceThatNeverJoinedClaimsNothing(t *testing.T) {
	c, name := connectAs(t, collectorRole), unique("never")
	claim := launched(name)
	claim.ObjectUID = put(t, connect(t), claim)
	claim.State, claim.FailureCode = model.Terminating, model.EndedNeverRegistered
	if err := c.UpdateTermination(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	put(t, connect(t), claim)
	got := readClaim(t, c, name)
	if conditionOf(got, "Launched").Status != metav1.ConditionTrue || conditionOf(got, "Registered").Status != metav1.ConditionUnknown {
		t.Errorf("%+v", got.Status.Conditions)
	}
	for _, kind := range []string{apiv1.ConditionDrained, apiv1.ConditionVolumesDetached, apiv1.ConditionInstanceTerminating} {
		if c := conditionOf(got, kind); c.Status != "" {
			t.Errorf("%+v", c)
		}
	}
}

func TestShowEndRespectsAnEarlierDeadline(t *testing.T) {
	c, name := connectAs(t, collectorRole), unique("deadline")
	claim := launched(name)
	claim.ObjectUID = put(t, connect(t), claim)
	claim.State = model.Draining
	for _, step := range []struct {
		byHand   string
		deadline int64
		want     string
	}{
		{"", 0, ""},
		{"", 1_795_180_000, "2026-11-20T13:06:40Z"},
		{"", 1_795_179_000, "2026-11-20T12:50:00Z"},                               // an earlier one takes its place
		{"", 1_795_181_000, "2026-11-20T12:50:00Z"},                               // a later one does not
		{"2026-11-20T11:00:00Z", 1_795_179_000, "2026-11-20T11:00:00Z"},           // nor does one later than people's
		{"soon", 1_795_179_000, "2026-11-20T12:50:00Z"},                           // what is no time says nothing
		{"2026-11-20T15:00:00+02:00", 1_795_179_999, "2026-11-20T15:00:00+02:00"}, // 13:00 of UTC is earlier
	} {
		if step.byHand != "" {
			patch := []byte(`{"metadata":{"annotations":{"` + model.AnnotationDeadline + `":"` + step.byHand + `"}}}`)
			if _, err := c.custom.Resource(apiv1.NodeClaimResource).Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		claim.Drain = &model.Drain{SinceUnix: claim.LaunchedUnix, DeadlineUnix: step.deadline}
		if err := c.UpdateTermination(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
		if got := readClaim(t, c, name).Annotations[model.AnnotationDeadline]; got != step.want {
			t.Errorf("%+v: got %q", step, got)
		}
	}
	live, err := c.ReadLive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range live.Objects {
		if object.Claim.Name == name && object.DeadlineUnix != 1_795_179_600 {
			t.Errorf("a look shows the deadline %d", object.DeadlineUnix)
		}
	}
}

func TestShowEndTouchesOnlyTheObjectOfTheClaim(t *testing.T) {
	c, name := connectAs(t, collectorRole), unique("another")
	claim := launched(name)
	put(t, connect(t), claim)
	before := readClaim(t, c, name)
	claim.State, claim.Drain = model.Draining, &model.Drain{SinceUnix: 1, DeadlineUnix: 2}
	for _, uid := range []string{"", "00000000-0000-4000-8000-000000000000"} {
		claim.ObjectUID = uid
		if err := c.UpdateTermination(t.Context(), claim); !fault.Is(err, fault.NotFound) {
			t.Errorf("UID %q: %v, want NotFound", uid, err)
		}
	}
	if after := readClaim(t, c, name); after.ResourceVersion != before.ResourceVersion {
		t.Errorf("it was written: %+v", after)
	}
}
