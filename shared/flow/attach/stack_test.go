package attach_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/attach"
	"github.com/joiner-sh/joiner/shared/model"
)

const (
	stackA = "arn:aws:cloudformation:us-west-2:111122223333:stack/joiner-cluster-web/a"
	stackB = "arn:aws:cloudformation:us-west-2:222222222222:stack/joiner-cluster-web/b"
)

func ofStack(stack string) attach.Desired {
	w := standalone()
	w.Stack = stack
	return w
}

// Another stack changes nothing of a registration, and cannot take it out: neither by Create or Update nor by Delete.
func TestW2OnlyTheStackThatRegisteredAClusterChangesIt(t *testing.T) {
	w := newWorld()
	if _, err := w.flow().Attach(t.Context(), ofStack(stackA)); err != nil {
		t.Fatal(err)
	}
	before := w.registered["web"]
	evil, paused := ofStack(stackB), true
	evil.Paused, evil.ClusterDNS, evil.RelayURL = &paused, "203.0.113.66", "https://sqs.us-west-2.amazonaws.com/222222222222/evil"
	evil.Roles.Provision, evil.Roles.Disrupt = "", ""
	_, err := w.flow().Attach(t.Context(), evil)
	if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), stackA) || !strings.Contains(err.Error(), "joiner attach web --take-over") {
		t.Errorf("refused with %v", err)
	}
	out, err := w.flow().Detach(t.Context(), attach.DetachRequest{Cluster: "web", ARN: before.ARN, Stack: stackB, Owner: "evil"})
	if !fault.Is(err, fault.NotFound) || out.Gone || len(w.forgotten) != 0 {
		t.Errorf("detached: %+v %v", out, err)
	}
	if after := w.registered["web"]; !reflect.DeepEqual(after, before) {
		t.Errorf("registered %+v, before %+v", after, before)
	}
	again := ofStack(stackA)
	again.ClusterDNS = "10.100.0.11"
	if _, err = w.flow().Attach(t.Context(), again); err != nil || w.registered["web"].ClusterDNS != "10.100.0.11" {
		t.Errorf("its own stack: %v", err)
	}
	if out, err = w.flow().Detach(t.Context(), attach.DetachRequest{Cluster: "web", ARN: before.ARN, Stack: stackA, Owner: "own"}); err != nil || !out.Gone {
		t.Errorf("its own stack detaches it: %+v %v", out, err)
	}
}

// A registration of people, or of an older version, belongs to the first stack of the same cluster that asks.
func TestW2ARegistrationWithoutAStackIsAdoptedByTheFirstOfTheSameCluster(t *testing.T) {
	w := attached(t)
	if out, err := w.flow().Attach(t.Context(), ofStack(stackA)); err != nil || w.registered["web"].Stack != stackA || len(out.Changed) != 1 || out.Changed[0] != "stack" {
		t.Errorf("%+v %v", out, err)
	}
	if _, err := w.flow().Attach(t.Context(), ofStack(stackB)); !fault.Is(err, fault.Conflict) {
		t.Errorf("the second: %v", err)
	}
}

// People change a registration of a stack's without taking it from the stack, unless they say so.
func TestW2PeopleTakeARegistrationFromAStackThatIsGone(t *testing.T) {
	w := newWorld()
	if _, err := w.flow().Attach(t.Context(), ofStack(stackA)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.flow().Attach(t.Context(), standalone()); err != nil || w.registered["web"].Stack != stackA {
		t.Errorf("registered %+v %v", w.registered["web"], err)
	}
	taken := standalone()
	taken.TakeOver = true
	if _, err := w.flow().Attach(t.Context(), taken); err != nil || w.registered["web"].Stack != "" {
		t.Errorf("registered %+v %v", w.registered["web"], err)
	}
	if _, err := w.flow().Attach(t.Context(), ofStack(stackB)); err != nil || w.registered["web"].Stack != stackB {
		t.Errorf("registered %+v %v", w.registered["web"], err)
	}
}

// TestW2TheHubsStackTakesOverWhatATenantsStackRegistered: earlier versions registered a cluster of another account by a stack there. The one in the
// hub's account has it from then on; no other stack gets it that way.
func TestW2TheHubsStackTakesOverWhatATenantsStackRegistered(t *testing.T) {
	w := newWorld()
	if _, err := w.flow().Attach(t.Context(), ofStack(stackB)); err != nil {
		t.Fatal(err)
	}
	for name, hub := range map[string]string{"nobody knows whose account it is": "", "the stack is of another account": "333333333333"} {
		desired := ofStack(stackA)
		desired.Hub = hub
		if _, err := w.flow().Attach(t.Context(), desired); !fault.Is(err, fault.Conflict) {
			t.Errorf("%s: %v", name, err)
		}
	}
	desired := ofStack(stackA)
	desired.Hub, desired.ExternalID = "111122223333", "c0ffee00-0000-4000-8000-000000000000"
	if _, err := w.flow().Attach(t.Context(), desired); err != nil || w.registered["web"].Stack != stackA || w.registered["web"].ExternalID != desired.ExternalID {
		t.Errorf("the hub's: %v, registered %+v", err, w.registered["web"])
	}
	other := ofStack("arn:aws:cloudformation:us-west-2:111122223333:stack/joiner-cluster-web/c")
	other.Hub = desired.Hub
	if _, err := w.flow().Attach(t.Context(), other); !fault.Is(err, fault.Conflict) {
		t.Errorf("another stack of the hub's account: %v", err)
	}
}

// F3, W2: whose a registration is that cannot be read is unknown, so that no stack changes it; people may write it anew.
func TestF3ARegistrationThatCannotBeReadIsWrittenAnewByPeopleAlone(t *testing.T) {
	w := newWorld()
	unread := fault.New(fault.Invalid, model.CodeUnreadCluster, "web cannot be read")
	w.fails["Cluster"], w.fails["Clusters"] = unread, unread
	if _, err := w.flow().Attach(t.Context(), ofStack(stackB)); fault.CodeOf(err) != model.CodeUnreadCluster || len(w.registered) != 0 {
		t.Errorf("by a stack: %v, %+v", err, w.registered)
	}
	if _, err := w.flow().Attach(t.Context(), standalone()); fault.CodeOf(err) != model.CodeUnreadCluster || len(w.registered) != 0 {
		t.Errorf("without take-over: %v, %+v", err, w.registered)
	}
	take := standalone()
	take.TakeOver = true
	out, err := w.flow().Attach(t.Context(), take)
	if err != nil || w.registered["web"].Cluster != "web" || !strings.Contains(strings.Join(out.Warnings, " "), "cannot be read") {
		t.Errorf("taken over: %v, %+v", err, out)
	}
}
