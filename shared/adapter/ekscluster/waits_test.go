package ekscluster

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/model"
)

// F096, F100, F105: each condition of a claim has the reason of what it waits for, until it is True.
func TestF096ConditionsAdvanceInOrderWithTheirReasons(t *testing.T) {
	object := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
	steps := []struct {
		claim                               model.Claim
		launched, registered, initialized   string // status and reason
		consistent, ready                   string
		registeredMessage, initializedWants string
	}{
		{claim: model.Claim{State: model.Launched, LaunchedUnix: 10}, launched: "True Launched", registered: "Unknown NodeNotFound", initialized: "Unknown NodeNotFound"},
		{
			claim:    model.Claim{State: model.Launched, LaunchedUnix: 10, WaitReason: "RegistrationHookPending", WaitMessage: "registration waits for placement-group-partition"},
			launched: "True Launched", registered: "Unknown RegistrationHookPending", initialized: "Unknown NodeNotFound",
			registeredMessage: "registration waits for placement-group-partition",
		},
		{
			claim:    model.Claim{State: model.Launched, LaunchedUnix: 10, WaitReason: "MultipleNodesFound", WaitMessage: "2 nodes carry it"},
			launched: "True Launched", registered: "False MultipleNodesFound", initialized: "Unknown NodeNotFound", registeredMessage: "2 nodes carry it",
		},
		{
			claim:    model.Claim{State: model.Registered, LaunchedUnix: 10, RegisteredUnix: 20, WaitReason: "NodeNotReady", WaitMessage: "node n is not Ready yet"},
			launched: "True Launched", registered: "True Registered", initialized: "Unknown NodeNotReady", initializedWants: "node n is not Ready yet",
		},
		{
			claim:    model.Claim{State: model.Registered, LaunchedUnix: 10, RegisteredUnix: 20, WaitReason: "StartupTaintsExist", WaitMessage: "agent:NoExecute"},
			launched: "True Launched", registered: "True Registered", initialized: "Unknown StartupTaintsExist", initializedWants: "agent:NoExecute",
		},
		{
			claim:    model.Claim{State: model.Initialized, LaunchedUnix: 10, RegisteredUnix: 20, InitializedUnix: 30},
			launched: "True Launched", registered: "True Registered", initialized: "True Initialized", consistent: "True ConsistentStateFound", ready: "True",
		},
		{
			claim:    model.Claim{State: model.Initialized, LaunchedUnix: 10, RegisteredUnix: 20, InitializedUnix: 30, Inconsistent: "memory is 4", InconsistentUnix: 40},
			launched: "True Launched", registered: "True Registered", initialized: "True Initialized", consistent: "False ConsistencyCheckFailed", ready: "True",
		},
		{
			claim:    model.Claim{State: model.Initialized, LaunchedUnix: 10, RegisteredUnix: 20, InitializedUnix: 30, InconsistentUnix: 50},
			launched: "True Launched", registered: "True Registered", initialized: "True Initialized", consistent: "True ConsistentStateFound", ready: "True",
		},
	}
	for i, step := range steps {
		showState(object, &step.claim)
		got := map[string]metav1.Condition{}
		for _, c := range object.Status.Conditions {
			got[c.Type] = c
		}
		for kind, want := range map[string]string{
			"Launched": step.launched, "Registered": step.registered, "Initialized": step.initialized, "ConsistentStateFound": step.consistent,
		} {
			c, there := got[kind]
			if text := string(c.Status) + " " + c.Reason; there != (want != "") || there && text != want {
				t.Errorf("step %d: %s is %q, want %q", i, kind, text, want)
			}
		}
		if step.registeredMessage != "" && got["Registered"].Message != step.registeredMessage || step.initializedWants != "" && got["Initialized"].Message != step.initializedWants {
			t.Errorf("step %d: messages %q and %q", i, got["Registered"].Message, got["Initialized"].Message)
		}
		if ready := string(got["Ready"].Status) == "True"; ready != (step.ready == "True") {
			t.Errorf("step %d: Ready is %s", i, got["Ready"].Status)
		}
	}
}
