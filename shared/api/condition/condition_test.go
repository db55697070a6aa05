package condition

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type object struct {
	metav1.ObjectMeta
	conditions []metav1.Condition
}

func (o *object) GetConditions() []metav1.Condition  { return o.conditions }
func (o *object) SetConditions(c []metav1.Condition) { o.conditions = c }

var (
	born  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	later = born.Add(90 * time.Second)
	types = Types{Dependents: []string{"Launched", "Registered"}}
)

func newObject() *object {
	return &object{ObjectMeta: metav1.ObjectMeta{Generation: 1, CreationTimestamp: metav1.NewTime(born)}}
}

func TestReadingAddsMissingDependentsAsUnknownSinceCreation(t *testing.T) {
	set := types.For(newObject(), later)
	for _, dependent := range types.Dependents {
		c := set.Get(dependent)
		if c.Status != metav1.ConditionUnknown || c.Reason != ReasonAwaiting || !c.LastTransitionTime.Time.Equal(born) {
			t.Errorf("%s = %+v, want Unknown, %s, since %s", dependent, c, ReasonAwaiting, born)
		}
	}
	if root := set.Get(Ready); root.Status != metav1.ConditionUnknown || root.Reason != ReasonReconciling {
		t.Errorf("Ready = %+v, want Unknown, %s", root, ReasonReconciling)
	}
}

// TestRootFollowsItsDependents is the table of the roll-up. Statuses are said at generation 1; observed is the
// generation of the object when the root is read.
func TestRootFollowsItsDependents(t *testing.T) {
	tests := []struct {
		name                 string
		launched, registered metav1.ConditionStatus
		generation           int64
		want                 metav1.ConditionStatus
		reason, message      string
	}{
		{"all true", metav1.ConditionTrue, metav1.ConditionTrue, 1, metav1.ConditionTrue, Ready, ""},
		{"one false", metav1.ConditionTrue, metav1.ConditionFalse, 1, metav1.ConditionFalse, ReasonUnhealthy, "Registered=False (m)"},
		{"one unknown", metav1.ConditionTrue, metav1.ConditionUnknown, 1, metav1.ConditionUnknown, ReasonReconciling, "Registered=Unknown (m)"},
		{"false beats unknown", metav1.ConditionUnknown, metav1.ConditionFalse, 1, metav1.ConditionFalse, ReasonUnhealthy, "Registered=False (m)"},
		{"true of an older generation", metav1.ConditionTrue, metav1.ConditionTrue, 2, metav1.ConditionUnknown, ReasonReconciling, "Launched=True (m), Registered=True (m)"},
		{"false of an older generation", metav1.ConditionFalse, metav1.ConditionTrue, 2, metav1.ConditionUnknown, ReasonReconciling, "Launched=False (m), Registered=True (m)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := newObject()
			set := types.For(o, born)
			set.set("Launched", tt.launched, "R", "m")
			set.set("Registered", tt.registered, "R", "m")
			o.Generation = tt.generation
			root := types.For(o, later).Get(Ready)
			if root.Status != tt.want || root.Reason != tt.reason || root.Message != tt.message {
				t.Errorf("Ready = %s, %s, %q; want %s, %s, %q", root.Status, root.Reason, root.Message, tt.want, tt.reason, tt.message)
			}
		})
	}
}

// F018: after a change of the spec, Ready comes back only when every dependent has been said again.
func TestRootIsTrueAgainOnlyWhenEveryDependentIsObservedAgain(t *testing.T) {
	o := newObject()
	set := types.For(o, born)
	set.SetTrue("Launched")
	set.SetTrue("Registered")
	o.Generation = 2
	set = types.For(o, later)
	set.SetTrue("Launched")
	if set.IsTrue(Ready) {
		t.Fatal("Ready is true although Registered was observed at generation 1 only")
	}
	set.SetTrue("Registered")
	if !set.IsTrue(Ready) {
		t.Fatalf("Ready = %+v, want True", set.Get(Ready))
	}
}

func TestTransitionTimeMovesOnlyWithTheStatus(t *testing.T) {
	o := newObject()
	types.For(o, born).SetUnknown("Launched", "LaunchFailed", "no capacity")
	types.For(o, later).SetUnknown("Launched", "LaunchFailed", "no subnet")
	c := types.For(o, later).Get("Launched")
	if c.Message != "no subnet" || !c.LastTransitionTime.Time.Equal(born) {
		t.Errorf("Launched = %+v, want the new message and the time %s", c, born)
	}
	types.For(o, later).SetTrue("Launched")
	if c := types.For(o, later).Get("Launched"); !c.LastTransitionTime.Time.Equal(later) {
		t.Errorf("Launched changed at %s, want %s", c.LastTransitionTime, later)
	}
}

func TestSayingTheSameTwiceChangesNothing(t *testing.T) {
	o := newObject()
	if !types.For(o, born).SetTrue("Launched") {
		t.Error("the first True reports no change")
	}
	if types.For(o, later).SetTrue("Launched") {
		t.Error("the second True reports a change")
	}
}

func TestTrueWithoutReasonUsesItsType(t *testing.T) {
	set := types.For(newObject(), born)
	set.SetTrue("Consolidatable")
	if c := set.Get("Consolidatable"); c.Reason != "Consolidatable" {
		t.Errorf("reason = %q, want Consolidatable", c.Reason)
	}
}

func TestOtherConditionsDoNotCountAndMayBeRemoved(t *testing.T) {
	set := types.For(newObject(), born)
	set.SetTrue("Launched")
	set.SetTrue("Registered")
	set.SetFalse("ConsistentStateFound", "ConsistencyCheckFailed", "fewer resources than expected")
	if !set.IsTrue(Ready) {
		t.Errorf("Ready = %+v, want True", set.Get(Ready))
	}
	if !set.Remove("ConsistentStateFound") || set.Remove("ConsistentStateFound") {
		t.Error("Remove should report true once, then false")
	}
	if c := set.Get("ConsistentStateFound"); c.Status != metav1.ConditionUnknown {
		t.Errorf("a removed condition reads as %s, want Unknown", c.Status)
	}
	set.Remove("Launched")
	if c := set.Get("Launched"); c.Status != metav1.ConditionUnknown {
		t.Errorf("a removed dependent reads as %s, want Unknown", c.Status)
	}
	if set.IsTrue(Ready) {
		t.Error("Ready is still true although a dependent was removed")
	}
}

func TestRootMessageFitsTheAPI(t *testing.T) {
	set := types.For(newObject(), born)
	set.SetFalse("Launched", "LaunchFailed", strings.Repeat("é", maxMessageBytes/2))
	if got := len(set.Get(Ready).Message); got > maxMessageBytes || got < maxMessageBytes-4 {
		t.Errorf("message of the root has %d bytes, want at most %d and hardly fewer", got, maxMessageBytes)
	}
}
